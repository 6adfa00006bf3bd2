"""The measurement, all that post-processing may see: noisy values and public facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import require_kind
from pgsr.errors import ProblemError
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import checked_counts
from pgsr.html import facts_table
from pgsr.long_form import long_cells, long_frame
from pgsr.region_figure import NOISY, Curve, ranks_figure, sizes_figure
from pgsr.views import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Totals(StrEnum):
    """The regions whose number of groups is public: all (Kuo et al.), or the root (Fioretto, Van Hentenryck).

    With NOISY no number is public: part of the budget buys noisy totals of all regions, which are public afterwards.
    """

    ROOT = "root"
    REGIONS = "regions"
    NOISY = "noisy"

    @classmethod
    def parse(cls, value: "Totals | str") -> "Totals":
        try:
            return cls(value)
        except ValueError:
            raise ProblemError(f"totals={value!r} is unknown; use 'root', 'regions' or 'noisy'") from None


ROOT_ALONE = "only the root's total is public here; measure with Geometric(..., totals='regions')"


@dataclass(frozen=True, eq=False)
class Measurement:
    """The noisy integers of one view of every region. It holds no truth, so post-processing cannot leak any.

    Attributes:
        hierarchy: the regions.
        view: which vector of each region was measured: one view; a tuple with one per level where levels differ; or a
            tuple with one per region where regions of a level may differ. `view_of` reads all three.
        values: shape (regions, K + 1), int64, any sign; where some region may be `View.RANKED` a tuple with one array
            per region. Rows of regions that are not measured are 0, or empty.
        max_size: K.
        epsilon: exact epsilon spent per level, root first.
        public: whose number of groups is public.
        totals: number of groups, shape (regions,), or (1,) where only the root's is public.
        secure: whether the noise came from `Secure`, so that a privacy claim is possible.
        data_set: name of the data set.
        totals_epsilon: exact epsilon spent on noisy totals, besides `epsilon`.
        max_quantity: public bound on what one entity adds to the size of its group; the noise grows with it.
    """

    hierarchy: Hierarchy
    view: View | tuple[View, ...]
    values: np.ndarray | tuple[np.ndarray, ...]
    max_size: int
    epsilon: tuple[Fraction, ...]
    public: Totals
    totals: np.ndarray
    secure: bool
    data_set: str = ""
    totals_epsilon: Fraction = Fraction(0)
    max_quantity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", Totals.parse(self.public))
        require_kind(self.hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        checked_epsilon(self.epsilon, self.hierarchy.n_levels)
        object.__setattr__(self, "values", checked_values(self.values, self.hierarchy.n_regions, self.max_size))
        _check_view(self.view, self.hierarchy)

    @property
    def root_total(self) -> int:
        """The number of groups in the whole hierarchy."""
        return int(self.totals[0])

    @property
    def region_totals(self) -> np.ndarray:
        """The number of groups of every region; shape (regions,).

        Raises:
            ProblemError: only the root's total is public.
        """
        if self.public is Totals.ROOT:
            raise ProblemError(ROOT_ALONE)
        return self.totals

    def view_of(self, region: int) -> View:
        """Give the view of this region, by its index."""
        return view_of(self.view, self.hierarchy, region)

    def views_on(self, level: int) -> set[View]:
        """Give the views of the regions of this level."""
        regions = self.hierarchy.level(level)
        return {self.view_of(region) for region in range(regions.start, regions.stop)}

    def noise_scale(self, region: int) -> Fraction | None:
        """Give the scale of the noise in this region, sensitivity / epsilon; None if its level has no epsilon."""
        epsilon = self.epsilon[self.hierarchy.level_of[region]]
        return noise_sensitivity(self.view_of(region), self.max_quantity) / epsilon if epsilon else None

    @property
    def label(self) -> str:
        """The view in words, the views from the root down, or how many regions have which."""
        if isinstance(self.view, View):
            return self.view.value
        if len(self.view) == self.hierarchy.n_levels:
            return " x ".join(view.value for view in self.view)
        return ", ".join(f"{self.view.count(view):,} regions {view.value}" for view in View if view in self.view)

    @property
    def measured(self) -> np.ndarray:
        """The regions that were measured, as bool: none padded above its copy, none on a level with epsilon 0."""
        return measured_regions(self.hierarchy, self.epsilon)

    @property
    def matrix(self) -> np.ndarray:
        """The values of a rectangular view as one array; shape (regions, K + 1)."""
        return matrix(self.values, self.label)

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The noisy values in long form, one row per measured region and size, zeros included.

        The columns of `pgsr.tables.to_long`, with `noisy_count` or `noisy_cumulative_count` in place of `n_groups`; of
        ranked sizes `rank`, from 0, and `noisy_group_size`. Where regions differ in view, columns of the others are
        empty.
        """
        import pandas as pd

        columns, frames = self.hierarchy.region_columns(level_names), []
        for view in View:
            regions = np.array([r for r in np.flatnonzero(self.measured).tolist() if self.view_of(r) is view], np.int64)
            if len(regions):
                longest = max(len(self.values[region]) for region in regions)
                cells = long_cells(self.values.__getitem__, regions, longest, zeros=True)
                value, cell = _COLUMNS[view]
                frames.append(long_frame(columns, cells, value, cell))
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True).convert_dtypes()

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw the noisy values of one region, by its path or index; the root's if None.

        Raises:
            ProblemError: the region was not measured.
        """
        place = self.hierarchy.find(region)
        title = " / ".join(self.hierarchy.paths[place])
        if not self.measured[place]:
            raise ProblemError(f"{title} was not measured; draw a region of a level that has a share of epsilon")
        view, curve = self.view_of(place), Curve("noisy", self.values[place], NOISY)
        return (
            ranks_figure(title, curve) if view is View.RANKED else sizes_figure(title, [curve], view is View.CUMULATIVE)
        )

    def __repr__(self) -> str:
        total = sum(self.epsilon, self.totals_epsilon)
        by_region = isinstance(self.view, tuple) and len(self.view) > self.hierarchy.n_levels
        view = self.label if by_region else repr(self.view)
        return f"Measurement({view}, {self.hierarchy!r}, sizes 0..{self.max_size:,}, epsilon={total})"

    def _repr_html_(self) -> str:
        total = sum(self.epsilon, self.totals_epsilon)
        return facts_table(
            "Measurement",
            {
                "view": self.label,
                "regions by level, root first": self.hierarchy.levels_text,
                "sizes": f"0..{self.max_size:,}",
                "epsilon": f"{total}, by level {' / '.join(map(str, self.epsilon))}",
                "epsilon of noisy totals": str(self.totals_epsilon) if self.totals_epsilon else None,
                "public numbers of groups": {"root": "the root's", "regions": "every region's"}.get(
                    self.public, "none; noisy ones instead"
                ),
                "noise": "secure" if self.secure else "research: repeats, no privacy claim",
                "data set": self.data_set or None,
            },
        )


_COLUMNS = {
    View.COUNTS: ("noisy_count", "group_size"),
    View.CUMULATIVE: ("noisy_cumulative_count", "group_size"),
    View.RANKED: ("noisy_group_size", "rank"),
}
"""The columns of a view's values, and of what they belong to."""


