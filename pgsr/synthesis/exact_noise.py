"""The discrete Laplace and discrete Gaussian distributions, drawn exactly from random bytes without floating point.

Every draw comes from two coins: an integer uniform below n, and an event of probability exp(-gamma) for a rational
gamma, decided by comparing a uniform number with an integer enclosure of exp(-gamma), bit by bit until they part.
Expected costs are constant in the parameters; times depend on what is drawn, so they are not for publication.

`pgsr.laws.DiscreteGaussian` draws the same law thousands of times faster, by tables. Synthesis needs few draws, of many
parameters without a largest one, and its seeded results are those of the coins here, so it keeps them.

Source: Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy", algorithms 2 and 3.
"""

from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Protocol

from pgsr.enclosure import exp_minus
from pgsr.errors import BudgetError
from pgsr.laws.inversion import Uniform
from pgsr.random import ByteStream


class Chance(Protocol):
    """The two kinds of random draws that all others are made of."""

    def below(self, n: int) -> int:
        """Draw an integer uniformly from 0..n-1."""
        ...

    def survives(self, gamma: Fraction) -> bool:
        """Draw True with probability exp(-gamma), for gamma >= 0."""
        ...


class Coins:
    """A source of exact draws, made of a stream of random bytes.

    Example:
        >>> coins = Coins(ByteStream(bytes(32)))
        >>> [coins.below(6) for _ in range(4)], coins.survives(Fraction(1, 2))
        ([4, 3, 5, 2], True)
    """

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream

    def below(self, n: int) -> int:
        n_bits = (n - 1).bit_length()
        n_bytes = (n_bits + 7) // 8
        while True:
            value = self.stream.bits(n_bytes) >> (8 * n_bytes - n_bits)
            if value < n:
                return value

    def survives(self, gamma: Fraction, first: int = 0, n_bits: int = 0) -> bool:
        """Draw True with probability exp(-gamma), from a uniform number whose first `n_bits` bits may be given."""
        if gamma < 0:
            raise BudgetError(f"an event of probability exp({-gamma}) does not exist; gamma is at least 0")
        return gamma == 0 or Uniform(first, self.stream, n_bits).below(partial(exp_minus, gamma))


def discrete_laplace(scale: Fraction, coins: Chance) -> int:
    """Draw an integer X with P(X = x) proportional to exp(-|x| / scale).

    Raises:
        BudgetError: the scale is not positive.
    """
    if scale <= 0:
        raise BudgetError(f"noise scale {scale} is not positive")
    top, bottom = scale.numerator, scale.denominator
    while True:
        rest = coins.below(top)
        if not coins.survives(Fraction(rest, top)):
            continue
        whole = 0
        while coins.survives(Fraction(1)):
            whole += 1
        size = (rest + top * whole) // bottom
        negative = coins.below(2) == 1
        if size or not negative:  # zero is taken with one sign only, or it would be drawn twice as often
            return -size if negative else size


def discrete_gaussian(variance: Fraction, coins: Chance) -> int:
    """Draw an integer X with P(X = x) proportional to exp(-x^2 / (2 variance)).

    Added to an integer query of sensitivity s it is s^2 / (2 variance)-zCDP. Its variance is at most the parameter, and
    E exp(t X) <= exp(t^2 variance / 2).

    Raises:
        BudgetError: the variance is not positive.

    Example:
        >>> coins = Coins(ByteStream(bytes(32)))
        >>> [discrete_gaussian(Fraction(25, 2), coins) for _ in range(5)]
        [4, 4, -8, -2, 1]
    """
    if variance <= 0:
        raise BudgetError(f"noise variance {variance} is not positive")
    scale = isqrt(variance.numerator // variance.denominator) + 1  # the next integer above the standard deviation
    while True:
        x = discrete_laplace(Fraction(scale), coins)
        if coins.survives((abs(x) - variance / scale) ** 2 / (2 * variance)):
            return x
