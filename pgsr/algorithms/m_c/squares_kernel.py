"""The loops of squares: isotonic regressions of the leaves, closed forms of the nodes.

Tuples and ranges as in `tree_kernel`, but fits work on the chunks start .. stop - 1. A leaf that is paid the prices p
minimises w (x - y)^2 - p x over monotone x; completing the square, that is the isotonic regression of y + p / 2 w.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@inlined
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


@inlined
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
        if broken == 0:  # the means of its first parts are no smaller than its own, so pooling gives it back whole
            blocks = push(s, start, stop, blocks, total, begin)
        else:
            for i in range(start, stop):
                blocks = push(y[i] + rate * price[i], i, i + 1, blocks, total, begin)
    begin[blocks] = n
    return blocks


@compiled
def fit_leaves(start, stop, leaves, tree, prices, blocks, change, cost):
    """All isotonic regressions at these prices, one weight per leaf.

    Starts from the blocks given. change[k] = sum over the leaves of chunk k of x - y, cost[k] that of w (x - y)^2.
    """
    y, upper, weight = leaves.y, leaves.upper, leaves.weight
    n = prices.shape[1]
    chunk_node, chunk_start, chunk_stop = tree.chunk_node, tree.chunk_start, tree.chunk_stop
    edges, inside, gain, level = blocks.edges, blocks.inside, blocks.gain, blocks.level
    total, sums, begin = np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    for k in range(start, stop):
        moved = change[k]
        for i in range(n):
            moved[i] = 0.0
        spent = 0.0
        price = prices[chunk_node[k]]
        for l in range(chunk_start[k], chunk_stop[k]):
            row = y[l]
            rate = 0.5 / weight[l]
            n_blocks = pool(row, price, rate, n, edges[l], inside[l, 2], sums, total, begin)
            below, above = 0, n_blocks
            squares = 0.0
            for b in range(n_blocks):
                first, last = begin[b], begin[b + 1]
                edges[l, b] = first
                # x on a block is the mean of y + p / 2 w over it, clipped to 0..upper: values rise from block to block,
                # so those at 0 are the first ones, those at upper the last ones, and the others may move.
                value = total[b] / (last - first)
                if value <= 0.0:
                    value = 0.0
                    below = b + 1
                elif value >= upper[l]:
                    value = upper[l]
                    above = min(above, b)
                gain[l, b] = rate / (last - first)  # 1 / (2 w |b|), by which a mean rises with the price of one cell
                level[l, b] = value
                for i in range(first, last):
                    d = value - row[i]
                    moved[i] += d
                    squares += d * d
            edges[l, n_blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = below, max(below, above), n_blocks
            spent += weight[l] * squares
        cost[k] = spent


@inlined
def push_within(s, i, blocks, least, most, total, value, begin):
    """Put cell i with number s on the stack, where cells have bounds that decrease nowhere; see `fit_bounded_leaves`.

    value[b] is what block b takes; blocks are pooled as long as values do not rise.
    """
    # Of all v within the bounds of a block's cells the best is its mean, clipped. The bounds decrease nowhere, so the
    # largest lower one is that of the last cell and the smallest upper one that of the first.
    total[blocks] = s
    begin[blocks] = i
    while True:
        mean = total[blocks] / (i + 1 - begin[blocks])
        value[blocks] = min(max(mean, least[i]), most[begin[blocks]])
        if blocks == 0 or value[blocks - 1] < value[blocks]:
            break
        blocks -= 1
        total[blocks] += total[blocks + 1]
    return blocks + 1


@compiled
def fit_bounded_leaves(start, stop, leaves, tree, prices, blocks, change, cost):
    """`fit_leaves` where cells have bounds, least[l, i] <= x[l, i] <= most[l, i], which decrease nowhere.

    A block takes its mean, clipped to the lower bound of its last cell and the upper bound of its first one; blocks
    that are clipped do not move, so their gain is 0. Always starts from cells.
    """
    y, least, most, weight = leaves.y, leaves.least, leaves.most, leaves.weight
    n = prices.shape[1]
    chunk_node, chunk_start, chunk_stop = tree.chunk_node, tree.chunk_start, tree.chunk_stop
    edges, inside, gain, level = blocks.edges, blocks.inside, blocks.gain, blocks.level
    total, value, begin = np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    for k in range(start, stop):
        moved = change[k]
        for i in range(n):
            moved[i] = 0.0
        spent = 0.0
        price = prices[chunk_node[k]]
        for l in range(chunk_start[k], chunk_stop[k]):
            rate = 0.5 / weight[l]
            n_blocks = 0
            for i in range(n):
                n_blocks = push_within(y[l, i] + rate * price[i], i, n_blocks, least[l], most[l], total, value, begin)
            begin[n_blocks] = n
            for b in range(n_blocks):
                first, last = begin[b], begin[b + 1]
                edges[l, b], level[l, b] = first, value[b]
                free = least[l, last - 1] < value[b] < most[l, first]
                gain[l, b] = rate / (last - first) if free else 0.0
                for i in range(first, last):
                    d = value[b] - y[l, i]
                    moved[i] += d
                    spent += weight[l] * d * d
            edges[l, n_blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = 0, n_blocks, n_blocks
        cost[k] = spent


@compiled
def fit_nodes(start, stop, rate, parent, held, prices, own, cost):
    """own[r] = c[r] - y[r] = rate[r] (price above - price of r), and cost[r] = w[r] |own[r]|^2; 0 where held."""
    n = prices.shape[1]
    for r in range(start, stop):
        total = 0.0
        for i in range(n):
            # c minimises w (c - y)^2 - (p[parent] - p[r]) c, so d = c - y is rate times that net price, with rate
            # 1 / 2 w; then w d^2 is d / 2 times it, whatever w is, also where rate is 0 instead.
            above = prices[parent[r], i] if r > 0 else 0.0
            d = 0.0 if r == 0 and held and i == n - 1 else rate[r, i] * (above - prices[r, i])
            total += 0.5 * d * (above - prices[r, i])
            own[r, i] = d
        cost[r] = total


@compiled
def node_costs(start, stop, weight, held, own, beyond, cost):
    """cost[r] = sum_i w[r, i] (own + beyond)^2 without the held cell: the costs of nodes at the sums of the leaves."""
    n = own.shape[1]
    for r in range(start, stop):
        total = 0.0
        for i in range(n - (r == 0 and held)):
            d = own[r, i] + beyond[r, i]
            total += weight[r, i] * d * d
        cost[r] = total