def noise_sensitivity(view: View, max_quantity: int) -> int:
    """The largest L1 change of one region's vector when one entity of at most this quantity joins or leaves a group.

    The group moves from size s to s + M at most: still two cells of the counts, but M cells of the cumulative counts by
    one, or one ranked size by M.
    """
    return view.sensitivity if view is View.COUNTS else view.sensitivity * max_quantity


def measured_regions(hierarchy: Hierarchy, epsilon: tuple[Fraction, ...]) -> np.ndarray:
    """Tell which regions get noise; shape (regions,), bool."""
    spent = np.array([level > 0 for level in epsilon])
    return spent[hierarchy.level_of] & ~hierarchy.padded


def view_of(view: View | tuple[View, ...], hierarchy: Hierarchy, region: int) -> View:
    """Give the view of a region, by its index, where `view` is one, one per level or one per region.

    A tuple that fits both levels and regions says the same either way: every level has one region then.
    """
    if isinstance(view, View):
        return view
    return view[int(hierarchy.level_of[region]) if len(view) == hierarchy.n_levels else region]


def matrix(values: np.ndarray | tuple[np.ndarray, ...], view: str) -> np.ndarray:
    """The values of a rectangular view as one array; shape (regions, K + 1).

    Raises:
        ProblemError: they are one vector per region.
    """
    if not isinstance(values, np.ndarray):
        raise ProblemError(f"{view} has one vector per region, of different lengths, not a matrix")
    return values


def _check_view(view: object, hierarchy: Hierarchy) -> None:
    """Raise `ProblemError` unless this is a view, or a tuple of views that fits the levels or the regions."""
    views = view if isinstance(view, tuple) else (view,)
    if not all(isinstance(one, View) for one in views):
        raise ProblemError("the view of a measurement is a View, or a tuple of them; use View.COUNTS or another")
    if isinstance(view, tuple) and len(view) not in (hierarchy.n_levels, hierarchy.n_regions):
        raise ProblemError(
            f"{len(view)} views for {hierarchy.n_levels} levels and {hierarchy.n_regions} regions; give one view, one "
            "per level or one per region"
        )


def checked_epsilon(epsilon: object, n_levels: int) -> None:
    """Raise `ProblemError` unless these are exact epsilons, one per level."""
    if not isinstance(epsilon, tuple) or not all(isinstance(level, Fraction) for level in epsilon):
        raise ProblemError("the epsilons of a measurement are a tuple of fractions; give Budget.split(...).levels")
    if len(epsilon) != n_levels:
        raise ProblemError(f"{len(epsilon)} epsilons for {n_levels} levels; give one per level")


def checked_values(values: object, n_regions: int, max_size: int) -> np.ndarray | tuple[np.ndarray, ...]:
    """Check the values: int64 of shape (regions, K + 1), or the tuple of ranked vectors that was given.

    Raises:
        ProblemError, CountError: another shape, or no integers.
    """
    if not isinstance(max_size, int) or max_size < 0:
        raise ProblemError(f"max_size={max_size!r} is no size; give K, a public whole number")
    if isinstance(values, tuple):
        if len(values) != n_regions:
            raise ProblemError(f"{len(values)} ranked vectors for {n_regions} regions; give one per region")
        return values
    given = values if isinstance(values, np.ndarray) else checked_counts(values, "noisy value")
    if given.shape != (n_regions, max_size + 1):
        raise ProblemError(
            f"noisy values have shape {given.shape}; {n_regions} regions and sizes 0..{max_size} need "
            f"({n_regions}, {max_size + 1})"
        )
    return given if given.dtype == np.int64 else checked_counts(given, "noisy value")
