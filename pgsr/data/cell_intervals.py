"""An interval for every cell of a table by region and size."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_tables import reading, tables_frame
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.figures.html import facts_table
from pgsr.figures.region_figure import ESTIMATED, Curve, sizes_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Values = np.ndarray | tuple[np.ndarray, ...]
"""One table of all regions, shape (regions, K + 1); where levels have sizes of their own, one per level, root first."""


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """Values of a view on every region with the ends of an interval for each, int64.

    Attributes:
        hierarchy: the regions.
        view: `View.COUNTS` or `View.CUMULATIVE`.
        level: the chance, over the noise, that one interval holds the truth; every cell by itself.
        estimate: the released values; shape (regions, K + 1), or where levels have sizes of their own one table per
            level, root first.
        lower, upper: the ends, which belong to the interval; of the same shape.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> estimate = np.array([[0, 3, 1, 2]]), np.array([[0, 2, 1], [0, 1, 2]])
        >>> lower, upper = (tuple(table + by for table in estimate) for by in (0, 2))
        >>> found = CellIntervals(tree, View.COUNTS, 0.9, estimate, lower, upper)
        >>> found.to_frame()[["region_id", "size_class", "n_groups", "lower", "upper"]].tail(2)
          region_id size_class  n_groups  lower  upper
        8     US/MI          1         1      1      3
        9     US/MI  2 or more         2      2      4
    """

    hierarchy: Hierarchy
    view: View
    level: float
    estimate: Values
    lower: Values
    upper: Values

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of every level."""
        if isinstance(self.estimate, tuple):
            return Sizes(self.hierarchy, tuple(table.shape[1] - 1 for table in self.estimate))
        return Sizes.alike(self.hierarchy, self.estimate.shape[1] - 1)

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """List all cells in long form: the columns of `Estimate.to_frame` and `lower`, `upper`; zeros included.

        Cumulative counts are called `n_groups_of_at_most`, and have no `size_class`.
        """
        cumulative = self.view is View.CUMULATIVE
        value = "n_groups_of_at_most" if cumulative else "n_groups"
        columns = {value: self.estimate, "lower": self.lower, "upper": self.upper}
        readings = {name: reading(self.sizes, values) for name, values in columns.items()}
        return tables_frame(self.sizes, readings, zeros=True, level_names=level_names, cumulative=cumulative)

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw the values of one region, by its path or index, and the intervals around them; the root if None."""
        place = self.hierarchy.find(region)
        estimate, lower, upper = (
            reading(self.sizes, values)(place, place + 1)[0] for values in (self.estimate, self.lower, self.upper)
        )
        title = f"{' / '.join(self.hierarchy.paths[place])}, {self.level:.0%} intervals"
        band = Curve(f"{self.level:.0%} interval", np.stack([lower, upper]), ESTIMATED)
        released = Curve("released", estimate, ESTIMATED)
        return sizes_figure(title, [released], self.view is View.CUMULATIVE, below=released, band=band)

    def __repr__(self) -> str:
        return f"CellIntervals({self.view!r}, {self.level:.0%}, {self.hierarchy!r}, sizes {self.sizes.text})"

    def _repr_html_(self) -> str:
        levels = [self.hierarchy.level(level) for level in range(self.hierarchy.n_levels)]
        low, high = (reading(self.sizes, side) for side in (self.lower, self.upper))
        widths = (high(here.start, here.stop) - low(here.start, here.stop) for here in levels)
        return facts_table(
            "Intervals",
            {
                "view": self.view.value,
                "level": f"{self.level:.0%}, every cell by itself",
                "regions by level, root first": self.hierarchy.levels_text,
                "sizes": self.sizes.text,
                "median width by level, root first": " / ".join(f"{np.median(width):,.0f}" for width in widths),
            },
        )
