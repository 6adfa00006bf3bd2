"""What post-processing may see: noisy values and public facts."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from pgsr.checks import require_kind
from pgsr.errors import ProblemError
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import checked_counts
from pgsr.views import View


class Totals(StrEnum):
    """Whose number of groups is public: every region's (Kuo et al.), the root's alone (Fioretto, Van Hentenryck).

    With NOISY it is nobody's: a part of the budget buys noisy totals of all regions, which are public from then on.
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
    """Noisy integers of one view of every region. It holds no truth, so post-processing cannot leak any.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", Totals.parse(self.public))
        require_kind(self.hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        checked_epsilon(self.epsilon, self.hierarchy.n_levels)
        object.__setattr__(self, "values", checked_values(self.values, self.hierarchy.n_regions, self.max_size))

    @property
    def root_total(self) -> int:
        """Number of groups in the whole hierarchy."""
        return int(self.totals[0])

    @property
    def region_totals(self) -> np.ndarray:
        """Number of groups of every region; shape (regions,).

        Raises:
            ProblemError: only the root's total is public.
        """
        if self.public is Totals.ROOT:
            raise ProblemError(ROOT_ALONE)
        return self.totals

    def view_of(self, level: int) -> View:
        """The view measured on this level."""
        return self.view[level] if isinstance(self.view, tuple) else self.view

    @property
    def label(self) -> str:
        """The view in words, or the views from the root down."""
        return " x ".join(v.value for v in self.view) if isinstance(self.view, tuple) else self.view.value

    @property
    def measured(self) -> np.ndarray:
        """Which regions were measured: not those padded above their copy, nor on a level with epsilon 0."""
        return measured_regions(self.hierarchy, self.epsilon)

    @property
    def matrix(self) -> np.ndarray:
        """The values of a rectangular view as one array; shape (regions, K + 1)."""
        return matrix(self.values, self.view)

    def __repr__(self) -> str:
        total = sum(self.epsilon, self.totals_epsilon)
        return f"Measurement({self.view!r}, {self.hierarchy!r}, sizes 0..{self.max_size:,}, epsilon={total})"


def measured_regions(hierarchy: Hierarchy, epsilon: tuple[Fraction, ...]) -> np.ndarray:
    """Which regions get noise; shape (regions,), bool."""
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
    """As int64 of shape (regions, K + 1), or the tuple of ranked vectors that was given.

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
