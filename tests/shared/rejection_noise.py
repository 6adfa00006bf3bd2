"""The discrete Laplace and Gaussian laws by rejection with exact coins: a slow twin of `pgsr.privacy.laws`.

Every draw comes from two coins, an integer uniform below n and an event of probability exp(-gamma), and no table.

Source: Canonne, Kamath & Steinke 2020, "The Discrete Gaussian for Differential Privacy", algorithms 2 and 3.
"""

from fractions import Fraction
from math import isqrt
from typing import Protocol

from pgsr.errors import BudgetError
from pgsr.synthesis.queries import noise


class Chance(Protocol):
    """The two kinds of random draws that all others are made of."""

    def below(self, n: int) -> int:
        """Draw an integer uniformly from 0..n-1."""
        ...

    def survives(self, gamma: Fraction) -> bool:
        """Draw True with probability exp(-gamma), for gamma >= 0."""
        ...


class Coins(noise.Coins):
    """The coins of the package, and dice."""

    def below(self, n: int) -> int:
        n_bits = (n - 1).bit_length()
        n_bytes = (n_bits + 7) // 8
        while True:
            value = self.stream.bits(n_bytes) >> (8 * n_bytes - n_bits)
            if value < n:
                return value


def discrete_laplace(scale: Fraction, coins: Chance) -> int:
    """Draw an integer X with P(X = x) proportional to exp(-|x| / scale)."""
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
    """Draw an integer X with P(X = x) proportional to exp(-x^2 / (2 variance))."""
    if variance <= 0:
        raise BudgetError(f"noise variance {variance} is not positive")
    scale = isqrt(variance.numerator // variance.denominator) + 1  # the next integer above the standard deviation
    while True:
        x = discrete_laplace(Fraction(scale), coins)
        if coins.survives((abs(x) - variance / scale) ** 2 / (2 * variance)):
            return x
