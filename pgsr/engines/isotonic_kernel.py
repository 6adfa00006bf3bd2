"""Pool-adjacent-violators in exact integers."""

import numpy as np

from pgsr.machine.compilation import compiled, uncounted

_SPAN = 4
"""The most numbers per value that counts are kept of: every fit sets its counts to 0 first."""

_CLIMB = 200
"""The most steps per value from the largest breakpoint down to the next; a heap takes about as long as these."""


@compiled
def isotonic_l2_rows(start, stop, rows, lower, upper, out):
    """out[r] = the nearest integer isotonic regression of rows[r], clipped to [lower[r], upper[r]], of rows start:stop.

    For `pgsr.machine.parallel.share`.
    """
    n = rows.shape[1]
    total = np.empty(n, np.int64)
    count = np.empty(n, np.int64)
    for r in range(start, stop):
        _, blocks = _pooled(rows[r], 0, 0, total, count)
        # All cells of a block take the nearest integer to its mean, halves to even, within the bounds.
        i = 0
        for b in range(blocks):
            value = total[b] // count[b]
            twice = 2 * (total[b] - value * count[b])
            if twice > count[b] or (twice == count[b] and value & 1):
                value += 1
            value = min(max(value, lower[r]), upper[r])
            for _ in range(count[b]):
                out[r, i] = value
                i += 1


@compiled
def l2_blocks(y):
    """Sums and counts of the blocks of the isotonic regression of one vector; memory grows with the blocks alone."""
    total = np.empty(1024, np.int64)
    count = np.empty(1024, np.int64)
    start, blocks = _pooled(y, 0, 0, total, count)
    while start < len(y):
        total = np.concatenate((total, np.empty(blocks, np.int64)))
        count = np.concatenate((count, np.empty(blocks, np.int64)))
        start, blocks = _pooled(y, start, blocks, total, count)
    return total[:blocks], count[:blocks]


@uncounted
def _pooled(y, start, blocks, total, count):
    """Go on from y[start] with these blocks, until all values are pooled or there is no room for another block."""
    for i in range(start, len(y)):
        if blocks == len(total):
            return i, blocks
        # A block whose mean is not below the next one's is pooled with it, by cross-multiplication: no float decides.
        block_total = np.int64(y[i])
        block_count = np.int64(1)
        while blocks > 0 and total[blocks - 1] * block_count >= block_total * count[blocks - 1]:
            blocks -= 1
            block_total += total[blocks]
            block_count += count[blocks]
        total[blocks] = block_total
        count[blocks] = block_count
        blocks += 1
    return len(y), blocks


@compiled
def l2_blocks_within(y, lower, upper):
    """The blocks of the isotonic regression of one vector in bounds of its cells: values as fractions, and counts.

    Bounds do not decrease. A block takes its mean, clipped to the lower bound of its last cell and the upper bound of
    its first one; values are total / divisor, and are compared by cross-multiplication.
    """
    n = len(y)
    total, divisor = np.empty(n, np.int64), np.empty(n, np.int64)
    sums, count, first = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    blocks = 0
    for i in range(n):
        # Of all v within the bounds of a block's cells the best is its mean, clipped: its largest lower bound is that
        # of the last cell, i, its smallest upper bound that of the first. Blocks are pooled while these values do not
        # rise.
        sums[blocks], count[blocks], first[blocks] = y[i], 1, i
        blocks += 1
        while True:
            b = blocks - 1
            total[b], divisor[b] = sums[b], count[b]
            if sums[b] < lower[i] * count[b]:
                total[b], divisor[b] = lower[i], 1
            elif sums[b] > upper[first[b]] * count[b]:
                total[b], divisor[b] = upper[first[b]], 1
            if b == 0 or total[b - 1] * divisor[b] < total[b] * divisor[b - 1]:
                break
            sums[b - 1] += sums[b]
            count[b - 1] += count[b]
            blocks -= 1
    return total[:blocks], divisor[:blocks], count[:blocks]


