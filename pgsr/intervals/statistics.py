"""Statistics of a region's counts that intervals are given for.

Throughout x[s] is the number of groups of size s = 0..K, c[s] = x[0] + ... + x[s], t[s] = c[K] - c[s] the number of
groups larger than s, n = c[K] the number of groups, and e = t[0] + ... + t[K - 1] the number of entities. A region
without groups has mean, quantiles, share and Gini coefficient 0, by convention.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.data.views import cumulative
from pgsr.errors import ArgumentError, ProblemError
from pgsr.intervals.bounds import Bounds, Pair
from pgsr.privacy.budget import Number, exact


class Statistic(ABC):
    """The interface of a statistic, a value that is computed from the counts of every region.

    Attributes:
        whole: whether its values are whole numbers.
        by_size: whether it has one value per size 0..K, not one per region.
    """

    whole: ClassVar[bool] = True
    by_size: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The text that `pgsr.intervals.statistic_of` reads, such as "tail:100"."""

    @abstractmethod
    def of(self, counts: np.ndarray) -> np.ndarray:
        """Compute the statistic from counts of shape (..., K + 1): shape (...), or (..., K + 1) where it is by size."""

    @abstractmethod
    def within(self, bounds: Bounds) -> Pair:
        """Bound the statistic where counts are bounded.

        Raises:
            ProblemError: bounds of counts say too little about it.
        """

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        """Give the smallest and the largest value of any region with at most this many groups."""
        del max_size
        return 0.0, n_groups

    @property
    def largest(self) -> int:
        """The largest size that it names."""
        return 0

    def check(self, max_size: int) -> None:
        """Raise `ArgumentError` if it names a size that is larger than K."""
        if self.largest > max_size:
            raise ArgumentError(f"{self.name}: the largest size of this table is {max_size}; give a size up to that")

    def placed(self, tree: Hierarchy) -> "Statistic":
        """Give the same statistic with every region that it names found in this hierarchy."""
        del tree
        return self

    def names(self, max_size: int) -> list[str]:
        """Name its values in one region, one or K + 1."""
        return [f"{self.name}:{size}" for size in range(max_size + 1)] if self.by_size else [self.name]


@dataclass(frozen=True)
class _OfSize(Statistic):
    """The base of statistics that name one size.

    Attributes:
        word: what its name says before the size.
    """

    size: int
    word: ClassVar[str]

    def __post_init__(self) -> None:
        _check_size(self.size)

    @property
    def name(self) -> str:
        return f"{self.word}:{self.size}"

    @property
    def largest(self) -> int:
        return self.size


@dataclass(frozen=True)
class Count(_OfSize):
    """The number of groups of one size, x[size].

    Example:
        >>> Count(1).of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([2, 0])
    """

    word: ClassVar[str] = "count"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return counts[..., self.size]

    def within(self, bounds: Bounds) -> Pair:
        low, high = bounds.counts
        return low[..., self.size], high[..., self.size]


@dataclass(frozen=True)
class Cumulative(_OfSize):
    """The number of groups of at most one size, c[size].

    Example:
        >>> Cumulative(2).of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([3, 0])
    """

    word: ClassVar[str] = "cumulative"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return counts[..., : self.size + 1].sum(axis=-1)

    def within(self, bounds: Bounds) -> Pair:
        return bounds.up_to(self.size)


@dataclass(frozen=True)
class Tail(_OfSize):
    """The number of groups larger than one size, t[size].

    Example:
        >>> Tail(1).of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([3, 0])
    """

    word: ClassVar[str] = "tail"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return counts[..., self.size + 1 :].sum(axis=-1)

    def within(self, bounds: Bounds) -> Pair:
        low, high = bounds.tails()
        return low[..., self.size], high[..., self.size]


@dataclass(frozen=True)
class MeanSize(Statistic):
    """The number of entities per group, e / n.

    Example:
        >>> MeanSize().of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([2., 0.])
    """

    whole: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "mean"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return _ratio(_tails(counts).sum(axis=-1), counts.sum(axis=-1))

    def within(self, bounds: Bounds) -> Pair:
        """Bound every part of e / n = sum over s < K of t[s] / (t[s] + c[s])."""
        low, high = _share_within(bounds.tails(), bounds.cumulative)
        return low.sum(axis=-1), high.sum(axis=-1)

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        del n_groups
        return 0.0, float(max_size)


