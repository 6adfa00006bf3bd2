"""The measurement, all that post-processing may see: noisy values and public facts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import as_array, member_of, require_kind
from pgsr.data.counts import checked_counts
from pgsr.data.hierarchy import Hierarchy, RegionNames
from pgsr.data.long_form import long_frame
from pgsr.data.read_only import read_only_arrays
from pgsr.data.sizes import Sizes
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View
from pgsr.errors import ProblemError
from pgsr.figures.numbers_table import MOST_REGIONS, NumbersTable, ShowsNumbers, numbers_table
from pgsr.figures.region_figure import NOISY, Curve, ranks_figure, sizes_figure
from pgsr.machine import memory
from pgsr.machine.extras import extra
from pgsr.privacy.laws import Law
from pgsr.privacy.laws.per_level import GaussianNoise, GeometricNoise, LevelNoise, spent_text
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, sensitivity_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Totals(StrEnum):
    """The regions whose number of groups is public: all (Kuo et al.), or the root (Fioretto, Van Hentenryck).

    With NOISY no number is public: a part of the budget is spent on noisy totals of all regions, which are published.

    Example:
        >>> Totals.parse("regions") is Totals.REGIONS
        True
    """

    ROOT = "root"
    REGIONS = "regions"
    NOISY = "noisy"

    @classmethod
    def parse(cls, value: "Totals | str") -> "Totals":
        """Read the member from its text.

        Raises:
            ProblemError: the text is none of root, regions and noisy.
        """
        return member_of(cls, value, "totals", ProblemError)


ROOT_ALONE = "only the root's total is public here; measure with Geometric(..., totals='regions')"


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Measurement(ShowsNumbers):
    """The noisy integers of one view of every region. It holds no truth, so post-processing cannot leak any.

    Attributes:
        sizes: the regions, and the sizes 0..K of every level.
        views: which vector of each region was measured: one for all regions, one per level, root first, or one per
            region. A tuple that fits both levels and regions says the same either way.
        cells: the noisy values of all regions, one region after the other; int64, any sign. `first_cell` says where
            those of a region start. A view with a cell per size has K + 1 of them, 0 where a region is not measured;
            ranks are as many as the view measures, none where a region is not measured.
        noise: the noise of every level, root first; None where nothing was measured.
        public: whose number of groups is public.
        totals: number of groups, shape (regions,), or (1,) where only the root's is public.
        secure: whether the noise came from `Secure`, so that a privacy claim is possible.
        data_set: name of the data set.
        totals_noise: the noise of the numbers of groups of every level, besides `noise`; None where they are public.
        max_quantity: public bound on what one entity adds to the size of its group; the noise grows with it.
        unit, relation: whose presence or values the noise hides, and what may become of one.
        first_root: the root's first noisy values, which chose the shares of epsilon (`shares_by_root`); else None.

    Example:
        >>> from pgsr import CountOfCounts
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 3], [1, 6]])
        >>> noisy = Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("demo"))
        >>> noisy
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..1, epsilon=1)
        >>> noisy.matrix.shape, noisy.law(0)
        ((3, 2), DoubleGeometric(scale=Fraction(4, 1)))
    """

    sizes: Sizes
    views: tuple[AnyView, ...]
    cells: np.ndarray
    noise: tuple[LevelNoise | None, ...]
    public: Totals
    totals: np.ndarray
    secure: bool
    data_set: str = ""
    totals_noise: LevelNoise | None = None
    max_quantity: int = 1
    unit: Unit = Unit.ENTITY
    relation: Relation = Relation.ADD_REMOVE
    first_root: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_kind(self.sizes, Sizes, "sizes", "give Sizes(hierarchy, (20, 20)), with K of every level")
        object.__setattr__(self, "public", Totals.parse(self.public))
        checked_noise(self.noise, self.hierarchy.n_levels)
        _check_views(self.views, self.hierarchy)
        _check_totals(self.totals)
        object.__setattr__(self, "cells", checked_cells(self.cells, int(self.first_cell[-1]), self.sizes))

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions."""
        return self.sizes.hierarchy

    @property
    def max_size(self) -> int:
        """The largest size K, of the root."""
        return self.sizes.max_sizes[0]

    @property
    def view(self) -> AnyView | None:
        """The view of all regions; None where it was stated level by level or region by region."""
        return self.views[0] if len(self.views) == 1 else None

    @cached_property
    def first_cell(self) -> np.ndarray:
        """The place of every region's first value among the cells, and their number; int64, shape (regions + 1,)."""
        return first_cells(self.sizes, self.views, self.totals, self.measured)

    @property
    def has_ranks(self) -> bool:
        """Whether the view of some region measures ranks, so that vectors may differ in length on one level."""
        return not all(view.has_a_cell_per_size for view in self.kinds)

    @cached_property
    def kinds(self) -> frozenset[AnyView]:
        """The views that occur."""
        return frozenset(self.views)

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

    def view_of(self, region: int) -> AnyView:
        """Give the view of this region, by its index."""
        return view_of(self.views, self.hierarchy, region)

    def views_on(self, level: int) -> set[AnyView]:
        """Give the views of the regions of this level."""
        regions = self.hierarchy.level(level)
        return {self.view_of(region) for region in range(regions.start, regions.stop)}

    def law(self, region: int) -> Law | None:
        """Give the law of the noise in this region, by its index; None if its level was not measured."""
        level, view = int(self.hierarchy.level_of[region]), self.view_of(region)
        if (level, view) not in self._laws:  # exact fractions take long, and all regions of a level have the same
            noise = self.noise[level]
            self._laws[level, view] = noise.law(self.sensitivity(view, level)) if noise else None
        return self._laws[level, view]

    def sensitivity(self, view: AnyView, level: int = 0) -> Sensitivity:
        """Give how far the vector of this view of a region of a level may change between neighbouring data sets."""
        largest = self.sizes.max_sizes[level]
        return sensitivity_of(view, self.unit, max_quantity=self.max_quantity, max_size=largest, relation=self.relation)

    def max_size_of(self, region: int) -> int:
        """Give K of the level of this region, by its index."""
        return self.sizes.max_sizes[int(self.hierarchy.level_of[region])]

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The values, one table per level; shape (regions of the level, K + 1) each.

        Raises:
            ProblemError: ranks were measured.
        """
        self._require_cells()
        return self.sizes.tables(self.cells)

    @property
    def matrix(self) -> np.ndarray:
        """The values as one array; shape (regions, K + 1).

        Raises:
            ProblemError: ranks were measured, or levels have sizes of their own.
        """
        self._require_cells()
        if not self.sizes.equal:
            raise ProblemError(f"{self.label} has a table of its own width on every level, not a matrix; take .tables")
        return self.cells.reshape(-1, self.max_size + 1)

    def _require_cells(self) -> None:
        if self.has_ranks:
            raise ProblemError(
                f"{self.label} has one vector per region, of different lengths, not a matrix; take .rows"
            )

    def row(self, region: int) -> np.ndarray:
        """Give the noisy values of one region, by its index."""
        return self.cells[self.first_cell[region] : self.first_cell[region + 1]]

    @property
    def rows(self) -> list[np.ndarray]:
        """The values, region by region, of any view."""
        return np.split(self.cells, self.first_cell[1:-1])

    @property
    def spent(self) -> str:
        """Say what the levels and the noisy totals spend together, in their currency."""
        totals = (self.totals_noise,) * self.hierarchy.n_levels
        return spent_text((*self.noise, *totals))

    @property
    def epsilon(self) -> tuple[Fraction, ...]:
        """Exact epsilon spent per level, root first, where all noise is double geometric.

        Raises:
            ProblemError: some level has Gaussian noise, which has no pure epsilon.
        """
        return pure_epsilons(self.noise)

    @property
    def label(self) -> str:
        """The view in words, the views from the root down, or how many regions have which."""
        if len(self.views) in (1, self.hierarchy.n_levels):
            return " x ".join(view.value for view in self.views)
        numbers = Counter(self.views)
        splits = [view for view in numbers if isinstance(view, Split)]
        alone = [*(view for view in View if view in numbers), *(splits if len(splits) == 1 else [])]
        named = [f"{numbers[view]:,} regions {view.value}" for view in alone]
        if len(splits) > 1:
            lowest, highest = (end(view.threshold for view in splits) for end in (min, max))
            named.append(f"{sum(numbers[view] for view in splits):,} regions split at {lowest:,} to {highest:,}")
        others = (view for view in numbers if view not in [*alone, *splits])
        return ", ".join([*named, *(f"{numbers[view]:,} regions {view.value}" for view in others)])

    @cached_property
    def measured(self) -> np.ndarray:
        """The regions that were measured, as bool: none padded above its copy, none on a level with epsilon 0."""
        found = measured_regions(self.hierarchy, self.noise)
        found.setflags(write=False)
        return found

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The noisy values in long form, one row per measured region and size, zeros included.

        The columns of `pgsr.tables.long.to_long`, with `noisy_count` or `noisy_cumulative_count` for `n_groups`; of
        ranked sizes `rank`, from 0 for the smallest group, and `noisy_group_size`. A split view has rows of both kinds,
        with `noisy_excess`, what the group of a rank has beyond the threshold, for its size. Where
        regions differ in view, columns of the others are empty.
        """
        with extra("release"):
            import pandas as pd

        columns, frames = self.hierarchy.region_columns(level_names), []
        for (value, cell), vectors in self._vectors().items():
            lengths = [*map(len, vectors.values())]
            memory.require(48 * sum(lengths), f"{sum(lengths):,} rows")
            places = np.concatenate([*map(np.arange, lengths)])
            cells = np.repeat([*vectors], lengths), places, np.concatenate([*vectors.values()])
            frames.append(long_frame(columns, cells, value, cell))
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True).convert_dtypes()

    def _vectors(self) -> dict[tuple[str, str], dict[int, np.ndarray]]:
        """Collect the vectors of measured regions by columns of a table."""
        found = {columns: {} for columns in (*_COLUMNS.values(), _COLUMNS_OF_RANKS)}
        for region in np.flatnonzero(self.measured).tolist():
            view = self.view_of(region)
            for part, values in view.parts(self.row(region)):
                beyond = view.mixed and part is View.RANKED
                if len(values) or part is view:
                    found[_COLUMNS_OF_RANKS if beyond else _COLUMNS[part]][region] = values
        return {columns: vectors for columns, vectors in found.items() if vectors}

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw the noisy values of one region, by its path or index; the root's if None.

        Raises:
            ProblemError: the region was not measured.
        """
        place = self.hierarchy.find(region)
        title = " / ".join(self.hierarchy.paths[place])
        if not self.measured[place]:
            raise ProblemError(f"{title} was not measured; draw a region of a level that has a share of epsilon")
        view, values = self.view_of(place), self.row(place)
        if view.mixed:
            values = view.cumulative(values, int(self.totals[place]), self.max_size_of(place))
        curve = Curve("noisy", values, NOISY)
        return (
            ranks_figure(title, curve) if view is View.RANKED else sizes_figure(title, [curve], view is not View.COUNTS)
        )

    @cached_property
    def _laws(self) -> dict[tuple[int, AnyView], Law | None]:
        """The laws that were asked for, by level and view."""
        return {}

    def __repr__(self) -> str:
        by_region = len(self.views) > self.hierarchy.n_levels
        view = self.label if by_region else repr(self.views if self.view is None else self.view)
        return f"Measurement({view}, {self.hierarchy!r}, sizes {self.sizes.text}, {self.spent})"

    def numbers_table(self) -> NumbersTable:
        """Give the noisy values of the first regions."""
        most = max(np.diff(self.first_cell)[:MOST_REGIONS].tolist())
        return numbers_table(
            f"noisy, {self.label}",
            RegionNames(self.hierarchy),
            range(most),
            self.row,
            {
                "regions by level, root first": self.hierarchy.levels_text,
                "spent": f"{self.spent}; noise by level {' / '.join(map(str, self.noise))}",
                "noise of numbers of groups, per level": None if self.totals_noise is None else str(self.totals_noise),
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

_COLUMNS_OF_RANKS = ("noisy_excess", "rank")
"""The names of the columns for what groups of a split view have beyond the threshold, by rank."""


def measured_regions(hierarchy: Hierarchy, noise: tuple[LevelNoise | None, ...]) -> np.ndarray:
    """Tell which regions get noise; shape (regions,), bool."""
    spent = np.array([level is not None for level in noise])
    return spent[hierarchy.level_of] & ~hierarchy.padded


def view_of(views: tuple[AnyView, ...], hierarchy: Hierarchy, region: int) -> AnyView:
    """Give the view of a region, by its index, among one for all, one per level or one per region."""
    if len(views) == 1:
        return views[0]
    return views[int(hierarchy.level_of[region]) if len(views) == hierarchy.n_levels else region]


def first_cells(sizes: Sizes, views: tuple[AnyView, ...], totals: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Find where the values of every region start, and how many there are in all; int64, shape (regions + 1,).

    Args:
        sizes: the regions, and the sizes of every level.
        views: as in `Measurement`.
        totals: the numbers of groups of all regions; of cells per size they are not looked at.
        measured: which regions are, as bool; shape (regions,).

    Raises:
        ProblemError: a number of groups that ranks need is missing.
    """
    if all(view.has_a_cell_per_size for view in set(views)):
        return sizes.first_cell
    tree, widths = sizes.hierarchy, []
    if len(totals) != tree.n_regions:
        raise ProblemError(
            f"ranks are as many as groups, and {len(totals)} numbers of groups are known for {tree.n_regions} regions; "
            "measure with totals='regions'"
        )
    for region, (level, groups, there) in enumerate(zip(tree.level_of, totals.tolist(), measured, strict=True)):
        view = view_of(views, tree, region)
        kept = there or view.has_a_cell_per_size
        widths.append(view.n_values(groups, sizes.max_sizes[level]) if kept else 0)
    return np.append(0, np.cumsum(np.array(widths, np.int64)))


