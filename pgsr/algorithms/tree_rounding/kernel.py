"""Sharing a parent's cumulative counts among its children; names are those of `pgsr.algorithms.tree_rounding`."""

import numpy as np

from pgsr.machine.compilation import compiled


@compiled
def share(parent, values, fixed, totals, out):
    """Fill `out` with integer cumulative counts of the children that add up to the parent's.

    Args:
        parent: C, int64, non-decreasing, shape (K + 1,).
        values: v of the children, float64, non-negative and non-decreasing, shape (children, K + 1).
        fixed: whether the children's last cells are `totals`, which add up to C[K].
        totals: int64, shape (children,).
        out: int64, shape (children, K + 1).
    """
    n, n_sizes = values.shape
    # u[s] = sum over children j of v[j, s].
    together = np.zeros(n_sizes)
    for j in range(n):
        for s in range(n_sizes):
            together[s] += values[j, s]
    so_far = np.zeros(n, np.int64)
    due = np.empty(n)
    gets = np.empty(n, np.int64)
    heap = np.empty(n, np.int64)
    place = np.int64(0)  # a literal 0 is a type of its own, for which `_place_of` would be compiled once more
    before = np.int64(0)
    for s in range(n_sizes):
        # X = C[s] - C[s - 1], as `gain`.
        gain = parent[s] - before
        before = parent[s]
        if gain > 0:
            # The place where u = C[s], `part` of the way from one size to the next; there t[j, s] is v[j].
            place = _place_of(together, parent[s], place, s)
            above = together[place]
            below = together[place - 1] if place > 0 else 0.0
            part = 1.0 if above <= below else min(1.0, max(0.0, (parent[s] - below) / (above - below)))
            # Beyond the end of the values, where totals are not known, children grow in proportion.
            stretch = parent[s] / above if place == n_sizes - 1 and 0.0 < above < parent[s] else 1.0
            left = gain
            for j in range(n):
                start = values[j, place - 1] if place > 0 else 0.0
                target = (start + part * (values[j, place] - start)) * stretch
                if fixed:
                    target = float(totals[j]) if s == n_sizes - 1 else min(target, float(totals[j]))
                # d[j] = t[j, s] - c[j, s - 1]: its whole part now, and what is left of it is evened out below.
                due[j] = target - so_far[j]
                gets[j] = np.int64(due[j]) if due[j] > 0.0 else 0
                due[j] -= gets[j]
                left -= gets[j]
            _even_out(left, due, gets, heap)
            for j in range(n):
                so_far[j] += gets[j]
        for j in range(n):
            out[j, s] = so_far[j]


@compiled
def _place_of(together, value, place, nearby):
    """The first size where the children together reach `value`, or the last; `nearby` itself where it is as good."""
    last = len(together) - 1
    while place < last and together[place] < value:
        place += 1
    # Where the children together do not grow, the size itself is as good a place, and the honest one.
    if place < nearby and together[nearby] == together[place]:
        place = nearby
    return place


@compiled
def _even_out(left, due, gets, heap):
    """Give `left` more groups, one each, to the largest remaining dues; or take from the smallest if negative."""
    n = len(due)
    whole = True
    for j in range(n):
        whole = whole and due[j] == np.floor(due[j])
    if left > n and whole:
        _level(left, due, gets)
        return
    # A heap of the children that may get one more, or give one back; a child that did is due one less, or one more, and
    # sinks to its place.
    sign = 1.0 if left > 0 else -1.0
    top = size = np.int64(0)
    for j in range(n):
        if left > 0 or gets[j] > 0:
            heap[size] = j
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        _sink(heap, root, size, due, sign)
    step = 1 if left > 0 else -1
    for _ in range(abs(left)):
        best = heap[0]
        gets[best] += step
        due[best] -= step
        if step < 0 and gets[best] == 0:
            size -= 1
            heap[0] = heap[size]
        _sink(heap, top, size, due, sign)


@compiled
def _level(left, due, gets):
    """Give `left` more groups as `_even_out` does one by one, at once: whole dues fall to one level, and stay exact.

    Where children have no values at all, but their parent has groups, `left` is all of these.
    """
    # One by one the largest dues would fall together, to the lowest level for which `left` suffices.
    n = len(due)
    high = np.int64(due[0])
    for j in range(n):
        high = max(high, np.int64(due[j]))
    low = high - left - 1
    while high - low > 1:  # the lowest level for which there are enough
        level = (low + high) // 2
        needed = np.int64(0)
        for j in range(n):
            needed += max(np.int64(due[j]) - level, 0)
            if needed > left:
                break
        if needed > left:
            low = level
        else:
            high = level
    for j in range(n):
        more = max(np.int64(due[j]) - high, 0)
        gets[j] += more
        left -= more
    for j in range(n):  # those that are at the level now, the first ones
        if left > 0 and np.int64(due[j]) >= high:
            gets[j] += 1
            left -= 1


@compiled
def _sink(heap, root, size, due, sign):
    """Restore the heap below `root`: largest `sign * due` on top, ties to the first child."""
    while True:
        best = root
        for child in (2 * root + 1, 2 * root + 2):
            if child < size:
                one, other = sign * due[heap[child]], sign * due[heap[best]]
                if one > other or (one == other and heap[child] < heap[best]):
                    best = child
        if best == root:
            return
        heap[root], heap[best] = heap[best], heap[root]
        root = best
