"""The compiled loop of `integers` that sends many units at once; arguments are those of `exchange_kernel`.

Where the costs of many arcs are alike, as in M_c^dp, most shortest paths have length 0, 1 or 2, and a search for one
sees all of a region's vertices before it comes to another that lacks something. A phase searches from all vertices with
excess at once, so that it sees every vertex once, and then sends what the paths of that length can carry.
"""

import numpy as np

from pgsr.engines.quadratic_flow.exchange_kernel import NEVER, length_of, longer, neighbour, neighbours, pop, push
from pgsr.machine.compilation import compiled, uncounted

_FAR = 2**30
_OUTSIDE = 2**30 + 1


@compiled
def phase(around, arcs, price, excess, sign):
    """Send all units of excess (sign 1; of shortage: -1) that have a way as short as the shortest of them all.

    First every vertex gets its distance from the nearest vertex with excess, up to the least distance D at which one
    unit is wanted; prices change by what distances lack to D, after which the shortest paths are those all of whose
    steps have length 0. Then flows are sent along such steps until no path of them is left (Dinic 1970): in each turn
    every vertex gets its number of steps to the nearest that wants a unit, and paths follow descending numbers.

    Returns the number of vertices visited, or -1 where no unit has a way.
    """
    n = len(price)
    inside = np.empty(n, np.int32)
    n_inside, visits = _reach(around, arcs, price, excess, sign, inside)
    if n_inside < 0:
        return np.int64(-1)
    level, arc, path = np.full(n, _OUTSIDE, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    via = np.empty(n, np.int64)
    while True:
        ready, n_near = _levels(around, arcs, price, excess, sign, inside, n_inside, level, path)
        visits += n_near
        if not ready:
            return visits
        # What no wanted unit can be reached from will never lead to one in this phase: paths do not go there.
        near = 0
        for i in range(n_inside):
            v = inside[i]
            if level[v] == _FAR:
                level[v] = _OUTSIDE
            else:
                inside[near] = v
                near += 1
        n_inside = near
        _block(around, arcs, price, excess, sign, inside, n_inside, level, arc, path, via)


@compiled
def _reach(around, arcs, price, excess, sign, inside):
    """Change prices so that steps of length 0 lead from vertices with excess to where a unit is wanted.

    Returns how many vertices may lie on such a path, written to `inside`, or -1 without any; and the number visited.
    """
    n = len(price)
    distance = np.full(n, NEVER, np.int64)
    settled = np.zeros(n, np.uint8)
    key, rank = np.empty(1024, np.int64), np.empty(1024, np.int64)
    n_inside = 0
    # All vertices with excess are sources, at distance 0.
    for v in range(n - 1, 0, -1):
        if sign * excess[v] > 0:
            distance[v], settled[v] = 0, 1
            inside[n_inside] = v
            n_inside += 1
    at = np.array([0, n_inside, 0, 0, -1])
    while not _reach_on(around, arcs, price, excess, sign, inside, distance, settled, key, rank, at):
        key, rank = longer(key), longer(rank)
    _, n_inside, head, _, far = at
    if far < 0:
        return np.int64(-1), head
    # Prices change by what distances lack to D = `far`, as in `exchange_kernel.search`.
    for i in range(n_inside):
        v = inside[i]
        price[v] -= sign * (far - distance[v])
    return n_inside, n_inside


@uncounted
def _reach_on(around, arcs, price, excess, sign, inside, distance, settled, key, rank, at):
    """Go on with `_reach` from where it is; tell whether it has come to its end, or else has no room in the heap.

    Where it is: how many are in the heap and inside, how many of these have been looked at, at what distance, and the
    distance at which a unit is wanted, -1 as long as none is.
    """
    n_heap, n_inside, head, here, far = at
    through = False
    while True:
        # `inside` is a queue of the vertices at distance `here`: steps of length 0 add to it. When it is through, the
        # heap has the next distance, unless a unit is wanted at this one.
        if head == n_inside:
            if far >= 0:
                through = True
                break
            while n_heap > 0 and settled[rank[0]]:
                n_heap = pop(key, rank, n_heap)
            if n_heap == 0:
                through = True
                break
            here = key[0]
            while n_heap > 0 and key[0] == here:
                v = rank[0]
                n_heap = pop(key, rank, n_heap)
                if not settled[v]:
                    settled[v] = 1
                    inside[n_inside] = v
                    n_inside += 1
        v = np.int64(inside[head])
        if v > 0 and n_heap + neighbours(around, v) > len(key):
            break
        head += 1
        if v == 0 or sign * excess[v] < 0:
            far = here
        if v == 0:
            continue
        for i in range(neighbours(around, v)):
            a, to, up = neighbour(around, v, i, sign)
            if settled[to]:
                continue
            length = length_of(arcs, a, up, sign * (price[to] - price[v]))
            if length >= 0 and here + length < distance[to]:
                distance[to] = here + length
                if length == 0:
                    settled[to] = 1
                    inside[n_inside] = to
                    n_inside += 1
                elif far < 0:
                    push(key, rank, n_heap, here + length, to)
                    n_heap += 1
    at[0], at[1], at[2], at[3], at[4] = n_heap, n_inside, head, here, far
    return through


@uncounted
def _levels(around, arcs, price, excess, sign, inside, n_inside, level, queue):
    """Count the steps of length 0 from every vertex inside to the nearest that wants a unit; _FAR where there are none.

    Returns how many vertices with excess have a way, and how many vertices have one.
    """
    # Breadth first, backwards from the vertices that want a unit.
    head, n_near, ready = 0, 0, 0
    for i in range(n_inside):
        v = inside[i]
        level[v] = _FAR
        if v == 0 or sign * excess[v] < 0:
            level[v] = 0
            queue[n_near] = v
            n_near += 1
    while head < n_near:
        v = np.int64(queue[head])
        head += 1
        for i in range(neighbours(around, v)):
            a, to, down = neighbour(around, v, i, -sign)
            if level[to] == _FAR and length_of(arcs, a, down, -sign * (price[to] - price[v])) == 0:
                level[to] = level[v] + 1
                queue[n_near] = to
                n_near += 1
                if sign * excess[to] > 0:
                    ready += 1
    return ready, n_near


@uncounted
def _block(around, arcs, price, excess, sign, inside, n_inside, level, arc, path, via):
    """Send units along paths of descending levels until none is left; arc[v] is the first one of v that may lead on."""
    _, end, _, _, _, _ = around
    for i in range(n_inside):
        arc[inside[i]] = 0
    for j in range(n_inside):
        source = inside[j]
        while source > 0 and sign * excess[source] > 0:
            path[0] = source
            # Depth first: ahead along a step of length 0 to the next lower level, or back where none of v is left. An
            # arc that led nowhere stays passed over, as levels do not change in a turn.
            last, arrived = 0, False
            while last >= 0 and not arrived:
                v = np.int64(path[last])
                if level[v] == 0:
                    arrived = v == 0 or sign * excess[v] < 0
                    ahead = False
                else:
                    ahead = False
                    while not ahead and arc[v] < neighbours(around, v):
                        a, to, up = neighbour(around, v, np.int64(arc[v]), sign)
                        if level[to] == level[v] - 1 and length_of(arcs, a, up, sign * (price[to] - price[v])) == 0:
                            last += 1
                            path[last], via[last] = to, a
                            ahead = True
                        else:
                            arc[v] += 1
                if not ahead and not arrived:
                    last -= 1
                    if last >= 0:
                        arc[path[last]] += 1
            if not arrived:
                break
            # One unit along the whole path.
            excess[source] -= sign
            excess[path[last]] += sign
            while last > 0:
                arcs[via[last], 0] += sign if end[via[last]] == path[last] else -sign
                last -= 1
