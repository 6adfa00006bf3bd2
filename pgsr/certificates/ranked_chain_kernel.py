"""The compiled loop of Lagrangian bounds with costs of ranks, for chains as in `pgsr.engines.ranked_chain_kernel`.

Chain r has the cells 0..n-1 of a region, squares before threshold[r] and costs of ranks from it on, counted from those
at y, and net prices of x - y.
"""

import numpy as np

from pgsr.engines.ranked_chain_kernel import fit_chain, least_point
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
    a, b, k, value, x, nothing = np.empty((6, n))
    begin = np.empty(n, np.int64)
    low, high, lowest, highest = np.empty(n + 1), np.empty(n + 1), np.empty(n), np.empty(n)
    nothing[:] = 0.0
    for r in range(y.shape[0]):
        if w[r] == 0 or n == 0:  # the net price of such a region is 0
            continue
        weight, t = float(w[r]), threshold[r]
        start, slope = starts[first[r] + r : first[r + 1] + r + 1], slopes[first[r] : first[r + 1]]
        sums, runs = prefix[first[r] : first[r + 1]], len(slope)
        fit_chain(
            y[r], weight, net[r], t, start, slope, 0.0, nothing, least[r], most[r], integer, a, b, k, begin, value, x
        )
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
