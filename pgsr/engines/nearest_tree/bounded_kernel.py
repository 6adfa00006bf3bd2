"""The compiled loops of `bounds` and `bounded_prices`: intervals of cells, and prices of trees whose cells have some.

Arrays are sizes x regions, and every function works on the sizes start..stop-1 alone, one after the other. Arguments
that occur everywhere:

    y, lower, upper [s, r]  the given integers and the interval of every cell, int64; NO_BOUND is no upper one
    clipped[s, r]           which bounds of inner region r its children do not keep by themselves, see `tighten`
    w[r]                    weights, int64
    parent[r]               the region above, -1 at the root
    first_child[r]          the children of r are first_child[r] .. first_child[r + 1] - 1
    n_inner                 regions are in level order, the first n_inner have children; the children of one region are
                            all leaves or all inner regions
    below[s, r]             prices: what inner region r pays its children for a unit

Leaf c takes clip(y + p / 2w, lower, upper) at price p. An inner region takes what its children take, clipped to its
interval; where it is clipped they are paid the price at which they take just the bound.
"""

import numpy as np

from pgsr.machine.compilation import compiled

NO_BOUND = 2**62

NO_RATE = 1e-13
"""Sums of rates this far below an earlier one are roundings: children that are all at bounds."""

CLIPPED_LOW, CLIPPED_HIGH = 1, 2


@compiled
def tighten(start, stop, lower, upper, first_child, n_inner, downwards, empty, clipped):
    """Narrow intervals in place to what they imply for one another; empty[s] is the last region with none, or -1.

    Upwards a region is the sum of its children, downwards a child is what the region leaves beside the others.
    clipped[s, r] says which bounds of inner region r are narrower than what its children can take: CLIPPED_LOW and
    CLIPPED_HIGH, added up.
    """
    for s in range(start, stop):
        # Upwards: lower[r] <= sum of x[c] <= upper[r]; a child without an upper bound leaves the sum without one.
        low, high = lower[s], upper[s]
        empty[s] = -1
        for r in range(n_inner - 1, -1, -1):
            least, most, free = sums_of_bounds(low, high, first_child[r], first_child[r + 1])
            low[r] = max(low[r], least)
            high[r] = min(high[r], most if free == 0 else NO_BOUND)
        for r in range(len(low)):
            if low[r] > high[r]:
                empty[s] = r
        if empty[s] >= 0:
            continue
        # Downwards: x[c] is x[r] less what the other children take, which is at least `least` - lower[c] and at most
        # `most` - upper[c], if all of them have upper bounds.
        for r in range(n_inner if downwards else 0):
            least, most, free = sums_of_bounds(low, high, first_child[r], first_child[r + 1])
            for c in range(first_child[r], first_child[r + 1]):
                before = low[c]
                if high[c] == NO_BOUND and free == 1:
                    low[c] = max(low[c], low[r] - most)
                elif high[c] < NO_BOUND and free == 0:
                    low[c] = max(low[c], low[r] - (most - high[c]))
                if high[r] < NO_BOUND:
                    high[c] = min(high[c], high[r] - (least - before))
        for r in range(n_inner):
            least, most, free = sums_of_bounds(low, high, first_child[r], first_child[r + 1])
            clipped[s, r] = (CLIPPED_LOW if low[r] > least else 0) + (
                CLIPPED_HIGH if high[r] < NO_BOUND and (free > 0 or high[r] < most) else 0
            )


@compiled
def sums_of_bounds(low, high, first, last):
    """Add up the lower and the upper bounds of children, and count those that have no upper one."""
    least, most, free = np.int64(0), np.int64(0), np.int64(0)
    for c in range(first, last):
        least += low[c]
        most += high[c] if high[c] < NO_BOUND else 0
        free += 0 if high[c] < NO_BOUND else 1
    return least, most, free


@compiled
def merge_breakpoints(start, stop, y, lower, upper, w, first_child, n_inner, price, value, rate, begin):
    """Find what the children of every inner region take at each price, at every size.

    It is an increasing piecewise linear function of their price, told by its breakpoints: `value` at `price`, rising at
    `rate` from there to the next one, constant before the first one. Those of region r at size s are begin[s, r + 1] ..
    begin[s, r] - 1 of row s, as the last region comes first. The region itself takes as much at the price
    p + 2 w (value - y) that it is paid, as far as its interval allows.
    """
    for s in range(start, stop):
        merge_at_one_size(y[s], lower[s], upper[s], w, first_child, n_inner, price[s], value[s], rate[s], begin[s])


