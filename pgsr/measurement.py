"""The measurement, all that post-processing may see: noisy values and public facts."""

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
        n_regions = self.hierarchy.n_regions
        if not isinstance(self.epsilon, tuple) or not all(isinstance(level, Fraction) for level in self.epsilon):
            raise ProblemError("the epsilons of a measurement are a tuple of fractions; give Budget.split(...).levels")
        if not isinstance(self.max_size, int) or self.max_size < 0:
            raise ProblemError(f"max_size={self.max_size!r} is no size; give K, a public whole number")
        if len(self.epsilon) != self.hierarchy.n_levels:
            raise ProblemError(f"{len(self.epsilon)} epsilons for {self.hierarchy.n_levels} levels; give one per level")
        if isinstance(self.values, tuple):
            if len(self.values) != n_regions:
                raise ProblemError(f"{len(self.values)} ranked vectors for {n_regions} regions; give one per region")
            return
        values = self.values if isinstance(self.values, np.ndarray) else checked_counts(self.values, "noisy value")
        if values.shape != (n_regions, self.max_size + 1):
            raise ProblemError(
                f"noisy values have shape {values.shape}; {n_regions} regions and sizes 0..{self.max_size} need "
                f"({n_regions}, {self.max_size + 1})"
            )
        if values is not self.values or values.dtype != np.int64:
            object.__setattr__(self, "values", checked_counts(values, "noisy value"))

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
            raise ProblemError("only the root's total is public here; measure with Geometric(..., totals='regions')")
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
        """The regions that were measured, as bool: none padded above its copy, none on a level with epsilon 0."""
        return measured_regions(self.hierarchy, self.epsilon)

    @property
    def matrix(self) -> np.ndarray:
        """The values of a rectangular view as one array; shape (regions, K + 1)."""
        if not isinstance(self.values, np.ndarray):
            raise ProblemError(f"{self.view!r} has one vector per region, of different lengths, not a matrix")
        return self.values

    def __repr__(self) -> str:
        total = sum(self.epsilon, self.totals_epsilon)
        return f"Measurement({self.view!r}, {self.hierarchy!r}, sizes 0..{self.max_size:,}, epsilon={total})"


def measured_regions(hierarchy: Hierarchy, epsilon: tuple[Fraction, ...]) -> np.ndarray:
    """Tell which regions get noise; shape (regions,), bool."""
    spent = np.array([level > 0 for level in epsilon])
    return spent[hierarchy.level_of] & ~hierarchy.padded
