"""The compiled loops of Lagrangian bounds with costs of ranks: chains of cells in order, at given prices.

A chain has the cells 0..n-1 of a region, of which those before `threshold` have squares and the others costs of ranks,
and

    minimises  sum over i < threshold of  w (x[i] - y[i])^2
             + sum over i >= threshold of  E(x[i]) - w (2 (i - threshold) + 1) x[i]
             + sum over all i of  net[i] x[i]
    over       x[0] <= x[1] <= ...,   least[i] <= x[i] <= most[i].

E is the same in all cells, convex and piecewise linear: its slope is slope[j] on run j, from start[j] to start[j + 1],
and slopes rise. So the derivative of a block of cells with one value v is

    a v + b + k slope(v),    a = 2 w (squares),    k = cells with costs of ranks,

and a block is known by a, b and k, which are added up when two are pooled. Bounds are counted from the costs at y, with
net prices of x - y.
"""

import math

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def bound_ranked_rows(y, w, net, threshold, first, starts, slopes, prefix, least, most, integer, values, magnitudes):
    """Fill values[r], whose sum no feasible point of chain r is below; as `priced_chain_kernel.bound_l2_rows`.

    Region r has the runs first[r] .. first[r + 1] - 1, whose starts, one more than runs, begin at first[r] + r.

    Any multipliers mu[i] >= 0 of x[i - 1] <= x[i] give a bound, because cells then stand alone within their bounds; so
    the fit that they come from need not be exact. Cell i's minimum has a closed form for squares and is at the end of a
    run for ranks. `magnitudes` is what was rounded. O(cells log runs).
    """
    n = y.shape[1]
    a, b, k, value, x = np.empty((5, n))
    begin = np.empty(n, np.int64)
    low, high, lowest, highest = np.empty(n + 1), np.empty(n + 1), np.empty(n), np.empty(n)
    for r in range(y.shape[0]):
        if w[r] == 0 or n == 0:  # the net price of such a region is 0
            continue
        weight, t = float(w[r]), threshold[r]
        start, slope = starts[first[r] + r : first[r + 1] + r + 1], slopes[first[r] : first[r + 1]]
        sums, runs = prefix[first[r] : first[r + 1]], len(slope)
        fit_chain(y[r], weight, net[r], t, start, slope, least[r], most[r], integer, a, b, k, begin, value, x)
        # [lowest, highest] are the subgradients of cell i's term at its fit, and [low, high] what they leave possible
        # of the multipliers, upwards: mu[i + 1] = mu[i] - g, and 0 between cells that differ.
        low[0], high[0] = 0.0, 0.0
        for i in range(n):
            if i < t:
                here = 2.0 * weight * (x[i] - y[r, i]) + net[r, i]
                half = weight if integer else 0.0
                lowest[i], highest[i] = here - half, here + half
            else:
                shift = net[r, i] - weight * (2.0 * (i - t) + 1.0)
                after = np.searchsorted(start, x[i], side="right") - 1
                before = np.searchsorted(start, x[i], side="left") - 1
                highest[i] = slope[after] + shift if 0 <= after < runs else np.inf
                lowest[i] = slope[before] + shift if 0 <= before < runs else -np.inf
            if x[i] <= least[r, i]:
                lowest[i] = -np.inf
            if x[i] >= most[r, i]:
                highest[i] = np.inf
            low[i + 1] = max(0.0, low[i] - highest[i])
            high[i + 1] = max(high[i] - lowest[i], low[i + 1])
            if i + 1 == n or x[i] < x[i + 1]:
                low[i + 1], high[i + 1] = 0.0, 0.0
        # Downwards: mu[i] = mu[i + 1] + g with the smallest g that is possible. As x = y + d, the terms mu[i] (x[i - 1]
        # - x[i]) of the Lagrangian are linear in d but for mu[i] (y[i - 1] - y[i]).
        after = 0.0
        for i in range(n - 1, -1, -1):
            mu = min(max(after + lowest[i], low[i]), high[i])
            price = net[r, i] + after - mu
            edge = mu * float(y[r, i - 1] - y[r, i]) if i else 0.0
            steep = abs(net[r, i]) + after + mu
            if i < t:
                d = price / (-2.0 * weight)
                if integer:
                    d = np.rint(d)
                d = min(max(d, float(least[r, i] - y[r, i])), float(most[r, i] - y[r, i]))
                values[r, i] = (weight * d + price) * d + edge
                magnitudes[r, i] = (weight * abs(d) + steep) * (abs(d) + 1.0) + abs(edge)
            else:
                shift = price - weight * (2.0 * (i - t) + 1.0)
                best = least_point(0.0, shift, 1.0, start, slope, integer)
                best = min(max(np.int64(best), least[r, i]), most[r, i])
                d = float(best - y[r, i])
                cost = float(_summed(best, start, slope, sums) - _summed(y[r, i], start, slope, sums))
                values[r, i] = cost + shift * d + edge
                j = min(max(np.searchsorted(start, best, side="right") - 1, 0), runs - 1)
                widest = float(start[min(j + 1, runs)] - start[max(j - 1, 0)])  # a slope of 0 may have the wrong sign
                steep += abs(float(slope[j])) + weight * (2.0 * (i - t) + 1.0) if runs else 0.0
                magnitudes[r, i] = abs(cost) + steep * (abs(d) + widest) + abs(edge)
            after = mu


