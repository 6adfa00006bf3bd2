"""The loops over the tree of prices, shared by every dual of M_c.

Nodes are the inner regions that have a price, in level order; arrays of them are nodes x cells.

    parent[r]               the node above r
    child, child_from       the children of r are child[child_from[r] : child_from[r + 1]]
    chunk_from[r]           leaves lie in chunks of one node each, those of r: chunk_from[r] .. chunk_from[r + 1] - 1
    chunk_start, chunk_stop    chunk k holds the leaves chunk_start[k] .. chunk_stop[k] - 1
    edges[l, b]             block b of leaf l is the cells edges[l, b] .. edges[l, b + 1] - 1, int32
    inside[l]               blocks inside[l, 0] .. inside[l, 1] - 1 may move, inside[l, 2] is their number in all
    gain[l, b]              by how much the block's value rises per unit of price on any of its cells, 0 where stuck
    rate[r, i]              the same of a node's own value
    first_free              the root's price is 0 before this cell, and an unknown from it on
    held                    whether the root's last cell is its public total, so that it has no curvature of its own

Every loop works on the nodes (`expand`: leaves) start .. stop - 1, for `pgsr.machine.parallel`. Nodes are in level
order, so a loop from the last to the first meets children before parents. Sums are formed chunk by chunk and node by
node, so that results do not depend on the number of threads. Minus the generalised Hessian of the dual, which the
docstring of this room derives, is

    (H v)[r] = rate[r] (v[r] - v[parent]) + sum over child nodes j of rate[j] (v[r] - v[j])
             + sum over leaves l below r, blocks b of  gain[l, b] 1_b (1_b . v[r]).
"""

import numpy as np

from pgsr.machine.compilation import compiled


@compiled
def gradient(start, stop, residual, own, parent, child_from, child, chunk_from, change, first_free, prices, out, value):
    """out[r] = c[r] - sum of the children's values; value[r] = prices[r] . out[r].

    `own` is c - y of the nodes, `change` x - y summed over the leaves of a chunk, and `residual` is y[r] minus the sum
    of the children's y.
    """
    n = prices.shape[1]
    for r in range(start, stop):
        # c[r] - sum of the children's y; what children take beyond their y goes off, nodes first, then leaves by
        # chunks.
        for i in range(n):
            out[r, i] = residual[r, i] + own[r, i]
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] -= own[j, i]
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for i in range(n):
                out[r, i] -= change[k, i]
        # Where the root has no price, D has no derivative by it.
        if r == 0:
            for i in range(first_free):
                out[0, i] = 0.0
        total = 0.0
        for i in range(n):
            total += prices[r, i] * out[r, i]
        value[r] = total


@compiled
def sums_beyond(start, stop, child_from, child, grad, out):
    """Upwards: out[r] = x[r] - c[r] where x[r] is the sum of the leaves below."""
    n = grad.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for i in range(n):
            out[r, i] = -grad[r, i]
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += out[j, i]


@compiled
def diagonal(start, stop, edges, inside, gain, chunk_from, chunk_start, chunk_stop, least, pivot):
    """pivot[r] = the diagonal of the leaves' part of the Hessian of node r, plus `least`."""
    n = pivot.shape[1]
    steps = np.empty(n + 1)
    for r in range(start, stop):
        for i in range(n + 1):
            steps[i] = 0.0
        # Every block adds its gain on its own cells: up at its first cell, down behind its last; running sums do the
        # rest.
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


@compiled
def eliminate(start, stop, rate, child_from, child, inverse, share):
    """Upwards: eliminate the tree cell by cell, where the leaves' part is the diagonal given in `inverse`.

    Leaves one over the pivots of the children there, and share = rate * inverse of them. The root has no parent, so its
    pivots stay as they are, without its own rate.
    """
    n = inverse.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                # Child j is out of (below + rate) v[j] - rate v[r]: its parent keeps rate below / (below + rate) of it.
                below = inverse[j, i]
                inverse[j, i] = 1.0 / (below + rate[j, i])
                share[j, i] = rate[j, i] * inverse[j, i]
                inverse[r, i] += share[j, i] * below


@compiled
def carry_up(start, stop, share, child_from, child, out):
    """Upwards: the right-hand side out of the factored system once children are eliminated."""
    n = out.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += share[j, i] * out[j, i]


@compiled
def carry_down(start, stop, inverse, share, parent, rest, out, dots):
    """Downwards: out = the solution of the factored system, after `carry_up`; dots[r] = rest[r] . out[r]."""
    n = out.shape[1]
    for r in range(start, stop):
        above, total = parent[r], 0.0
        for i in range(n):
            value = inverse[r, i] * out[r, i]
            if r > 0:
                value += share[r, i] * out[above, i]
            out[r, i] = value
            total += rest[r, i] * value
        dots[r] = total


@compiled
def multiply(
    start, stop, edges, inside, gain, rate, parent, child_from, child, chunk_from, chunk_start, chunk_stop,
    first_free, held, ridge, least, v, out, dots,
):  # fmt: skip
    """out = (H + least) v, see the top of this file; dots[r] = v[r] . out[r]. A leaf costs its number of blocks."""
    n = v.shape[1]
    sums, steps = np.empty(n + 1), np.empty(n + 1)
    for r in range(start, stop):
        # Prefix sums of v[r], by which 1_b . v[r] is one difference.
        sums[0], steps[0] = 0.0, 0.0
        for i in range(n):
            sums[i + 1] = sums[i] + v[r, i]
            steps[i + 1] = 0.0
        # The leaves' part: gain (1_b . v[r]) on the cells of b, written as a step up and a step down.
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    first, last = edges[l, b], edges[l, b + 1]
                    rise = gain[l, b] * (sums[last] - sums[first])
                    steps[first] += rise
                    steps[last] -= rise
        # The running sum of the steps, the node's own part rate (v[r] - v[parent]), and the diagonal.
        level = 0.0
        for i in range(n):
            level += steps[i]
            above = v[parent[r], i] if r > 0 else 0.0
            out[r, i] = level + rate[r, i] * (v[r, i] - above) + least * v[r, i]
        # The held cell is a constant: no curvature of its own, but what makes the matrix regular.
        if r == 0 and held:
            out[0, n - 1] += (ridge - rate[0, n - 1]) * v[0, n - 1]
        # The child nodes' part, rate[j] (v[r] - v[j]).
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += rate[j, i] * (v[r, i] - v[j, i])
        if r == 0:
            for i in range(first_free):
                out[0, i] = 0.0
        # The inner product of this node; nodes are added up in order elsewhere.
        total = 0.0
        for i in range(n):
            total += v[r, i] * out[r, i]
        dots[r] = total


@compiled
def expand(start, stop, edges, inside, level, upper, x):
    """x[l] = the values of the blocks of leaf l, clipped to 0..upper[l] and without a decrease in the last digit."""
    for l in range(start, stop):
        value = 0.0
        for b in range(inside[l, 2]):
            value = max(value, min(level[l, b], upper[l]))
            for i in range(edges[l, b], edges[l, b + 1]):
                x[l, i] = value
