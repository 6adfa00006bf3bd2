"""The noise that a whole measurement stays within, by the exact law."""

from collections.abc import Sequence
from fractions import Fraction
from math import log, log1p

import numpy as np

from pgsr.privacy.laws import Law

_PRECISION = 192
"""Bits of the integer arithmetic that the answer is proved by."""

_SPLITS = 4
"""How often the split over levels is made anew from the quantiles that it gave."""


def noise_quantiles(laws: Sequence[Law], cells: Sequence[int], level: Fraction) -> tuple[int, ...]:
    """Find one quantile q_l per level of the hierarchy, so that all noise together stays within them often enough:

        product over l of  P(|z_l| <= q_l) ^ cells_l  >=  level.

    The logarithm of `level` is split over the hierarchy's levels in proportion to their lengths of decay, by which a
    quantile falls when its chance of failing grows by the factor e. Of all splits this makes the sum of the q_l
    smallest, up to rounding. The double geometric law decays by its scale everywhere, whatever the number of cells; a
    Gaussian one by about sigma^2 / q at q, so the split is made again from its quantiles a few times. Rounding up to
    integers leaves something over, which lowers single quantiles by one, those of the widest noise first. The result
    is then proved in integer arithmetic.

    Args:
        laws: of the noise, per level of the hierarchy.
        cells: how many independent values have it, per level.
        level: above 0 and below 1.

    Example:
        >>> from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
        >>> noise_quantiles([DoubleGeometric(Fraction(2)), DoubleGeometric(Fraction(6))], [10, 100], Fraction(9, 10))
        (12, 42)
        >>> noise_quantiles([DiscreteGaussian(Fraction(2)), DiscreteGaussian(Fraction(6))], [10, 100], Fraction(9, 10))
        (4, 8)

    Shown by `test_intervals_band.py::test_quantiles_are_the_exact_laws`.
    """
    goal, places = log(level), range(len(laws))
    found = [int(law.deviation) for law in laws]
    for _ in range(_SPLITS):
        lengths = [_decay(law, q) for law, q in zip(laws, found, strict=True)]
        found = [_quantile(laws[i], cells[i], goal * lengths[i] / sum(lengths)) for i in places]

    def chance(quantiles: Sequence[int]) -> float:
        return sum(_log_chance(laws[i], cells[i], quantiles[i]) for i in places)

    widest_first = sorted(places, key=lambda place: -laws[place].variance)
    for place in widest_first:
        while found[place]:
            lower = [*found[:place], found[place] - 1, *found[place + 1 :]]
            if chance(lower) < goal:
                break
            found = lower
    while _proved_chance(laws, cells, found) < level:
        found[widest_first[0]] += 1
    return tuple(found)


def _decay(law: Law, m: int) -> float:
    """Compute by how much m grows while P(|z| > m) falls by the factor e; sigma where doubles cannot tell."""
    here, next_one = law.probability_beyond(np.array([m, m + 1]))
    return -1 / log(next_one / here) if 0 < next_one < here else max(law.deviation, 1e-300)


def _quantile(law: Law, cells: int, goal: float) -> int:
    """Find the smallest m with cells log P(|z| <= m) >= goal."""
    low, high = -1, 0
    while _log_chance(law, cells, high) < goal:
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _log_chance(law, cells, middle) >= goal else (middle, high)
    return high


def _log_chance(law: Law, cells: int, m: int) -> float:
    return cells * log1p(-float(law.probability_beyond(np.array([m]))[0]))


def _proved_chance(laws: Sequence[Law], cells: Sequence[int], quantiles: Sequence[int]) -> Fraction:
    """A lower bound of the product, in integers that are rounded down."""
    one = product = 1 << _PRECISION
    for law, n, m in zip(laws, cells, quantiles, strict=True):
        power = law.probability_at_most(m, _PRECISION)[0]
        for bit in reversed(f"{n:b}"):
            product = product * power >> _PRECISION if bit == "1" else product
            power = power * power >> _PRECISION
    return Fraction(product, one)
