"""The loops over the tree of prices, shared by every dual of M_c.

`pgsr.algorithms.m_c.arrays` says what `tree`, `blocks` and the other tuples hold; a loop that needs two fields at most
is given these alone, as a tuple takes its time to compile. Arrays of nodes have the shape (m, n), with m nodes and n
cells.

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
def gradient(start, stop, tree, takings, prices, out, value):
    """out[r] = c[r] - sum of the children's values, the derivative of D by p[r]; value[r] = p[r] . out[r]."""
    n = prices.shape[1]
    residual, own, change = takings.residual, takings.own, takings.change
    child_from, child, chunk_from = tree.child_from, tree.child, tree.chunk_from
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
            for i in range(tree.first_free):
                out[0, i] = 0.0
        total = 0.0
        for i in range(n):
            total += prices[r, i] * out[r, i]
        value[r] = total


@compiled
def sums_beyond(start, stop, child_from, child, grad, out):
    """Upwards: out[r] = x[r] - c[r] where x[r] is the sum of the leaves below.

    With g[r] = c[r] - sum of the children's values, where a child node j counts with c[j] and a leaf with x: that is
    -g[r] plus the sum over child nodes j of x[j] - c[j].
    """
    n = grad.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for i in range(n):
            out[r, i] = -grad[r, i]
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += out[j, i]


@compiled
def diagonal(start, stop, tree, blocks, lumped, pivot):
    """pivot[r] = the diagonal of the leaves' part of the Hessian of node r; where `lumped`, the sums of its rows."""
    n = pivot.shape[1]
    edges, inside, gain = blocks.edges, blocks.inside, blocks.gain
    chunk_from, chunk_start, chunk_stop = tree.chunk_from, tree.chunk_start, tree.chunk_stop
    steps = np.empty(n + 1)
    for r in range(start, stop):
        for i in range(n + 1):
            steps[i] = 0.0
        # Every block adds its gain on its own cells, or as often as it has cells: up at its first cell, down behind its
        # last; running sums do the rest.
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    first, last = edges[l, b], edges[l, b + 1]
                    share = gain[l, b] * (last - first if lumped else 1)
                    steps[first] += share
                    steps[last] -= share
        total = 0.0
        for i in range(n):
            total += steps[i]
            pivot[r, i] = max(total, 0.0)


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
def advance(start, stop, step, direction, product, x, rest):
    """x += step * direction, rest -= step * product; product = rest."""
    for r in range(start, stop):
        for i in range(x.shape[1]):
            x[r, i] += step * direction[r, i]
            rest[r, i] -= step * product[r, i]
            product[r, i] = rest[r, i]


@compiled
def carry_up(start, stop, share, child_from, child, out):
    """Upwards: the right-hand side out of the factored system once children are eliminated.

    With v[j] = (out[j] + rate v[r]) / pivot of `eliminate` in the equation of r, its right-hand side rises by
    rate / pivot out[j].
    """
    n = out.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += share[j, i] * out[j, i]


@compiled
def carry_down(start, stop, inverse, share, parent, rest, out, dots):
    """Downwards: out = the solution v of the factored system, after `carry_up`; dots[r] = rest[r] . v[r]."""
    n = out.shape[1]
    for r in range(start, stop):
        above, total = parent[r], 0.0
        for i in range(n):
            value = inverse[r, i] * out[r, i]
            if r > 0:  # v[r] = (out[r] + rate v[parent]) / pivot
                value += share[r, i] * out[above, i]
            out[r, i] = value
            total += rest[r, i] * value
        dots[r] = total


@compiled
def multiply(start, stop, tree, blocks, diagonal, v, out, dots):
    """out = H v, see the top of this file; dots[r] = v[r] . out[r]. A leaf costs its number of blocks."""
    n = v.shape[1]
    edges, inside, gain = blocks.edges, blocks.inside, blocks.gain
    rate, parent, child_from, child = diagonal.rate, tree.parent, tree.child_from, tree.child
    chunk_from, chunk_start, chunk_stop = tree.chunk_from, tree.chunk_start, tree.chunk_stop
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
        # The running sum of the steps, and the node's own part rate (v[r] - v[parent]).
        level = 0.0
        for i in range(n):
            level += steps[i]
            above = v[parent[r], i] if r > 0 else 0.0
            out[r, i] = level + rate[r, i] * (v[r, i] - above)
        # The held cell is a constant: no curvature of its own, but what makes the matrix regular.
        if r == 0 and tree.held:
            out[0, n - 1] += (diagonal.ridge - rate[0, n - 1]) * v[0, n - 1]
        # The child nodes' part, rate[j] (v[r] - v[j]).
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for i in range(n):
                out[r, i] += rate[j, i] * (v[r, i] - v[j, i])
        # Where the root has no price, v is 0 and so is its equation.
        if r == 0:
            for i in range(tree.first_free):
                out[0, i] = 0.0
        # The inner product of this node; nodes are added up in order elsewhere.
        total = 0.0
        for i in range(n):
            total += v[r, i] * out[r, i]
        dots[r] = total


@compiled
def expand(start, stop, blocks, upper, x):
    """x[l] = the values of the blocks of leaf l, clipped to 0..upper[l] and without a decrease in the last digit."""
    edges, inside, level = blocks.edges, blocks.inside, blocks.level
    for l in range(start, stop):
        value = 0.0
        for b in range(inside[l, 2]):
            value = max(value, min(level[l, b], upper[l]))
            for i in range(edges[l, b], edges[l, b + 1]):
                x[l, i] = value
