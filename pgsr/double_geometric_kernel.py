"""The inner loop of the double geometric sampler."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def add_noise(words, thresholds, guide, values, undecided):
    """Add a draw to every entry of `values`; returns how many indices it left in `undecided` for longer arithmetic.

    A word's top bit is the sign, the other 31 are u; the draw is the first m with thresholds[m] > u.
    """
    n_undecided = 0
    for i in range(len(values)):
        word = words[i]
        u = word & np.uint32(0x7FFFFFFF)
        m = np.int64(guide[u >> np.uint32(15)])
        while thresholds[m] < u:
            m += 1
        if thresholds[m] == u:
            undecided[n_undecided] = i
            n_undecided += 1
        else:
            negative = np.int64(word >> np.uint32(31))
            values[i] += (m ^ -negative) + negative
    return n_undecided
