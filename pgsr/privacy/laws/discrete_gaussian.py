"""The discrete Gaussian law.

    P(X = k) = exp(-k^2 / (2 sigma^2)) / Z,  Z = sum of exp(-j^2 / (2 sigma^2)) over all integers j,  k any integer.

Where values move by Delta_2 in Euclidean distance, its noise is Delta_2^2 / (2 sigma^2)-zCDP, as continuous Gaussian
noise of the same sigma^2 is.

Source of the law: Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy".
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log, pi

import numpy as np

from pgsr.errors import BudgetError
from pgsr.privacy.laws import gaussian_integral, inversion
from pgsr.privacy.laws.gaussian_sums import GaussianSizes, variance_bounds
from pgsr.privacy.laws.law import Law
from pgsr.privacy.laws.shapes import GaussianShape
from pgsr.privacy.laws.strips import Strips
from pgsr.privacy.random import ByteStream

LARGEST_DEVIATION = 2**20
"""Largest sigma that is supported."""

WIDEST_TABLE = 2**10
"""Largest sigma whose sizes are drawn from one table (6,381 entries); above it come strips of sizes."""

_SMOOTH = 2
"""From this sigma up, Z = sigma sqrt(2 pi) and the variance is sigma^2 to within 1e-30 of themselves."""


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """The law with the parameter sigma^2, and an exact sampler of it.

    Up to sigma = 2^10 a draw costs one word of 32 bits, above it two.

    Raises:
        BudgetError: sigma is above 2^20.

    Example:
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
            raise BudgetError(f"noise variance {self.sigma_squared} is not positive; give a fraction above 0")
        if self.sigma_squared > LARGEST_DEVIATION**2:
            raise BudgetError(
                f"discrete Gaussian noise with sigma^2 = {_shown(self.sigma_squared)} exceeds the largest supported, "
                f"sigma = {LARGEST_DEVIATION:,}; give the level a larger rho"
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
            low, high = variance_bounds(self._rate, precision)
            if float(low) == float(high):
                return float(low)
            precision *= 2

    @property
    def variance_bound(self) -> Fraction:
        """The fraction sigma^2, the variance of the continuous law."""
        return self.sigma_squared

    @property
    def spelling(self) -> dict[str, str]:
        return {"law": "discrete_gaussian", "sigma_squared": str(self.sigma_squared)}

    def log_pmf(self, k: np.ndarray) -> np.ndarray:
        k = np.asarray(k, float)
        return -k * k * float(self._rate) - self._log_total

    def shape(self, factor: float) -> GaussianShape:
        return GaussianShape(float(self.sigma_squared) ** 0.5 * factor)

    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        if self.sigma_squared > WIDEST_TABLE**2:
            return gaussian_integral.probability_at_most(self._rate, m, precision)
        return GaussianSizes(self._rate, sides=2).probability_at_most(m, precision)

    def add_to(self, values: np.ndarray, stream: ByteStream) -> None:
        if isinstance(self.drawn_from, Strips):
            self.drawn_from.add_to(values, stream)
        else:
            inversion.add_to(self.drawn_from, values, stream)

    @cached_property
    def drawn_from(self) -> GaussianSizes | Strips:
        """What is drawn by inversion: |X|, or for a wide law strips of sizes."""
        strip_bits = 0
        while self.sigma_squared > (WIDEST_TABLE << strip_bits) ** 2:
            strip_bits += 1
        if not strip_bits:
            return GaussianSizes(self._rate, sides=2)
        return Strips(GaussianSizes(self._rate * 4**strip_bits, sides=1), strip_bits, self._rate)

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


def _shown(x: Fraction) -> str:
    text = str(x)
    return text if len(text) <= 40 else f"{text[:40]}..."