@compiled
def merge_at_one_size(y, lower, upper, w, first_child, n_inner, price, value, rate, begin):
    end = np.int64(0)
    begin[n_inner] = 0
    for r in range(n_inner - 1, -1, -1):
        # The breakpoints of r's children, each with the change of the rate there, from the sum of the lower bounds on.
        # A leaf c rises at 1 / 2w between the prices 2w (lower - y) and 2w (upper - y).
        at, base, bounded = end, 0.0, True
        for c in range(first_child[r], first_child[r + 1]):
            base += lower[c]
            bounded = bounded and upper[c] < NO_BOUND
            if lower[c] == upper[c]:
                continue
            if c >= n_inner:
                price[end], rate[end] = 2.0 * w[c] * (lower[c] - y[c]), 0.5 / w[c]
                end += 1
                if upper[c] < NO_BOUND:
                    price[end], rate[end] = 2.0 * w[c] * (upper[c] - y[c]), -0.5 / w[c]
                    end += 1
            else:
                end = add_breakpoints(y[c], lower[c], upper[c], w[c], price, value, rate, begin[c + 1], begin[c], end)
        begin[r] = end
        # In order of prices, added up: value and rate of the sum. A rate that should be 0 is made so. A child that
        # rounding starts where it stops may stop first, so the sum goes on from what it is, even if that is negative.
        order = np.argsort(price[at:end])
        price[at:end], rate[at:end] = price[at:end][order], rate[at:end][order]
        x, now, added, steepest = base, 0.0, 0.0, 0.0
        for k in range(at, end):
            if k > at:
                x += now * (price[k] - price[k - 1])
            added += rate[k]
            steepest = max(steepest, added)
            now = added
            if added < NO_RATE * steepest or (bounded and k == end - 1):
                now = 0.0  # not what is left of it after rounding
            value[k], rate[k] = x, now


@compiled
def find_prices(
    start, stop, y, lower, upper, clipped, w, parent, n_inner, price, value, rate, begin, root, below, slope, intercept
):
    """Find the prices of every size, given the price that the root is paid.

    `slope[s]` and `intercept[s]` say what the root takes near this price: y + slope price + intercept.
    """
    for s in range(start, stop):
        for r in range(n_inner):
            below[s, r], x, rise = answer_price(
                y[s, r], lower[s, r], upper[s, r], clipped[s, r], w[r], below[s, parent[r]] if r else root,
                price[s], value[s], rate[s], begin[s, r + 1], begin[s, r],
            )  # fmt: skip
            if r == 0:
                slope[s], intercept[s] = rise, x - y[s, 0] - rise * root


@compiled
def add_breakpoints(y, lower, upper, w, price, value, rate, first, last, end):
    """Append where the rate of what a region takes changes with what it is paid, and by how much."""
    # From breakpoint k on r takes value + rate (p - price), and is paid q = p + 2 w (x - y): x rises with q at rate /
    # (1 + 2 w rate). It begins to where x exceeds `lower`, and stops where it reaches `upper`.
    before = 0.0
    for k in range(first, last):
        if k + 1 < last and value[k + 1] <= lower:
            continue
        if value[k] >= upper:
            if before > 0.0:
                price[end], rate[end] = price[k] + 2.0 * w * (value[k] - y), -before
                end += 1
            return end
        paid, rise = price[k] + 2.0 * w * (value[k] - y), rate[k] / (1.0 + 2.0 * w * rate[k])
        if rise > 0.0 or before > 0.0:
            from_here = paid + (lower - value[k]) / rise if value[k] < lower and rise > 0.0 else paid
            price[end], rate[end] = from_here, rise - before
            end += 1
            before = rise
        if rise > 0.0 and upper < NO_BOUND and (k + 1 == last or value[k + 1] > upper):
            price[end], rate[end] = paid + (upper - value[k]) / rise, -before
            return end + 1
    return end


@compiled
def answer_price(y, lower, upper, clipped, w, paid, price, value, rate, first, last):
    """Compute what a region pays where it is paid this much, what it takes, and how fast that rises."""
    if first == last:  # all its children are fixed
        return paid - 2.0 * w * (lower - y), float(lower), 0.0
    # q = p + 2 w (x(p) - y) rises with p, so breakpoints are passed in their order.
    k = first - 1  # the last breakpoint that is reached
    while k + 1 < last and price[k + 1] + 2.0 * w * (value[k + 1] - y) <= paid:
        k += 1
    if k < first:
        x, rise, here = value[first], 0.0, paid - 2.0 * w * (value[first] - y)
    else:
        steep = 1.0 + 2.0 * w * rate[k]
        here = price[k] + (paid - (price[k] + 2.0 * w * (value[k] - y))) / steep
        x, rise = value[k] + rate[k] * (here - price[k]), rate[k] / steep
    # Clipped, it pays less, or more, than otherwise; where rounding alone says that it is, just as much.
    if clipped & CLIPPED_HIGH and x > upper:
        while k > first and value[k] > upper:
            k -= 1
        bound = price[k] + (upper - value[k]) / rate[k] if rate[k] > 0.0 else price[min(k + 1, last - 1)]
        return min(here, bound), float(upper), 0.0
    if clipped & CLIPPED_LOW and x < lower:
        k = max(k, first)
        while k + 1 < last and value[k + 1] < lower:
            k += 1
        bound = price[k] + (lower - value[k]) / rate[k] if rate[k] > 0.0 else price[k]
        return max(here, bound), float(lower), 0.0
    return here, x, rise
