"""The effects that verdicts tell: a ratio of two mean errors with its interval, and what a claim needs it to be.

The interval is Fieller's: it holds every ratio r for which a t-test at 5 % does not tell the one mean from r times the
other. So a ratio lies outside it exactly where that test rejects it, and zeros among the errors do no harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

LEVEL = 0.05
"""The level of every test, two-sided."""

MATERIAL = 0.02
"""The part by which one error must exceed the other for their difference to matter, where a claim names no factor."""


class Side(StrEnum):
    """The side of a limit on which a claim says that the ratio lies."""

    ABOVE = "above"
    AT_MOST = "at most"
    ABOUT = "about"


@dataclass(frozen=True)
class Effect:
    """A ratio of two means, and where a claim says that it lies.

    Attributes:
        ratio: of the means; infinite where the lower one is 0.
        low, high: the ends of its 95 % interval.
        side, limit: of what the claim says; above 1 unless it names a factor.

    Example:
        >>> str(Effect(1.0312, 1.024, 1.0391)), Effect(8.1, 7.9, 8.3, limit=10).needed
        ('1.031 [1.024, 1.039]', 'above 10')
    """

    ratio: float
    low: float
    high: float
    side: Side = Side.ABOVE
    limit: float = 1.0

    @property
    def needed(self) -> str:
        return f"{self.side} {self.limit:,g}"

    @property
    def support(self) -> float:
        """The ratio over its limit, or the other way round, so that less than 1 speaks against the claim."""
        over, under = self.ratio / self.limit, self.limit / self.ratio if self.ratio else float("inf")
        return {Side.ABOVE: over, Side.AT_MOST: under, Side.ABOUT: min(over, under)}[self.side]

    @property
    def apart(self) -> bool:
        """Whether the interval leaves the limit out."""
        return not self.low <= self.limit <= self.high

    @property
    def immaterial(self) -> bool:
        """Whether no difference that matters is there, of a claim that names no factor.

        That is so if the test tells the ratio from 1 and it is within `MATERIAL`, or if all of the interval is.
        """
        least, most = 1 / (1 + MATERIAL), 1 + MATERIAL
        low, high = (self.ratio, self.ratio) if self.apart else (self.low, self.high)
        return self.side is Side.ABOVE and self.limit == 1 and least <= low and high <= most

    def __str__(self) -> str:
        return f"{ratio_words(self.ratio)} [{ratio_words(self.low)}, {ratio_words(self.high)}]"


def paired(over: Sequence[float], under: Sequence[float]) -> tuple[float, float, float]:
    """Compute the ratio of two means with its interval, by the t-test of paired values.

    Returns:
        the ratio, and the ends of the interval; of an interval in two pieces the one that holds the ratio.

    Example:
        >>> [round(end, 3) for end in paired([3.0, 3.3, 3.1, 2.9, 3.2], [1.0, 1.1, 1.0, 1.0, 1.0])]
        [3.039, 2.901, 3.18]

    Shown by `test_experiments_effects.py`.
    """
    a, b = np.asarray(over, float), np.asarray(under, float)
    n = len(a)
    if not b.mean():
        return _over_zero(float(a.mean()), float(a.var(ddof=1) / n), quantile(n - 1))
    ratio = float(a.mean() / b.mean())
    of_rest, common = np.cov(a - ratio * b, b)[0] / n
    return _fieller(ratio, float(b.mean()), float(of_rest), float(common), float(b.var(ddof=1) / n), quantile(n - 1))


def independent(over: Sequence[float], under: Sequence[float]) -> tuple[float, float, float]:
    """Compute the same for samples with independent noise, by Welch's t-test, with its degrees of freedom at ratio 1.

    Example:
        >>> [round(end, 2) for end in independent([3.0, 3.3, 3.1, 2.9, 3.2], [1.0, 1.1, 1.0, 1.0, 1.0])]
        [3.04, 2.81, 3.29]
    """
    a, b = np.asarray(over, float), np.asarray(under, float)
    of_a, of_b = (float(x.var(ddof=1) / len(x)) for x in (a, b))
    parts = of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1)
    t = quantile((of_a + of_b) ** 2 / parts if parts else len(a) + len(b) - 2)
    if not b.mean():
        return _over_zero(float(a.mean()), of_a, t)
    ratio = float(a.mean() / b.mean())
    return _fieller(ratio, float(b.mean()), of_a + ratio**2 * of_b, -ratio * of_b, of_b, t)


def quantile(degrees: float) -> float:
    """Compute the two-sided quantile of Student's t at `LEVEL`, for so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1 - LEVEL / 2))


def welch(over: Sequence[float], under: Sequence[float]) -> float:
    """Compute the p-value of Welch's t-test, two-sided."""
    a, b = np.asarray(over, float), np.asarray(under, float)
    of_a, of_b, t = float(a.var(ddof=1) / len(a)), float(b.var(ddof=1) / len(b)), float(a.mean() - b.mean())
    parts = of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1)
    return two_sided(t / (of_a + of_b) ** 0.5, (of_a + of_b) ** 2 / parts) if parts else float(not t)


def two_sided(t: float, degrees: float) -> float:
    """Compute the p-value of Student's t, two-sided."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))


def ratio_words(value: float) -> str:
    """Write a ratio, with more digits the nearer it is to 1.

    Example:
        >>> [ratio_words(x) for x in (1.00042, 0.97, 2.345, 54.32, 1234.5, 0.00123, float("inf"))]
        ['1.0004', '0.970', '2.35', '54.3', '1,234', '0.0012', 'infinite']
    """
    if value == float("inf"):
        return "infinite"
    if abs(value - 1) <= MATERIAL:
        return f"{value:.4f}"
    if 0.1 <= value < 2:
        return f"{value:.3f}"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:,.{value < 100:d}f}"


def _fieller(
    ratio: float, mean: float, of_rest: float, common: float, of_under: float, t: float
) -> tuple[float, float, float]:
    """Solve for the shifts x of the ratio at which the test just rejects.

    The mean of over - (ratio + x) under is -x `mean`, its variance `of_rest` - 2 x `common` + x^2 `of_under`, where the
    rest is over - ratio x under. The test accepts x where the square of the mean is at most t^2 times the variance.
    """
    square = mean**2 - t**2 * of_under
    root = t**4 * common**2 + square * t**2 * of_rest
    if square == 0 or root < 0:
        return ratio, 0.0, float("inf")
    ends = sorted((-(t**2) * common + sign * root**0.5) / square for sign in (-1, 1))
    if square > 0:
        return ratio, max(0.0, ratio + ends[0]), ratio + ends[1]
    # The lower mean may be 0, so the test accepts everything but what lies between the ends.
    return (ratio, 0.0, ratio + ends[0]) if ends[0] > 0 else (ratio, max(0.0, ratio + ends[1]), float("inf"))


def _over_zero(mean: float, of_mean: float, t: float) -> tuple[float, float, float]:
    """Give the ratio over errors that are all 0: 1 for two of them, else infinite."""
    if not mean:
        return 1.0, 1.0, 1.0
    return float("inf"), float("inf") if mean > t * of_mean**0.5 else 0.0, float("inf")
