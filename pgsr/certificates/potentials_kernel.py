"""The compiled loop of `potentials`: lower labels of a residual network until they fit, or a negative cycle shows."""

import numpy as np

from pgsr.machine.compilation import compiled

SETTLED = 1
NEGATIVE_CYCLE = 0
TOO_LARGE = -1

NEVER = 2**61
"""A label so large that no other label is lowered by it."""

_START = -2
_DOWN = -3
_LOWEST = -(2**60)


@compiled
def settle(x, y, w, parent, first, first_sum, set_of, inner, ends):
    """Lower the labels of sums, `inner`, and of sets of leaves, `ends`, until no arc lowers any; state and sweeps.

    Region r has the cells first[r] : first[r + 1] of x and y, and, if it has children, the sums first_sum[r] :
    first_sum[r + 1] of `inner`, which may be fewer: the last one is of all its sizes from there on. Leaf l ends in the
    vertex ends[set_of[l]]; the last one, where leaves of no set end, is also the top above the root. A cell of size s
    is an arc from its own vertex, of the same size or the last (a leaf's is that of its set), to its parent's of size s
    (the root's is the top) of cost w (2 (x - y) + 1), and, where x > 0, one back of cost -w (2 (x - y) - 1).

    A sweep visits all leaves, each down into its set and up again, then inner regions upwards and downwards. A path
    between two sets runs up and then down, within one sweep, but for the step into a set and out of it by an earlier
    leaf, which takes two. Without a negative cycle the lowest labels come along paths that visit no vertex twice, so
    after 2 (sets + 1) + 1 sweeps they are there and the next one changes nothing. Mostly a negative cycle shows sooner:
    as a cycle of the vertices that labels came from. O(cells) per sweep.
    """
    n_regions, n_inner = len(first) - 1, len(first_sum) - 1
    n_ends = len(ends)
    top = n_ends - 1
    # The cell that a label came along: c if up, from the cell's own vertex, and -3 - c if down.
    inner_from = np.full(len(inner), _START, np.int64)
    end_from = np.full(n_ends, _START, np.int64)
    mark = np.empty(len(inner) + n_ends, np.int32)
    most = 2 * n_ends + 2
    for sweep in range(1, most + 1):
        changed = False
        lowest = np.int64(0)
        # Leaves: P[own] <= P[above] - w (2 (x - y) - 1) where x > 0, all cells of a set first, since they share its
        # potential; then P[above] <= P[own] + w (2 (x - y) + 1).
        for r in range(n_inner, n_regions):
            end, above = set_of[r - n_inner], first_sum[parent[r]]
            start, stop, here = first[r], first[r + 1], ends[end]
            for c in range(start, stop):
                if x[c] > 0:
                    label = inner[above + c - start] - w[r] * (2 * (x[c] - y[c]) - 1)
                    if label < here:
                        here = label
                        end_from[end] = _DOWN - c
            if here < ends[end]:
                ends[end] = here
                lowest = min(lowest, here)
                changed = True
            for c in range(start, stop):
                label = here + w[r] * (2 * (x[c] - y[c]) + 1)
                if label < inner[above + c - start]:
                    inner[above + c - start] = label
                    inner_from[above + c - start] = c
                    changed = True
                    lowest = min(lowest, label)
        # Inner regions upwards, the second condition, and from the root's cells to the top.
        for r in range(n_inner - 1, -1, -1):
            start, own, last = first[r], first_sum[r], first_sum[r + 1] - 1
            above = first_sum[parent[r]] if r else np.int64(0)
            for c in range(start, first[r + 1]):
                label = inner[min(own + c - start, last)] + w[r] * (2 * (x[c] - y[c]) + 1)
                if r:
                    if label < inner[above + c - start]:
                        inner[above + c - start] = label
                        inner_from[above + c - start] = c
                        changed = True
                        lowest = min(lowest, label)
                elif label < ends[top]:
                    ends[top] = label
                    end_from[top] = c
                    changed = True
                    lowest = min(lowest, label)
        # Inner regions downwards, the first condition.
        for r in range(n_inner):
            start, own, last = first[r], first_sum[r], first_sum[r + 1] - 1
            above = first_sum[parent[r]] if r else np.int64(0)
            for c in range(start, first[r + 1]):
                if x[c] > 0:
                    label = inner[above + c - start] if r else ends[top]
                    label -= w[r] * (2 * (x[c] - y[c]) - 1)
                    to = min(own + c - start, last)
                    if label < inner[to]:
                        inner[to] = label
                        inner_from[to] = _DOWN - c
                        changed = True
                        lowest = min(lowest, label)
        # No arc lowers a label, so all conditions hold; or labels leave 64 bits; or a vertex is its own ancestor, a
        # negative cycle.
        if not changed:
            return SETTLED, sweep
        if lowest < _LOWEST:
            return TOO_LARGE, sweep
        if _has_cycle(inner_from, end_from, set_of, parent, first, first_sum, mark):
            return NEGATIVE_CYCLE, sweep
    return NEGATIVE_CYCLE, most


@compiled
def _has_cycle(inner_from, end_from, set_of, parent, first, first_sum, mark):
    """Say whether some vertex is its own ancestor; vertices are numbered sums, then ends, the top last."""
    first_end, n_inner = len(inner_from), len(first_sum) - 1
    top = first_end + len(end_from) - 1
    mark[:] = -1
    # Follow where labels came from until a vertex of this walk, a cycle, or of an earlier one, none, or a start.
    for start in range(top + 1):
        vertex = np.int64(start)
        while mark[vertex] < 0:
            mark[vertex] = start
            source = inner_from[vertex] if vertex < first_end else end_from[vertex - first_end]
            if source == _START:
                break
            c = source if source >= 0 else _DOWN - source
            r = np.searchsorted(first, c, side="right") - 1
            s = c - first[r]
            if source < 0:  # down along the cell, from the vertex above it
                vertex = first_sum[parent[r]] + s if r else np.int64(top)
            elif r >= n_inner:
                vertex = np.int64(first_end + set_of[r - n_inner])
            else:
                vertex = min(first_sum[r] + s, first_sum[r + 1] - 1)
        else:
            if mark[vertex] == start:
                return True
    return False
