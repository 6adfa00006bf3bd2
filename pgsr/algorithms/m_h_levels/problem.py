"""The problem M_H with other sizes on every level."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.checks import require_kind, what_to_lower
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ProblemError, TooLargeError
from pgsr.noise.measurement_by_level import MeasurementByLevel

UNKNOWN = -1
"""Stands among the numbers of groups of regions for one that is not public."""

_LARGEST = 2**50
"""Largest number times weight times levels, so that prices, sums along a branch, stay within 64 bits."""


@dataclass(frozen=True, eq=False)
class LevelProblem:
    """The nearest consistent non-negative integers to noisy counts whose largest size differs from level to level.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x adds up as `CountsByLevel` says,   x >= 0 integer,
                    sum over s of x[root, s] = total, if given;   sum over s of x[r, s] = totals[r], where it is public.

    Attributes:
        noisy: y.
        total: public number of groups of the root, or None.
        totals: public numbers of groups of any regions, shape (regions,), `UNKNOWN` where one is not public; or of all
            leaves, shape (leaves,); or None. Where the root's follows from them, `total` has to be None.
        weights: positive integers, shape (regions,); 1 where None.

    Raises:
        ProblemError: negative totals, totals that contradict each other, the root's total twice, weights that are not
            positive integers, wrong shapes.
        TooLargeError: numbers beyond 64-bit arithmetic.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> LevelProblem(CountsByLevel(tree, ([[9, 1, -1]], [[4, 2], [-4, 0]])), total=9).w
        array([1, 1, 1])
    """

    noisy: CountsByLevel
    total: int | None = None
    totals: np.ndarray | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_kind(self.noisy, CountsByLevel, "noisy", "give CountsByLevel(hierarchy, tables)")
        tree, total = self.hierarchy, self.total
        if total is not None and (isinstance(total, bool) or not isinstance(total, int | np.integer) or total < 0):
            raise ProblemError(f"total is {total!r}; give a whole number of groups, 0 or more")
        if tree.padded.any():
            region = int(np.flatnonzero(tree.padded)[0])
            raise ProblemError(
                f"region {'/'.join(tree.paths[region])} stands above a copy of itself; give every branch the same depth"
            )
        if self.totals is not None:
            self._require_totals()
        if self.weights is not None:
            _require_numbers("weights", self.weights, tree.n_regions, "region", 1)
        largest = max(*(max(int(t.max()), -int(t.min())) for t in self.noisy.tables), int(total or 0))
        if self.totals is not None:
            largest = max(largest, int(self.known.max()))
        if int(self.w.max()) >= 2**31:
            raise TooLargeError("weights reach 2^31; scale the weights down")
        if largest * int(self.w.max()) * tree.n_levels > _LARGEST:
            raise TooLargeError(f"counts times weights times levels exceed 2^50; {what_to_lower(self.w)}")
        if largest * max(table.size for table in self.noisy.tables) > 2**62:
            sums = [float(np.abs(table).sum(dtype=float)) for table in self.noisy.tables]
            if max(sums) > 2**62:
                level = int(np.argmax(sums))
                raise TooLargeError(
                    f"counts of level {level} add up to more than 2^62; give smaller counts or fewer regions"
                )

    @classmethod
    def of(cls, measurement: MeasurementByLevel) -> "LevelProblem":
        """State the problem of measured counts with the totals that are public.

        Raises:
            ProblemError: the measurement is of cumulative counts; or as the class.
            TooLargeError: as the class.
        """
        require_kind(measurement, MeasurementByLevel, "the measurement", "give what measured_by_level returned")
        if measurement.view is not View.COUNTS:
            raise ProblemError(f"M_H needs View.COUNTS, this measurement is of {measurement.view!r}")
        total = measurement.total if measurement.totals is None else None
        return cls(measurement.values, total, measurement.totals)

    @property
    def hierarchy(self) -> Hierarchy:
        return self.noisy.hierarchy

    @property
    def w(self) -> np.ndarray:
        """The weights of all regions, int64; shape (regions,)."""
        if self.weights is None:
            return np.ones(self.hierarchy.n_regions, np.int64)
        return np.asarray(self.weights, np.int64)

    @cached_property
    def known(self) -> np.ndarray:
        """The public numbers of groups that `totals` holds, `UNKNOWN` elsewhere; int64, shape (regions,)."""
        tree = self.hierarchy
        known = np.full(tree.n_regions, UNKNOWN, np.int64)
        if self.totals is not None:
            known[tree.n_regions - len(self.totals) :] = self.totals
        return known

    @cached_property
    def sources(self) -> "Sources":
        """The places that the groups of leaves come from."""
        return Sources.of(self.hierarchy, self.known)

    def _require_totals(self) -> None:
        """Raise unless `totals` may be the numbers of groups of regions."""
        tree = self.hierarchy
        n_leaves, given = tree.n_regions - tree.n_inner, np.asarray(self.totals)
        if given.shape == (n_leaves,) and tree.n_inner:
            _require_numbers("totals", given, n_leaves, "leaf", 0)
        else:
            _require_numbers("totals", given, tree.n_regions, "region", UNKNOWN)
        wrong = self.sources.contradiction
        if wrong is not None:
            region, own, below = wrong
            name = "/".join(tree.paths[region])
            raise ProblemError(
                f"region {region} ({name}) has {own:,} groups and the regions below it whose totals are public have "
                f"{below:,}; give totals that add up"
            )
        if self.total is not None and (self.known[0] != UNKNOWN or self.sources.all_known):
            raise ProblemError("the root's total is among totals, or follows from them; give total or totals, not both")


@dataclass(frozen=True, eq=False)
class Sources:
    """The origin of the groups of leaves, by the public totals.

    Public totals of regions one inside the other say together how many groups the leaves have that lie in a region and
    in none of the smaller ones: its total less theirs. That is the region's own *supply*.

    Attributes:
        of_leaf: the smallest region with a public total around every leaf, itself included, `UNKNOWN` where there is
            none; shape (leaves,).
        supply: of every region that is one of these, 0 elsewhere; int64, shape (regions,).
        contradiction: a region whose total is below those inside it, or above them though they are all of it, with its
            total and their sum; or None.
        all_known: whether every leaf lies in a region with a public total below the root, or is the root.
    """

    of_leaf: np.ndarray
    supply: np.ndarray
    contradiction: tuple[int, int, int] | None
    all_known: bool

    @classmethod
    def of(cls, tree: Hierarchy, known: np.ndarray) -> "Sources":
        """Compute the sources from totals of regions, `UNKNOWN` where there is none; shape (regions,)."""
        stated = known != UNKNOWN
        below, covered = np.zeros(tree.n_regions, np.int64), np.zeros(tree.n_regions, bool)
        for level in range(tree.n_levels - 2, -1, -1):
            here, under = tree.level(level), tree.level(level + 1)
            starts = tree.first_child[here] - here.stop
            inside = np.where(stated[under], known[under], below[under])
            below[here] = np.add.reduceat(inside, starts)
            covered[here] = np.logical_and.reduceat(stated[under] | covered[under], starts)
        wrong = np.flatnonzero(stated & ((known < below) | (covered & (known != below))))
        contradiction = None
        if len(wrong):
            region = int(wrong[-1])
            contradiction = region, int(known[region]), int(below[region])
        source = np.where(stated, np.arange(tree.n_regions), UNKNOWN)
        for level in range(1, tree.n_levels):
            here = tree.level(level)
            source[here] = np.where(stated[here], source[here], source[tree.parent[here]])
        supply = np.where(stated & ~covered, known - below, 0)
        return cls(source[tree.leaves], supply, contradiction, bool(covered[0] or (tree.n_levels == 1 and stated[0])))


def _require_numbers(what: str, numbers: object, n: int, of: str, least: int) -> None:
    array = np.asarray(numbers)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ProblemError(
            f"{what} is {array.dtype} of shape {array.shape}; give one whole number per {of}, {n} in all"
        )
    if array.min() < least:
        raise ProblemError(f"{what} of {of} {int(array.argmin())} is {int(array.min())}; give {least} or more")
