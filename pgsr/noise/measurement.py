"""The measurement, all that post-processing may see: noisy values and public facts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from pgsr.checks import member_of, require_kind
from pgsr.data.counts import checked_counts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import long_cells, long_frame
from pgsr.data.sizes import Sizes
from pgsr.data.split_view import AnyView, Split
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.figures.html import facts_table
from pgsr.figures.region_figure import NOISY, Curve, ranks_figure, sizes_figure
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
class Measurement:
    """The noisy integers of one view of every region. It holds no truth, so post-processing cannot leak any.

    Attributes:
        hierarchy: the regions.
        view: which vector of each region was measured: one view; a tuple with one per level where levels differ; or a
            tuple with one per region where regions of a level may differ. `view_of` reads all three.
        values: shape (regions, K + 1), int64, any sign; where some region may be `View.RANKED` or a `Split` a tuple
            with one array per region. Rows of regions that are not measured are 0, or empty. Where levels have sizes of
            their own and one view, a tuple with one table per level, root first.
        max_size: K, of the root.
        noise: the noise of every level, root first; None where nothing was measured.
        public: whose number of groups is public.
        totals: number of groups, shape (regions,), or (1,) where only the root's is public.
        secure: whether the noise came from `Secure`, so that a privacy claim is possible.
        data_set: name of the data set.
        totals_noise: the noise of the numbers of groups of every level, besides `noise`; None where they are public.
        max_quantity: public bound on what one entity adds to the size of its group; the noise grows with it.
        unit, relation: whose presence or values the noise hides, and what may become of one.
        max_sizes: K of every level, root first, where levels have sizes of their own; else None. Tables tell by their
            widths, so that only with one array per region it has to be given.

    Example:
        >>> from pgsr import CountOfCounts
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 3], [1, 6]])
        >>> noisy = Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("demo"))
        >>> noisy
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..1, epsilon=1)
        >>> noisy.values.shape, noisy.law(0)
        ((3, 2), DoubleGeometric(scale=Fraction(4, 1)))
    """

    hierarchy: Hierarchy
    view: AnyView | tuple[AnyView, ...]
    values: np.ndarray | tuple[np.ndarray, ...]
    max_size: int
    noise: tuple[LevelNoise | None, ...]
    public: Totals
    totals: np.ndarray
    secure: bool
    data_set: str = ""
    totals_noise: LevelNoise | None = None
    max_quantity: int = 1
    unit: Unit = Unit.ENTITY
    relation: Relation = Relation.ADD_REMOVE
    max_sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", Totals.parse(self.public))
        require_kind(self.hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        checked_noise(self.noise, self.hierarchy.n_levels)
        given = self.max_sizes
        if are_tables(self.values):
            given = tuple(table.shape[1] - 1 for table in self.values)
            object.__setattr__(self, "max_size", given[0])
        object.__setattr__(self, "values", checked_values(self.values, self.hierarchy, self.max_size))
        if given is not None:
            sizes = Sizes(self.hierarchy, given)
            object.__setattr__(self, "max_size", sizes.max_sizes[0])
            object.__setattr__(self, "max_sizes", None if sizes.equal else sizes.max_sizes)
        rectangular = isinstance(self.values, np.ndarray) or self.view in (View.COUNTS, View.CUMULATIVE)
        if self.max_sizes is not None and rectangular and not are_tables(self.values):
            raise ProblemError("levels have sizes of their own, and one view of cells; give one table per level")
        _check_view(self.view, self.hierarchy)
        if are_tables(self.values) and not isinstance(self.view, View):
            raise ProblemError("levels have sizes of their own, so all are measured in one view; give one View")

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
        return view_of(self.view, self.hierarchy, region)

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

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of every level."""
        if self.max_sizes is not None:
            return Sizes(self.hierarchy, self.max_sizes)
        return Sizes.alike(self.hierarchy, self.max_size)

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The values of a rectangular view, one table per level; shape (regions of the level, K + 1) each."""
        return self.values if are_tables(self.values) else self.sizes.tables(self.matrix)

    def row(self, region: int) -> np.ndarray:
        """Give the noisy values of one region, by its index."""
        if not are_tables(self.values):
            return self.values[region]
        level = int(self.hierarchy.level_of[region])
        return self.values[level][region - self.hierarchy.level(level).start]

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
        if not isinstance(self.view, tuple):
            return self.view.value
        if len(self.view) == self.hierarchy.n_levels:
            return " x ".join(view.value for view in self.view)
        numbers = {view: self.view.count(view) for view in View if view in self.view}
        splits = Counter(view for view in self.view if isinstance(view, Split))
        named = [f"{number:,} regions {view.value}" for view, number in numbers.items()]
        if len(splits) > 1:
            lowest, highest = (end(view.threshold for view in splits) for end in (min, max))
            return ", ".join([*named, f"{splits.total():,} regions split at {lowest:,} to {highest:,}"])
        return ", ".join([*named, *(f"{number:,} regions {view.value}" for view, number in splits.items())])

    @cached_property
    def measured(self) -> np.ndarray:
        """The regions that were measured, as bool: none padded above its copy, none on a level with epsilon 0."""
        found = measured_regions(self.hierarchy, self.noise)
        found.setflags(write=False)
        return found

    @property
    def matrix(self) -> np.ndarray:
        """The values of a rectangular view as one array; shape (regions, K + 1)."""
        return matrix(self.values, self.label)

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The noisy values in long form, one row per measured region and size, zeros included.

        The columns of `pgsr.tables.to_long`, with `noisy_count` or `noisy_cumulative_count` in place of `n_groups`; of
        ranked sizes `rank`, from 0 for the smallest group, and `noisy_group_size`. A split view has rows of both kinds,
        with `noisy_excess`, what the group of a rank has beyond the threshold, for its size. Where
        regions differ in view, columns of the others are empty.
        """
        with extra("release"):
            import pandas as pd

        columns, frames = self.hierarchy.region_columns(level_names), []
        for (value, cell), vectors in self._vectors().items():
            longest = max(len(row) for _, row in vectors.values())
            row_of = {region: row for region, (_, row) in vectors.items()}.__getitem__
            owner, place, values = long_cells(row_of, np.array(list(vectors)), longest, zeros=True)
            place = place + np.array([vectors[region][0] for region in owner.tolist()])
            frames.append(long_frame(columns, (owner, place, values), value, cell))
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True).convert_dtypes()

    def _vectors(self) -> dict[tuple[str, str], dict[int, tuple[int, np.ndarray]]]:
        """Collect the vectors of measured regions by columns of a table, each with its first place and its values."""
        found = {columns: {} for columns in (*_COLUMNS.values(), _COLUMNS_OF_RANKS)}
        for region in np.flatnonzero(self.measured).tolist():
            view, row = self.view_of(region), self.row(region)
            if isinstance(view, View):
                found[_COLUMNS[view]][region] = 0, row
                continue
            below, beyond = row[: view.threshold], row[view.threshold :]
            if len(below):
                found[_COLUMNS[View.CUMULATIVE]][region] = 0, below
            if len(beyond):
                found[_COLUMNS_OF_RANKS][region] = int(self.totals[region]) - len(beyond), beyond
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
        if isinstance(view, Split):
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
        by_region = isinstance(self.view, tuple) and len(self.view) > self.hierarchy.n_levels
        view = self.label if by_region else repr(self.view)
        return f"Measurement({view}, {self.hierarchy!r}, sizes {self.sizes.text}, {self.spent})"

    def _repr_html_(self) -> str:
        return facts_table(
            "Measurement",
            {
                "view": self.label,
                "regions by level, root first": self.hierarchy.levels_text,
                "sizes": self.sizes.text,
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


def view_of(view: AnyView | tuple[AnyView, ...], hierarchy: Hierarchy, region: int) -> AnyView:
    """Give the view of a region, by its index, where `view` is one, one per level or one per region.

    A tuple that fits both levels and regions says the same either way: every level has one region then.
    """
    if not isinstance(view, tuple):
        return view
    return view[int(hierarchy.level_of[region]) if len(view) == hierarchy.n_levels else region]


def matrix(values: np.ndarray | tuple[np.ndarray, ...], view: str) -> np.ndarray:
    """The values of a rectangular view as one array; shape (regions, K + 1).

    Raises:
        ProblemError: they are one vector per region.
    """
    if not isinstance(values, np.ndarray):
        if are_tables(values):
            raise ProblemError(f"{view} has one table per level, of different widths, not a matrix; take .values")
        raise ProblemError(
            f"{view} has one vector per region, of different lengths, not a matrix; take .values, a tuple with an "
            "array per region"
        )
    return values


def _check_view(view: object, hierarchy: Hierarchy) -> None:
    """Raise `ProblemError` unless this is a view, or a tuple of views that fits the levels or the regions."""
    views = view if isinstance(view, tuple) else (view,)
    if not all(isinstance(one, AnyView) for one in views):
        raise ProblemError(
            "the view of a measurement is a View, or a tuple of them; use View.COUNTS or another, or Split(5)"
        )
    if isinstance(view, tuple) and len(view) not in (hierarchy.n_levels, hierarchy.n_regions):
        raise ProblemError(
            f"{len(view)} views for {hierarchy.n_levels} levels and {hierarchy.n_regions} regions; give one view, one "
            "per level or one per region"
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


def checked_values(values: object, tree: Hierarchy, max_size: int) -> np.ndarray | tuple[np.ndarray, ...]:
    """Check the values: int64 of shape (regions, K + 1), one table per level, or the tuple of ranked vectors given.

    Raises:
        ProblemError, CountError: another shape, sizes that rise from a level to the next, or no integers.
    """
    if not isinstance(max_size, int) or max_size < 0:
        raise ProblemError(f"max_size={max_size!r} is no size; give K, a public whole number")
    n_regions = tree.n_regions
    if are_tables(values):
        return _checked_tables(values, tree)
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


def are_tables(values: object) -> TypeGuard[tuple[np.ndarray, ...]]:
    """Say whether values are one table per level, and not a matrix or one vector per region."""
    return isinstance(values, tuple) and len(values) > 0 and all(np.ndim(table) == 2 for table in values)


def _checked_tables(values: tuple[np.ndarray, ...], tree: Hierarchy) -> np.ndarray | tuple[np.ndarray, ...]:
    """Check one table per level; a matrix where all levels turn out to have the same largest size.

    Raises:
        ProblemError, CountError: a table of the wrong shape, sizes that rise from a level to the next, no integers.
    """
    if len(values) != tree.n_levels:
        raise ProblemError(f"{len(values)} tables for {tree.n_levels} levels; give one per level, root first")
    tables = []
    for level, table in enumerate(values):
        here = tree.level(level)
        if table.shape[0] != here.stop - here.start or not table.shape[1]:
            raise ProblemError(
                f"the table of level {level} has shape {table.shape}; give a row for each of its "
                f"{here.stop - here.start} regions and a column per size"
            )
        whole = table.dtype.kind == "i"
        tables.append(
            table.astype(np.int64, copy=False) if whole else checked_counts(table, f"noisy value of level {level}")
        )
    if Sizes(tree, tuple(table.shape[1] - 1 for table in tables)).equal:
        return np.concatenate(tables)
    return tuple(tables)
