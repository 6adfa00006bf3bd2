"""Sums of exp(-m^2 rate) over sizes m, between integers, by adding them up: for laws of up to thousands of sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pgsr.privacy.enclosure import divided_up, exp_minus, shifted_up

_STEP = 160
"""Sums are computed for precisions that are multiples of this, so that few of them serve all questions."""

_GUARD_BITS = 32


@dataclass(frozen=True)
class GaussianSizes:
    """The law on 0, 1, ... with weights 1, sides exp(-rate), sides exp(-4 rate), ..., sides exp(-m^2 rate), ...

    With two sides it is that of |X|, X discrete Gaussian with rate = 1 / (2 sigma^2); with one side that of X >= 0.

    Example:
        >>> low, high = GaussianSizes(Fraction(1, 2), sides=2).probability_at_most(1, 30)
        >>> low / 2**30, high - low
        (0.8828837238252163, 1)
    """

    rate: Fraction
    sides: int

    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        """Enclose 2^precision P(size <= m) by two integers. O(sigma) steps, once for every 160 bits of precision."""
        sums = _sums(self.rate, self.sides, -(-precision // _STEP) * _STEP)
        low, high = sums.probability_at_most(m)
        more = sums.precision - precision
        return low >> more, shifted_up(high, more)

    def enclosures(self, precision: int) -> Iterator[tuple[int, int]]:
        """List enclosures of 2^precision P(size <= m) for m = 0, 1, ..., without an end."""
        m = 0
        while True:
            yield self.probability_at_most(m, precision)
            m += 1


def variance_bounds(rate: Fraction, working: int) -> tuple[Fraction, Fraction]:
    """Enclose the variance of the law with two signs, the sum of 2 m^2 exp(-m^2 rate) over its total; rate >= 1/8."""
    moment_low = moment_high = m = high = 0
    total_low = total_high = 1 << working
    for m, (low, high) in enumerate(_weights(rate, working, 1), 1):
        moment_low, moment_high = moment_low + 2 * m * m * low, moment_high + 2 * m * m * high
        total_low, total_high = total_low + 2 * low, total_high + 2 * high
    # From here on m^2 exp(-m^2 rate) less than halves with every m.
    return Fraction(moment_low, total_high + 2 * high), Fraction(moment_high + 2 * m * m * high, total_low)


@dataclass(frozen=True)
class _Sums:
    """Enclosures of sums of weights from 0 up to m, for all m whose weights are not negligible.

    low, high: the sums, in units of 2^-working.
    total_high: a bound from above of the sum over all m; `low[-1]` is one from below.
    """

    precision: int
    low: list[int]
    high: list[int]
    total_high: int

    def probability_at_most(self, m: int) -> tuple[int, int]:
        one, last = 1 << self.precision, len(self.low) - 1
        low = self.low[min(m, last)] * one // self.total_high
        return low, one if m > last else min(one, divided_up(self.high[m] * one, self.low[last]))


@lru_cache(maxsize=8)
def _sums(rate: Fraction, sides: int, precision: int) -> _Sums:
    """Sum the weights so precisely that quotients of the sums are known to some units of 2^-precision."""
    sigma_bits = (rate.denominator // rate.numerator).bit_length() // 2 + 1
    working = precision + _GUARD_BITS + 3 * sigma_bits  # for the roundings of ~ 15 sigma products, and their sums
    lows, highs, high = [1 << working], [1 << working], 0
    for low, high in _weights(rate, working, 1 << (working - precision) // 2):
        lows.append(lows[-1] + sides * low)
        highs.append(highs[-1] + sides * high)
    # Every weight is at most exp(-rate) times the one before it.
    rest = divided_up(high << working, (1 << working) - exp_minus(rate, working)[1])
    return _Sums(precision, lows, highs, highs[-1] + sides * rest)


def _weights(rate: Fraction, working: int, negligible: int) -> Iterator[tuple[int, int]]:
    """List enclosures of 2^working exp(-m^2 rate) for m = 1, 2, ..., up to the first that is at most `negligible`.

    exp(-(m + 1)^2 rate) = exp(-m^2 rate) exp(-(2 m + 1) rate), and this factor falls by exp(-2 rate) with every m.
    """
    ratio_low, ratio_high = exp_minus(rate, working)
    fall_low, fall_high = exp_minus(2 * rate, working)
    low, high = ratio_low, ratio_high
    while True:
        yield low, high
        if high <= negligible:
            return
        ratio_low, ratio_high = ratio_low * fall_low >> working, shifted_up(ratio_high * fall_high, working)
        low, high = low * ratio_low >> working, shifted_up(high * ratio_high, working)
