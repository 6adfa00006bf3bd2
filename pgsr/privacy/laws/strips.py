"""The exact sampler of a wide discrete Gaussian law: a strip of 2^b sizes by inversion, and then a size in it.

A size is k = 2^b j + r with 0 <= r < 2^b, and

    exp(-k^2 / (2 sigma^2)) = exp(-j^2 4^b / (2 sigma^2)) exp(-t),  t = (2^(b + 1) j + r) r / (2 sigma^2) >= 0.

So j is drawn with the first factor's law, that of a discrete Gaussian of sigma / 2^b on 0, 1, ..., whose table is
short; r is uniform; and the pair is kept with probability exp(-t), or all is drawn again. With b such that sigma / 2^b
is in (512, 1024] more than 99.9 % of the draws are kept, and a few terms of its series enclose exp(-t) in integers. A
fair sign makes k an integer of either sign, where -0 is drawn again.

Source of the idea: Karney 2016, "Sampling exactly from the normal distribution", which draws r / 2^b bit by bit.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from pgsr.privacy.enclosure import exp_minus
from pgsr.privacy.laws.inversion import BITS, GUIDE_SHIFT, SizeLaw, Uniform, decide, table_of
from pgsr.privacy.random import ByteStream

_CHUNK = 1 << 17


@dataclass(frozen=True)
class Strips:
    """Strips of 2^strip_bits sizes, the law of their numbers j, and rate = 1 / (2 sigma^2)."""

    numbers: SizeLaw
    strip_bits: int
    rate: Fraction

    def add_to(self, values: np.ndarray, stream: ByteStream) -> None:
        """Add an independent draw to every entry of a contiguous int64 array, in place."""
        from pgsr.privacy.laws.inversion_kernel import add_in_strips

        if not values.size:
            return
        table = table_of(self.numbers)
        flat = values.reshape(-1)
        assert np.shares_memory(flat, values), "values must be contiguous"
        rate = int(self.rate * 2**62)
        undecided, refused = np.empty((2, min(_CHUNK, len(flat))), np.int64)
        for start in range(0, len(flat), _CHUNK):
            chunk = flat[start : start + _CHUNK]
            words = stream.words(2 * len(chunk))
            n_undecided, n_refused = add_in_strips(
                words,
                BITS,
                GUIDE_SHIFT,
                table.thresholds,
                table.guide,
                self.strip_bits,
                rate,
                chunk,
                undecided,
                refused,
            )
            again = refused[:n_refused].tolist()
            for i in undecided[:n_undecided].tolist():
                draw = self.decide(int(words[2 * i]), int(words[2 * i + 1]), stream)
                if draw is None:
                    again.append(i)
                else:
                    chunk[i] += draw
            if again:
                draws = np.zeros(len(again), np.int64)
                self.add_to(draws, stream)
                chunk[again] += draws

    def decide(self, first: int, second: int, stream: ByteStream) -> int | None:
        """Find the draw that starts with two words, with as many further bits as needed; None if it is refused."""
        j = decide(self.numbers, first & 2**BITS - 1, stream)
        r, v = second & 2**self.strip_bits - 1, second >> self.strip_bits
        t = (2 * (j << self.strip_bits) + r) * r * self.rate
        if t and not Uniform(v, stream, 32 - self.strip_bits).below(partial(exp_minus, t)):
            return None
        size, negative = (j << self.strip_bits) + r, first >> BITS
        if not size and negative:
            return None
        return -size if negative else size
