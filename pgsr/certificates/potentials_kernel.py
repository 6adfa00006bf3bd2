"""The compiled loop of `potentials`: lower labels of a residual network until they fit, or a negative cycle shows."""

import numpy as np

from pgsr.machine.compilation import compiled

SETTLED = 1
NEGATIVE_CYCLE = 0
TOO_LARGE = -1

NEVER = 2**61
"""A label so large that no other label is lowered by it."""

_ABOVE = -1
_START = -2
_LOWEST = -(2**60)


@compiled
def settle(x, y, w, parent, n_inner, set_of, inner, ends):
    """Lower the labels inner[region, size] and ends[set] until no arc lowers any; returns state and sweeps.

    Leaf l ends in the vertex ends[set_of[l]]; the last one, where leaves of no set end, is also the top above the root.
    Cell (r, s) is an arc from its own vertex (a leaf's is that of its set) to its parent's (the root's is the top) of
    cost w (2 (x - y) + 1), and, where x > 0, one back of cost -w (2 (x - y) - 1).

    A sweep visits all leaves, each down into its set and up again, then inner regions upwards and downwards. A path
    between two sets runs up and then down, within one sweep, but for the step into a set and out of it by an earlier
    leaf, which takes two. Without a negative cycle the lowest labels come along paths that visit no vertex twice, so
    after 2 (sets + 1) + 1 sweeps they are there and the next one changes nothing. Mostly a negative cycle shows sooner:
    as a cycle of the vertices that labels came from. O(cells) per sweep.
    """
    n_regions, n_sizes = x.shape
    n_ends = len(ends)
    top = n_ends - 1
    inner_from = np.full((n_inner, n_sizes), _START, np.int32)
    end_from = np.full(n_ends, _START, np.int64)  # the arc, as region * sizes + size
    mark = np.empty(n_inner * n_sizes + n_ends, np.int32)
    most = 2 * n_ends + 2
    for sweep in range(1, most + 1):
        changed = False
        lowest = np.int64(0)
        # Leaves: P[own] <= P[above] - w (2 (x - y) - 1) where x > 0, all cells of a set first, since they share its
        # potential; then P[above] <= P[own] + w (2 (x - y) + 1).
        for r in range(n_inner, n_regions):
            end = set_of[r - n_inner]
            above, here = inner[parent[r]], ends[end]
            for s in range(n_sizes):
                if x[r, s] > 0:
                    label = above[s] - w[r] * (2 * (x[r, s] - y[r, s]) - 1)
                    if label < here:
                        here = label
                        end_from[end] = r * n_sizes + s
            if here < ends[end]:
                ends[end] = here
                lowest = min(lowest, here)
                changed = True
            for s in range(n_sizes):
                label = here + w[r] * (2 * (x[r, s] - y[r, s]) + 1)
                if label < above[s]:
                    above[s] = label
                    inner_from[parent[r], s] = r
                    changed = True
                    lowest = min(lowest, label)
        # Inner regions upwards, the second condition, and from the root's cells to the top.
        for r in range(n_inner - 1, 0, -1):
            above = inner[parent[r]]
            for s in range(n_sizes):
                label = inner[r, s] + w[r] * (2 * (x[r, s] - y[r, s]) + 1)
                if label < above[s]:
                    above[s] = label
                    inner_from[parent[r], s] = r
                    changed = True
                    lowest = min(lowest, label)
        for s in range(n_sizes):
            label = inner[0, s] + w[0] * (2 * (x[0, s] - y[0, s]) + 1)
            if label < ends[top]:
                ends[top] = label
                end_from[top] = s
                changed = True
                lowest = min(lowest, label)
        # Inner regions downwards, the first condition.
        for r in range(n_inner):
            for s in range(n_sizes):
                if x[r, s] > 0:
                    label = ends[top] if r == 0 else inner[parent[r], s]
                    label -= w[r] * (2 * (x[r, s] - y[r, s]) - 1)
                    if label < inner[r, s]:
                        inner[r, s] = label
                        inner_from[r, s] = _ABOVE
                        changed = True
                        lowest = min(lowest, label)
        # No arc lowers a label, so all conditions hold; or labels leave 64 bits; or a vertex is its own ancestor, a
        # negative cycle.
        if not changed:
            return SETTLED, sweep
        if lowest < _LOWEST:
            return TOO_LARGE, sweep
        if _has_cycle(inner_from, end_from, set_of, parent, mark):
            return NEGATIVE_CYCLE, sweep
    return NEGATIVE_CYCLE, most


@compiled
def _has_cycle(inner_from, end_from, set_of, parent, mark):
    """Say whether some vertex is its own ancestor; vertices are numbered inner cells, then ends, the top last."""
    n_inner, n_sizes = inner_from.shape
    first_end = n_inner * n_sizes
    top = first_end + len(end_from) - 1
    mark[:] = -1
    # Follow where labels came from until a vertex of this walk, a cycle, or of an earlier one, none, or a start.
    for start in range(top + 1):
        vertex = np.int64(start)
        while mark[vertex] < 0:
            mark[vertex] = start
            if vertex >= first_end:
                source = end_from[vertex - first_end]
                r, s = source // n_sizes, source % n_sizes
                before = parent[r] * n_sizes + s if r >= n_inner else s  # up through the root, or down into a leaf
            else:
                r, s = vertex // n_sizes, vertex % n_sizes
                source = np.int64(inner_from[r, s])
                if source == _ABOVE:
                    before = parent[r] * n_sizes + s if r else top
                elif source >= n_inner:
                    before = first_end + set_of[source - n_inner]
                else:
                    before = source * n_sizes + s
            if source == _START:
                break
            vertex = before
        else:
            if mark[vertex] == start:
                return True
    return False