@compiled
def l2_min_max(y):
    """Find, for every cell i, the largest over a <= i of the least over b >= i of the means of y[a], ..., y[b].

    Returns:
        The sums and the counts of these means, whose quotient is the fit.
    """
    n = len(y)
    total, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
    whole = np.int64(y.sum())
    for a in range(n):
        here, least, of = whole, whole, np.int64(n - a)
        for i in range(n - 1, a - 1, -1):  # here is the sum of y[a], ..., y[i], least / of the least mean so far
            if here * of < least * (i - a + 1):
                least, of = here, np.int64(i - a + 1)
            if count[i] == 0 or least * count[i] > total[i] * of:
                total[i], count[i] = least, of
            here -= y[i]
        whole -= y[a]
    return total, count


@compiled
def l1_smallest(y, out):
    """The smallest L1 isotonic regression of y, by the slope trick.

    A bag holds the breakpoints of the left slopes of the optimal cost of the prefix as a function of its last value;
    its largest is that function's smallest minimiser. A backward running minimum turns minimisers into the fit. Right
    of the largest the slope of the prefix's cost is 0. |v - y[i]| adds 1 right of y[i] and -1 left of it: y[i] comes in
    twice, and the largest goes out, right of which the slope is 1 now.

    The bag is an array of counts where values span few numbers and climb little, as noisy counts do, and else a heap.
    """
    n = len(y)
    low = high = y[0] if n else np.int64(0)
    climbed = np.int64(0)
    for i in range(1, n):
        low, high = min(low, y[i]), max(high, y[i])
        if y[i] > y[i - 1]:
            climbed += min(y[i] - y[i - 1], np.int64(_CLIMB * n))
    if high - low <= _SPAN * n and climbed <= _CLIMB * n:
        _by_counts(y, low, high, out)
    else:
        _by_heap(y, out)
    # The last cell takes the minimiser of the whole, each before it that of its prefix or less, as order asks.
    for i in range(n - 2, -1, -1):
        out[i] = min(out[i], out[i + 1])


@compiled
def _by_counts(y, low, high, out):
    """Write the largest breakpoint of every prefix, from the counts of each of them."""
    count = np.zeros(high - low + 1, np.int32)
    top = np.int64(-1)
    for i in range(len(y)):
        value = y[i] - low
        if value >= top:
            count[value] += 1
            top = value
        else:
            count[value] += 2
            count[top] -= 1
            while count[top] == 0:
                top -= 1
        out[i] = top + low


@compiled
def _by_heap(y, out):
    """Write the largest breakpoint of every prefix, the top of a heap."""
    heap = np.empty(len(y) + 1, np.int64)
    size = np.int64(0)  # not a literal, for which `_sink` would be compiled once more
    for i in range(len(y)):
        value = y[i]
        # Push y[i] twice and drop the top; in one sweep where y[i] is below the top.
        if size > 0 and heap[0] > value:
            _sink(heap, size, value)
        heap[size] = value
        child = size
        size += 1
        while child > 0:
            parent = (child - 1) >> 1
            if heap[parent] >= value:
                break
            heap[child] = heap[parent]
            child = parent
        heap[child] = value
        out[i] = heap[0]


@compiled
def l1_middle_rows(start, stop, rows, most, out):
    """out[r] = the middle of the smallest and the largest L1 isotonic regression of rows[r] within 0..most[r].

    For `pgsr.machine.parallel.share`.
    """
    n = rows.shape[1]
    y, least, negated, largest = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    for r in range(start, stop):
        # x is a fit of y if and only if -x, read backwards, is one of -y read backwards: its smallest is the largest of
        # y.
        for s in range(n):
            y[s] = rows[r, s]
            negated[n - 1 - s] = -y[s]
        l1_smallest(y, least)
        l1_smallest(negated, largest)
        # Clipped to the bounds a fit is one within them, and as the cost is convex the middle of two is one, too.
        for s in range(n):
            low = min(max(least[s], 0), most[r])
            high = min(max(-largest[n - 1 - s], 0), most[r])
            out[r, s] = 0.5 * (low + high)


@compiled
def _sink(heap, size, value):
    """Replace the top by a smaller value."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value
