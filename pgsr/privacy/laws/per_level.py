"""The noise of a level: a family of laws with the level's budget, which a sensitivity makes a law.

Both families are per level of the hierarchy: every region of a level gets noise of the same law, and what a level
spends adds to what the other levels spend.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pgsr.errors import BudgetError
from pgsr.privacy.laws.discrete_gaussian import DiscreteGaussian
from pgsr.privacy.laws.double_geometric import DoubleGeometric


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

    def __str__(self) -> str:
        return f"epsilon {self.epsilon}"


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

    def __str__(self) -> str:
        return f"rho {self.rho}"


LevelNoise = GeometricNoise | GaussianNoise
"""The noise of a level that is measured."""


def spent_text(noises: Sequence[LevelNoise | None]) -> str:
    """Say what levels spend together, in their currency; level by level where they differ in law.

    Example:
        >>> spent_text([GeometricNoise(Fraction(1, 3)), GeometricNoise(Fraction(2, 3)), None])
        'epsilon=1'
    """
    epsilons = [noise.epsilon for noise in noises if isinstance(noise, GeometricNoise)]
    rhos = [noise.rho for noise in noises if isinstance(noise, GaussianNoise)]
    if not rhos:
        return f"epsilon={sum(epsilons)}"
    if not epsilons:
        return f"rho={sum(rhos)}"
    return " / ".join("nothing" if noise is None else str(noise) for noise in noises)


def noise_of(text: str) -> LevelNoise:
    """Read the noise of a level from its text.

    Raises:
        BudgetError: it is no such text.

    Example:
        >>> noise_of(str(GaussianNoise(Fraction(1, 10))))
        GaussianNoise(rho=Fraction(1, 10))
    """
    currency, _, amount = text.partition(" ") if isinstance(text, str) else ("", "", "")
    families = {"epsilon": GeometricNoise, "rho": GaussianNoise}
    if currency not in families:
        raise BudgetError(f"{text!r} is no noise of a level; write 'epsilon 1/3' or 'rho 1/10'")
    try:
        return families[currency](Fraction(amount))
    except (ValueError, ZeroDivisionError):
        raise BudgetError(f"{text!r} is no noise of a level; write 'epsilon 1/3' or 'rho 1/10'") from None
