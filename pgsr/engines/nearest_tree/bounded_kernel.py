"""The compiled loops of `bounded_trees`: sizes whose cells have bounds.

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
    low, length [s, r]      the window of inner region r: low .. low + length
    steps[s, r, j]          what the children of r charge for unit number low + j - 1 (from 0); where j = 0, for the
                            dearest one among the first `low`

Leaf c takes clip(y + p / 2w, lower, upper) at price p, in integers clip(y + (t + w) // 2w, lower, upper) at integer
price t. An inner region takes what its children take, clipped to its interval; where it is clipped they are paid the
price at which they take just the bound.
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


@compiled
def continuous_point(start, stop, y, lower, upper, w, first_child, n_inner, below, x):
    """Compute the relaxed answer at these prices: leaves from their demand, inner regions by adding up."""
    for s in range(start, stop):
        for r in range(n_inner - 1, -1, -1):
            total = 0.0
            for c in range(first_child[r], first_child[r + 1]):
                if c >= n_inner:
                    x[s, c] = wanted(y[s, c], lower[s, c], upper[s, c], 0.5 / w[c], below[s, r])
                total += x[s, c]
            x[s, r] = total


@compiled
def wanted(y, lower, upper, rate, price):
    """Compute what a leaf takes, clip(y + rate price, lower, upper) with rate = 1 / 2w."""
    return min(max(y + rate * price, float(lower)), float(upper))


@compiled
def merge_steps(start, stop, y, lower, upper, w, first_child, n_inner, below, width, low, length, steps, charges):
    """Pass upwards in the slope merge: what each inner region may take near the continuous optimum, and its cost.

    As `pgsr.engines.nearest_tree.kernel.merge_steps`, in windows cut to the intervals of the cells. `length` is -1 at
    the root where the windows of some region and of its children do not meet.
    """
    center = np.empty(n_inner)
    for s in range(start, stop):
        meet = True
        for r in range(n_inner - 1, -1, -1):
            first, last = first_child[r], first_child[r + 1]
            # The continuous x of r, and what its children can take together: the window lies around the one within the
            # other.
            total, least, most = 0.0, np.int64(0), np.int64(0)
            for c in range(first, last):
                if c >= n_inner:
                    total += wanted(y[s, c], lower[s, c], upper[s, c], 0.5 / w[c], below[s, r])
                    least += lower[s, c]
                    most = NO_BOUND if upper[s, c] == NO_BOUND or most == NO_BOUND else most + upper[s, c]
                else:
                    total += center[c]
                    least += low[s, c]
                    most += low[s, c] + length[s, c]
            center[r] = total
            floor = np.int64(np.floor(total))
            least = max(least, lower[s, r], floor - width)
            most = min(most, upper[s, r], floor + 1 + width)
            low[s, r], length[s, r] = least, most - least
            if least > most:
                meet = False
                break
            walk(
                y[s], lower[s], upper[s], w, first, last, n_inner, below[s, r], low[s], length[s], steps[s],
                least, most, steps[s, r],
            )  # fmt: skip
        if not meet:
            length[s, 0] = -1
            continue
        # The root adds its own cost; above it no one does.
        for k in range(length[s, 0]):
            charges[s, k] = charge(0, k, y[s], w, low[s], steps[s])


@compiled
def walk(y, lower, upper, w, first, last, n_inner, price, low, length, steps, lo, high, out):
    """List the costs of units lo-1..high-1 of children, from one price at which they change to the next."""
    # Down, price by price, until children take no more than the window's lower end, whose last unit costs the dearest
    # of these; then up from one price at which they take more to the next.
    t = np.int64(np.floor(min(max(price, -(2.0**60)), 2.0**60)))
    total, dearest, cheapest = look(y, lower, upper, w, first, last, n_inner, t, low, length, steps)
    while total > lo:
        total, dearest, cheapest = look(y, lower, upper, w, first, last, n_inner, dearest - 1, low, length, steps)
    k = lo - 1
    if total == lo:
        out[0] = dearest
        k = lo
    while k < high:
        t = cheapest
        total, dearest, cheapest = look(y, lower, upper, w, first, last, n_inner, t, low, length, steps)
        while k < min(high, total):
            out[k - lo + 1] = t
            k += 1


@compiled
def look(y, lower, upper, w, first, last, n_inner, t, low, length, steps):
    """Compute what children take at integer price t, the dearest unit among it and the cheapest one beyond it."""
    total, dearest, cheapest = np.int64(0), np.int64(-NO_BOUND), np.int64(NO_BOUND)
    if first >= n_inner:
        turn = np.int64(0)
        for c in range(first, last):
            if c == first or w[c] != w[c - 1]:
                turn = (t + w[c]) // (2 * w[c])  # a division costs more than the rest of the loop
            x = min(max(y[c] + turn, lower[c]), upper[c])
            last_cost = step_cost(x - 1, y[c], w[c])
            dearest = max(dearest, last_cost if x > lower[c] else -NO_BOUND)
            cheapest = min(cheapest, last_cost + 2 * w[c] if x < upper[c] else NO_BOUND)
            total += x
        return total, dearest, cheapest
    for c in range(first, last):
        k = np.int64(0)
        while k < length[c] and charge(c, k, y, w, low, steps) <= t:
            dearest = max(dearest, charge(c, k, y, w, low, steps))
            k += 1
        if k < length[c]:
            cheapest = min(cheapest, charge(c, k, y, w, low, steps))
        total += low[c] + k
    return total, dearest, cheapest


@compiled
def charge(c, k, y, w, low, steps):
    """Compute what inner region c charges its parent for one group more than low + k."""
    return step_cost(low[c] + k, y[c], w[c]) + steps[c, k + 1]


@compiled
def step_cost(x, y, w):
    """Compute w (x + 1 - y)^2 - w (x - y)^2."""
    return w * (2 * (x - y) + 1)


@compiled
def distribute(start, stop, y, lower, upper, w, first_child, n_inner, low, length, steps, x):
    """Pass downwards from x[s, 0]: a region's groups are its children's cheapest units, equal ones the first child's.

    All units below the dearest one taken are taken; of those equal to it as many as are still missing.
    """
    for s in range(start, stop):
        for r in range(n_inner):
            first, last = first_child[r], first_child[r + 1]
            # First what every child takes below the price `dearest`, then units at that price until none is missing.
            dearest, missing = steps[s, r, x[s, r] - low[s, r]], x[s, r]
            for c in range(first, last):
                if c >= n_inner:
                    x[s, c] = min(max(y[s, c] + (dearest - 1 + w[c]) // (2 * w[c]), lower[s, c]), upper[s, c])
                else:
                    k = np.int64(0)
                    while k < length[s, c] and charge(c, k, y[s], w, low[s], steps[s]) < dearest:
                        k += 1
                    x[s, c] = low[s, c] + k
                missing -= x[s, c]
            for c in range(first, last):
                if missing == 0:
                    break
                if c >= n_inner:
                    most = min(max(y[s, c] + (dearest + w[c]) // (2 * w[c]), lower[s, c]), upper[s, c])
                    more = min(most - x[s, c], missing)
                    x[s, c] += more
                    missing -= more
                    continue
                k = x[s, c] - low[s, c]
                while missing > 0 and k < length[s, c] and charge(c, k, y[s], w, low[s], steps[s]) == dearest:
                    x[s, c] += 1
                    k += 1
                    missing -= 1
