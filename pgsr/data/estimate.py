"""The estimate that post-processing returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.checks import is_sparse, require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy, RegionNames
from pgsr.data.long_tables import tables_frame
from pgsr.data.read_only import read_only_arrays
from pgsr.data.sizes import Sizes
from pgsr.data.views import View, counts_of_cumulative
from pgsr.errors import CountError
from pgsr.figures.numbers_table import NumbersTable, ShowsNumbers, numbers_table
from pgsr.figures.region_figure import ESTIMATED, Curve, sizes_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Estimate(ShowsNumbers):
    """The values of a view on every region; possibly fractional, negative or inconsistent, as relaxations are.

    Attributes:
        hierarchy: the regions.
        view: `View.COUNTS` or `View.CUMULATIVE`.
        values: shape (regions, K + 1), int64 or float64; large estimates of counts are SciPy sparse arrays. Where
            levels have sizes of their own, a tuple with one such table per level, root first; `tables` gives both
            alike.

    Raises:
        CountError: the view is `View.RANKED`, or the values are no array of numbers with two dimensions, or tables
            that do not fit the levels.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> estimate = Estimate(tree, View.CUMULATIVE, np.array([[1, 10], [0, 5], [1, 5]]))
        >>> estimate.as_counts.tolist()
        [[1, 9], [0, 5], [1, 4]]
    """

    hierarchy: Hierarchy
    view: View
    values: Any

    def __post_init__(self) -> None:
        require_kind(self.hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        if not isinstance(self.view, View) or self.view is View.RANKED:
            raise CountError(f"an estimate of {self.view!r}; give View.COUNTS or View.CUMULATIVE")
        by_level = isinstance(self.values, tuple)
        for table in self.values if by_level else (self.values,):
            shape, dtype = getattr(table, "shape", ()), getattr(table, "dtype", None)
            if len(shape) != 2 or dtype is None or dtype.kind not in "if":
                raise CountError("an estimate has integer or real values of shape (regions, K + 1); give such an array")
        if by_level and [len(table) for table in self.values] != np.diff(self.hierarchy.level_start).tolist():
            raise CountError("the tables of an estimate have a row for every region of their level; give such tables")
        if not by_level and self.values.shape[0] != self.hierarchy.n_regions:
            raise CountError(
                f"an estimate has a row per region, {self.hierarchy.n_regions:,} here, and {self.values.shape[0]:,} "
                "were given; give one for each"
            )
        if by_level and self.sizes.equal:
            object.__setattr__(self, "values", np.concatenate(self.values))

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of every level."""
        return Sizes.of(self.hierarchy, self.values)

    @property
    def max_size(self) -> int:
        """The largest size, K, of the root."""
        return self.sizes.max_sizes[0]

    @property
    def kind(self) -> str:
        """The kind of the numbers, "i" for integers and "f" for real ones."""
        tables = self.values if isinstance(self.values, tuple) else (self.values,)
        return "i" if all(table.dtype.kind == "i" for table in tables) else "f"

    @property
    def tables(self) -> tuple[Any, ...]:
        """The values, one table per level, root first; shape (regions of the level, K + 1) each."""
        if isinstance(self.values, tuple):
            return self.values
        return tuple(self.values[self.hierarchy.level(level)] for level in range(self.hierarchy.n_levels))

    @property
    def as_counts(self) -> Any:
        """The values converted to counts per size, of any sign; shaped as the values."""
        if self.view is View.COUNTS:
            return self.values
        if isinstance(self.values, tuple):
            return tuple(map(counts_of_cumulative, self.values))
        return counts_of_cumulative(self.values)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Give the counts of regions start..stop-1, dense; where levels have sizes of their own, of one level."""
        block = self.sizes.block(self.values, start, stop)
        block = block.toarray() if is_sparse(block) else block
        return block if self.view is View.COUNTS else counts_of_cumulative(block)

    def row(self, region: int) -> np.ndarray:
        """Give the counts of one region, dense; shape (K + 1,)."""
        return self.rows(region, region + 1)[0]

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The counts in long form, one row per region and size, as `pgsr.tables.long.to_long` explains."""
        return tables_frame(self.sizes, self.rows, level_names)

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw one region by size in the estimate's view, by its path or index; the root if None."""
        place = self.hierarchy.find(region)
        cumulative = self.view is View.CUMULATIVE
        values = self.row(place).cumsum() if cumulative else self.row(place)
        return sizes_figure(" / ".join(self.hierarchy.paths[place]), [Curve("estimate", values, ESTIMATED)], cumulative)

    def counts(self) -> CountOfCounts:
        """Convert to a `CountOfCounts`, which has to be integer, non-negative and consistent.

        Raises:
            CountError: a count is fractional, negative, or the regions do not add up; the message names it.
        """
        try:
            return CountOfCounts(self.hierarchy, self.as_counts)
        except CountError as error:
            raise CountError(f"this estimate is not a valid release: {error}") from None

    def __repr__(self) -> str:
        kind = "integer" if self.kind == "i" else "real"
        return f"Estimate({self.view!r}, {self.hierarchy!r}, sizes {self.sizes.text}, {kind})"

    def numbers_table(self) -> NumbersTable:
        """Give the values of the first regions by size, in the estimate's view."""
        facts = {
            "values": "integers" if self.kind == "i" else "real numbers",
            "regions by level, root first": self.hierarchy.levels_text,
        }
        cumulative = self.view is View.CUMULATIVE
        row = (lambda region: self.row(region).cumsum()) if cumulative else self.row
        title = f"estimate, {self.view.value}"
        return numbers_table(title, RegionNames(self.hierarchy), range(self.max_size + 1), row, facts)
