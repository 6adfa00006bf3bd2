"""The noise of a level: a family of laws with the level's budget, which a sensitivity makes a law.

Both families are per level of the hierarchy: every region of a level gets noise of the same law, and what a level
spends adds to what the other levels spend.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pgsr.errors import BudgetError
from pgsr.laws.discrete_gaussian import DiscreteGaussian
from pgsr.laws.double_geometric import DoubleGeometric
from pgsr.laws.law import Law


class Sensitive(Protocol):
    """How far one level's values can move between neighbouring data sets, in whole numbers."""

    @property
    def l1(self) -> int:
        """The largest sum of |change| over all cells."""
        ...

    @property
    def l2_squared(self) -> int:
        """The largest sum of change^2 over all cells."""
        ...


class NoiseFamily(Protocol):
    """A family of laws with a budget."""

    def law(self, sensitivity: Sensitive) -> Law:
        """Find the law of the family that keeps the budget for values of this sensitivity."""
        ...


@dataclass(frozen=True)
class GeometricNoise:
    """The double-geometric noise that makes a level epsilon-differentially private.

    Its scale is Delta_1 / epsilon: a change of the values by d changes a probability by the factor
    exp(||d||_1 / scale) <= exp(epsilon).

    Raises:
        BudgetError: epsilon is not positive.

    Example:
        >>> from types import SimpleNamespace
        >>> GeometricNoise(Fraction(1, 2)).law(SimpleNamespace(l1=2, l2_squared=2))
        DoubleGeometric(scale=Fraction(4, 1))
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BudgetError(f"epsilon {self.epsilon} of a level is not positive; give the level a part of the budget")

    def law(self, sensitivity: Sensitive) -> DoubleGeometric:
        return DoubleGeometric(Fraction(sensitivity.l1) / self.epsilon)


@dataclass(frozen=True)
class GaussianNoise:
    """The discrete Gaussian noise that makes a level rho-zCDP.

    Its parameter is sigma^2 = Delta_2^2 / (2 rho).

    Raises:
        BudgetError: rho is not positive.

    Example:
        >>> from types import SimpleNamespace
        >>> GaussianNoise(Fraction(1, 10)).law(SimpleNamespace(l1=2, l2_squared=2))
        DiscreteGaussian(sigma_squared=Fraction(10, 1))

    Source: Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy", theorem 4.
    """

    rho: Fraction

    def __post_init__(self) -> None:
        if self.rho <= 0:
            raise BudgetError(f"rho {self.rho} of a level is not positive; give the level a part of the budget")

    def law(self, sensitivity: Sensitive) -> DiscreteGaussian:
        return DiscreteGaussian(Fraction(sensitivity.l2_squared) / (2 * self.rho))
