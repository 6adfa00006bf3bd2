"""The loops of integers: takings that are softly rounded, and leaves that settle; see `integers`.

Tuples and ranges as in `squares_kernel`, unless stated otherwise.
"""

import math

import numpy as np

from pgsr.algorithms.m_c.squares_kernel import push, push_within
from pgsr.machine.compilation import compiled, inlined


@inlined
def softly_rounded(value, softness):
    """`value` pulled towards integers: a slope of 1 / softness around every half, level elsewhere; 0 rounds it."""
    if softness == 1.0:
        return value
    whole = math.floor(value)
    rest = value - whole
    if softness == 0.0:
        return whole + (rest > 0.5)
    return whole + min(1.0, max(0.0, (rest - 0.5) / softness + 0.5))


@compiled
def fit_leaves(start, stop, leaves, tree, sums, softness, blocks, taken):
    """Isotonic regressions of y + price / 2 weight, softly rounded, of the leaves in chunks start .. stop - 1.

    taken[k] becomes the sum over the leaves of chunk k. Starts from the blocks given: one whose first parts all have
    means of at least the whole's is still a block. With prefix sums that is a comparison per cell, independent of the
    one before.
    """
    upper, weight, n = leaves.upper, leaves.weight, taken.shape[1]
    chunk_node, chunk_start, chunk_stop = tree.chunk_node, tree.chunk_start, tree.chunk_stop
    edges, inside, level = blocks.edges, blocks.inside, blocks.level
    total, begin = np.empty(n), np.empty(n + 1, np.int64)
    for k in range(start, stop):
        steps, prices = taken[k], sums.prices[chunk_node[k]]
        for i in range(n):
            steps[i] = 0.0
        for l in range(chunk_start[k], chunk_stop[k]):
            row = sums.y[l]
            rate = 0.5 / weight[l]
            n_blocks = 0
            for b in range(inside[l, 2]):
                first, last = edges[l, b], edges[l, b + 1]
                # With S(i) the sum over the block's cells before i of y + p / 2 w, it stays whole if always
                # S(i) >= mean (i - first).
                base = row[first] + rate * prices[first]
                s = row[last] + rate * prices[last] - base
                mean = s / (last - first)
                broken = 0
                for i in range(first + 1, last):
                    broken += row[i] + rate * prices[i] - base < mean * (i - first)
                if broken == 0:
                    n_blocks = push(s, first, last, n_blocks, total, begin)
                else:
                    for i in range(first, last):
                        s = row[i + 1] - row[i] + rate * (prices[i + 1] - prices[i])
                        n_blocks = push(s, i, i + 1, n_blocks, total, begin)
            begin[n_blocks] = n
            # The best integers of a chain are the values of its real blocks, rounded, which stay in order. `taken` gets
            # them as steps where they rise.
            before = 0.0
            for b in range(n_blocks):
                first = begin[b]
                value = softly_rounded(total[b] / (begin[b + 1] - first), softness)
                value = min(max(value, 0.0), upper[l])
                edges[l, b], level[l, b] = first, value
                steps[first] += value - before
                before = value
            edges[l, n_blocks] = n
            inside[l, 2] = n_blocks
        value = 0.0
        for i in range(n):
            value += steps[i]
            steps[i] = value


@compiled
def fit_bounded_leaves(start, stop, leaves, tree, sums, softness, blocks, taken):
    """`fit_leaves` where cells have integer bounds that decrease nowhere, least[l, i] and most[l, i]; from cells."""
    least, most, weight, n = leaves.least, leaves.most, leaves.weight, taken.shape[1]
    chunk_node, chunk_start, chunk_stop = tree.chunk_node, tree.chunk_start, tree.chunk_stop
    edges, inside, level = blocks.edges, blocks.inside, blocks.level
    total, value, begin = np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    for k in range(start, stop):
        steps, prices = taken[k], sums.prices[chunk_node[k]]
        for i in range(n):
            steps[i] = 0.0
        for l in range(chunk_start[k], chunk_stop[k]):
            rate = 0.5 / weight[l]
            n_blocks = 0
            for i in range(n):
                s = sums.y[l, i + 1] - sums.y[l, i] + rate * (prices[i + 1] - prices[i])
                n_blocks = push_within(s, i, n_blocks, least[l], most[l], total, value, begin)
            begin[n_blocks] = n
            for b in range(n_blocks):
                edges[l, b], level[l, b] = begin[b], softly_rounded(value[b], softness)
                for i in range(begin[b], begin[b + 1]):
                    steps[i] += level[l, b]
            edges[l, n_blocks] = n
            inside[l, 2] = n_blocks


