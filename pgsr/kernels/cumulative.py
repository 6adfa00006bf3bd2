"""The compiled loops of `CumulativeProjection`.

Nodes are the inner regions that have a price, in level order (a node's children come after it). Their arrays are nodes
x cells. Leaves lie in chunks of one node each; `chunk_start[k]:chunk_stop[k]` are the leaves of chunk k, and
`chunk_from[r]:chunk_from[r + 1]` the chunks of node r. Sums are formed chunk by chunk and node by node, so that results
do not depend on the number of threads.

The root's row is an unknown from cell `first_free` on; before it the price is 0. Where the root's last cell is `held`
at the public total it has no curvature of its own.
"""

import numba as nb
import numpy as np

COLUMNS = 128
"""Cells that one thread eliminates at a time."""


@nb.njit(inline="always")
def push(s, start, stop, blocks, total, begin):
    """Put the block start:stop with sum s on the stack, pooled with those before it that are not below its mean."""
    while blocks > 0:
        b = blocks - 1
        if total[b] * (stop - start) < s * (start - begin[b]):
            break
        s += total[b]
        start = begin[b]
        blocks = b
    total[blocks] = s
    begin[blocks] = start
    return blocks + 1


@nb.njit(cache=True, nogil=True)
def pool(y, price, rate, n, edges, known, sums, total, begin):
    """Pool adjacent violators of y + rate * price: block b is begin[b]:begin[b + 1] with sum total[b]; how many.

    Starts from the `known` blocks between `edges` wherever they still are blocks, which is so if no first part of one
    has a mean below the whole's, and else from their cells. Pooling may go in any order, so the result is the same. It
    is three times faster than from cells, where every comparison is a branch that nobody can predict.
    """
    blocks = 0
    for k in range(known):
        start, stop = edges[k], edges[k + 1]
        s = 0.0
        for i in range(start, stop):
            s += y[i] + rate * price[i]
            sums[i] = s
        mean = s / (stop - start)
        broken = 0
        for i in range(start, stop - 1):
            broken += sums[i] < mean * (i + 1 - start)
        if broken == 0:
            blocks = push(s, start, stop, blocks, total, begin)
        else:
            for i in range(start, stop):
                blocks = push(y[i] + rate * price[i], i, i + 1, blocks, total, begin)
    begin[blocks] = n
    return blocks


@nb.njit(cache=True, nogil=True, parallel=True)
def fit_leaves(y, upper, weight, prices, chunk_node, chunk_start, chunk_stop, n, edges, inside, change, cost):
    """All isotonic regressions at these prices.

    The blocks of leaf l are edges[l, b]:edges[l, b + 1] for b below inside[l, 2]; it starts from those given. Of them
    inside[l, 0] <= b < inside[l, 1] lie strictly inside 0..upper[l]. change[k] = sum over the leaves of chunk k of
    x - y, cost[k] that of w (x - y)^2.
    """
    for k in nb.prange(len(chunk_node)):
        total, sums, moved = np.empty(n), np.empty(n), np.zeros(n)
        begin = np.empty(n + 1, np.int64)
        spent = 0.0
        price = prices[chunk_node[k]]
        for l in range(chunk_start[k], chunk_stop[k]):
            row = y[l]
            blocks = pool(row, price, 0.5 / weight[l], n, edges[l], inside[l, 2], sums, total, begin)
            below, above = 0, blocks
            squares = 0.0
            for b in range(blocks):
                start, stop = begin[b], begin[b + 1]
                edges[l, b] = start
                value = total[b] / (stop - start)
                if value <= 0.0:
                    value = 0.0
                    below = b + 1
                elif value >= upper[l]:
                    value = upper[l]
                    above = min(above, b)
                for i in range(start, stop):
                    d = value - row[i]
                    moved[i] += d
                    squares += d * d
            edges[l, blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = below, max(below, above), blocks
            spent += weight[l] * squares
        change[k] = moved
        cost[k] = spent


@nb.njit(cache=True, nogil=True, parallel=True)
def leaf_values(y, upper, weight, prices, leaf_node, n, edges, inside, x):
    """x[l, :n] = the isotonic regression of leaf l, without a decrease even in the last digit."""
    for l in nb.prange(len(leaf_node)):
        total, sums = np.empty(n), np.empty(n)
        begin = np.empty(n + 1, np.int64)
        price = prices[leaf_node[l]]
        blocks = pool(y[l], price, 0.5 / weight[l], n, edges[l], inside[l, 2], sums, total, begin)
        value = 0.0
        for b in range(blocks):
            value = max(value, min(total[b] / (begin[b + 1] - begin[b]), upper[l]))
            for i in range(begin[b], begin[b + 1]):
                x[l, i] = value


@nb.njit(cache=True, nogil=True, parallel=True)
def gradient(residual, rate, parent, child_from, child, chunk_from, change, first_free, held, prices, out, value):
    """out[r] = c[r] - sum of the children's values; value[r] = w[r] |c[r] - y[r]|^2 + prices[r] . out[r].

    c[r] - y[r] = rate[r] (price above - price of r), and `residual` is y[r] minus the sum of the children's y.
    """
    n = prices.shape[1]
    for r in nb.prange(len(rate)):
        total = 0.0
        for i in range(n):
            above = prices[parent[r], i] if r > 0 else 0.0
            own = 0.0 if r == 0 and held and i == n - 1 else rate[r] * (above - prices[r, i])
            total += 0.5 * own * (above - prices[r, i])
            out[r, i] = residual[r, i] + own
        for j in child[child_from[r] : child_from[r + 1]]:
            for i in range(n):
                out[r, i] -= rate[j] * (prices[r, i] - prices[j, i])
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for i in range(n):
                out[r, i] -= change[k, i]
        if r == 0:
            out[0, :first_free] = 0.0
        for i in range(n):
            total += prices[r, i] * out[r, i]
        value[r] = total


@nb.njit(cache=True, nogil=True, parallel=True)
def node_costs(rate, weight, parent, held, prices, grad, sums, cost):
    """cost[r] = w[r] |x[r] - y[r]|^2 where x[r] is the sum of the leaves below; sums[r] = x[r] - c[r].

    The root's held cell is left out of the cost; sums[0, -1] is what the leaves have beyond the public total.
    """
    m, n = prices.shape
    n_parts = (n + COLUMNS - 1) // COLUMNS
    parts = np.zeros((n_parts, m))
    for part in nb.prange(n_parts):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m):
            for i in range(first, stop):
                sums[r, i] = -grad[r, i]
        for r in range(m - 1, -1, -1):
            total = 0.0
            for i in range(first, stop):
                above = prices[parent[r], i] if r > 0 else 0.0
                if r > 0:
                    sums[parent[r], i] += sums[r, i]
                elif held and i == n - 1:
                    continue
                d = rate[r] * (above - prices[r, i]) + sums[r, i]
                total += d * d
            parts[part, r] = weight[r] * total
    for r in range(m):
        cost[r] = parts[:, r].sum()


