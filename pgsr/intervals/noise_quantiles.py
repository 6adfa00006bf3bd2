"""The noise that a whole measurement stays within, by the exact law."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, exp, log, log1p

from pgsr.laws import DoubleGeometric

_PRECISION = 192
"""Bits of the integer arithmetic that the answer is proved by."""


def noise_quantiles(scales: Sequence[Fraction], cells: Sequence[int], level: Fraction) -> tuple[int, ...]:
    """Find one quantile q_l per level of the hierarchy, so that all noise together stays within them often enough:

        product over l of  P(|z_l| <= q_l) ^ cells_l  >=  level,

    where P(|z| > m) = 2 a^(m + 1) / (1 + a) with a = e^(-1 / scale).

    The logarithm of `level` is split over the hierarchy's levels in proportion to their scales, not to their cells: of
    all splits this makes the sum of the q_l smallest, up to rounding, because a quantile of noise of scale b falls by b
    when its chance of failing grows by the factor e, whatever the number of cells. Rounding up to integers leaves
    something over, which lowers single quantiles by one, those of the widest noise first. The result is then proved
    in integer arithmetic.

    Args:
        scales: of the noise, per level of the hierarchy.
        cells: how many independent values have it, per level.
        level: above 0 and below 1.

    Example:
        >>> noise_quantiles([Fraction(2), Fraction(6)], [10, 100], Fraction(9, 10))
        (12, 42)

    Shown by `tests/test_intervals_band.py::test_quantiles_are_the_exact_laws`.
    """
    goal, total = log(level), float(sum(scales))
    found = [_quantile(float(scale), n, goal * float(scale) / total) for scale, n in zip(scales, cells, strict=True)]

    def chance(quantiles: Sequence[int]) -> float:
        return sum(_log_chance(float(b), n, q) for b, n, q in zip(scales, cells, quantiles, strict=True))

    widest_first = sorted(range(len(scales)), key=lambda place: -scales[place])
    for place in widest_first:
        while found[place]:
            lower = [*found[:place], found[place] - 1, *found[place + 1 :]]
            if chance(lower) < goal:
                break
            found = lower
    while _proved_chance(scales, cells, found) < level:
        found[widest_first[0]] += 1
    return tuple(found)


def _quantile(scale: float, cells: int, goal: float) -> int:
    """Find the smallest m with cells log P(|z| <= m) >= goal."""
    if not cells:
        return 0
    fails = -goal / cells  # first order; the loops make it right
    start = scale * log(2 / ((1 + exp(-1 / scale)) * min(fails, 1.0))) - 1
    m = max(0, ceil(start))
    while _log_chance(scale, cells, m) < goal:
        m += 1
    while m and _log_chance(scale, cells, m - 1) >= goal:
        m -= 1
    return m


def _log_chance(scale: float, cells: int, m: int) -> float:
    return cells * log1p(-2 * exp(-(m + 1) / scale) / (1 + exp(-1 / scale)))


def _proved_chance(scales: Sequence[Fraction], cells: Sequence[int], quantiles: Sequence[int]) -> Fraction:
    """A lower bound of the product, in integers that are rounded down."""
    one = product = 1 << _PRECISION
    for scale, n, m in zip(scales, cells, quantiles, strict=True):
        power = DoubleGeometric(scale).probability_at_most(m, _PRECISION)[0]
        for bit in reversed(f"{n:b}"):
            product = product * power >> _PRECISION if bit == "1" else product
            power = power * power >> _PRECISION
    return Fraction(product, one)
