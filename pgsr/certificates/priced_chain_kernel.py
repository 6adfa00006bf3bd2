"""The compiled loops of Lagrangian bounds under an order condition: priced chains, one row per region.

Chain r has the cells x[i] = x[r, i] and minimises

    sum_i w |x[i] - y[i]|^norm + net[i] (x[i] - y[i])   over   lower <= x[0] <= x[1] <= ... <= x[n - 1] <= upper.
"""

import numpy as np

from pgsr.engines.quadratic_flow.exchange_kernel import pop, push
from pgsr.machine.compilation import compiled, inlined

NONE = 2**61
"""As an upper bound, or negated as a lower one: there is none."""


@compiled
def bound_l2_rows(y, w, net, lower, upper, least_cells, most_cells, integer, values, magnitudes):
    """Fill values[r], whose sum no feasible point of chain r is below, for norm 2.

    Cells may have bounds of their own, least_cells[r, i] <= x[i] <= most_cells[r, i], which decrease nowhere and lie
    within lower[r] .. upper[r]; without any, both arrays have no cells.

    Any multipliers mu[i] >= 0 of x[i - 1] <= x[i] give one, because cells then stand alone; so nothing here has to be
    exact. The multipliers come from the fit: pool adjacent violators of y - net / 2w, clipped, and rounded if
    `integer`. They close the chain of its subgradients, as in `chain_kernel.chain_closes`, so the bound is the
    minimum up to rounding. In terms of x - y: nothing cancels against large y. `magnitudes` is what was rounded.
    O(cells).
    """
    n = y.shape[1]
    total = np.empty(n, np.int64)
    shift = np.empty(n)
    count = np.empty(n, np.int64)
    slope, level = np.empty(n), np.empty(n)
    apart = np.empty(n + 1, np.bool_)
    least, most = np.empty(n + 1), np.empty(n + 1)
    fit, begin, bounded = np.empty(n), np.empty(n, np.int64), least_cells.size > 0
    for r in range(y.shape[0]):
        values[r] = 0.0
        magnitudes[r] = 0.0
        if w[r] == 0 or n == 0:  # the net price of such a region is 0
            continue
        weight = float(w[r])
        half = weight if integer else 0.0
        low, high = float(lower[r]), float(upper[r])
        # w (x - y)^2 + net (x - y) is a square around y - net / 2w, of which y is summed as an integer: the isotonic
        # regression of these, as in `pgsr.engines.isotonic_kernel`, in bounds as in its `l2_blocks_within`.
        blocks = 0
        for i in range(n):
            total[blocks], shift[blocks], count[blocks] = y[r, i], net[r, i] / (-2.0 * weight), 1
            begin[blocks] = i
            blocks += 1
            while True:
                b = blocks - 1
                fit[b] = _mean(total, shift, count, b)
                if bounded:
                    fit[b] = min(max(fit[b], float(least_cells[r, i])), float(most_cells[r, begin[b]]))
                if b == 0 or fit[b - 1] < fit[b]:
                    break
                blocks -= 1
                total[blocks - 1] += total[blocks]
                shift[blocks - 1] += shift[blocks]
                count[blocks - 1] += count[blocks]
        # slope[i] is the derivative of cell i's term at its fit, level[i] the fit.
        i = 0
        before = low
        for b in range(blocks):
            mean = fit[b]
            if integer:
                mean = np.rint(mean)
            mean = min(max(mean, low), high)
            # Multipliers vanish between cells that differ, and at a bound that is not reached.
            apart[i] = mean > before
            before = mean
            for k in range(count[b]):
                if k:
                    apart[i] = False
                slope[i] = 2.0 * weight * (mean - y[r, i]) + net[r, i]
                level[i] = mean
                i += 1
        apart[n] = before < high
        # Upwards: mu[i + 1] = mu[i] - g for a subgradient g of cell i, which is slope[i] in real numbers and anything
        # from slope[i] - w to slope[i] + w in integers; [least, most] is what this leaves possible.
        least[0] = 0.0
        most[0] = 0.0 if apart[0] else np.inf
        for i in range(n):
            least[i + 1] = max(0.0, least[i] - slope[i] - half)
            most[i + 1] = max(most[i] - slope[i] + half, least[i + 1])
            if bounded and level[i] <= least_cells[r, i]:  # a cell at its bound may be pressed against it
                most[i + 1] = np.inf
            if bounded and level[i] >= most_cells[r, i]:
                least[i + 1] = 0.0
            if apart[i + 1]:
                least[i + 1] = 0.0
                most[i + 1] = 0.0
        # Downwards: mu[i] = mu[i + 1] + g with the smallest subgradient g that is possible. The terms mu[i] (x[i - 1] -
        # x[i]) of the Lagrangian, with the lower bound for x[-1] and the upper one for x[n], are linear in d = x - y
        # but for mu[i] (y[i - 1] - y[i]): cell i alone minimises w d^2 + (net + mu[i + 1] - mu[i]) d.
        after = least[n]
        if after > 0.0:
            values[r, n - 1] = after * (float(y[r, n - 1]) - high)
            magnitudes[r, n - 1] = abs(values[r, n - 1])
        for i in range(n - 1, -1, -1):
            mu = min(max(after + slope[i] - half, least[i]), most[i])
            price = net[r, i] + after - mu
            d = price / (-2.0 * weight)
            if integer:
                d = np.rint(d)
            if bounded:
                d = min(max(d, float(least_cells[r, i] - y[r, i])), float(most_cells[r, i] - y[r, i]))
            edge = 0.0
            if mu > 0.0:
                edge = mu * float((y[r, i - 1] if i else lower[r]) - y[r, i])
            values[r, i] += (weight * d + price) * d + edge
            largest = abs(d) + 1.0 if integer else abs(d)
            magnitudes[r, i] += (weight * abs(d) + abs(net[r, i]) + after + mu) * largest + abs(edge)
            after = mu


