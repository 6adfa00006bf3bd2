"""The compiled loop of the optimal matching, on runs of equal sizes."""

import numpy as np

from pgsr.machine.compilation import compiled

LARGEST_PRODUCT = 2**62
"""Products of counts up to this one are formed at once."""


@compiled
def match_runs(top_count, bottom_size, bottom_count):
    """Match the groups of a parent to those of its children, smallest sizes first.

    Runs are in increasing order of size, the children's of equal size in the order of the children; the parent's sizes
    have no other part in it. Returns arrays (top run, bottom run, number of matched groups).

    All groups of the smallest bottom size are matched if the smallest top size has room for them; else that room is
    shared among the children in proportion to their groups of this size: floors, then the largest remainders one more,
    ties to the first child.
    """
    limit = len(top_count) + len(bottom_count)
    tops, bottoms, counts = np.empty(limit, np.int64), np.empty(limit, np.int64), np.empty(limit, np.int64)
    left, share, rest = np.empty(limit, np.int64), np.empty(limit, np.int64), np.empty(limit, np.int64)
    found = 0
    top, room = -1, np.int64(0)
    start = 0
    while start < len(bottom_size):
        # The runs of one bottom size, a child's each, have left[k] groups that are not matched yet, `total` together.
        n, total = 0, np.int64(0)
        while start + n < len(bottom_size) and bottom_size[start + n] == bottom_size[start]:
            left[n] = bottom_count[start + n]
            total += left[n]
            n += 1
        while total > 0:
            # The smallest top size with groups that are not matched yet, `room` of them.
            while room == 0:
                top += 1
                room = top_count[top]
            if total <= room:
                for k in range(n):
                    share[k] = left[k]
            else:
                # Child k's part is room left[k] / total.
                missing = room
                for k in range(n):
                    share[k], rest[k] = part_of(room, left[k], total)
                    missing -= share[k]
                add_to_largest(rest, n, missing, total, share)
            for k in range(n):
                if share[k] > 0:
                    if found == len(tops):
                        tops, bottoms, counts = longer(tops), longer(bottoms), longer(counts)
                    tops[found], bottoms[found], counts[found] = top, start + k, share[k]
                    found += 1
                    left[k] -= share[k]
                    room -= share[k]
                    total -= share[k]
        start += n
    return tops[:found], bottoms[:found], counts[:found]


@compiled
def part_of(room, left, total):
    """Compute room * left // total and the remainder, for room < total and 0 <= left <= total.

    A product beyond 64 bits is never formed: its remainder is doubled and added to, bit by bit of `left`.
    """
    if left == 0 or room <= LARGEST_PRODUCT // left:
        product = room * left
        return product // total, product % total
    whole, rest = np.int64(0), np.int64(0)
    for bit in range(62, -1, -1):
        whole *= 2
        # rest + more, without forming the sum, which may be beyond 64 bits.
        for more in (rest, room if left >> bit & 1 else np.int64(0)):
            if rest >= total - more:
                rest -= total - more
                whole += 1
            else:
                rest += more
    return whole, rest


@compiled
def add_to_largest(rest, n, missing, bound, share):
    """Add 1 to the shares with the `missing` largest of n remainders 0 <= rest < bound; of equal ones the first."""
    if missing == 0:
        return
    low, high = np.int64(0), bound  # `missing` remainders or more reach low, fewer reach high
    while high - low > 1:
        middle = (low + high) // 2
        reaching = 0
        for k in range(n):
            reaching += rest[k] >= middle
        if reaching >= missing:
            low = middle
        else:
            high = middle
    for k in range(n):
        if rest[k] > low:
            share[k] += 1
            missing -= 1
    for k in range(n):
        if rest[k] == low and missing > 0:
            share[k] += 1
            missing -= 1


@compiled
def longer(values):
    """A copy with room for as many more."""
    out = np.empty(2 * len(values), np.int64)
    for k in range(len(values)):
        out[k] = values[k]
    return out
