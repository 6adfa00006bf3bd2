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
        view: which vector of each region was measured; a tuple with one view per level where levels differ.
        values: shape (regions, K + 1), int64, any sign; where some level is `View.RANKED` a tuple with one array per
            region. Rows of regions that are not measured are 0, or empty.
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

    def view_of(self, level: int) -> View:
        """Give the view measured on this level."""
        return self.view[level] if isinstance(self.view, tuple) else self.view

    def noise_scale(self, level: int) -> Fraction | None:
        """The scale of the noise on this level, sensitivity / epsilon; None if it was not measured."""
        if not self.epsilon[level]:
            return None
        return noise_sensitivity(self.view_of(level), self.max_quantity) / self.epsilon[level]

    @property
    def label(self) -> str:
        """The view in words, or the views from the root down."""
        return " x ".join(v.value for v in self.view) if isinstance(self.view, tuple) else self.view.value

    @property
    def measured(self) -> np.ndarray:
        """The regions that were measured, as bool: none padded above its copy, none on a level with epsilon 0."""
        return measured_regions(self.hierarchy, self.epsilon)

    @property
    def matrix(self) -> np.ndarray:
        """The values of a rectangular view as one array; shape (regions, K + 1)."""
        return matrix(self.values, self.view)

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The noisy values in long form, one row per measured region and size, zeros included.

        The columns of `pgsr.tables.to_long`, with `noisy_count` or `noisy_cumulative_count` in place of `n_groups`; of
        ranked sizes `rank`, from 0, and `noisy_group_size`. Where levels differ in view, columns of the others are
        empty.
        """
        import pandas as pd

        columns, frames = self.hierarchy.region_columns(level_names), []
        view_of = np.array([list(View).index(self.view_of(level)) for level in self.hierarchy.level_of])
        for place, view in enumerate(View):
            regions = np.flatnonzero(self.measured & (view_of == place))
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
        view, curve = self.view_of(int(self.hierarchy.level_of[place])), Curve("noisy", self.values[place], NOISY)
        return (
            ranks_figure(title, curve) if view is View.RANKED else sizes_figure(title, [curve], view is View.CUMULATIVE)
        )

    def __repr__(self) -> str:
        total = sum(self.epsilon, self.totals_epsilon)
        return f"Measurement({self.view!r}, {self.hierarchy!r}, sizes 0..{self.max_size:,}, epsilon={total})"

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


def matrix(values: np.ndarray | tuple[np.ndarray, ...], view: object) -> np.ndarray:
    """The values of a rectangular view as one array; shape (regions, K + 1).

    Raises:
        ProblemError: they are one vector per region.
    """
    if not isinstance(values, np.ndarray):
        raise ProblemError(f"{view!r} has one vector per region, of different lengths, not a matrix")
    return values


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
