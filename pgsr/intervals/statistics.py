"""Statistics of a region's counts, and levels of confidence, as a user writes them; `pgsr.intervals` lists them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.region_ids import path_of_id, region_id
from pgsr.data.sizes import Sizes
from pgsr.data.views import cumulative
from pgsr.errors import ArgumentError, ProblemError
from pgsr.intervals.bounds import Bounds, Pair, sums_beyond
from pgsr.privacy.budget import Number, exact

SPELLINGS = "count, count:5, cumulative, cumulative:5, tail:100, mean, median, quantile:0.9, gini or share:1..3"
"""The texts of statistics, by example."""

_FINEST = 10**6
"""Largest denominator of the p of a quantile."""


@dataclass(frozen=True)
class Statistic:
    """A value that is computed from the counts of every region.

    Attributes:
        name: its text, such as "tail:100".
        of: computes it from counts of shape (..., regions, K + 1): shape (..., regions), or that of the counts where it
            is by size.
        largest: K where groups of K or more count as of size K, which matters; else None.
        within: bounds it where counts are bounded; raises `ProblemError` where these bounds say too little.
        most: the largest value of any region; the number of groups if None.
        signed: whether it may be as far below 0; else 0 is the smallest value.
        whole: whether its values are whole numbers.
        by_size: whether it has one value per size 0..K, not one per region.
    """

    name: str
    of: Callable[[np.ndarray], np.ndarray]
    largest: int | None
    within: Callable[[Bounds], Pair]
    most: float | None = None
    signed: bool = False
    whole: bool = True
    by_size: bool = False

    def label(self, counts: np.ndarray) -> str:
        """Name the value, and say which size larger ones count as where there are groups of it."""
        k = self.largest if counts[..., -1].any() else None
        return self.name if k is None else f"{self.name}, sizes above {k} as {k}"

    def possible(self, n_groups: float) -> tuple[float, float]:
        """Give the smallest and the largest value of any region with at most this many groups."""
        most = n_groups if self.most is None else self.most
        return (-most if self.signed else 0.0), most


def statistic_of(text: str, sizes: Sizes) -> Statistic:
    """Read a statistic of counts of these regions and sizes from its text.

    Raises:
        ArgumentError: no statistic is written so, it names a size above K, or levels have sizes of their own.
        HierarchyError: there is no region that it names.

    Example:
        >>> from pgsr import Hierarchy
        >>> sizes = Sizes.alike(Hierarchy.from_parents(["US", "GA"], [-1, 0]), 3)
        >>> statistic_of("tail:1", sizes).of(np.array([[0, 2, 1, 2], [0, 4, 0, 0]]))
        array([3, 0])
        >>> statistic_of("mean minus US/GA", sizes).of(np.array([[0, 2, 1, 2], [0, 4, 0, 0]]))
        array([1., 0.])
    """
    require_kind(text, str, "the statistic", f"write {SPELLINGS}")
    if not sizes.equal:
        raise ArgumentError("levels have sizes of their own here, and intervals want one max_size for all levels")
    first, minus, other = text.partition(" minus ")
    found = _plain(first, sizes.max_sizes[0])
    return _difference(found, sizes, path_of_id(other)) if minus else found


def exact_level(level: Number) -> Fraction:
    """Read a level of confidence as an exact fraction.

    Raises:
        ArgumentError: it is not above 0 and below 1.

    Example:
        >>> exact_level(0.9)
        Fraction(9, 10)
    """
    found = exact(level, "level")
    if not found < 1:
        raise ArgumentError(f"level={level!r}; give a probability above 0 and below 1, such as 0.9")
    return found


def _plain(text: str, max_size: int) -> Statistic:
    word, _, value = text.partition(":")
    match word, value:
        case (("count" | "cumulative"), ""):
            of, within = _BY_SIZE[word]
            return Statistic(word, of, None, within, by_size=True)
        case (("count" | "cumulative" | "tail"), _):
            return _of_size(word, _number(value, text, max_size))
        case "mean", "":
            return Statistic("mean", _mean, max_size, _mean_within, float(max_size), whole=False)
        case "median", "":
            return _at_ranks("median", (lambda n: n - n // 2, lambda n: np.minimum(n // 2 + 1, n)), max_size)
        case "quantile", _:
            return _quantile(exact(value, "the p of a quantile"), max_size)
        case "share", _:
            low, _, high = value.partition("..")
            return _share(_number(low, text, max_size), _number(high, text, max_size))
        case "gini", "":
            return Statistic("gini", _gini, max_size, _no_band_of_gini, 1.0, whole=False)
    raise _unknown(text)


def _number(value: str, text: str, max_size: int) -> int:
    try:
        size = int(value)
    except ValueError:
        raise _unknown(text) from None
    if not 0 <= size <= max_size:
        raise ArgumentError(f"{text}: the sizes of this table are 0..{max_size}; give one of these")
    return size


def _unknown(text: str) -> ArgumentError:
    return ArgumentError(f"{text!r} is no statistic; write {SPELLINGS}")


def _of_size(word: str, size: int) -> Statistic:
    of, within = {**_BY_SIZE, "tail": (sums_beyond, Bounds.tails)}[word]

    def bounded(bounds: Bounds) -> Pair:
        low, high = within(bounds)
        return low[..., size], high[..., size]

    return Statistic(f"{word}:{size}", lambda counts: of(counts)[..., size], None, bounded)


def _mean(counts: np.ndarray) -> np.ndarray:
    return _part(sums_beyond(counts).sum(axis=-1), counts.sum(axis=-1))


def _mean_within(bounds: Bounds) -> Pair:
    """Bound every part of e / n = sum over s < K of t[s] / (t[s] + c[s])."""
    low, high = _share_within(bounds.tails(), bounds.cumulative)
    return low.sum(axis=-1), high.sum(axis=-1)


def _quantile(p: Fraction, max_size: int) -> Statistic:
    if p > 1 or p.denominator > _FINEST:
        raise ArgumentError(f"the p of a quantile is {p}; give a number above 0 and at most 1, such as '0.9'")

    def needed(n_groups: np.ndarray) -> np.ndarray:
        whole, rest = np.divmod(n_groups, p.denominator)  # p n rounded up, without a product that could wrap
        return whole * p.numerator - (-rest * p.numerator // p.denominator)

    return _at_ranks(f"quantile:{p}", (needed,), max_size)


def _at_ranks(name: str, ranks: Sequence[Callable[[np.ndarray], np.ndarray]], max_size: int) -> Statistic:
    """Make the mean of the sizes of some groups, whose places among n groups by size are functions of n that rise."""

    def sizes(reached: np.ndarray, n_groups: np.ndarray) -> np.ndarray:
        places = [(reached >= rank(n_groups)).argmax(axis=-1) for rank in ranks]
        return np.add.reduce(places) / len(places)

    def within(bounds: Bounds) -> Pair:
        """Find the smallest sizes at which c[s] of c[s] + t[s] groups can reach the ranks, and where it has to."""
        (low, high), (tail_low, tail_high) = bounds.cumulative, bounds.tails()
        sides = sizes(high, high + tail_low), sizes(low, low + tail_high)
        return _of_groups(sides[0], high[..., -1]), _of_groups(sides[1], high[..., -1])

    def of(counts: np.ndarray) -> np.ndarray:
        n_groups = counts.sum(axis=-1, keepdims=True)
        return _of_groups(sizes(cumulative(counts), n_groups), n_groups[..., 0])

    return Statistic(name, of, max_size, within, float(max_size), whole=False)


def _share(first: int, last: int) -> Statistic:
    if first > last:
        raise ArgumentError(f"the share of sizes {first}..{last} is of none; give the smaller size first")
    return Statistic(
        f"share:{first}..{last}",
        lambda counts: _part(counts[..., first : last + 1].sum(axis=-1), counts.sum(axis=-1)),
        None,
        lambda bounds: _share_within(bounds.between(first, last), bounds.outside(first, last)),
        most=1.0,
        whole=False,
    )


def _gini(counts: np.ndarray) -> np.ndarray:
    reached, tails = cumulative(counts).astype(float), sums_beyond(counts).astype(float)
    return _of_groups(_ratio((reached * tails).sum(axis=-1), reached[..., -1] * tails.sum(axis=-1)), reached[..., -1])


def _no_band_of_gini(bounds: Bounds) -> Pair:
    raise ProblemError("a band gives no interval for the Gini coefficient; use the bootstrap (kind bootstrap)")


def _difference(statistic: Statistic, sizes: Sizes, other: tuple[str, ...]) -> Statistic:
    """Make the difference between a statistic of every region and the same of another region."""
    place = sizes.hierarchy.find(other)
    here = (..., slice(place, place + 1)) + (slice(None),) * statistic.by_size

    def of(counts: np.ndarray) -> np.ndarray:
        values = statistic.of(counts)
        return values - values[here]

    def within(bounds: Bounds) -> Pair:
        low, high = statistic.within(bounds)
        least, most = low - high[here], high - low[here]
        least[here] = most[here] = 0 * low[here]  # a region does not differ from itself; NaN without groups
        return least, most

    return Statistic(
        f"{statistic.name} minus {region_id(sizes.hierarchy.real_paths[place])}",
        of,
        statistic.largest,
        within,
        statistic.most,
        signed=True,
        whole=statistic.whole,
        by_size=statistic.by_size,
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, 0 where there is nothing to divide by."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole != 0)


def _of_groups(values: np.ndarray, n_groups: np.ndarray) -> np.ndarray:
    """Give NaN for values of regions without groups, which have none."""
    return np.where(n_groups > 0, values, np.nan)


def _part(part: np.ndarray, n_groups: np.ndarray) -> np.ndarray:
    return _of_groups(_ratio(part, n_groups), n_groups)


def _share_within(part: Pair, rest: Pair) -> Pair:
    """Bound part / (part + rest), which grows with part and falls with rest."""
    least, most = _ratio(part[0], part[0] + rest[1]), _ratio(part[1], part[1] + rest[0])
    return _of_groups(least, part[1] + rest[1]), _of_groups(most, part[1] + rest[1])


_BY_SIZE: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[Bounds], Pair]]] = {
    "count": (lambda counts: counts, lambda bounds: bounds.counts),
    "cumulative": (cumulative, lambda bounds: bounds.cumulative),
}
"""The statistics with a value per size."""
