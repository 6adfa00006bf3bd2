"""The compiled loops over the tree of prices, shared by every dual of `pgsr.algorithms.cumulative_dual`.

Nodes are the inner regions that have a price, in level order (a node's children come after it). Their arrays are nodes
x cells. Leaves lie in chunks of one node each; `chunk_start[k]:chunk_stop[k]` are the leaves of chunk k, and
`chunk_from[r]:chunk_from[r + 1]` the chunks of node r. Sums are formed chunk by chunk and node by node, so that results
do not depend on the number of threads.

Block b of leaf l is edges[l, b]:edges[l, b + 1]. Those with inside[l, 0] <= b < inside[l, 1] may move: gain[l, b] is by
how much the block's value rises per unit of price on any of its cells, 0 where it is stuck. rate[r, i] is the same of a
node's own value. Minus the generalised Hessian of the dual is

    (H v)[r] = rate[r] (v[r] - v[parent]) + sum over child nodes j of rate[j] (v[r] - v[j])
             + sum over leaves l below r, blocks b of  gain[l, b] 1_b (1_b . v[r]).

The root's row is an unknown from cell `first_free` on; before it the price is 0. Where the root's last cell is `held`
at the public total it has no curvature of its own.
"""

import numba as nb
import numpy as np

COLUMNS = 32
"""Cells that one thread eliminates at a time."""


@nb.njit(cache=True, nogil=True, parallel=True)
def gradient(residual, own, parent, child_from, child, chunk_from, change, first_free, prices, out, value):
    """out[r] = c[r] - sum of the children's values; value[r] = prices[r] . out[r].

    `own` is c - y of the nodes, `change` x - y summed over the leaves of a chunk, and `residual` is y[r] minus the sum
    of the children's y.
    """
    n = prices.shape[1]
    for r in nb.prange(len(parent)):
        for i in range(n):
            out[r, i] = residual[r, i] + own[r, i]
        for j in child[child_from[r] : child_from[r + 1]]:
            for i in range(n):
                out[r, i] -= own[j, i]
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for i in range(n):
                out[r, i] -= change[k, i]
        if r == 0:
            out[0, :first_free] = 0.0
        total = 0.0
        for i in range(n):
            total += prices[r, i] * out[r, i]
        value[r] = total


