"""The loop that lists moves of single groups, see `moves`."""

import numpy as np

from pgsr.algorithms.m_c.squares_kernel import push
from pgsr.machine.compilation import compiled, inlined


@compiled
def group_moves(leaves, leaf_node, prices, x, within):
    """List the moves of one group to another size whose reduced cost is at most `within`, and their costs.

    Group k of leaf l has size s where x[l, s - 1] <= k < x[l, s], and size n where it is beyond the last cell. A move
    is (l, k, its size, its new size). In a run of groups of one size the last one costs the least to make larger, and
    the first one to make smaller, so a run is read from both ends until a group has no move.
    """
    y, upper, least, most, weight = leaves.y, leaves.upper, leaves.least, leaves.most, leaves.weight
    n, count = prices.shape[1], 0
    moves, costs = np.empty((1024, 4), np.int64), np.empty(1024)
    total, begin = np.empty(n), np.empty(n + 1, np.int64)
    level, slack = np.empty(n), np.zeros(n + 1)
    for l in range(len(x)):
        w, price = weight[l], prices[leaf_node[l]]
        convex_minorant(y[l], price, w, n, total, begin, level, slack)
        for size in range(n + 1):
            first = x[l, size - 1] if size > 0 else np.int64(0)
            last = min(x[l, size], upper[l]) if size < n else upper[l]
            for side in (-1, 1):
                k = first if side < 0 else np.int64(last) - 1
                while first <= k < last and not (side > 0 and size == n):
                    before, cost, reduced, s = count, 0.0, 0.0, size
                    while s > 0 if side < 0 else s < n:
                        cell = s - 1 if side < 0 else s
                        if least.size > 0 and (most[l, cell] <= k if side < 0 else least[l, cell] > k):
                            break
                        step = -side * w * (2.0 * (k - y[l, cell]) + 1.0)
                        cost += step
                        reduced += step + side * price[cell]
                        s += side
                        if reduced <= within:
                            if count == len(costs):
                                moves, costs = np.concatenate((moves, moves)), np.concatenate((costs, costs))
                            moves[count, 0], moves[count, 1], moves[count, 2], moves[count, 3] = l, k, size, s
                            costs[count] = cost
                            count += 1
                        # The minorant is convex: where it is above and rises, so does everything further on.
                        elif reduced - 2.0 * w * slack[s] > within:
                            if side < 0 and (s == 0 or level[s - 1] < k + 0.5):
                                break
                            if side > 0 and (s == n or level[s] > k + 0.5):
                                break
                    if count == before:
                        break
                    k -= side
    return moves[:count], costs[:count]


@inlined
def convex_minorant(y, price, weight, n, total, begin, level, slack):
    """The isotonic regression of z = y + price / 2 weight, and by how much sums of z before a cell exceed its sums."""
    rate, blocks = 0.5 / weight, 0
    for i in range(n):
        blocks = push(y[i] + rate * price[i], i, i + 1, blocks, total, begin)
    begin[blocks] = n
    for b in range(blocks):
        mean, above = total[b] / (begin[b + 1] - begin[b]), 0.0
        for i in range(begin[b], begin[b + 1]):
            level[i], slack[i] = mean, above
            above += y[i] + rate * price[i] - mean
