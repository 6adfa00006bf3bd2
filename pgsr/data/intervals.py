"""Intervals of a statistic of every region, or of every cell, as a value that shows itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.hierarchy import Hierarchy, RegionNames
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import ArgumentError
from pgsr.figures.numbers_table import NumbersTable, ShowsNumbers, numbers_table
from pgsr.figures.region_figure import ESTIMATED, Curve, regions_figure, sizes_figure
from pgsr.machine import memory
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Intervals(ShowsNumbers):
    """The intervals of a statistic of every region.

    Attributes:
        hierarchy: the regions.
        statistic: what was estimated, as text such as "tail:100", and "mean, sizes above 10 as 10" where groups are
            that large; "count" and "cumulative" have a value per size.
        level: the chance, over the noise, that an interval holds the truth; of a band, that all of them do at once.
        lower, estimate, upper: the ends, which belong to the interval, and the released value; shape (regions,), or
            (regions, K + 1) for statistics by size. They are int64 where the statistic is a number of groups, and
            NaN where a region has no groups and so no value.
        method: "band", "posterior", or the form of the bootstrap.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> estimate = np.array([[0, 3, 3], [0, 2, 1], [0, 1, 2]])
        >>> found = Intervals(tree, "count", 0.9, estimate, estimate, estimate + 2, "posterior")
        >>> found.to_frame()[["region_id", "statistic", "lower", "estimate", "upper"]].tail(2)
          region_id statistic  lower  estimate  upper
        7     US/MI   count:1      1         1      3
        8     US/MI   count:2      2         2      4
    """

    hierarchy: Hierarchy
    statistic: str
    level: Fraction | float
    lower: np.ndarray
    estimate: np.ndarray
    upper: np.ndarray
    method: str

    @property
    def max_size(self) -> int | None:
        """K of a statistic with a value per size; None where it has one per region."""
        return self.estimate.shape[1] - 1 if self.estimate.ndim == 2 else None

    def to_frame(
        self, region: int | Sequence[str] | None = None, *, level_names: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Make a data frame, a row per region and value.

        Its columns are region_id, level, the region's name on every level, statistic, lower, estimate and upper.
        `level` is the region's in the hierarchy, 0 at the root, as in the tables of a release.

        Args:
            region: its path or index, for this region's rows alone.
            level_names: names of the columns with the regions' names, root first; those of the hierarchy if None.
        """
        with extra("release"):
            import pandas as pd

        tree = self.hierarchy
        regions = tree.listed
        if region is not None:
            path = tree.real_paths[tree.find(region)]
            regions = np.array([place for place in regions if tree.real_paths[place] == path])
        n_values = len(self._names)
        memory.require(200 * len(regions) * n_values, f"{len(regions) * n_values:,} rows of intervals")
        described = pd.DataFrame(tree.region_columns(level_names)).drop(columns="is_leaf")
        return (
            described.take(np.repeat(regions, n_values))
            .reset_index(drop=True)
            .assign(
                statistic=self._names * len(regions),
                lower=self.lower[regions].ravel(),
                estimate=self.estimate[regions].ravel(),
                upper=self.upper[regions].ravel(),
            )
        )

    def plot(self, region: int | Sequence[str] | None = None, *, level: int | None = None) -> "Figure":
        """Draw one region by size, the root if None; or a value per region of a level, the last level if None.

        Raises:
            ArgumentError: a region is named for a statistic with one value per region, or a level for one by size.
            HierarchyError: there is no such region or level.
        """
        tree, sides = self.hierarchy, (self.lower, self.estimate, self.upper)
        if self.max_size is not None:
            if level is not None:
                raise ArgumentError(f"{self.statistic} is drawn by size for one region; give region, not level")
            place = tree.find(region)
            lower, estimate, upper = (side[place] for side in sides)
            title = f"{' / '.join(tree.real_paths[place])}: {self._about}"
            released = Curve("released", estimate, ESTIMATED)
            band = Curve("interval", np.stack([lower, upper]), ESTIMATED)
            cumulative = self.statistic.startswith("cumulative")
            return sizes_figure(title, [released], cumulative, below=released, band=band)
        if region is not None:
            raise ArgumentError(f"{self.statistic} is one number per region; give level, or None for the last one")
        here = tree.level(tree.n_levels - 1 if level is None else level)
        names = [" / ".join(path[1:] or path) for path in tree.real_paths[here]]
        return regions_figure(self._about, self.statistic, names, *(side[here] for side in sides))

    @cached_property
    def _names(self) -> list[str]:
        """The names of the values of a region, one or K + 1."""
        if self.max_size is None:
            return [self.statistic]
        word, minus, other = self.statistic.partition(" minus ")
        return [f"{word}:{size}{minus}{other}" for size in range(self.max_size + 1)]

    @property
    def _sizes(self) -> str:
        return "" if self.max_size is None else f", sizes 0..{self.max_size:,}"

    @property
    def _about(self) -> str:
        together = ", all at once" if self.method == "band" else ""
        return f"{float(100 * self.level):.4g} % intervals, {self.method}{together}"

    def __repr__(self) -> str:
        lower, estimate, upper = (_first(side) for side in (self.lower, self.estimate, self.upper))
        where = self.hierarchy.name(0) + (f"{self._sizes}, size 0" if self._sizes else "")
        return f"Intervals({self.statistic}, {self._about}; {where}: {estimate} in [{lower}, {upper}])"

    def numbers_table(self) -> NumbersTable:
        """Give the intervals of the first regions, by size where the statistic is."""
        facts = {
            "intervals": self._about,
            "regions by level, root first": self.hierarchy.levels_text,
            "median width by level, root first": " / ".join(self._widths()),
        }
        sides, names = (self.lower, self.estimate, self.upper), RegionNames(self.hierarchy)
        if self.max_size is None:
            row, columns = (lambda region: [side[region] for side in sides]), ("lower", "estimate", "upper")
            return numbers_table(self.statistic, names, columns, row, facts)

        def written(region: int) -> list[str]:
            lower, estimate, upper = (side[region] for side in sides)
            return [f"{e:,.6g} [{a:,.6g}, {b:,.6g}]" for a, e, b in zip(lower, estimate, upper, strict=True)]

        return numbers_table(self.statistic, names, range(self.max_size + 1), written, facts)

    def _widths(self) -> list[str]:
        tree, widths = self.hierarchy, []
        for level in range(tree.n_levels):
            here = tree.level(level)
            width = self.upper[here] - self.lower[here]
            widths.append(number_text(np.nan if np.isnan(width).all() else float(np.nanmedian(width))))
        return widths


def _first(values: np.ndarray) -> str:
    """The first value of the root."""
    first = np.ravel(values[0])[0]
    return number_text(float(first)) if isinstance(first, np.floating) else f"{first:,}"


def number_text(value: float) -> str:
    """Write a value; NaN is that of a region without groups, which has no mean, quantile, share or Gini coefficient."""
    return "no groups" if np.isnan(value) else f"{value:,.6g}"
