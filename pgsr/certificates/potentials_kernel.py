"""The compiled loop of `potentials`: lower labels of a residual network until they fit, or a negative cycle shows."""

import numpy as np

from pgsr.compilation import compiled

SETTLED = 1
NEGATIVE_CYCLE = 0
TOO_LARGE = -1

NEVER = 2**61
"""A label so large that no other label is lowered by it."""

_ABOVE = -1
_START = -2
_LOWEST = -(2**60)


@compiled
def settle(x, y, w, parent, n_inner, top, inner, leaf):
    """Lower the labels top[0], inner[region, size] and leaf[leaf] until no arc lowers any; returns state and sweeps.

    Cell (r, s) is an arc from its own vertex (a leaf's is the same for all sizes) to its parent's (the root's is the
    same for all sizes) of cost w (2 (x - y) + 1), and, where x > 0, one back of cost -w (2 (x - y) - 1).

    A sweep visits all leaves, each down into the leaf and up again, then inner regions upwards and downwards. A path
    between two leaves runs up and then down, within one sweep. Without a negative cycle the lowest labels come along
    paths that visit no leaf twice, so after n_leaves + 1 sweeps they are there and the next one changes nothing. Mostly
    a negative cycle shows sooner: as a cycle of the vertices that labels came from. O(cells) per sweep.
    """
    n_regions, n_sizes = x.shape
    n_leaves = n_regions - n_inner
    inner_from = np.full((n_inner, n_sizes), _START, np.int32)
    leaf_from = np.full(n_leaves, _START, np.int32)
    top_from = np.int64(_START)
    mark = np.empty(n_inner * n_sizes + n_leaves + 1, np.int32)
    for sweep in range(1, n_leaves + 3):
        changed = False
        lowest = np.int64(0)
        for r in range(n_inner, n_regions):
            above, here = inner[parent[r]], leaf[r - n_inner]
            for s in range(n_sizes):
                if x[r, s] > 0:
                    label = above[s] - w[r] * (2 * (x[r, s] - y[r, s]) - 1)
                    if label < here:
                        here = label
                        leaf_from[r - n_inner] = s
            if here < leaf[r - n_inner]:
                leaf[r - n_inner] = here
                lowest = min(lowest, here)
                changed = True
            for s in range(n_sizes):
                label = here + w[r] * (2 * (x[r, s] - y[r, s]) + 1)
                if label < above[s]:
                    above[s] = label
                    inner_from[parent[r], s] = r
                    changed = True
                    lowest = min(lowest, label)
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
            if label < top[0]:
                top[0] = label
                top_from = s
                changed = True
                lowest = min(lowest, label)
        for r in range(n_inner):
            for s in range(n_sizes):
                if x[r, s] > 0:
                    label = top[0] if r == 0 else inner[parent[r], s]
                    label -= w[r] * (2 * (x[r, s] - y[r, s]) - 1)
                    if label < inner[r, s]:
                        inner[r, s] = label
                        inner_from[r, s] = _ABOVE
                        changed = True
                        lowest = min(lowest, label)
        if not changed:
            return SETTLED, sweep
        if lowest < _LOWEST:
            return TOO_LARGE, sweep
        if _has_cycle(inner_from, leaf_from, top_from, parent, mark):
            return NEGATIVE_CYCLE, sweep
    return NEGATIVE_CYCLE, n_leaves + 2


@compiled
def _has_cycle(inner_from, leaf_from, top_from, parent, mark):
    """Say whether some vertex is its own ancestor; vertices are numbered inner cells, leaves, top."""
    n_inner, n_sizes = inner_from.shape
    first_leaf = n_inner * n_sizes
    top = first_leaf + len(leaf_from)
    mark[:] = -1
    for start in range(top + 1):
        vertex = np.int64(start)
        while mark[vertex] < 0:
            mark[vertex] = start
            if vertex == top:
                s = top_from
                before = s
            elif vertex >= first_leaf:
                s = np.int64(leaf_from[vertex - first_leaf])
                before = parent[n_inner + vertex - first_leaf] * n_sizes + s
            else:
                r, s = vertex // n_sizes, vertex % n_sizes
                source = np.int64(inner_from[r, s])
                if source == _ABOVE:
                    before = parent[r] * n_sizes + s if r else top
                elif source >= n_inner:
                    before = first_leaf + source - n_inner
                else:
                    before = source * n_sizes + s
                s = source
            if s == _START:
                break
            vertex = before
        else:
            if mark[vertex] == start:
                return True
    return False
