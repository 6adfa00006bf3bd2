"""The compiled loops of `network`: a flow between bounds is balanced along shortest paths, many units at a time first.

    arcs[a]     the flow x[a], y[a], w[a], the largest slope of its loss, lower[a] and upper[a]; int64
    price[v]    int64
    excess[v]   inflow - outflow

    around      the arrays (start, end, first, arc): arcs |arc[first[v]]| - 1 .. |arc[first[v + 1] - 1]| - 1 start at
                vertex v where the number is positive, and end there where it is negative

In steps of `step` units, a power of two, the unit price of the next step on an arc is the slope of its loss in the
step's middle. It grows from step to step since the loss is convex, and for single units it is exactly what one more
costs. An arc is *the cheapest* at prices where no step up or down that its bounds allow costs less than it is paid,
price[end] - price[start]; so all lengths of steps are 0 or more, and stay so, where prices change by what vertices
nearer than D lack to D.
"""

import numpy as np

from pgsr.engines.quadratic_flow.exchange_kernel import longer, pop, push
from pgsr.machine.compilation import compiled, inlined, uncounted

NEVER = 2**62
"""The distance of what has not been seen."""

BLOCKED = -1
"""The length of a step that bounds do not permit."""

FARTHEST = 2**60
"""Prices and distances up to which lengths of paths are exact; slopes are below twice as much."""

BALANCED, CUT, FAR = 1, 0, -1


@compiled
def balance(around, arcs, price, excess, reached):
    """Balance all vertices at least cost; returns BALANCED, CUT where that is impossible, or FAR.

    Args:
        arcs: flows within their bounds, each the cheapest at these prices.
        reached: is set to 1 for the vertices from which, at last, units could go on; without a way they are a cut.
    """
    start, end, _, _ = around
    _count(start, end, arcs, excess)
    step, most = np.int64(1), _farthest(excess)
    while 2 * step <= most:
        step *= 2
    while True:
        for a in range(len(start)):
            _settle(arcs, a, price[end[a]] - price[start[a]], step)
        _count(start, end, arcs, excess)
        while True:
            far = _shorten(around, arcs, price, excess, reached, step)
            if far < 0:
                break
            if far > FARTHEST or _farthest(price) > FARTHEST:
                return FAR
            _send(around, arcs, price, excess, step)
        if step == 1:
            break
        step //= 2
    return BALANCED if _farthest(excess) == 0 else CUT


@uncounted
def _farthest(values):
    """Find the value that is farthest from 0, without its sign; operations on whole arrays take longer to compile."""
    most = np.int64(0)
    for v in range(len(values)):
        most = max(most, abs(values[v]))
    return most


@compiled
def _count(start, end, arcs, excess):
    excess[:] = 0
    for a in range(len(start)):
        excess[end[a]] += arcs[a, 0]
        excess[start[a]] -= arcs[a, 0]


@inlined
def slope(arcs, a, x, step):
    """Give the unit price of the step from x to x + step."""
    y, w, bend = arcs[a, 1], arcs[a, 2], arcs[a, 3]
    return w * min(max(2 * (x - y) + step, -bend), bend)


@compiled
def _settle(arcs, a, paid, step):
    """Move an arc by steps until it is the cheapest at what it is paid; after steps twice as long by one at most."""
    while arcs[a, 0] + step <= arcs[a, 5] and slope(arcs, a, arcs[a, 0], step) < paid:
        arcs[a, 0] += step
    while arcs[a, 0] - step >= arcs[a, 4] and slope(arcs, a, arcs[a, 0] - step, step) > paid:
        arcs[a, 0] -= step


@compiled
def _shorten(around, arcs, price, excess, reached, step):
    """Change prices so that the shortest ways to all vertices that lack a step have length 0.

    Ways begin where a step is left over. Returns the distance of the farthest of them, before; -1 where there is none.
    """
    first, arc = around[2], around[3]
    n = len(price)
    distance = np.full(n, NEVER, np.int64)
    reached[:] = 0
    key, rank = np.empty(256, np.int64), np.empty(256, np.int64)
    n_heap, wanted, far = 0, 0, np.int64(-1)
    for v in range(n):
        wanted += excess[v] <= -step
        if excess[v] >= step:
            distance[v] = 0
            if n_heap == len(key):
                key, rank = longer(key), longer(rank)
            push(key, rank, n_heap, np.int64(0), np.int64(v))
            n_heap += 1
    while n_heap > 0 and wanted > 0:
        here, v = key[0], rank[0]
        n_heap = pop(key, rank, n_heap)
        if reached[v]:
            continue
        reached[v] = 1
        if here > FARTHEST:
            return here
        if excess[v] <= -step:
            wanted -= 1
            far = here
        for i in range(first[v], first[v + 1]):
            to, length = _step(around, arcs, price, v, arc[i], step)
            if length >= 0 and reached[to] == 0 and here + length < distance[to]:
                distance[to] = here + length
                if n_heap == len(key):
                    key, rank = longer(key), longer(rank)
                push(key, rank, n_heap, here + length, to)
                n_heap += 1
    if far >= 0:
        for v in range(n):
            if reached[v] and distance[v] < far:
                price[v] -= far - distance[v]
    return far


@inlined
def _step(around, arcs, price, v, code, step):
    """Name the vertex across an arc and the length of a step there, or BLOCKED."""
    start, end, _, _ = around
    if code > 0:
        a, to = code - 1, np.int64(end[code - 1])
        free, cost = arcs[a, 0] + step <= arcs[a, 5], slope(arcs, a, arcs[a, 0], step)
    else:
        a, to = -code - 1, np.int64(start[-code - 1])
        free, cost = arcs[a, 0] - step >= arcs[a, 4], -slope(arcs, a, arcs[a, 0] - step, step)
    return to, cost - (price[to] - price[v]) if free else np.int64(BLOCKED)


@compiled
def _send(around, arcs, price, excess, step):
    """Send steps along ways of length 0, depth first, as long as some are found at once."""
    first, arc = around[2], around[3]
    n = len(price)
    next_arc, done = first[:-1].copy(), np.zeros(n, np.uint8)  # done: on the way, or without a way on
    way = np.empty(n + 1, np.int64)
    for source in range(n):
        while excess[source] >= step and not done[source]:
            v, length = np.int64(source), 0
            way[0] = v
            done[v] = 1
            while excess[v] > -step:
                to, lead = v, np.int64(BLOCKED)
                while next_arc[v] < first[v + 1]:
                    to, lead = _step(around, arcs, price, v, arc[next_arc[v]], step)
                    if lead == 0 and not done[to]:
                        break
                    lead = np.int64(BLOCKED)
                    next_arc[v] += 1
                if lead == 0:
                    length += 1
                    way[length] = to
                    done[to] = 1
                    v = to
                elif length == 0:
                    break
                else:
                    length -= 1
                    v = way[length]
                    next_arc[v] += 1
            if excess[v] > -step:
                break
            excess[v] += step
            excess[source] -= step
            for k in range(length + 1):
                done[way[k]] = 0
                if k < length:
                    code = arc[next_arc[way[k]]]
                    arcs[abs(code) - 1, 0] += step if code > 0 else -step
