"""Intervals, as a value that shows itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ArgumentError
from pgsr.figures.html import facts_table
from pgsr.intervals.statistics import Statistic
from pgsr.machine import memory
from pgsr.machine.extras import extra
from pgsr.privacy.budget import Number, exact

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals of a statistic of every region.

    Attributes:
        hierarchy: the regions.
        statistic: what was estimated.
        level: the probability that is aimed at; for a band, of all intervals at once.
        lower, estimate, upper: shape (regions,), or (regions, K + 1) for statistics by size; integers where the
            statistic is a whole number. An interval that corrects a bias need not hold its estimate.
        method: "band", "posterior", or the form of the bootstrap.
    """

    hierarchy: Hierarchy
    statistic: Statistic
    level: Fraction
    lower: np.ndarray
    estimate: np.ndarray
    upper: np.ndarray
    method: str

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
        regions = tree.listed if region is None else np.array([tree.find(region)])
        names = self.statistic.names(self.lower.shape[-1] - 1)
        memory.require(200 * len(regions) * len(names), f"{len(regions) * len(names):,} rows of intervals")
        described = pd.DataFrame(tree.region_columns(level_names)).drop(columns="is_leaf")
        return (
            described.take(np.repeat(regions, len(names)))
            .reset_index(drop=True)
            .assign(
                statistic=names * len(regions),
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
        from pgsr.intervals.figure import regions_figure, sizes_band_figure

        tree = self.hierarchy
        if self.statistic.by_size:
            if level is not None:
                raise ArgumentError(f"{self.statistic.name} is drawn by size for one region; give region, not level")
            place = tree.find(region)
            title = f"{' / '.join(tree.real_paths[place])}: {self._about}"
            return sizes_band_figure(title, self.lower[place], self.estimate[place], self.upper[place])
        if region is not None:
            raise ArgumentError(f"{self.statistic.name} is one number per region; give level, or None for the last one")
        here = tree.level(tree.n_levels - 1 if level is None else level)
        names = [" / ".join(path[1:] or path) for path in tree.real_paths[here]]
        return regions_figure(
            self._about, self.statistic.name, names, self.lower[here], self.estimate[here], self.upper[here]
        )

    @property
    def _about(self) -> str:
        together = ", all at once" if self.method == "band" else ""
        return f"{float(100 * self.level):.4g} % intervals, {self.method}{together}"

    def __repr__(self) -> str:
        first = f"{_shown(self.estimate)} in [{_shown(self.lower)}, {_shown(self.upper)}]"
        where = f"{self.hierarchy.name(0)}{', size 0' if self.statistic.by_size else ''}"
        return f"Intervals({self.statistic.name}, {self._about}; {where}: {first})"

    def _repr_html_(self) -> str:
        return facts_table(
            "Intervals",
            {
                "statistic": self.statistic.name,
                "level": f"{float(100 * self.level):.4g} %" + (", all at once" if self.method == "band" else ""),
                "method": self.method,
                "regions by level, root first": self.hierarchy.levels_text,
                f"{self.hierarchy.name(0)}{', size 0' if self.statistic.by_size else ''}": (
                    f"{_shown(self.estimate)} in [{_shown(self.lower)}, {_shown(self.upper)}]"
                ),
            },
        )


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


def _shown(values: np.ndarray) -> str:
    return f"{values.flat[0]:,.6g}" if values.dtype.kind == "f" else f"{values.flat[0]:,}"
