"""The compiled loops of `dual` on one level of regions, rows start..stop-1. Names are those of the room.

Arguments that occur everywhere:

    y[r, s]            targets, s < K
    w[q, s]            weights, of region q = r, or q = 0 where all regions have the same
    total[r]           number of groups, the largest that a cumulative count can be
    parent[r]          row of the region above in the table of its level; `above` has one row of zeros at the root
    above[p, s]        prices of the regions above, s < K
    own[r, s]          prices of the region itself, s < k; k = 0 at leaves
    free               whether a region's values need no order of their own
    stop_of[r, s]      where the block that begins at cell s ends; negative where the block is at a bound
    from_child[r]      its children are rows from_child[r] .. from_child[r + 1] - 1 of the level below
    *_below            the same of the level below
"""

import numpy as np

from pgsr.algorithms.m_c.integers_kernel import softly_rounded
from pgsr.machine.compilation import compiled


@compiled
def fit(start, stop, y, w, total, parent, above, own, free, softness, c, stop_of, cost):
    """Fill c with the counts of regions at given prices, `stop_of` with its blocks, and cost[r] with their costs.

    That is the sum over s of w d^2 - (above - own) d, d = c - y: the part of the dual that `FoldedDual` sums up. Counts
    are rounded softly, which at softness 1 leaves them as they are.
    """
    n_sizes, k = y.shape[1], own.shape[1]
    weight, mean, first = np.empty(n_sizes), np.empty(n_sizes), np.empty(n_sizes, np.int64)
    for r in range(start, stop):
        p, q = parent[r], row_of(w, r)
        blocks = 0
        for s in range(n_sizes):
            # w (c - y)^2 - (p[parent] - p[r]) c is a square around y + (p[parent] - p[r]) / 2 w: that itself where the
            # region is free, else their isotonic regression, whose blocks' means are weighted by w.
            paid = above[p, s] - (own[r, s] if s < k else 0.0)
            target = y[r, s] + 0.5 * paid / w[q, s]
            if free:
                c[r, s] = softly_rounded(target, softness)
                continue
            weight[blocks], mean[blocks], first[blocks] = w[q, s], target, s
            blocks += 1
            while blocks > 1 and mean[blocks - 2] >= mean[blocks - 1]:
                blocks -= 1
                together = weight[blocks - 1] + weight[blocks]
                mean[blocks - 1] += (mean[blocks] - mean[blocks - 1]) * (weight[blocks] / together)
                weight[blocks - 1] = together
        if not free:
            # Means are clipped to 0..G; a block at a bound does not move with the prices.
            for b in range(blocks):
                end = first[b + 1] if b + 1 < blocks else n_sizes
                value = min(max(mean[b], 0.0), float(total[r]))
                stop_of[r, first[b]] = end if value == mean[b] else -end
                value = softly_rounded(value, softness)
                for s in range(first[b], end):
                    c[r, s] = value
        # w d^2 - (p[parent] - p[r]) d at d = c - y.
        so_far = 0.0
        for s in range(n_sizes):
            paid = above[p, s] - (own[r, s] if s < k else 0.0)
            d = c[r, s] - y[r, s]
            so_far += (w[q, s] * d - paid) * d
        cost[r] = so_far


@compiled
def row_of(w, r):
    """Give the row of a region's weights."""
    return r if len(w) > 1 else 0


@compiled
def moved(r, limit, w, p, above, own, free, stop_of, out):
    """Fill out[s], s < limit, with the changes of the counts of region r when prices change by `above` and `own`."""
    k, n_sizes, q = own.shape[1], w.shape[1], row_of(w, r)
    if free:
        for s in range(limit):
            out[s] = 0.5 * (above[p, s] - (own[r, s] if s < k else 0.0)) / w[q, s]
        return
    s = 0
    while s < limit:
        end = stop_of[r, s]
        value = 0.0
        if end > 0:
            # The mean of y + (p[parent] - p[r]) / 2 w, weighted by w, moves by (sum of the change of p[parent] - p[r])
            # / 2 W, with W the sum of w over the block.
            paid, weight = 0.0, 0.0
            for i in range(s, end):
                paid += above[p, i] - (own[r, i] if i < k else 0.0)
                weight += w[q, i]
            value = 0.5 * paid / weight
        for i in range(s, min(abs(end), n_sizes)):
            out[i] = value
        s = abs(end)


@compiled
def product(
    start,
    stop,
    w,
    parent,
    above,
    own,
    free,
    stop_of,
    from_child,
    w_below,
    own_below,
    free_below,
    stop_below,
    ridge,
    out,
):
    """Compute minus the Hessian times prices: the change of the children's counts less the region's own, s < k."""
    k = own.shape[1]
    room, below = np.empty(w.shape[1]), np.empty(w_below.shape[1])
    for r in range(start, stop):
        moved(r, k, w, parent[r], above, own, free, stop_of, room)
        for s in range(k):
            out[r, s] = ridge * own[r, s] - room[s]
        for child in range(from_child[r], from_child[r + 1]):
            moved(child, k, w_below, r, own, own_below, free_below, stop_below, below)
            for s in range(k):
                out[r, s] += below[s]


@compiled
def rates(r, limit, w, free, stop_of, out):
    """Fill out[s], s < limit, with how much more region r takes in cell s for a price that is higher there alone."""
    q = row_of(w, r)
    if free:
        for s in range(limit):
            out[s] = 0.5 / w[q, s]
        return
    s = 0
    while s < limit:
        end = stop_of[r, s]
        value = 0.0
        if end > 0:
            weight = 0.0
            for i in range(s, end):
                weight += w[q, i]
            value = 0.5 / weight
        for i in range(s, min(abs(end), limit)):
            out[i] = value
        s = abs(end)


@compiled
def eliminate(
    start, stop, w, free, stop_of, from_child, w_below, free_below, stop_below, pivot_below, ridge, edge, pivot
):
    """Eliminate the level below from the tree of every size: fill in edges to the region above, and pivots."""
    k, k_below = edge.shape[1], pivot_below.shape[1]
    below = np.empty(k)
    for r in range(start, stop):
        # In a size's tree region r has the equation (edge + ridge + sum of rates) v[r] = z[r] + edge v[parent] + sum of
        # rate v[child].
        rates(r, k, w, free, stop_of, edge[r])
        for s in range(k):
            pivot[r, s] = edge[r, s] + ridge
        for child in range(from_child[r], from_child[r + 1]):
            rates(child, k, w_below, free_below, stop_below, below)
            for s in range(k):
                # Child c is out by v[c] = (z[c] + rate v[r]) / pivot, which leaves rate - rate^2 / pivot of it; one
                # that has no price at s is a constant, and leaves all.
                rate = below[s]
                if s < k_below:
                    rate -= rate * rate / pivot_below[child, s]
                pivot[r, s] += rate


@compiled
def carry_up(start, stop, from_child, edge_below, pivot_below, z_below, z):
    """Add to z the rest of the equations of the level below once its prices are eliminated."""
    k_below = edge_below.shape[1]
    for r in range(start, stop):
        for child in range(from_child[r], from_child[r + 1]):
            # rate v[c] without v[r]: rate / pivot z[c].
            for s in range(k_below):
                z[r, s] += edge_below[child, s] / pivot_below[child, s] * z_below[child, s]


@compiled
def carry_down(start, stop, parent, above, edge, pivot, z):
    """Solve for the prices of a level from those above, in the memory of z."""
    for r in range(start, stop):
        for s in range(z.shape[1]):
            z[r, s] = (z[r, s] + edge[r, s] * above[parent[r], s]) / pivot[r, s]
