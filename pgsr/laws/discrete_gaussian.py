"""The discrete Gaussian law.

    P(X = k) = exp(-k^2 / (2 sigma^2)) / Z,  Z = sum of exp(-j^2 / (2 sigma^2)) over all integers j,  k any integer.

Where values move by Delta_2 in Euclidean distance, its noise is Delta_2^2 / (2 sigma^2)-zCDP, as continuous Gaussian
noise of the same sigma^2 is.

Source of the law: Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, log, pi

import numpy as np

from pgsr.enclosure import divided_up, exp_minus, shifted_up
from pgsr.errors import BudgetError
from pgsr.laws.law import Law

LARGEST_DEVIATION = 2**10
"""Largest sigma that is supported."""

_GUARD_BITS = 32
_SMOOTH = 2
"""From this sigma up, Z = sigma sqrt(2 pi) and the variance is sigma^2 to within 1e-30 of themselves."""


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """The law with the parameter sigma^2, and an exact sampler of it.

    Raises:
        BudgetError: sigma is above 2^10.

    Example:
        >>> from pgsr.random import ByteStream
        >>> round(DiscreteGaussian(Fraction(1, 2)).variance, 6)
        0.498979
        >>> noise = np.zeros(5, np.int64)
        >>> DiscreteGaussian(Fraction(100)).add_to(noise, ByteStream(bytes(32)))
        >>> noise
        array([ 19,  -1,   2,  -1, -21])
    """

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        if self.sigma_squared <= 0:
            raise BudgetError(f"noise variance {self.sigma_squared} is not positive")
        if self.sigma_squared > LARGEST_DEVIATION**2:
            raise BudgetError(
                f"discrete Gaussian noise of sigma {float(self.sigma_squared) ** 0.5:,.0f} exceeds the largest "
                f"supported, {LARGEST_DEVIATION:,}; give the level a larger rho"
            )

    @property
    def variance(self) -> float:
        """The variance, at most sigma^2, from sums in intervals that are narrower than a rounding.

        By Poisson's summation formula, with q = exp(-2 pi^2 sigma^2),

            Z = sigma sqrt(2 pi) (1 + 2 q + 2 q^4 + ...),   sigma^2 - variance = 4 pi^2 sigma^4 (2 q + ...) / (1 + ...),

        which from sigma = 2 up is below 1e-31 sigma^2.
        """
        if self.sigma_squared >= _SMOOTH**2:
            return float(self.sigma_squared)
        precision = 128
        while True:
            low, high = _variance(self._rate, precision)
            if float(low) == float(high):
                return float(low)
            precision *= 2

    @property
    def spelling(self) -> dict[str, str]:
        return {"law": "discrete_gaussian", "sigma_squared": str(self.sigma_squared)}

    def log_pmf(self, k: np.ndarray) -> np.ndarray:
        k = np.asarray(k, float)
        return -k * k * float(self._rate) - self._log_total

    def probability_beyond(self, m: np.ndarray) -> np.ndarray:
        end = int(39 * float(self.sigma_squared) ** 0.5) + 2  # exp(-39^2 / 2) is about the smallest double
        sizes = np.arange(end, 0, -1)
        beyond = np.cumsum(2 * np.exp(self.log_pmf(sizes)))[::-1]  # P(|X| > 0), P(|X| > 1), ..., smallest added first
        m = np.asarray(m)
        return np.where(m < 0, 1.0, np.append(beyond, 0.0)[np.clip(m, 0, end)])

    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        """Enclose 2^precision P(|X| <= m) by two integers. O(sigma) steps, once for every precision."""
        return _sums(self._rate, precision).probability_at_most(m)

    def enclosures(self, precision: int) -> Iterator[tuple[int, int]]:
        sums, m = _sums(self._rate, precision), 0
        while True:
            yield sums.probability_at_most(m)
            m += 1

    @property
    def _rate(self) -> Fraction:
        return 1 / (2 * self.sigma_squared)

    @property
    def _log_total(self) -> float:
        """The logarithm of Z."""
        if self.sigma_squared >= _SMOOTH**2:
            return log(2 * pi * float(self.sigma_squared)) / 2
        rate = float(self._rate)
        return float(np.log1p(sum(2 * exp(-j * j * rate) for j in range(40 * _SMOOTH, 0, -1))))


@dataclass(frozen=True)
class _Sums:
    """Sums of the weights 1, 2 exp(-rate), ..., 2 exp(-m^2 rate) for all m, each between two integers.

    low, high: enclosures of 2^working (1 + ... + 2 exp(-m^2 rate)), up to the m whose weight is below 2^-working.
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
def _sums(rate: Fraction, precision: int) -> _Sums:
    """Sum the weights at a precision that keeps the sums to within some 2^-precision of the total."""
    sigma_bits = (rate.denominator // rate.numerator).bit_length() // 2 + 1
    working = precision + _GUARD_BITS + 4 * sigma_bits  # the errors of ~ 15 sigma products, and of their sums
    lows, highs = [1 << working], [1 << working]
    for low, high in _weights(rate, working):
        lows.append(lows[-1] + 2 * low)
        highs.append(highs[-1] + 2 * high)
    # Behind the last weight, which is at most a unit, each is at most the ratio exp(-rate) times the one before.
    rest = divided_up(1 << working, (1 << working) - exp_minus(rate, working)[1])
    return _Sums(precision, lows, highs, highs[-1] + 2 * rest)


def _weights(rate: Fraction, working: int) -> Iterator[tuple[int, int]]:
    """List enclosures of 2^working exp(-m^2 rate) for m = 1, 2, ..., up to the first whose bound is at most 1.

    exp(-(m + 1)^2 rate) = exp(-m^2 rate) exp(-(2 m + 1) rate), and this factor falls by exp(-2 rate) with every m.
    """
    ratio_low, ratio_high = exp_minus(rate, working)
    fall_low, fall_high = exp_minus(2 * rate, working)
    low, high = ratio_low, ratio_high
    while True:
        yield low, high
        if high <= 1:
            return
        ratio_low, ratio_high = ratio_low * fall_low >> working, shifted_up(ratio_high * fall_high, working)
        low, high = low * ratio_low >> working, shifted_up(high * ratio_high, working)


def _variance(rate: Fraction, working: int) -> tuple[Fraction, Fraction]:
    """Enclose the variance, the sum of 2 m^2 exp(-m^2 rate) over m >= 1 divided by Z, for rate >= 1/8."""
    moment_low = moment_high = m = 0
    total_low = total_high = 1 << working
    for m, (low, high) in enumerate(_weights(rate, working), 1):
        moment_low, moment_high = moment_low + 2 * m * m * low, moment_high + 2 * m * m * high
        total_low, total_high = total_low + 2 * low, total_high + 2 * high
    # The last weight is at most a unit, and m^2 exp(-m^2 rate) less than halves from there on.
    return Fraction(moment_low, total_high + 2), Fraction(moment_high + 2 * m * m, total_low)