@dataclass(frozen=True)
class Quantile(Statistic):
    """The smallest size s with c[s] >= p n; p = 1/2 gives the median.

    Args:
        p: above 0, at most 1; text such as "0.9" or "1/3", or a number.

    Example:
        >>> Quantile("1/2").of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([2, 0])
    """

    p: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", exact(self.p, "the p of a quantile"))
        if exact(self.p) > 1 or exact(self.p).denominator > _FINEST:
            raise ArgumentError(f"the p of a quantile is {self.p}; give a number above 0 and at most 1, such as '0.9'")

    @property
    def name(self) -> str:
        return f"quantile:{self.p}"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return self._smallest(cumulative(counts), counts.sum(axis=-1, keepdims=True))

    def within(self, bounds: Bounds) -> Pair:
        """Find the smallest size at which c[s] / (c[s] + t[s]) can reach p, and the smallest at which it has to."""
        (low, high), (tail_low, tail_high) = bounds.cumulative, bounds.tails()
        return self._smallest(high, high + tail_low), self._smallest(low, low + tail_high)

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        del n_groups
        return 0.0, float(max_size)

    def _smallest(self, reached: np.ndarray, n_groups: np.ndarray) -> np.ndarray:
        p = exact(self.p)
        whole, rest = np.divmod(n_groups, p.denominator)  # p n rounded up, without a product that could wrap
        needed = whole * p.numerator - (-rest * p.numerator // p.denominator)
        return (reached >= needed).argmax(axis=-1)


@dataclass(frozen=True)
class Gini(Statistic):
    """The Gini coefficient of sizes, which is 0 where all groups are equally large:

        (sum over all pairs i, j of |h[i] - h[j]|) / (2 n e)  =  (sum over s of c[s] t[s]) / (n e),

    with h[i] the sizes of the n groups. A band gives no interval for it.

    Example:
        >>> Gini().of(np.array([[0, 0, 3], [1, 0, 1]]))
        array([0. , 0.5])
    """

    whole: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "gini"

    def of(self, counts: np.ndarray) -> np.ndarray:
        reached, tails = cumulative(counts).astype(float), _tails(counts).astype(float)
        return _ratio((reached * tails).sum(axis=-1), reached[..., -1] * tails.sum(axis=-1))

    def within(self, bounds: Bounds) -> Pair:
        raise ProblemError("a band gives no interval for the Gini coefficient; use the bootstrap (kind bootstrap)")

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        del n_groups, max_size
        return 0.0, 1.0


@dataclass(frozen=True)
class Share(Statistic):
    """The share of groups of the sizes first..last, (x[first] + ... + x[last]) / n.

    Example:
        >>> Share(2, 3).of(np.array([[0, 2, 1, 2], [0, 0, 0, 0]]))
        array([0.6, 0. ])
    """

    first: int
    last: int
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_size(self.first)
        _check_size(self.last)
        if self.first > self.last:
            raise ArgumentError(f"the share of sizes {self.first}..{self.last} is of none; give the smaller size first")

    @property
    def name(self) -> str:
        return f"share:{self.first}..{self.last}"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return _ratio(counts[..., self.first : self.last + 1].sum(axis=-1), counts.sum(axis=-1))

    def within(self, bounds: Bounds) -> Pair:
        return _share_within(bounds.between(self.first, self.last), bounds.outside(self.first, self.last))

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        del n_groups, max_size
        return 0.0, 1.0

    @property
    def largest(self) -> int:
        return self.last


@dataclass(frozen=True)
class Counts(Statistic):
    """The counts of all sizes, x[0], ..., x[K].

    Example:
        >>> Counts().names(2)
        ['count:0', 'count:1', 'count:2']
    """

    by_size: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "count"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return counts

    def within(self, bounds: Bounds) -> Pair:
        return bounds.counts


@dataclass(frozen=True)
class CumulativeCounts(Statistic):
    """The cumulative counts of all sizes, c[0], ..., c[K].

    Example:
        >>> CumulativeCounts().of(np.array([0, 2, 1, 2]))
        array([0, 2, 3, 5])
    """

    by_size: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "cumulative"

    def of(self, counts: np.ndarray) -> np.ndarray:
        return cumulative(counts)

    def within(self, bounds: Bounds) -> Pair:
        return bounds.cumulative


@dataclass(frozen=True)
class Difference(Statistic):
    """The difference between a statistic of every region and the same of another region.

    Args:
        statistic: what is compared.
        other: the path of the region that is subtracted, or its index; counts have shape (..., regions, K + 1).

    Example:
        >>> Difference(MeanSize(), 1).of(np.array([[0, 2, 1, 2], [0, 4, 0, 0]]))
        array([1., 0.])
    """

    statistic: Statistic
    other: int | Sequence[str]
    place: int | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_kind(self.statistic, Statistic, "the statistic of a difference", "give one such as MeanSize()")
        if isinstance(self.statistic, Difference):
            raise ArgumentError("a difference of differences is no statistic here; give a statistic such as MeanSize()")

    @property
    def whole(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statistic.whole

    @property
    def by_size(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statistic.by_size

    @property
    def name(self) -> str:
        return f"{self.statistic.name} minus {self.other if isinstance(self.other, int) else region_id(self.other)}"

    def of(self, counts: np.ndarray) -> np.ndarray:
        values = self.statistic.of(counts)
        return values - self._others(values)

    def within(self, bounds: Bounds) -> Pair:
        low, high = self.statistic.within(bounds)
        least, most = low - self._others(high), high - self._others(low)
        self._others(least)[...] = 0  # a region does not differ from itself
        self._others(most)[...] = 0
        return least, most

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        low, high = self.statistic.possible(n_groups, max_size)
        return low - high, high - low

    @property
    def largest(self) -> int:
        return self.statistic.largest

    def placed(self, tree: Hierarchy) -> "Difference":
        place = tree.find(self.other)
        return replace(self, other=tree.real_paths[place], place=place)

    def names(self, max_size: int) -> list[str]:
        other = self.name.removeprefix(self.statistic.name)
        return [f"{name}{other}" for name in self.statistic.names(max_size)]

    def _others(self, values: np.ndarray) -> np.ndarray:
        """The values of the other region, as a view."""
        place = self.other if self.place is None else self.place
        if not isinstance(place, int):
            raise ArgumentError(f"{self.name}: give the index of the other region, or ask through intervals(...)")
        return values[..., place : place + 1, :] if self.by_size else values[..., place : place + 1]


_FINEST = 10**6
"""Largest denominator of the p of a quantile."""


def _tails(counts: np.ndarray) -> np.ndarray:
    """The number of groups larger than s, for every s; shape kept."""
    return counts.sum(axis=-1, keepdims=True) - cumulative(counts)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, 0 where there is nothing to divide by."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole != 0)


def _share_within(part: Pair, rest: Pair) -> Pair:
    """Bound part / (part + rest), which grows with part and falls with rest."""
    return _ratio(part[0], part[0] + rest[1]), _ratio(part[1], part[1] + rest[0])


def _check_size(size: object) -> None:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ArgumentError(f"the size {size!r} is none; give a whole number from 0 up")