@inlined
def _summed(v, start, slope, sums):
    """Add up slopes from 0 to v, in integers; beyond the runs as their last one does."""
    total = np.int64(0)
    if len(slope) > 0:
        j = min(max(np.searchsorted(start, v, side="right") - 1, 0), len(slope) - 1)
        total = sums[j] + (v - start[j]) * slope[j]
    return total


@compiled
def least_point(a, b, k, start, slope, integer):
    """Find the least v from 0 on at which the derivative is no longer negative; the end of the last run if none is.

    In integers of the step from v to v + 1, which costs a (v + 1/2) + b + k slope. O(log runs).
    """
    low, high = 0, len(slope)
    while low < high:
        j = (low + high) // 2
        last = start[j + 1] - 0.5 if integer else start[j + 1]
        if a * last + b + k * slope[j] >= 0.0:
            high = j
        else:
            low = j + 1
    if low == len(slope):
        return float(start[len(slope)])
    if a == 0.0:
        return float(start[low])
    root = -(b + k * slope[low]) / a
    if integer:
        return min(max(math.ceil(root - 0.5), float(start[low])), float(start[low + 1] - 1))
    return min(max(root, float(start[low])), float(start[low + 1]))


@compiled
def fit_chain(y, w, net, threshold, start, slope, least, most, integer, a, b, k, begin, value, x):
    """Fill x by pool adjacent violators; O(cells log runs). The arrays from `a` to `value` hold blocks, (n,) each.

    Bounds decrease nowhere, so a block is within the lower bound of its last cell and the upper one of its first.
    """
    blocks = 0
    for i in range(len(x)):
        square = i < threshold
        a[blocks] = 2.0 * w if square else 0.0
        b[blocks] = net[i] - (2.0 * w * y[i] if square else w * (2.0 * (i - threshold) + 1.0))
        k[blocks] = 0.0 if square else 1.0
        begin[blocks] = i
        blocks += 1
        while True:
            at = blocks - 1
            value[at] = least_point(a[at], b[at], k[at], start, slope, integer)
            value[at] = min(max(value[at], float(least[i])), float(most[begin[at]]))
            if at == 0 or value[at - 1] < value[at]:
                break
            a[at - 1] += a[at]
            b[at - 1] += b[at]
            k[at - 1] += k[at]
            blocks -= 1
    for at in range(blocks):
        for i in range(begin[at], begin[at + 1] if at + 1 < blocks else len(x)):
            x[i] = value[at]
