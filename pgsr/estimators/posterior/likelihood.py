"""The likelihood of a noisy value in the form that the compiled loops read: a base to the power of whole numbers."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, log

import numpy as np

from pgsr.errors import ProblemError
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law

LARGEST_DEVIATION = 100_000
"""The largest sigma of Gaussian noise whose table of powers is built (two arrays of 30 MB)."""

_LEAST = 1e-300
"""Powers below this are as good as nothing in floating point."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The law of one region's noise z as P(z) ~ base^loss(z).

    Double geometric noise: base exp(-1 / scale), loss |z|. Discrete Gaussian noise: base exp(-1 / (2 sigma^2)), loss
    z^2.

    Attributes:
        law: the number of the law in the compiled loops: 0 or 1.
        coarse, fine: coarse[j] fine[i] = base^(i + j len(fine)).
        log_base: the logarithm of the base.
    """

    law: int
    coarse: np.ndarray
    fine: np.ndarray
    log_base: float

    @classmethod
    def of(cls, law: Law, width: int) -> "Likelihood":
        """Make the tables that windows of this width need.

        Raises:
            ProblemError: Gaussian noise of a standard deviation above 100,000.
        """
        if isinstance(law, DoubleGeometric):
            return _geometric(law.scale, 1 << (2 * width + 2).bit_length())  # regions differ in width
        assert isinstance(law, DiscreteGaussian), "there are two laws"
        reason = refused_law(law)
        if reason is not None:
            raise ProblemError(reason)
        return _gaussian(law.sigma_squared)


def refused_law(law: Law) -> str | None:
    """Say that noise of this law is wider than `Likelihood` takes, and what to do; or return None."""
    if isinstance(law, DiscreteGaussian) and law.sigma_squared > LARGEST_DEVIATION**2:
        return (
            f"Gaussian noise of a standard deviation above {LARGEST_DEVIATION:,} is more than the posterior takes; "
            "give the level a larger share of the budget"
        )
    return None


@lru_cache(maxsize=64)
def _gaussian(sigma_squared: Fraction) -> Likelihood:
    largest = ceil(-log(_LEAST) * 2 * float(sigma_squared)) + 1
    length = isqrt(largest) + 1
    exponent = 1 / (2 * sigma_squared)
    coarse, fine = (_powers(exp_minus(each), length) for each in (length * exponent, exponent))
    return Likelihood(1, coarse, fine, -float(exponent))


@lru_cache(maxsize=64)
def _geometric(scale: Fraction, length: int) -> Likelihood:
    return Likelihood(0, np.ones(1), _powers(exp_minus(1 / scale), length), -1 / float(scale))


@lru_cache(maxsize=64)
def exp_minus(t: Fraction) -> float:
    """Compute exp(-t) rounded to the nearest double, by decimal arithmetic: the same on every machine."""
    with localcontext() as context:
        context.prec = 60
        return float((-Decimal(t.numerator) / Decimal(t.denominator)).exp())


def _powers(base: float, n: int) -> np.ndarray:
    """Multiply up the powers base^0, ..., base^(n - 1), one by one; shape (n,)."""
    return np.cumprod(np.concatenate([[1.0], np.full(n - 1, base)]))
