"""The compiled loops of `size_trees`: the recursion that the docstring of `pgsr.engines.nearest_tree` derives.

Arrays are regions x sizes, as callers have them, and every function works on the sizes start..stop-1 alone, one chunk
of `CHUNK` sizes after the other: a chunk's rows stay in the cache over all steps of Newton's method, and the innermost
loops run along sizes, where the processor does several at once. The loops release the interpreter's lock and are
serial: callers run ranges of sizes in threads or processes.

Arguments that occur everywhere:

    y[r, s]                 the given integers, int64
    w[r]                    weights, int64
    parent[r]               the region above, -1 at the root
    first_child[r]          the children of r are first_child[r] .. first_child[r + 1] - 1
    n_inner                 regions are in level order, the first n_inner have children; the children of one region are
                            all leaves or all inner regions
    lower, upper[r, s]      the intervals of cells, int64; None where no cell has bounds: the compiler then leaves the
                            branches for bounds out
    below[r, s]             prices: what inner region r pays its children for a unit
    low, length [r, s]      the window of inner region r: low .. low + length
    steps[r, s, j]          what the children of r charge for unit number low + j (from 0)

Leaf c takes unit number k (from 0) at a price of w (2 (k - y) + 1) or more, so taken(c, t) = max(0, y + (t + w) // 2w)
units at the integer price t, clipped to its interval. An inner region offers the units of its window alone, at its own
cost plus its children's.

Integers that are passed on are made `np.int64` first: compiled functions take a literal 0 for a type of its own, and
would be compiled once more for it. Arrays are copied in loops, as an array assignment compiles for seconds.
"""

import numpy as np

from pgsr.machine.compilation import compiled

CHUNK = 128
_NEVER = 2**62


@compiled
def find_prices(y, start, stop, w, parent, first_child, n_inner, root, below, slope, intercept, active):
    """Find the prices of every size by Newton's method, given the price that the root is paid.

    `below[r, s]` is what inner region r pays its children. On the set of leaves that are positive at these prices
    region r takes y + gain * price + offset at the price above it: offsets are of the size of the noise, and counts
    enter as exact integers only, so no digits are lost to counts of 1e9. From prices above the solution (infinity is)
    every step lowers them, so the set only shrinks; unchanged means solved. `slope[s]` and `intercept[s]` are then the
    root's gain and offset, `active[s]` the number of positive leaves. A root price of infinity gives those of the
    tree whose leaves are all positive, and leaves `below` as it is.
    """
    width = min(CHUNK, stop - start)
    gain, offset = np.empty((n_inner, width)), np.empty((n_inner, width))
    total_gain, total_offset = np.empty(CHUNK), np.empty(CHUNK)
    residual, positive = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    for a in range(start, stop, CHUNK):
        b = min(a + CHUNK, stop)
        before = y.size + 1
        while True:
            linearise(
                y, a, b, w, first_child, n_inner, below, gain, offset, total_gain, total_offset, residual, positive
            )
            number = np.int64(0)
            for j in range(b - a):
                number += positive[j]
            # The set of positive leaves only shrinks; unchanged, the prices that it implies are those it came from.
            if number >= before or root == np.inf:
                break
            before = number
            for r in range(n_inner):
                lower(w[r], root, below[max(0, parent[r]), a:b], r == 0, gain[r], offset[r], below[r, a:b])
        for j in range(b - a):
            slope[a + j] = gain[0, j]
            intercept[a + j] = offset[0, j]
            active[a + j] = positive[j]


@compiled
def linearise(y, a, b, w, first_child, n_inner, below, gain, offset, total_gain, total_offset, residual, positive):
    """Pass upwards over sizes a..b-1: gains and offsets on the leaves that are positive at the current prices.

    `gain` and `offset` are of inner regions, shape (n_inner, CHUNK). Over the children of one region `total_gain` is S,
    `total_offset` O and `residual` D of the recursion; `positive` counts leaves; shape (CHUNK,) each.
    """
    positive[:] = 0
    for r in range(n_inner - 1, -1, -1):
        # S, O and D over the children of r, then (2).
        own = y[r, a:b]
        for j in range(b - a):
            total_gain[j] = 0.0
            total_offset[j] = 0.0
            residual[j] = -own[j]
        for c in range(first_child[r], first_child[r + 1]):
            if c >= n_inner:
                add_leaf(y[c, a:b], 0.5 / w[c], below[r, a:b], total_gain, residual, positive)
            else:
                add_inner(y[c, a:b], gain[c], offset[c], total_gain, total_offset, residual)
        close(w[r], total_gain, total_offset, residual, gain[r], offset[r], b - a)