def _check_totals(totals: object) -> None:
    """Raise `ProblemError` unless these are numbers of groups."""
    if not isinstance(totals, np.ndarray) or totals.ndim != 1 or totals.dtype.kind not in "iu" or not len(totals):
        raise ProblemError(
            "the totals of a measurement are an array of integers, the number of groups of every region or of the root "
            "alone; give np.array([9])"
        )


def _check_views(views: object, hierarchy: Hierarchy) -> None:
    """Raise `ProblemError` unless these are views, one for all, or as many as levels or regions."""
    # Views may be as many as regions, and of how many types they are takes less time to ask.
    if not isinstance(views, tuple) or not all(isinstance(v, AnyView) for v in {type(v): v for v in views}.values()):
        raise ProblemError(
            "the views of a measurement are a tuple of View.COUNTS or others, or Split(5); give (View.COUNTS,)"
        )
    if len(views) not in (1, hierarchy.n_levels, hierarchy.n_regions):
        raise ProblemError(
            f"{len(views)} views for {hierarchy.n_levels} levels and {hierarchy.n_regions} regions; give one for all, "
            "one per level or one per region"
        )


def checked_noise(noise: object, n_levels: int) -> None:
    """Raise `ProblemError` unless this is the noise of every level."""
    if not isinstance(noise, tuple) or not all(level is None or isinstance(level, LevelNoise) for level in noise):
        raise ProblemError("noise is a tuple with GeometricNoise, GaussianNoise or None per level, root first")
    if len(noise) != n_levels:
        raise ProblemError(f"the noise of {len(noise)} levels for {n_levels}; give one per level, or None for it")


