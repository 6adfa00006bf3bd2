"""The compiled loop of the optimal matching, on runs of equal sizes."""

import numpy as np

from pgsr.compilation import compiled


@compiled
def match_runs(top_size, top_count, bottom_size, bottom_count):
    """Match the groups of a parent to those of its children, smallest sizes first.

    Runs are in increasing order of size, the children's of equal size in the order of the children. Returns arrays
    (top run, bottom run, number of matched groups).

    All groups of the smallest bottom size are matched if the smallest top size has room for them; else that room is
    shared among the children in proportion to their groups of this size: floors, then the largest remainders one more,
    ties to the first child.
    """
    limit = len(top_count) + len(bottom_count)
    tops = np.empty(limit, np.int64)
    bottoms = np.empty(limit, np.int64)
    counts = np.empty(limit, np.int64)
    n = 0
    top, room = -1, np.int64(0)
    start = 0
    while start < len(bottom_size):
        stop = start
        total = np.int64(0)
        while stop < len(bottom_size) and bottom_size[stop] == bottom_size[start]:
            total += bottom_count[stop]
            stop += 1
        left = bottom_count[start:stop].copy()
        while total > 0:
            while room == 0:
                top += 1
                room = top_count[top]
            if total <= room:
                share = left.copy()
            else:
                share = room * left // total
                short = room - share.sum()
                order = np.argsort(-(room * left - share * total), kind="mergesort")
                for k in order[:short]:
                    share[k] += 1
            for k in range(stop - start):
                if share[k] > 0:
                    if n == len(tops):
                        tops = np.concatenate((tops, np.empty(n, np.int64)))
                        bottoms = np.concatenate((bottoms, np.empty(n, np.int64)))
                        counts = np.concatenate((counts, np.empty(n, np.int64)))
                    tops[n], bottoms[n], counts[n] = top, start + k, share[k]
                    n += 1
            left -= share
            matched = share.sum()
            room -= matched
            total -= matched
        start = stop
    return tops[:n], bottoms[:n], counts[:n]
