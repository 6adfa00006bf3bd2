"""The inner loop of the double geometric sampler."""

import numpy as np

from pgsr.compilation import compiled


@compiled
def add_noise(words, n_bits, guide_shift, thresholds, guide, values, undecided):
    """Add a draw to every entry of `values`; returns how many indices it left in `undecided` for longer arithmetic.

    A word's top bit is the sign and the lower n_bits = 31 ones are u: the draw is the first m with thresholds[m] > u,
    and where some thresholds[m] equals u more bits have to decide.

    words: uint32, one per value.
    thresholds: T_0, T_1, ..., increasing.
    guide: for every value of u >> guide_shift the first m that can be the answer.
    values, undecided: int64; `undecided` has room for all indices.
    """
    mask, shift, sign = np.uint32((1 << n_bits) - 1), np.uint32(guide_shift), np.uint32(n_bits)
    n_undecided = 0
    for i in range(len(values)):
        word = words[i]
        u = word & mask
        m = np.int64(guide[u >> shift])
        while thresholds[m] < u:
            m += 1
        if thresholds[m] == u:
            undecided[n_undecided] = i
            n_undecided += 1
        else:
            negative = np.int64(word >> sign)
            values[i] += (m ^ -negative) + negative
    return n_undecided