def pure_epsilons(noise: tuple[LevelNoise | None, ...]) -> tuple[Fraction, ...]:
    """Give the epsilon of every level, 0 where nothing was measured.

    Raises:
        ProblemError: some level has Gaussian noise.
    """
    if any(isinstance(level, GaussianNoise) for level in noise):
        raise ProblemError("Gaussian noise has no pure epsilon; ask for its rho, or measure with Geometric(...)")
    return tuple(level.epsilon if isinstance(level, GeometricNoise) else Fraction(0) for level in noise)


def checked_cells(cells: object, n_cells: int, sizes: Sizes) -> np.ndarray:
    """Check the values of all regions one after the other; int64, shape (n_cells,).

    Raises:
        ProblemError, CountError: there are more or fewer, or they are no integers.
    """
    given = cells if isinstance(cells, np.ndarray) else checked_counts(cells, "noisy value")
    if given.shape != (n_cells,):
        raise ProblemError(
            f"noisy values have shape {given.shape}; {sizes.hierarchy.n_regions} regions of these views and sizes "
            f"{sizes.text} need {n_cells:,} of them, one region after the other"
        )
    return given if given.dtype == np.int64 else checked_counts(given, "noisy value")


def joined(hierarchy: Hierarchy, values: object) -> tuple[Sizes, np.ndarray]:
    """Join the rows of a matrix of all regions, or of one table per level, root first: the sizes, and the cells.

    Raises:
        ProblemError, CountError: another shape, sizes that rise from a level to the next, or no integers.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> sizes, cells = joined(tree, ([[1, 2, 3]], [[4, 5], [6, 7]]))
        >>> sizes.max_sizes, cells
        ((2, 1), array([1, 2, 3, 4, 5, 6, 7]))
    """
    if isinstance(values, list | tuple) and values and all(np.ndim(table) == 2 for table in values):
        return _joined_tables(hierarchy, [as_array(table) for table in values])
    given = as_array(values)
    if given.ndim != 2 or not given.shape[1]:
        raise ProblemError(
            "plain values are a matrix of counts or cumulative counts, or one table per level, and these have shape "
            f"{given.shape}; give a row per region and a column per size"
        )
    if len(given) != hierarchy.n_regions:
        raise ProblemError(
            f"noisy values have shape {given.shape}; {hierarchy.n_regions} regions and sizes 0..{given.shape[1] - 1} "
            f"need {(hierarchy.n_regions, given.shape[1])}"
        )
    whole = given if given.dtype == np.int64 else checked_counts(given, "noisy value")
    return Sizes.alike(hierarchy, given.shape[1] - 1), whole.ravel()


def _joined_tables(tree: Hierarchy, tables: list[np.ndarray]) -> tuple[Sizes, np.ndarray]:
    if len(tables) != tree.n_levels:
        raise ProblemError(f"{len(tables)} tables for {tree.n_levels} levels; give one per level, root first")
    cells = []
    for level, table in enumerate(tables):
        here = tree.level(level)
        if table.shape[0] != here.stop - here.start or not table.shape[1]:
            raise ProblemError(
                f"the table of level {level} has shape {table.shape}; give a row for each of its "
                f"{here.stop - here.start} regions and a column per size"
            )
        whole = table.dtype.kind == "i"
        cells.append((table if whole else checked_counts(table, f"noisy value of level {level}")).ravel())
    return Sizes.of(tree, tables), np.concatenate(cells, dtype=np.int64)
