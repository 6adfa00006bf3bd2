"""The compiled loop of `cycles`: shorter and shorter paths, and changes around the cycles that they close."""

import numpy as np

from pgsr.machine.compilation import compiled, uncounted


@compiled
def cancel(costs, x, moved, room, pot, above, passes):
    """Change x and moved by 1 around cycles that lower the cost, and lower the vertices' potentials, in place.

    Costs are (y, weight, lower, upper) of leaves, shape (leaves, cells), (leaves,) and (leaves, cells) twice, and
    (slope, weight) above, shape (cells,) and a number: a change d of a cell's sum costs weight d^2 + 2 slope d.
    Vertices are the hubs 0 .. cells - 1, the ground, and then the cells of all leaves. `above[v]` is the vertex before
    v on the path whose length is pot[v], -1 at its start. The last cell's sum may rise by `room`, and stays if that
    is negative.
    Returns whether nothing is left to lower after at most so many passes over all arcs.
    """
    y, weight, lower, upper, slope, above_weight = costs
    n_leaves, n = x.shape
    marked = np.zeros(len(pot), np.int64)
    for _ in range(passes):
        changed = False
        for s in range(n - 1, -1, -1):  # the node's own arcs, from the ground down and back
            changed |= node_arcs(s, slope, above_weight, moved, room, n, pot, above)
        for l in range(n_leaves):
            base = n + 1 + l * n
            for s in range(n):
                changed |= leaf_arcs(base, l, s, y, weight, lower, upper, x, n, pot, above)
            for s in range(n - 1, -1, -1):
                changed |= leaf_arcs(base, l, s, y, weight, lower, upper, x, n, pot, above)
        for s in range(n):
            changed |= node_arcs(s, slope, above_weight, moved, room, n, pot, above)
        if not changed:
            return True
        marked[:] = 0
        found = False
        for first in range(len(pot)):
            v = first
            while v >= 0 and marked[v] == 0:
                marked[v] = first + 1
                v = above[v]
            if v >= 0 and marked[v] == first + 1:  # came back to its own way: a cycle, and a negative one
                found = True
                change_around(v, above, x, moved, n)
        if found:
            above[:] = -1
    return False


@uncounted
def node_arcs(s, slope, weight, moved, room, n, pot, above):
    """Lower the potentials at both ends of the node's arc of cell s, which carries its sum from vertex s + 1 to s."""
    if s == n - 1 and room < 0:
        return False
    off = 2 * (weight * moved[s] + slope[s])
    up = (s < n - 1 or moved[s] < room) and lower_end(s + 1, s, weight + off, pot, above)
    return lower_end(s, s + 1, weight - off, pot, above) or up


@uncounted
def leaf_arcs(base, l, s, y, weight, lower, upper, x, n, pot, above):
    """Lower potentials along a leaf's arcs at cell s: its step from the cell before, and x[l, s] to the next cell."""
    here, there, hub = base + s, base + s + 1 if s + 1 < n else n, s
    changed = lower_end(hub, here, 0, pot, above)
    if x[l, s] > (x[l, s - 1] if s > 0 else 0):
        changed |= lower_end(here, hub, 0, pot, above)
    off = 2 * (x[l, s] - y[l, s])
    if x[l, s] < upper[l, s]:
        changed |= lower_end(here, there, weight[l] * (off + 1), pot, above)
    if x[l, s] > lower[l, s]:
        changed |= lower_end(there, here, weight[l] * (1 - off), pot, above)
    return changed


@uncounted
def lower_end(start, end, length, pot, above):
    """Lower the potential at the end of an arc to the way through its start, if that is shorter."""
    if pot[start] + length < pot[end]:
        pot[end] = pot[start] + length
        above[end] = start
        return True
    return False


@uncounted
def change_around(v, above, x, moved, n):
    """Carry one unit more along every arc of the cycle through v."""
    end = v
    while True:
        start = above[end]
        change(start, end, x, moved, n)
        end = start
        if end == v:
            return


@uncounted
def change(start, end, x, moved, n):
    """Carry one unit more from a vertex to the next: a step costs nothing and follows from the cells around it."""
    if start <= n and end <= n:
        if start == end + 1:
            moved[end] += 1
        else:
            moved[start] -= 1
    elif start > n and (end == start + 1 or end == n):
        x[(start - n - 1) // n, (start - n - 1) % n] += 1
    elif end > n and (start == end + 1 or start == n):
        x[(end - n - 1) // n, (end - n - 1) % n] -= 1
