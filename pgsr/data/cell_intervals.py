"""An interval for every cell of a table by region and size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import long_cells, long_frame
from pgsr.data.views import View
from pgsr.figures.html import facts_table
from pgsr.figures.region_figure import ESTIMATED, Curve, sizes_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """Values of a view on every region with the ends of an interval for each; shape (regions, K + 1) each, int64.

    Attributes:
        hierarchy: the regions.
        view: `View.COUNTS` or `View.CUMULATIVE`.
        level: the chance, over the noise, that one interval holds the truth; every cell by itself.
        estimate: the released values.
        lower, upper: the ends, which belong to the interval.
    """

    hierarchy: Hierarchy
    view: View
    level: float
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """List all cells in long form: the columns of `Estimate.to_frame` and `lower`, `upper`; zeros included."""
        tree = self.hierarchy
        cells = long_cells(self.estimate.__getitem__, tree.listed, self.estimate.shape[1], zeros=True)
        name = "n_groups" if self.view is View.COUNTS else "n_groups_of_at_most"
        frame = long_frame(tree.region_columns(level_names), cells, name)
        region, size, _ = cells
        return frame.assign(lower=self.lower[region, size], upper=self.upper[region, size])

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw the values of one region, by its path or index, and the intervals around them; the root if None."""
        place = self.hierarchy.find(region)
        title = f"{' / '.join(self.hierarchy.paths[place])}, {self.level:.0%} intervals"
        band = Curve(f"{self.level:.0%} interval", np.stack([self.lower[place], self.upper[place]]), ESTIMATED)
        released = Curve("released", self.estimate[place], ESTIMATED)
        return sizes_figure(title, [released], self.view is View.CUMULATIVE, below=released, band=band)

    def __repr__(self) -> str:
        sizes = f"sizes 0..{self.estimate.shape[1] - 1:,}"
        return f"CellIntervals({self.view!r}, {self.level:.0%}, {self.hierarchy!r}, {sizes})"

    def _repr_html_(self) -> str:
        width = self.upper - self.lower
        return facts_table(
            "Intervals",
            {
                "view": self.view.value,
                "level": f"{self.level:.0%}, every cell by itself",
                "regions by level, root first": self.hierarchy.levels_text,
                "median width by level, root first": " / ".join(
                    f"{np.median(width[self.hierarchy.level(level)]):,.0f}" for level in range(self.hierarchy.n_levels)
                ),
            },
        )