@compiled
def add_leaf(y, rate, price, total_gain, residual, positive):
    """Add a leaf to its parent's sums where it is positive, y + rate price > 0 with rate = 1 / 2w; its offset is 0."""
    for j in range(len(y)):
        on = y[j] + rate * price[j] > 0.0
        total_gain[j] += rate if on else 0.0
        residual[j] += y[j] if on else 0
        positive[j] += 1 if on else 0


@compiled
def add_inner(y, gain, offset, total_gain, total_offset, residual):
    """Add an inner region, which takes y + gain price + offset, to its parent's sums."""
    for j in range(len(y)):
        total_gain[j] += gain[j]
        total_offset[j] += offset[j]
        residual[j] += y[j]


@compiled
def close(w, total_gain, total_offset, residual, gain, offset, n):
    """Compute gain = S / (1 + 2 w S) and offset = (O + D) / (1 + 2 w S) of a region, from its children's sums.

    Its children take x - y = S p + O + D at the price p that it pays, and p = q - 2 w (x - y) at the price q that it is
    paid; without p that is x - y = gain q + offset. S, O, D are `total_gain`, `total_offset`, `residual`, of n sizes.
    """
    for j in range(n):
        scale = 1.0 / (1.0 + 2.0 * w * total_gain[j])
        gain[j] = total_gain[j] * scale
        offset[j] = (total_offset[j] + residual[j]) * scale


@compiled
def lower(w, root, above, at_root, gain, offset, price):
    """Compute the price that the linear demand implies for this price above the region, where it is lower than before.

    It is higher by rounding alone, when weights differ by orders of magnitude: a leaf that is barely positive is then
    taken for one that is not, and without it the price would be far off.
    """
    for j in range(len(price)):
        paid = root if at_root else above[j]
        price[j] = min(price[j], paid - 2.0 * w * (gain[j] * paid + offset[j]))


@compiled
def continuous_point(y, lower, upper, start, stop, w, first_child, n_inner, below, x):
    """Compute the relaxed answer at these prices: leaves from their demand, inner regions by adding up."""
    for r in range(n_inner - 1, -1, -1):
        x[r, start:stop] = 0.0
        for c in range(first_child[r], first_child[r + 1]):
            if c >= n_inner:
                fill_leaf(y[c, start:stop], 0.5 / w[c], below[r, start:stop], x[c, start:stop])
                if lower is not None:
                    clip(lower[c, start:stop], upper[c, start:stop], x[c, start:stop])
            add(x[c, start:stop], x[r, start:stop])


@compiled
def add(values, total):
    """Do total += values."""
    for j in range(len(values)):
        total[j] += values[j]


@compiled
def fill_leaf(y, rate, price, x):
    """Fill in what a leaf takes, x = max(0, y + rate price), with rate = 1 / 2w."""
    for j in range(len(y)):
        x[j] = max(0.0, y[j] + rate * price[j])


@compiled
def clip(lower, upper, x):
    """Move numbers into their intervals."""
    for j in range(len(x)):
        x[j] = min(max(x[j], lower[j]), upper[j])


@compiled
def merge_steps(y, lower, upper, start, stop, w, first_child, n_inner, below, width, low, length, steps, charges):
    """Pass upwards in the slope merge: what each inner region may take near the continuous optimum, and its cost.

    Region r may take low[r, s] .. low[r, s] + length[r, s] groups, a window of `width` around the continuous optimum;
    `steps[r, s, j]` is what its children charge for the j-th of them, the cheapest first, and `charges[s, j]` what the
    root itself charges. Leaves have no windows: the price of a step decides what they take. A length of -1 says that
    the windows of a region and of its children do not meet.
    """
    width_of_chunks = min(CHUNK, stop - start)
    center, demand = np.empty((n_inner, width_of_chunks)), np.empty(width_of_chunks)
    column = np.empty(len(y), np.int64)
    for a in range(start, stop, CHUNK):
        b = min(a + CHUNK, stop)
        for r in range(n_inner - 1, -1, -1):
            first, last = first_child[r], first_child[r + 1]
            center[r] = 0.0
            alike = first >= n_inner and lower is None
            for c in range(first, last):
                alike = alike and w[c] == w[first]
                if c >= n_inner:
                    fill_leaf(y[c, a:b], 0.5 / w[c], below[r, a:b], demand)
                    if lower is not None:
                        clip(lower[c, a:b], upper[c, a:b], demand)
                    add(demand, center[r])
                else:
                    add(center[c], center[r])
            for s in range(a, b):
                # The window: floor(x) - width .. floor(x) + 1 + width, within what the windows of the children add up
                # to, and within the interval, which is no wider than those of leaves add up to.
                lo, most = np.int64(0), np.int64(_NEVER)
                if first < n_inner:
                    lo, most = reach(s, first, last, low, length)
                floor = np.int64(np.floor(center[r, s - a]))
                lo, high = max(lo, floor - width), min(most, floor + 1 + width)
                if lower is not None:
                    lo, high = max(lo, lower[r, s]), min(high, upper[r, s])
                low[r, s], length[r, s] = lo, max(high - lo, np.int64(-1))
                # What r's children charge for its units are their own units merged, the cheapest first.
                if alike:
                    for c in range(first, last):
                        column[c - first] = y[c, s]
                    walk_alike(column[: last - first], w[first], below[r, s], lo, high, steps[r, s])
                elif lo <= high:
                    walk(
                        y, lower, upper, s, w, first, last, n_inner, below[r, s], low, length, steps, lo, high,
                        steps[r, s],
                    )  # fmt: skip
        for s in range(a, b):
            # The root adds its own cost; above it no one does.
            for k in range(length[0, s]):
                charges[s, k] = step_cost(low[0, s] + k, y[0, s], w[0]) + steps[0, s, k]