@nb.njit(cache=True, nogil=True, parallel=True)
def sums_beyond(parent, grad, out):
    """out[r] = x[r] - c[r] where x[r] is the sum of the leaves below."""
    m, n = grad.shape
    for part in nb.prange((n + COLUMNS - 1) // COLUMNS):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m):
            for i in range(first, stop):
                out[r, i] = -grad[r, i]
        for r in range(m - 1, 0, -1):
            for i in range(first, stop):
                out[parent[r], i] += out[r, i]


@nb.njit(cache=True, nogil=True, parallel=True)
def diagonal(edges, inside, gain, chunk_from, chunk_start, chunk_stop, least, pivot):
    """pivot[r] = the diagonal of the leaves' part of the Hessian of node r, plus `least`."""
    m, n = pivot.shape
    for r in nb.prange(m):
        steps = np.zeros(n + 1)
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    share = gain[l, b]
                    steps[edges[l, b]] += share
                    steps[edges[l, b + 1]] -= share
        total = 0.0
        for i in range(n):
            total += steps[i]
            pivot[r, i] = max(total, 0.0) + least


@nb.njit(cache=True, nogil=True, parallel=True)
def factor(rate, parent, first_free, held, largest, pivot):
    """Eliminate the tree upwards, cell by cell, where the leaves' part is the diagonal given in `pivot`.

    Leaves one over the pivots there, and 0 where the root has no price. Returns the ridge added at the root's held
    cell, which is positive only if the diagonal is 0 there in every node; it is `largest`, what the leaves' gains at a
    cell add up to if every cell is a block.
    """
    m, n = pivot.shape
    for part in nb.prange((n + COLUMNS - 1) // COLUMNS):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m - 1, 0, -1):
            for i in range(first, stop):
                below = pivot[r, i]
                pivot[r, i] = below + rate[r, i]
                pivot[parent[r], i] += rate[r, i] * below / pivot[r, i]
    ridge = 0.0
    pivot[0, :first_free] = np.inf
    for i in range(first_free, n):
        if held and i == n - 1:
            if pivot[0, i] <= 1e-12 * largest:
                ridge = largest
            pivot[0, i] += ridge
        else:
            pivot[0, i] += rate[0, i]
    for r in nb.prange(m):
        for i in range(n):
            pivot[r, i] = 1.0 / pivot[r, i]
    return ridge


@nb.njit(cache=True, nogil=True, parallel=True)
def update(step, direction, product, x, rest, out):
    """x += step * direction, rest -= step * product, out = rest. `out` may be `product`."""
    m, n = x.shape
    for r in nb.prange(m):
        for i in range(n):
            x[r, i] += step * direction[r, i]
            rest[r, i] -= step * product[r, i]
            out[r, i] = rest[r, i]


@nb.njit(cache=True, nogil=True, parallel=True)
def combine(factor, v, direction):
    """direction = v + factor * direction."""
    m, n = v.shape
    for r in nb.prange(m):
        for i in range(n):
            direction[r, i] = v[r, i] + factor * direction[r, i]


@nb.njit(cache=True, nogil=True, parallel=True)
def solve(rate, parent, inverse, rest, out):
    """out = the solution of the factored system for the right-hand side out; returns rest . out.

    `inverse` is what `factor` left, one over the pivots.
    """
    m, n = inverse.shape
    n_parts = (n + COLUMNS - 1) // COLUMNS
    dots = np.zeros(n_parts)
    for part in nb.prange(n_parts):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m - 1, 0, -1):
            for i in range(first, stop):
                out[parent[r], i] += rate[r, i] * inverse[r, i] * out[r, i]
        for i in range(first, stop):
            out[0, i] *= inverse[0, i]
        for r in range(1, m):
            for i in range(first, stop):
                out[r, i] = (out[r, i] + rate[r, i] * out[parent[r], i]) * inverse[r, i]
        total = 0.0
        for r in range(m):
            for i in range(first, stop):
                total += rest[r, i] * out[r, i]
        dots[part] = total
    return dots.sum()


@nb.njit(cache=True, nogil=True, parallel=True)
def multiply(
    edges, inside, gain, rate, parent, child_from, child, chunk_from, chunk_start, chunk_stop,
    first_free, held, ridge, least, v, out,
):  # fmt: skip
    """out = (H + least) v, see the top of this file; returns v . out. A leaf costs its number of blocks."""
    m, n = v.shape
    dots = np.zeros(m)
    for r in nb.prange(m):
        sums = np.zeros(n + 1)
        steps = np.zeros(n + 1)
        for i in range(n):
            sums[i + 1] = sums[i] + v[r, i]
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    start, stop = edges[l, b], edges[l, b + 1]
                    rise = gain[l, b] * (sums[stop] - sums[start])
                    steps[start] += rise
                    steps[stop] -= rise
        level = 0.0
        for i in range(n):
            level += steps[i]
            above = v[parent[r], i] if r > 0 else 0.0
            out[r, i] = level + rate[r, i] * (v[r, i] - above) + least * v[r, i]
        if r == 0 and held:
            out[0, n - 1] += (ridge - rate[0, n - 1]) * v[0, n - 1]
        for j in child[child_from[r] : child_from[r + 1]]:
            for i in range(n):
                out[r, i] += rate[j, i] * (v[r, i] - v[j, i])
        if r == 0:
            out[0, :first_free] = 0.0
        total = 0.0
        for i in range(n):
            total += v[r, i] * out[r, i]
        dots[r] = total
    return dots.sum()


@nb.njit(cache=True, nogil=True, parallel=True)
def expand(edges, inside, level, upper, x):
    """x[l] = the values of the blocks of leaf l, clipped to 0..upper[l] and without a decrease in the last digit."""
    for l in nb.prange(len(edges)):
        value = 0.0
        for b in range(inside[l, 2]):
            value = max(value, min(level[l, b], upper[l]))
            for i in range(edges[l, b], edges[l, b + 1]):
                x[l, i] = value