@compiled
def fit_nodes(start, stop, rate, parent, held, prices, softness, own):
    """own[r] = c[r] - y[r], softly rounded; 0 where held or without weight."""
    n = prices.shape[1]
    for r in range(start, stop):
        for i in range(n):
            # c = y + (p[parent] - p[r]) / 2 w, and y is an integer, so that c - y is rounded as c is.
            above = prices[parent[r], i] if r > 0 else 0.0
            d = 0.0 if r == 0 and held and i == n - 1 else rate[r, i] * (above - prices[r, i])
            own[r, i] = softly_rounded(d, softness)


@compiled
def settle(start, stop, leaves, wishes, fixed, backwards, x, moved):
    """Find, leaf by leaf, the best integers while all others stay.

    Moving a cell of a leaf by d costs the leaf w ((x + d - y)^2 - (x - y)^2), and every node a on its way up
    stiff[a] d^2 - 2 pull[a] d. All that is one square per cell, mass (d - wish)^2 but for a constant, with

        mass = w + sum of stiff[a],    wish = (w (y - x) + sum of pull[a]) / mass,

    so the leaf's best integers are the isotonic regression of its target x + wish, rounded. Nodes of stiffness 0 do not
    take part. With `fixed` the last cell stays. moved[r] = number of leaves of node r that moved.

    Cells keep within the bounds `least` and `most`, which are integers, if there are any.
    """
    y, upper, least, most, weight = leaves.y, leaves.upper, leaves.least, leaves.most, leaves.weight
    parent, order, first = wishes.parent, wishes.order, wishes.first
    stiff, pull = wishes.stiff, wishes.pull
    n = pull.shape[1] - fixed
    bounded = least.size > 0
    target, total, within = np.empty(n), np.empty(n), np.empty(n)
    begin, best = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    for r in range(start, stop):
        moved[r] = 0
        for at in range(first[r], first[r + 1]):
            l = order[first[r] + first[r + 1] - 1 - at if backwards else at]
            w = weight[l]
            mass = w
            for i in range(n):
                target[i] = w * (y[l, i] - x[l, i])
            # The target, from the leaf and the nodes above it.
            a = r
            while a >= 0:
                if stiff[a] > 0.0:
                    mass += stiff[a]
                    for i in range(n):
                        target[i] += pull[a, i]
                a = parent[a]
            # Its isotonic regression.
            blocks = 0
            for i in range(n):
                target[i] = target[i] / mass + x[l, i]
                if bounded:
                    blocks = push_within(target[i], i, blocks, least[l], most[l], total, within, begin)
                else:
                    blocks = push(target[i], i, i + 1, blocks, total, begin)
            begin[blocks] = n
            top = float(x[l, n]) if fixed else upper[l]
            # Rounded; mass wish^2 - mass (d - wish)^2 is what a cell gains.
            gain = 0.0
            for b in range(blocks):
                mean = within[b] if bounded else total[b] / (begin[b + 1] - begin[b])
                value = min(max(np.rint(mean), 0.0), top)
                for i in range(begin[b], begin[b + 1]):
                    best[i] = np.int64(value)
                    d, wish = value - x[l, i], target[i] - x[l, i]
                    gain += d * (2.0 * wish - d)
            if gain * mass < 1e-6:  # ties of integers do not go to and fro
                continue
            moved[r] += 1
            # (stiff d^2 - 2 pull d) at d + d' is that at d plus the same in d' with pull - stiff d.
            a = r
            while a >= 0:
                if stiff[a] > 0.0:
                    for i in range(n):
                        pull[a, i] -= stiff[a] * (best[i] - x[l, i])
                a = parent[a]
            for i in range(n):
                x[l, i] = best[i]


@compiled
def tail_costs(start, stop, leaves, leaf_node, path, sign, x, tails):
    """Find the tail of every leaf, some cell to the last one, that is the cheapest to move by `sign`.

    path[r, i] is what that costs the nodes from r up, at cell i. No cell leaves the bounds of `settle`.
    """
    y, least, most, weight = leaves.y, leaves.least, leaves.most, leaves.weight
    cost, where = tails.cost, tails.where
    n = path.shape[1]
    bounded = least.size > 0
    for l in range(start, stop):
        r, w = leaf_node[l], weight[l]
        total, cost[l] = 0.0, np.inf
        for i in range(n - 1, -1, -1):
            if bounded and (x[l, i] >= most[l, i] if sign > 0 else x[l, i] <= least[l, i]):
                break
            # (x + sign - y)^2 - (x - y)^2 = 1 + 2 sign (x - y); down, x may go where it is above the cell before it.
            total += w * (1.0 + 2.0 * sign * (x[l, i] - y[l, i])) + path[r, i]
            below = x[l, i - 1] if i > 0 else 0
            if total < cost[l] and (sign > 0 or x[l, i] > below):
                cost[l], where[l] = total, i