@compiled
def reach(s, first, last, low, length):
    """Add up the windows of inner regions; the most is less than the least where one of them is empty."""
    least, most = np.int64(0), np.int64(0)
    for c in range(first, last):
        if length[c, s] < 0:
            return np.int64(0), np.int64(-1)
        least += low[c, s]
        most += low[c, s] + length[c, s]
    return least, most


@compiled
def walk_alike(y, w, price, lo, high, out):
    """List the costs of units lo..high-1 of leaves of one weight: what they take changes at w (2 turn - 1) alone."""
    largest = y[0]
    for i in range(len(y)):
        largest = max(largest, y[i])
    # At the price w (2 turn - 1) leaf c takes max(0, y + turn): down until the window's lower end is not exceeded, then
    # up, and every unit that comes in at a turn costs that price.
    turn = np.int64(np.floor(0.5 * price / w))
    total = taken(y, turn)
    while total > lo:
        turn -= 1
        total = taken(y, turn)
    k = lo
    while k < high:
        turn = max(turn + 1, 1 - largest)
        total = taken(y, turn)
        while k < min(high, total):
            out[k - lo] = w * (2 * turn - 1)
            k += 1


@compiled
def taken(y, turn):
    """Add up what leaves of one weight w take at the price w (2 turn - 1): sum of max(0, y + turn)."""
    total = np.int64(0)
    for i in range(len(y)):
        total += max(0, y[i] + turn)
    return total


@compiled
def walk(y, lower, upper, s, w, first, last, n_inner, price, low, length, steps, lo, high, out):
    """List the costs of units lo..high-1 of children of any kind, from one price at which they change to the next.

    Of an empty list the first place holds a price at which children take `lo`.
    """
    # Down, price by price, until children take no more than the window's lower end, then up from one price at which
    # they take more to the next.
    t = np.int64(np.floor(min(max(price, -(2.0**60)), 2.0**60)))
    total, dearest, cheapest = look(y, lower, upper, s, w, first, last, n_inner, t, low, length, steps)
    while total > lo:
        total, dearest, cheapest = look(y, lower, upper, s, w, first, last, n_inner, dearest - 1, low, length, steps)
    k, most = lo, high
    if lo == high:  # nothing to list; `distribute` needs the price of the last unit that is taken
        out[0] = dearest
        k, most = total, lo
    while k < most:
        t = cheapest
        total, dearest, cheapest = look(y, lower, upper, s, w, first, last, n_inner, t, low, length, steps)
        while k < min(most, total):
            out[max(k - lo, np.int64(0))] = t
            k += 1


