"""The noise that a whole measurement stays within, by the exact law."""

from collections.abc import Sequence
from fractions import Fraction
from math import log, log1p

import numpy as np

from pgsr.laws import Law

_PRECISION = 192
"""Bits of the integer arithmetic that the answer is proved by."""


def noise_quantiles(laws: Sequence[Law], cells: Sequence[int], level: Fraction) -> tuple[int, ...]:
    """Find one quantile q_l per level of the hierarchy, so that all noise together stays within them often enough:

        product over l of  P(|z_l| <= q_l) ^ cells_l  >=  level.

    The logarithm of `level` is split over the hierarchy's levels in proportion to how wide their noise is, not to their
    cells. For double geometric noise this makes the sum of the q_l smallest of all splits, up to rounding, because a
    quantile of noise of scale b falls by b when its chance of failing grows by the factor e, whatever the number of
    cells; Gaussian noise of the variance 2 b^2 counts as that of scale b. Rounding up to integers leaves something
    over, which lowers single quantiles by one, those of the widest noise first. The result is then proved in integer
    arithmetic.

    Args:
        laws: of the noise, per level of the hierarchy.
        cells: how many independent values have it, per level.
        level: above 0 and below 1.

    Example:
        >>> from pgsr.laws import DoubleGeometric
        >>> noise_quantiles([DoubleGeometric(Fraction(2)), DoubleGeometric(Fraction(6))], [10, 100], Fraction(9, 10))
        (12, 42)

    Shown by `tests/test_intervals_band.py::test_quantiles_are_the_exact_laws`.
    """
    widths = [float(law.variance_bound / 2) ** 0.5 for law in laws]
    goal, total = log(level), sum(widths)
    found = [_quantile(law, n, goal * width / total) for law, n, width in zip(laws, cells, widths, strict=True)]

    def chance(quantiles: Sequence[int]) -> float:
        return sum(_log_chance(law, n, q) for law, n, q in zip(laws, cells, quantiles, strict=True))

    widest_first = sorted(range(len(laws)), key=lambda place: -widths[place])
    for place in widest_first:
        while found[place]:
            lower = [*found[:place], found[place] - 1, *found[place + 1 :]]
            if chance(lower) < goal:
                break
            found = lower
    while _proved_chance(laws, cells, found) < level:
        found[widest_first[0]] += 1
    return tuple(found)


def _quantile(law: Law, cells: int, goal: float) -> int:
    """Find the smallest m with cells log P(|z| <= m) >= goal, by doubling and halving."""
    if not cells or _log_chance(law, cells, 0) >= goal:
        return 0
    low, high = 0, 1
    while _log_chance(law, cells, high) < goal:
        low, high = high, 2 * high
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
