"""Pool-adjacent-violators in exact integers."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True, parallel=True)
def isotonic_l2_rows(rows, lower, upper, out):
    """out[r] = the nearest integer isotonic regression of rows[r], clipped to [lower[r], upper[r]]."""
    n = rows.shape[1]
    for r in nb.prange(rows.shape[0]):
        total = np.empty(n, np.int64)
        count = np.empty(n, np.int64)
        blocks = 0
        for i in range(n):
            total[blocks] = rows[r, i]
            count[blocks] = 1
            blocks += 1
            # Means are compared by cross-multiplication: no float decides a tie.
            while blocks > 1 and total[blocks - 2] * count[blocks - 1] >= total[blocks - 1] * count[blocks - 2]:
                blocks -= 1
                total[blocks - 1] += total[blocks]
                count[blocks - 1] += count[blocks]
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
