"""The inner loops of the samplers by inversion: of sizes, and of sizes that are strips of a wider law."""

import numpy as np

from pgsr.machine.compilation import compiled


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
            # m, or its complement and 1, which is -m.
            values[i] += (m ^ -negative) + negative
    return n_undecided


@compiled
def add_in_strips(words, n_bits, guide_shift, thresholds, guide, strip_bits, rate, values, undecided, refused):
    """Add a draw of a law in strips to every entry of `values`; returns the lengths of `undecided` and `refused`.

    The first word of a value gives its sign and u, and so its strip j, as in `add_noise`. The lower strip_bits bits of
    the second are its place r in the strip, and the upper ones are v: the draw +-(2^strip_bits j + r) is kept if
    v / 2^(32 - strip_bits) is below exp(-t), t = (2^(strip_bits + 1) j + r) r rate / 2^62, and refused otherwise, as is
    a zero with a sign. In units of 2^-62, t and the bounds

        1 - t  <=  1 - t + t^2 / 2 - t^3 / 6  <=  exp(-t)  <=  1 - t + t^2 / 2

    are enclosed by integers. What they leave open is undecided.

    words: uint32, two per value.
    rate: in [(2^62 / (2 sigma^2)) - 1, 2^62 / (2 sigma^2)], so that t < 1/64 and the products stay below 2^62.
    values, undecided, refused: int64; the last two have room for all indices.
    """
    mask, shift, sign = np.uint32((1 << n_bits) - 1), np.uint32(guide_shift), np.uint32(n_bits)
    place, up, one = np.uint32((1 << strip_bits) - 1), np.uint32(strip_bits), np.int64(1) << 62
    to_v = np.int64(30 + strip_bits)
    n_undecided = n_refused = 0
    for i in range(len(values)):
        word, second = words[2 * i], words[2 * i + 1]
        u = word & mask
        j = np.int64(guide[u >> shift])
        while thresholds[j] < u:
            j += 1
        if thresholds[j] == u:
            undecided[n_undecided] = i
            n_undecided += 1
            continue
        # t = (2^(strip_bits + 1) j + r) r rate / 2^62 in units of 2^-62, between `low` and `high`, as rate may be too
        # small by 1.
        r, v = np.int64(second & place), np.int64(second >> up)
        low = ((j << (strip_bits + 1)) + r) * r * rate
        high = low + ((j << (strip_bits + 1)) + r) * r
        negative = np.int64(word >> sign)
        size = (j << strip_bits) + r
        # A number in v .. v + 1 is kept at once where all of it is at most 1 - t, and else compared with the sharper
        # bounds: refused beyond the upper one, undecided where it may be beyond the lower one.
        if (v + 1) << to_v > one - high:
            near, far = low >> 31, (high >> 31) + 1  # t in units of 2^-31, rounded down and up
            if v << to_v >= one - low + ((far * far) >> 1) + 1:
                refused[n_refused] = i
                n_refused += 1
                continue
            if (v + 1) << to_v > one - high + ((near * near) >> 1) - ((((far * far) >> 31) + 1) * far // 6 + 1):
                undecided[n_undecided] = i
                n_undecided += 1
                continue
        if size == 0 and negative == 1:
            refused[n_refused] = i
            n_refused += 1
        else:
            values[i] += (size ^ -negative) + negative
    return n_undecided, n_refused
