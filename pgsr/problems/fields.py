"""The fields of a problem, their checks, and what follows from them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.checks import as_array, require_kind, what_to_lower
from pgsr.data.counts import LARGEST_TOTAL
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.read_only import read_only_arrays
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.engines.losses import checked_norm, norm_text
from pgsr.errors import ProblemError
from pgsr.figures.html import facts_table
from pgsr.noise.measurement import (
    ROOT_ALONE,
    Totals,
    checked_cells,
    checked_noise,
    first_cells,
    measured_regions,
)
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.problems.conditions.coefficients import ProblemCells
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.conditions.propagation import Surroundings, contradicting_conditions, intervals, is_decided_by_sums

LARGEST_WEIGHT = 2**50
"""Largest whole weight; what weights times counts may reach depends on the method, see `exceeds_arithmetic`."""


@dataclass(frozen=True, eq=False)
@read_only_arrays
class ProblemFields:
    """The fields that state a problem; `pgsr.Problem`, which adds ways to make one, says what each of them means.

    Raises:
        ProblemError, CountError: a field is malformed, or two of them do not fit together.
    """

    label: str
    sizes: Sizes
    view: View
    cells: np.ndarray
    groups: np.ndarray | None = None
    norm: int = 2
    integer: bool = True
    nonnegative: bool = True
    monotone: bool = False
    consistent: bool = True
    totals: Totals | None = None
    weights: np.ndarray | None = None
    noise: tuple[LevelNoise | None, ...] | None = None
    conditions: Conditions | None = None

    def __post_init__(self) -> None:
        require_kind(self.sizes, Sizes, "sizes", "give Sizes(hierarchy, (20, 20)), with K of every level")
        require_kind(self.view, View, "view", "give View.COUNTS, View.CUMULATIVE or View.RANKED")
        object.__setattr__(self, "norm", checked_norm(self.norm))
        tree = self.hierarchy
        if self.view is View.RANKED and self.consistent:
            raise ProblemError("ranked sizes of children do not add up to those of their parent; give consistent=False")
        if self.noise is not None:
            checked_noise(self.noise, tree.n_levels)
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.groups, tree.n_regions))
        object.__setattr__(self, "cells", checked_cells(self.cells, self.n_unknowns, self.sizes))
        object.__setattr__(self, "weights", self._checked_weights())
        if self.totals is not None:
            object.__setattr__(self, "totals", Totals.parse(self.totals))
            _ = self.region_totals if self.totals is Totals.REGIONS else self.root_total
        if self.totals is Totals.NOISY:
            raise ProblemError("a problem is about the totals of 'root' or 'regions'; noisy ones count as public there")
        if self.conditions is not None:
            require_kind(self.conditions, Conditions, "conditions", "state them by problem.where(cells(...) == 0)")
            self._require_cells("conditions are of cells")
            if self.conditions.lower.shape != (self._cells().sizes.n_cells,):
                raise ProblemError(f"conditions are of other regions or sizes than {self.label}; state them on it")
        if not self.sizes.equal:
            self._require_sizes_per_level_to_be_known()

    def _require_sizes_per_level_to_be_known(self) -> None:
        """Refuse what has no meaning yet where levels differ in their sizes."""
        tree = self.hierarchy
        if self.consistent and (self.monotone or self.view is View.CUMULATIVE):
            raise ProblemError(
                "cumulative counts of children add up to those of their parent where all levels have the same largest "
                "size, and here levels have sizes of their own; state the problem of counts"
            )
        if tree.padded.any():
            region = int(np.flatnonzero(tree.padded)[0])
            raise ProblemError(
                f"region {'/'.join(tree.paths[region])} stands above a copy of itself, and levels have sizes of their "
                "own; give every branch the same depth"
            )
        if (self.w == 0).any():
            raise ProblemError("a region has weight 0, and levels have sizes of their own; measure every level")

    def _checked_weights(self) -> np.ndarray:
        """Convert weights to int64 or float64, 0 where nothing is measured; shape (regions,), or that of the values."""
        measured = self._may_be_measured
        if self.weights is None:
            weights = measured.astype(np.int64)
        else:
            weights = as_array(self.weights)
            self._require_numbers(weights)
            by_region = measured if weights.ndim == 1 else measured[:, None]
            weights = np.where(by_region, weights, 0).astype(np.float64 if weights.dtype.kind == "f" else np.int64)
        if (weights[self.hierarchy.leaves] == 0).any():
            raise ProblemError("a leaf has weight 0, so its values would be arbitrary; measure the last level")
        if weights.ndim == 2 and ((weights > 0).any(axis=1) & (weights == 0).any(axis=1)).any():
            raise ProblemError(
                "a region has weights of 0 at some sizes and above 0 at others; give all its cells weights from 1 on, "
                "or none"
            )
        return weights

    def _require_numbers(self, weights: np.ndarray) -> None:
        """Raise `ProblemError` unless these numbers can be weights: their shape, kind and range."""
        if weights.ndim == 2:
            self._require_cells("weights have one number per cell")
        n, kinds = self.hierarchy.n_regions, "iuf" if self.takes_real_weights else "iu"
        fits = weights.shape in ((n,), (n, self.max_size + 1)) and weights.dtype.kind in kinds
        if not fits or (weights < 0).any():
            raise ProblemError(
                "weights are one non-negative integer per region, or per cell in the shape of the values; scale "
                "fractions up to integers"
            )
        if weights.dtype.kind != "f":
            if int(weights.max()) > LARGEST_WEIGHT:
                raise ProblemError(f"weights exceed {LARGEST_WEIGHT:,}; scale them down")
        elif not (np.isfinite(weights) & ((weights == 0) | (weights >= 1))).all():
            raise ProblemError("real weights are finite, and 0 or from 1 on; divide them by the smallest one")

    @property
    def takes_real_weights(self) -> bool:
        """Whether weights may be real numbers: of squares, where values are."""
        return not self.integer and self.norm == 2

    def _require_cells(self, what: str) -> None:
        """Refuse what is stated of cells where regions have none in common: ranked sizes, and sizes per level."""
        if self.view is View.RANKED:
            raise ProblemError(f"{what}, and ranked sizes have no cells; state the problem of counts")
        if not self.sizes.equal:
            raise ProblemError(
                f"{what}, which problems with sizes of their own on every level do not know; give all levels the same "
                "largest size"
            )

    def _cells(self) -> ProblemCells:
        self._require_cells("conditions are of cells")
        return ProblemCells(self.sizes, self.view)

    @property
    def hierarchy(self) -> Hierarchy:
        """The regions."""
        return self.sizes.hierarchy

    @property
    def max_size(self) -> int:
        """The largest size K, of the root."""
        return self.sizes.max_sizes[0]

    @property
    def _may_be_measured(self) -> np.ndarray:
        """The regions that noise was added to, as far as is known; shape (regions,), bool."""
        tree = self.hierarchy
        return ~tree.padded if self.noise is None else measured_regions(tree, self.noise)

    @cached_property
    def first_cell(self) -> np.ndarray:
        """The place of every region's first value among the cells, and their number; int64, shape (regions + 1,)."""
        if self.view is not View.RANKED:
            return self.sizes.first_cell
        return first_cells(self.sizes, (self.view,), self.region_totals, self._may_be_measured)

    @property
    def rows(self) -> list[np.ndarray]:
        """The noisy values y, region by region, of any view."""
        return np.split(self.cells, self.first_cell[1:-1])

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The noisy values y, one table per level; int64, shape (regions of the level, K + 1) each.

        Raises:
            ProblemError: the values are ranked, so of different lengths.
        """
        self._require_no_ranks()
        return self.sizes.tables(self.cells)

    @property
    def target(self) -> np.ndarray:
        """The noisy values y as one array; shape (regions, K + 1), int64.

        Raises:
            ProblemError: the values are ranked, so of different lengths, or levels have sizes of their own.
        """
        self._require_no_ranks()
        if not self.sizes.equal:
            raise ProblemError(f"{self.label} has sizes of its own on every level; read its tables, one per level")
        return self.cells.reshape(-1, self.max_size + 1)

    def _require_no_ranks(self) -> None:
        if self.view is View.RANKED:
            raise ProblemError(
                f"{self.label} has one vector per region, of different lengths, no matrix; read its rows"
            )

    @property
    def root_total(self) -> int:
        """The public number of groups of the whole hierarchy.

        Raises:
            ProblemError: no number of groups is public.
        """
        return int(self._known_groups[0])

    @property
    def region_totals(self) -> np.ndarray:
        """The public numbers of groups of all regions; shape (regions,).

        Raises:
            ProblemError: only the root's is public, or none.
        """
        if len(self._known_groups) != self.hierarchy.n_regions:
            raise ProblemError(ROOT_ALONE)
        return self._known_groups

    @property
    def stated_totals(self) -> np.ndarray | None:
        """The numbers of groups that are conditions; shape (regions,), (1,) for the root's alone, or None."""
        if self.totals is None:
            return None
        return self.region_totals if self.totals is Totals.REGIONS else self._known_groups[:1]

    @property
    def _known_groups(self) -> np.ndarray:
        if self.groups is None:
            raise ProblemError(f"{self.label} has no public number of groups; give groups=..., or totals=None")
        return self.groups

    @property
    def w(self) -> np.ndarray:
        """The weights of regions, never None; shape (regions,), int64, or float64 where `weights` are real numbers.

        Raises:
            ProblemError: weights are of cells, so that whoever knows none of these cannot take them for others.
        """
        assert self.weights is not None
        if self.weights.ndim == 2:
            raise ProblemError(f"{self.label} has a weight for every cell; read them by weights_of(regions)")
        return self.weights

    @property
    def is_plain(self) -> bool:
        """Whether weights are of regions."""
        return self.weights is not None and self.weights.ndim == 1

    def weights_of(self, regions: slice) -> np.ndarray:
        """Give the weights of the cells of some regions, of shape (regions, K + 1), or (regions, 1) where all agree."""
        assert self.weights is not None
        return self.weights[regions, None] if self.weights.ndim == 1 else self.weights[regions]

    @property
    def cell_weights(self) -> np.ndarray:
        """The weight of every cell, in the order of `cells`; shape (unknowns,)."""
        assert self.weights is not None
        if self.weights.ndim == 2:
            return self.weights.ravel()
        return np.repeat(self.weights, np.diff(self.sizes.first_cell))

    @property
    def measured(self) -> np.ndarray:
        """Whether a region's cells have weights above 0; bool, shape (regions,)."""
        assert self.weights is not None
        return self.weights > 0 if self.weights.ndim == 1 else self.weights[:, 0] > 0

    @property
    def n_unknowns(self) -> int:
        return int(self.first_cell[-1])

    @property
    def exceeds_arithmetic(self) -> str | None:
        """The reason why sums along the trees and exact proofs in 64-bit integers are not possible, or None."""
        return self.exceeds_beside(int(self.weights.max()) if self.integer and self.weights is not None else 1)

    def exceeds_beside(self, heaviest: int) -> str | None:
        """Give the same reason where weights count as one of this size; real numbers know no overflow, and have 1."""
        values = [self.cells] if self.groups is None else [self.cells, self.groups]
        largest = max((int(np.abs(part).max(initial=0)) for part in values), default=0)
        assert self.weights is not None
        if largest * self.hierarchy.n_levels > 2**50:
            return "counts times levels exceed 2^50; give smaller counts"
        if largest * heaviest * self.hierarchy.n_levels > 2**50:
            return f"counts times weights times levels exceed 2^50; {what_to_lower(self.weights)}"
        if self.consistent and largest * self.hierarchy.n_regions > 2**62 and self._largest_sum > 2**62:
            return "counts add up to more than 2^62 over the regions of a level; give smaller counts or fewer regions"
        if self.conditions is not None and self.conditions.largest_row * (largest + 1) > 2**60:
            return "coefficients of conditions times counts exceed 2^60; scale the conditions down"
        return None

    @property
    def _largest_sum(self) -> float:
        """The largest sum of absolute values over the regions of a level, of any size; 0 of ranked sizes."""
        if self.view is View.RANKED:
            return 0.0
        sums = [np.abs(table).sum(axis=0, dtype=float) for table in self.tables]
        return max(float(cells.max() if self.sizes.equal else cells.sum()) for cells in sums)

    @property
    def contradiction(self) -> str | None:
        """The reason why no point satisfies the conditions, or None.

        None says that some point does, but for conditions that `where` stated: see `contradiction_is_complete`.
        """
        totals = self.stated_totals
        if self.nonnegative and totals is not None and int(totals.min()) < 0:
            return "no non-negative counts add up to a negative public total"
        if self.consistent and self.totals is Totals.REGIONS:
            reason = _contradicting_totals(self.hierarchy, self.region_totals)
            if reason is not None:
                return reason
        return self._contradicting_conditions

    @property
    def contradiction_is_complete(self) -> bool:
        """Whether `contradiction` finds every one; with stated conditions some may take a solver to find."""
        if self.conditions is None:
            return True
        return is_decided_by_sums(self.conditions, self._cells(), self._surroundings)

    @cached_property
    def _contradicting_conditions(self) -> str | None:
        if self.conditions is None:
            return None
        return contradicting_conditions(self.conditions, self._cells(), self._surroundings)

    @cached_property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers that each cell of every feasible point is between, as far as sums tell; shape (cells,).

        Asked where conditions are joined by `either`; see `pgsr.problems.conditions.propagation.intervals`.
        """
        stated = Conditions.none(self.n_unknowns) if self.conditions is None else self.conditions
        return intervals(stated, self._cells(), self._surroundings)

    def require_bounded_choices(self) -> None:
        """Raise unless the cells of all choices have a least and a largest value, which their alternatives need.

        Raises:
            ProblemError: some have none.
        """
        no_point = self._contradicting_conditions is not None  # whose intervals end before they are narrow
        if self.conditions is not None and self.conditions.choices is not None and not no_point:
            self.conditions.choices.reached(*self.intervals)

    @property
    def _surroundings(self) -> Surroundings:
        totals = self.stated_totals
        totals = np.zeros(0, np.int64) if totals is None else totals
        return Surroundings(self.integer, self.nonnegative, self.monotone, self.consistent, totals)

    @cached_property
    def _text(self) -> str:
        totals = f", totals={str(self.totals)!r}" if self.totals else ""
        return f"Problem({self.label}{totals}, {self.n_unknowns:,} unknowns)"

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return facts_table("Problem", self._facts())

    def __str__(self) -> str:
        """State the problem, a fact in a line, with the conditions as they were written."""
        return "\n".join(f"{name}: {fact}" for name, fact in self._facts().items() if fact is not None)

    def _facts(self) -> dict[str, object]:
        stated = ("integer", "nonnegative", "monotone", "consistent")
        totals = {None: None, Totals.ROOT: "the root's", Totals.REGIONS: "every region's"}[self.totals]
        return {
            "label": self.label,
            "distance": norm_text(self.norm),
            "conditions": ", ".join(name for name in stated if getattr(self, name)) or "none",
            "public numbers of groups that hold": totals,
            "stated besides": None if self.conditions is None else self.conditions.text,
            "view": self.view.value,
            "regions by level, root first": self.hierarchy.levels_text,
            "sizes": self.sizes.text,
            "unknowns": self.n_unknowns,
            "noise by level": "not stated" if self.noise is None else " / ".join(map(str, self.noise)),
            "no point satisfies it": self.contradiction,
        }


def _checked_groups(groups: np.ndarray, n_regions: int) -> np.ndarray:
    """Convert to int64 of shape (regions,), or (1,) for the root's number alone."""
    values = as_array(groups)
    if values.shape not in ((n_regions,), (1,)) or values.dtype.kind not in "iu":
        raise ProblemError(
            f"numbers of groups have shape {values.shape} and type {values.dtype}; give one integer per region, shape "
            f"({n_regions},), or the root's alone, shape (1,)"
        )
    if (values > LARGEST_TOTAL).any():
        raise ProblemError(f"a number of groups is {int(values.max())}; give numbers up to 2^62")
    return values.astype(np.int64)


def _contradicting_totals(tree: Hierarchy, totals: np.ndarray) -> str | None:
    """Say why no consistent counts have these public totals, or return None if some do."""
    for level in range(tree.n_levels - 1):
        below = tree.sum_children(totals, level)
        here = totals[tree.level(level)]
        if (here != below).any():
            first = int(np.argmax(here != below))
            name = " / ".join(tree.paths[tree.level(level).start + first])
            return (
                f"the public total of {name} is {int(here[first]):,}, those of the regions below it add up to "
                f"{int(below[first]):,}, so no consistent counts have both"
            )
    return None