@compiled
def look(y, lower, upper, s, w, first, last, n_inner, t, low, length, steps):
    """Compute what children take at integer price t, the dearest unit among it and the cheapest one beyond it."""
    total, dearest, cheapest = np.int64(0), np.int64(-_NEVER), np.int64(_NEVER)
    if first >= n_inner:
        turn, least, most = np.int64(0), np.int64(0), np.int64(_NEVER)
        for c in range(first, last):
            if c == first or w[c] != w[c - 1]:
                turn = (t + w[c]) // (2 * w[c])  # a division costs more than the rest of the loop
            if lower is not None:
                least, most = lower[c, s], upper[c, s]
            x = min(max(least, y[c, s] + turn), most)
            last_cost = step_cost(x - 1, y[c, s], w[c])
            dearest = max(dearest, last_cost if x > least else -_NEVER)
            cheapest = min(cheapest, last_cost + 2 * w[c] if x < most else _NEVER)
            total += x
        return total, dearest, cheapest
    for c in range(first, last):
        k = np.int64(0)
        while k < length[c, s] and charge(s, c, k, y, w, low, steps) <= t:
            dearest = max(dearest, charge(s, c, k, y, w, low, steps))
            k += 1
        if k < length[c, s]:
            cheapest = min(cheapest, charge(s, c, k, y, w, low, steps))
        total += low[c, s] + k
    return total, dearest, cheapest


@compiled
def charge(s, c, k, y, w, low, steps):
    """Compute what inner region c charges its parent for one group more than low + k."""
    return step_cost(low[c, s] + k, y[c, s], w[c]) + steps[c, s, k]


@compiled
def step_cost(x, y, w):
    """Compute w (x + 1 - y)^2 - w (x - y)^2."""
    return w * (2 * (x - y) + 1)


@compiled
def distribute(y, lower, upper, start, stop, w, first_child, n_inner, low, length, steps, x):
    """Pass downwards from x[0]: a region's groups are its children's cheapest units, equal ones the first child's."""
    zero, one = np.int64(0), np.int64(1)
    dearest, missing = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    below, within = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    for a in range(start, stop, CHUNK):
        b = min(a + CHUNK, stop)
        for r in range(n_inner):
            first, last = first_child[r], first_child[r + 1]
            for s in range(a, b):
                # All units below the dearest one taken are taken; of those equal to it as many as are still missing. A
                # region at the low end of its window took none of the stored units: the first bounds it likewise.
                dearest[s - a] = steps[r, s, max(np.int64(0), x[r, s] - low[r, s] - 1)]
                missing[s - a] = x[r, s]
            if first < n_inner:
                for s in range(a, b):
                    share_among_inner(y, s, w, first, last, dearest[s - a], missing[s - a], low, length, steps, x)
                continue
            for c in range(first, last):
                if c == first or w[c] != w[c - 1]:
                    turns(dearest, w[c], one, below)
                take(y[c, a:b], row(lower, c, a, b), row(upper, c, a, b), below, missing, x[c, a:b])
            for c in range(first, last):
                if c == first or w[c] != w[c - 1]:
                    turns(dearest, w[c], zero, within)
                take_more(y[c, a:b], row(lower, c, a, b), row(upper, c, a, b), within, missing, x[c, a:b])


@compiled
def turns(price, w, less, out):
    """Compute what a leaf of weight w takes beyond its y at integer prices price - less: (price - less + w) // 2w."""
    for j in range(len(out)):
        out[j] = (price[j] - less + w) // (2 * w)


@compiled
def row(bounds, c, a, b):
    """Give the bounds of region c at sizes a..b-1, or None where there are none."""
    if bounds is None:
        return None
    return bounds[c, a:b]


@compiled
def take(y, lower, upper, turn, missing, x):
    """Let a leaf take x = max(0, y + turn) in its interval, and subtract it from what its parent still has to give."""
    for j in range(len(y)):
        x[j] = max(0, y[j] + turn[j])
        if lower is not None:
            x[j] = min(max(x[j], lower[j]), upper[j])
        missing[j] -= x[j]


@compiled
def take_more(y, lower, upper, turn, missing, x):
    """Let a leaf take more, up to max(0, y + turn) in its interval, as long as its parent has some to give."""
    for j in range(len(y)):
        most = max(0, y[j] + turn[j])
        if lower is not None:
            most = min(max(most, lower[j]), upper[j])
        more = max(0, min(most - x[j], missing[j]))
        x[j] += more
        missing[j] -= more


@compiled
def share_among_inner(y, s, w, first, last, dearest, missing, low, length, steps, x):
    """Do what `distribute` does for children first..last-1 that are inner regions, at one size.

    All take their units below the price `dearest`; of the units at that price the first children take what is missing.
    """
    for c in range(first, last):
        k = np.int64(0)
        while k < length[c, s] and charge(s, c, k, y, w, low, steps) < dearest:
            k += 1
        x[c, s] = low[c, s] + k
        missing -= x[c, s]
    for c in range(first, last):
        while (
            missing > 0
            and x[c, s] < low[c, s] + length[c, s]
            and charge(s, c, x[c, s] - low[c, s], y, w, low, steps) == dearest
        ):
            x[c, s] += 1
            missing -= 1