@compiled
def fit_l1_rows(y, w, net, lower, upper, x):
    """Compute x[r], a minimiser of chain r for norm 1; return False if a chain is unbounded. All is in integers.

    The slope trick with prices. A heap holds the breakpoints, negated, and by how much the slope grows there, of the
    optimal cost of the prefix as a function of a bound on its last value; `right` is its slope beyond the last one. A
    cell adds a breakpoint of 2w at y and w + net to the slope; where that is positive the top breakpoints are taken
    off, the last of them is the minimiser. A backward running minimum turns minimisers into the fit. O(n log n) per
    chain, exact: the caller keeps cells times slopes within 64 bits.
    """
    n = y.shape[1]
    place = np.empty(n + 1, np.int64)
    growth = np.empty(n + 1, np.int64)
    for r in range(y.shape[0]):
        low, high = lower[r], upper[r]
        size, right = np.int64(0), np.int64(0)
        for i in range(n):
            # f[i](v), the optimal cost of cells 0..i with the last at most v, has the slope `right` right of all
            # breakpoints. The term w |v - y| + net v adds w + net there, and 2 w less left of y. Where that is negative
            # the minimum is at the upper bound; else breakpoints come off from the right until the slope is 0, and the
            # last one is the minimiser.
            push(place, growth, size, -min(max(y[r, i], low), high), 2 * w[r])
            size += 1
            right += w[r] + net[r, i]
            if right < 0:
                x[r, i] = high
            else:
                x[r, i] = -place[0]
                while right > 0 and size > 0:
                    x[r, i] = -place[0]
                    if growth[0] > right:
                        growth[0] -= right
                        right = np.int64(0)
                    else:
                        right -= growth[0]
                        size = pop(place, growth, size)
                if right > 0:  # dearer the larger, from the lower bound on
                    x[r, i] = low
                    right = np.int64(0)
        # The last cell takes the minimiser of the whole, each before it that of its prefix or less, as order asks.
        for i in range(n - 2, -1, -1):
            x[r, i] = min(x[r, i], x[r, i + 1])
        if n and (x[r, 0] == -NONE or x[r, n - 1] == NONE):
            return False
    return True


@inlined
def _mean(total, shift, count, b):
    return (total[b] + shift[b]) / count[b]
