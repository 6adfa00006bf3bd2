"""The double geometric law.

    P(X = k) = (1 - a) / (1 + a) * a^|k|,  a = exp(-1 / scale),  k any integer,
    P(|X| <= m) = 1 - 2 a^(m+1) / (1 + a).

Source of the law: Ghosh, Roughgarden, Sundararajan 2009, as used by Kuo et al. 2018 and Fioretto, Van Hentenryck 2019.
The slides and the poster of the first and the text of the second print the normaliser with epsilon where epsilon /
sensitivity belongs (`test_laws_double_geometric.py::test_printed_normaliser_is_not_ours`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log1p

import numpy as np

from pgsr.errors import BudgetError
from pgsr.privacy.enclosure import divided_up, exp_minus, shifted_up
from pgsr.privacy.laws import inversion
from pgsr.privacy.laws.law import Law
from pgsr.privacy.laws.shapes import GeometricShape
from pgsr.privacy.random import ByteStream

LARGEST_SCALE = 2**17
"""Largest scale whose threshold table is built (2.8 million entries)."""


@dataclass(frozen=True)
class DoubleGeometric(Law):
    """The law with `scale = sensitivity / epsilon`, and an exact sampler of it.

    Raises:
        BudgetError: the scale is above 2^17.

    Example:
        >>> round(DoubleGeometric(Fraction(1)).variance, 6)
        1.841347
        >>> noise = np.zeros(5, np.int64)
        >>> DoubleGeometric(Fraction(10)).add_to(noise, ByteStream(bytes(32)))
        >>> noise
        array([ 29,  -1,   2,  -1, -34])
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise BudgetError(f"noise scale {self.scale} is not positive; give a fraction above 0")
        if self.scale > LARGEST_SCALE:
            raise BudgetError(
                f"noise of scale {float(self.scale):,.0f} (sensitivity / epsilon per level) exceeds the largest "
                f"supported, {LARGEST_SCALE:,}; give the level a larger epsilon"
            )

    @property
    def variance(self) -> float:
        """The variance 2 a / (1 - a)^2, about 2 scale^2 - 1/6."""
        return self.shape(1.0).variance

    @property
    def variance_bound(self) -> Fraction:
        """The fraction 2 scale^2, the variance of the continuous law."""
        return self._variance_bound

    @cached_property
    def _variance_bound(self) -> Fraction:
        """The same, computed once: it is asked for region by region."""
        return 2 * self.scale**2

    @property
    def spelling(self) -> dict[str, str]:
        return {"law": "double_geometric", "scale": str(self.scale)}

    def log_pmf(self, k: np.ndarray) -> np.ndarray:
        t = float(1 / self.scale)
        # (1 - a) / (1 + a), where both ends keep their digits: t near 0, and a near 0
        log_zero = np.log(np.tanh(t / 2)) if t < 1 else log1p(-2 * exp(-t) / (1 + exp(-t)))
        return log_zero - np.abs(k) * t

    def shape(self, factor: float) -> GeometricShape:
        return GeometricShape(float(self.scale) * factor)

    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        one = 1 << precision
        low, high = exp_minus(1 / self.scale, precision)
        power_low, power_high = exp_minus((m + 1) / self.scale, precision)
        return one - divided_up(2 * power_high * one, one + low), one - 2 * power_low * one // (one + high)

    def add_to(self, values: np.ndarray, stream: ByteStream) -> None:
        inversion.add_to(self, values, stream)

    def enclosures(self, precision: int) -> Iterator[tuple[int, int]]:
        """List enclosures of 2^precision P(|X| <= m) for m = 0, 1, ..., without an end."""
        one = 1 << precision
        low, high = exp_minus(1 / self.scale, precision)
        power_low, power_high = low, high
        while True:
            tail_low = 2 * power_low * one // (one + high)
            tail_high = divided_up(2 * power_high * one, one + low)
            yield one - tail_high, one - tail_low
            power_low = power_low * low >> precision
            power_high = shifted_up(power_high * high, precision)