@nb.njit(cache=True, nogil=True, parallel=True)
def factor(edges, inside, weight, rate, parent, chunk_from, chunk_start, chunk_stop, first_free, held, pivot):
    """Eliminate the tree upwards, cell by cell, with every block projection replaced by its diagonal.

    Leaves one over the pivots in `pivot`, and 0 where the root has no price. Returns the ridge added at the root's held
    cell, which is positive only if no leaf's last cell can move.
    """
    m, n = pivot.shape
    for r in nb.prange(m):
        steps = np.zeros(n + 1)
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    start, stop = edges[l, b], edges[l, b + 1]
                    share = 0.5 / (weight[l] * (stop - start))
                    steps[start] += share
                    steps[stop] -= share
        total = 0.0
        for i in range(n):
            total += steps[i]
            pivot[r, i] = max(total, 0.0)
    for part in nb.prange((n + COLUMNS - 1) // COLUMNS):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m - 1, 0, -1):
            for i in range(first, stop):
                below = pivot[r, i]
                pivot[r, i] = below + rate[r]
                pivot[parent[r], i] += rate[r] * below / pivot[r, i]
    ridge = 0.0
    pivot[0, :first_free] = np.inf
    for i in range(first_free, n):
        if held and i == n - 1:
            largest = 0.5 * (1.0 / weight).sum()
            if pivot[0, i] <= 1e-12 * largest:
                ridge = largest
            pivot[0, i] += ridge
        else:
            pivot[0, i] += rate[0]
    for r in nb.prange(m):
        for i in range(n):
            pivot[r, i] = 1.0 / pivot[r, i]
    return ridge


@nb.njit(cache=True, nogil=True, parallel=True)
def precondition(rate, parent, inverse, step, direction, product, x, rest, out):
    """x += step * direction, rest -= step * product, out = solution of the factored system; returns rest . out.

    `inverse` is what `factor` left, one over the pivots. `out` may be `product`.
    """
    m, n = inverse.shape
    n_parts = (n + COLUMNS - 1) // COLUMNS
    dots = np.zeros(n_parts)
    for part in nb.prange(n_parts):
        first, stop = part * COLUMNS, min(n, (part + 1) * COLUMNS)
        for r in range(m):
            for i in range(first, stop):
                x[r, i] += step * direction[r, i]
                rest[r, i] -= step * product[r, i]
                out[r, i] = rest[r, i]
        for r in range(m - 1, 0, -1):
            for i in range(first, stop):
                out[parent[r], i] += rate[r] * inverse[r, i] * out[r, i]
        for i in range(first, stop):
            out[0, i] *= inverse[0, i]
        for r in range(1, m):
            for i in range(first, stop):
                out[r, i] = (out[r, i] + rate[r] * out[parent[r], i]) * inverse[r, i]
        total = 0.0
        for r in range(m):
            for i in range(first, stop):
                total += rest[r, i] * out[r, i]
        dots[part] = total
    return dots.sum()


@nb.njit(cache=True, nogil=True, parallel=True)
def multiply(
    edges, inside, weight, rate, parent, child_from, child, chunk_from, chunk_start, chunk_stop,
    first_free, held, ridge, v, out,
):  # fmt: skip
    """out = H v, minus the generalised Hessian of the dual; returns v . out. A leaf costs its number of blocks."""
    m, n = v.shape
    dots = np.zeros(m)
    for r in nb.prange(m):
        sums = np.zeros(n + 1)
        steps = np.zeros(n + 1)
        for i in range(n):
            sums[i + 1] = sums[i] + v[r, i]
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                half = 0.5 / weight[l]
                for b in range(inside[l, 0], inside[l, 1]):
                    start, stop = edges[l, b], edges[l, b + 1]
                    mean = half * (sums[stop] - sums[start]) / (stop - start)
                    steps[start] += mean
                    steps[stop] -= mean
        level = 0.0
        for i in range(n):
            level += steps[i]
            above = v[parent[r], i] if r > 0 else 0.0
            out[r, i] = level + rate[r] * (v[r, i] - above)
        if r == 0 and held:
            out[0, n - 1] += (ridge - rate[0]) * v[0, n - 1]
        for j in child[child_from[r] : child_from[r + 1]]:
            for i in range(n):
                out[r, i] += rate[j] * (v[r, i] - v[j, i])
        if r == 0:
            out[0, :first_free] = 0.0
        total = 0.0
        for i in range(n):
            total += v[r, i] * out[r, i]
        dots[r] = total
    return dots.sum()
