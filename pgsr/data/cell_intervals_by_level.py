"""An interval for every cell of counts with sizes per level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.counts_by_level import SIZE_CLASS, class_names
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import Cells, long_cells, long_frame
from pgsr.data.views import View
from pgsr.figures.html import facts_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CellIntervalsByLevel:
    """Values of a view with sizes per level, and the ends of an interval for each.

    Attributes:
        hierarchy: the regions.
        view: `View.COUNTS` or `View.CUMULATIVE`.
        level: the chance, over the noise, that one interval holds the truth; every cell by itself.
        estimate: the released values; one table per level, root first; int64, shape (regions of the level, K + 1).
        lower, upper: the ends, which belong to the interval; of the same shapes.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> estimate = np.array([[0, 3, 1, 2]]), np.array([[0, 2, 1], [0, 1, 2]])
        >>> lower, upper = (tuple(table + by for table in estimate) for by in (0, 2))
        >>> found = CellIntervalsByLevel(tree, View.COUNTS, 0.9, estimate, lower, upper)
        >>> found.to_frame()[["region_id", "size_class", "n_groups", "lower", "upper"]].tail(2)
          region_id size_class  n_groups  lower  upper
        8     US/MI          1         1      1      3
        9     US/MI  2 or more         2      2      4
    """

    hierarchy: Hierarchy
    view: View
    level: float
    estimate: tuple[np.ndarray, ...]
    lower: tuple[np.ndarray, ...]
    upper: tuple[np.ndarray, ...]

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """List all cells, level by level: the columns of `to_long_by_level` and `lower`, `upper`; zeros included.

        Cumulative counts are called `n_groups_of_at_most`, and have no `size_class`.
        """
        tree, parts, classes = self.hierarchy, [], []
        for level, table in enumerate(self.estimate):
            here = tree.level(level)
            regions = np.arange(here.start, here.stop)[~tree.padded[here]]
            rows = long_cells(
                lambda region, table=table, here=here: table[region - here.start], regions, table.shape[1], True
            )
            names = np.array(list(class_names(table.shape[1] - 1)), object)
            classes.append(names[rows[1]])
            ends = (side[level][rows[0] - here.start, rows[1]] for side in (self.lower, self.upper))
            parts.append((*rows, *ends))
        region, size, value, lower, upper = map(np.concatenate, zip(*parts, strict=True))
        cells: Cells = region, size, value
        counts = self.view is View.COUNTS
        frame = long_frame(tree.region_columns(level_names), cells, "n_groups" if counts else "n_groups_of_at_most")
        if counts:
            frame.insert(list(frame.columns).index("n_groups"), SIZE_CLASS, np.concatenate(classes))
        return frame.assign(lower=lower, upper=upper)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{table.shape[1] - 1:,}" for table in self.estimate)
        return f"CellIntervalsByLevel({self.view!r}, {self.level:.0%}, {self.hierarchy!r}, largest sizes {sizes})"

    def _repr_html_(self) -> str:
        widths = (np.median(high - low) for low, high in zip(self.lower, self.upper, strict=True))
        return facts_table(
            "Intervals",
            {
                "view": self.view.value,
                "level": f"{self.level:.0%}, every cell by itself",
                "regions by level, root first": self.hierarchy.levels_text,
                "largest sizes by level": " / ".join(f"{table.shape[1] - 1:,}" for table in self.estimate),
                "median width by level, root first": " / ".join(f"{width:,.0f}" for width in widths),
            },
        )
