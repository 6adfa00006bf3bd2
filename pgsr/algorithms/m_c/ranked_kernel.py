"""The loops of costs of ranks with a proximal term, see `ranked_dual`. Tuples and ranges as in `squares_kernel`."""

import numpy as np

from pgsr.algorithms.m_c.integers_kernel import softly_rounded
from pgsr.engines.ranked_chain_kernel import fit_chain, least_point
from pgsr.machine.compilation import compiled


@compiled
def fit_leaves(start, stop, rows, tree, prices, softness, blocks, taken, cost):
    """The best values in order of the leaves in chunks start .. stop - 1, paid the prices of their nodes.

    taken[k] becomes the sum of x - y over the leaves of chunk k, cost[k] their costs and their proximal terms.
    """
    n = prices.shape[1]
    a, b, k, value, x, net = np.empty((6, n))
    begin, least, most = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    edges, inside, gain, level = blocks.edges, blocks.inside, blocks.gain, blocks.level
    for chunk in range(start, stop):
        cost[chunk, 0], cost[chunk, 1] = 0.0, 0.0
        for i in range(n):
            taken[chunk, i] = 0.0
            net[i] = -prices[tree.chunk_node[chunk], i]
        for l in range(tree.chunk_start[chunk], tree.chunk_stop[chunk]):
            first, last = rows.first[l], rows.first[l + 1]
            starts, slopes = rows.starts[first + l : last + l + 1], rows.slopes[first:last]
            most[:] = rows.groups[l]
            y, w, t, centre = rows.y[l], rows.weight[l], rows.threshold[l], rows.centre[l]
            tie = 0.5 * rows.rho * w
            n_blocks = fit_chain(
                y, w, net, t, starts, slopes, tie, centre, least, most, False, a, b, k, begin, value, x
            )
            for at in range(n_blocks if softness < 1.0 else 0):
                value[at] = softly_rounded(value[at], softness)
                for i in range(begin[at], begin[at + 1] if at + 1 < n_blocks else n):
                    x[i] = value[at]
            for at in range(n_blocks):
                edges[l, at], level[l, at] = begin[at], value[at]
                free = 0.0 < value[at] < rows.groups[l]
                gain[l, at] = 1.0 / a[at] if free and (k[at] == 0.0 or not is_start(value[at], starts)) else 0.0
            edges[l, n_blocks] = n
            inside[l, 0], inside[l, 1], inside[l, 2] = 0, n_blocks, n_blocks
            for i in range(n):
                taken[chunk, i] += x[i] - y[i]
            add_costs(x, y, w, t, starts, slopes, rows.sums[first:last], rows.rho, centre, cost[chunk])


@compiled
def fit_nodes(start, stop, rows, parent, prices, softness, own, rate, cost):
    """Every cell of a node takes its best value alone, own[r] + y[r], of slope `rate`; costs are without prices.

    A region of weight 0 stays at 0.
    """
    n = prices.shape[1]
    x = np.empty(n)
    for r in range(start, stop):
        cost[r, 0], cost[r, 1] = 0.0, 0.0
        y, w, t, centre = rows.y[r], rows.weight[r], rows.threshold[r], rows.centre[r]
        first, last = rows.first[r], rows.first[r + 1]
        starts, slopes = rows.starts[first + r : last + r + 1], rows.slopes[first:last]
        tie = 0.5 * rows.rho * w
        for i in range(n):
            own[r, i], rate[r, i] = 0.0, 0.0
            if w == 0.0:
                continue
            net = prices[r, i] - (prices[parent[r], i] if r > 0 else 0.0)
            if i < t:
                own[r, i], rate[r, i] = softly_rounded(net / (-2.0 * w), softness), 0.5 / w
                x[i] = y[i] + own[r, i]
            else:
                shift = net - w * (2.0 * (i - t) + 1.0) - 2.0 * tie * centre[i]
                x[i] = softly_rounded(least_point(2.0 * tie, shift, 1.0, starts, slopes, False), softness)
                own[r, i], rate[r, i] = x[i] - y[i], 0.0 if is_start(x[i], starts) else 0.5 / tie
        if w > 0.0:
            add_costs(x, y, w, t, starts, slopes, rows.sums[first:last], rows.rho, centre, cost[r])


@compiled
def node_costs(start, stop, rows, own, beyond, cost):
    """cost[r] = costs of node r and its proximal terms at y + own + beyond."""
    for r in range(start, stop):
        cost[r, 0], cost[r, 1] = 0.0, 0.0
        if rows.weight[r] > 0.0:
            first, last = rows.first[r], rows.first[r + 1]
            starts, slopes = rows.starts[first + r : last + r + 1], rows.slopes[first:last]
            x = rows.y[r] + own[r] + beyond[r]
            add_costs(
                x,
                rows.y[r],
                rows.weight[r],
                rows.threshold[r],
                starts,
                slopes,
                rows.sums[first:last],
                rows.rho,
                rows.centre[r],
                cost[r],
            )


@compiled
def is_start(v, starts):
    """Say whether a value is the start of a run, or the end of the last one."""
    at = np.searchsorted(starts, v)
    return at < len(starts) and starts[at] == v


@compiled
def add_costs(x, y, w, threshold, starts, slopes, sums, rho, centre, cost):
    """Add one region's costs to cost[0], counted from those of ranks at y, and its proximal terms to cost[1]."""
    for i in range(len(x)):
        if i < threshold:
            cost[0] += w * (x[i] - y[i]) ** 2
            continue
        cost[1] += 0.5 * rho * w * (x[i] - centre[i]) ** 2
        if len(slopes) > 0:
            cost[0] -= w * (2.0 * (i - threshold) + 1.0) * (x[i] - y[i])
            at = min(max(np.searchsorted(starts, x[i], side="right") - 1, 0), len(slopes) - 1)
            best = min(max(np.searchsorted(starts, y[i], side="right") - 1, 0), len(slopes) - 1)
            cost[0] += float(sums[at] - sums[best]) + (x[i] - starts[at]) * slopes[at]
            cost[0] -= float((y[i] - starts[best]) * slopes[best])
