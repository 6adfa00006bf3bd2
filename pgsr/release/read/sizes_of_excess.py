"""Statistics by size, and intervals by size, of what a mechanism counts by excess over a public least size."""

from dataclasses import dataclass, replace

import numpy as np

from pgsr.data.cell_intervals import CellIntervals, Values
from pgsr.data.hierarchy import Hierarchy
from pgsr.intervals import Statistic
from pgsr.intervals.bounds import Bounds, Pair
from pgsr.release.stated.excess import with_sizes_below


@dataclass(frozen=True)
class OfSizes(Statistic):
    """A statistic of counts by size, computed from counts by excess over `min_size`.

    Attributes:
        statistic: of counts by size.
        min_size: m; the counts at smaller sizes are 0.

    Example:
        >>> from pgsr.intervals import statistic_of
        >>> OfSizes(statistic_of("mean"), 1).of(np.array([[3, 1]]))  # three groups of one member, one of two
        array([1.25])
    """

    statistic: Statistic
    min_size: int

    @property
    def whole(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statistic.whole

    @property
    def by_size(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statistic.by_size

    @property
    def name(self) -> str:
        return self.statistic.name

    def of(self, counts: np.ndarray) -> np.ndarray:
        return self.statistic.of(with_sizes_below(counts, self.min_size))

    def within(self, bounds: Bounds) -> Pair:
        (low, high), (least, most) = bounds.counts, bounds.cumulative
        counts = with_sizes_below(low, self.min_size), with_sizes_below(high, self.min_size)
        cumulative = with_sizes_below(least, self.min_size), with_sizes_below(most, self.min_size)
        return self.statistic.within(Bounds(counts, cumulative))

    def possible(self, n_groups: float, max_size: int) -> tuple[float, float]:
        return self.statistic.possible(n_groups, max_size + self.min_size)

    def check(self, max_size: int) -> None:
        self.statistic.check(max_size + self.min_size)

    def placed(self, tree: Hierarchy) -> Statistic:
        return replace(self, statistic=self.statistic.placed(tree))

    def names(self, max_size: int) -> list[str]:
        return self.statistic.names(max_size)


def intervals_by_size(found: CellIntervals, min_size: int) -> CellIntervals:
    """Put cells of sizes below `min_size`, which hold no group, before those of every region."""

    def by_size(values: Values) -> Values:
        if isinstance(values, tuple):
            return tuple(with_sizes_below(table, min_size) for table in values)
        return with_sizes_below(values, min_size)

    sides = {name: by_size(getattr(found, name)) for name in ("estimate", "lower", "upper")}
    return replace(found, **sides)
