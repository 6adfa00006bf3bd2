"""The measurement of counts or cumulative counts where every level has sizes of its own."""

from dataclasses import dataclass

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.privacy.laws import Law


@dataclass(frozen=True, eq=False)
class MeasurementByLevel:
    """The noisy values of all regions, with sizes per level, and public facts. It holds no truth.

    Attributes:
        values: noisy counts, or noisy cumulative counts; one table per level.
        view: which of the two: `View.COUNTS` or `View.CUMULATIVE`.
        laws: of the noise of every level, root first.
        total: the root's number of groups, which is public.
        totals: numbers of groups of the leaves where all regions' are public, int64, shape (leaves,); else None.
        secure: whether the noise came from `Secure`, so that a privacy claim is possible.
        data_set: name of the data set.

    Raises:
        ProblemError: another view, laws that do not fit the levels, or totals that do not fit leaves and total.
    """

    values: CountsByLevel
    view: View
    laws: tuple[Law, ...]
    total: int
    totals: np.ndarray | None = None
    secure: bool = False
    data_set: str = ""

    def __post_init__(self) -> None:
        require_kind(self.values, CountsByLevel, "values", "give CountsByLevel(hierarchy, tables)")
        tree = self.hierarchy
        if self.view not in (View.COUNTS, View.CUMULATIVE):
            raise ProblemError(f"view={self.view!r}; give View.COUNTS or View.CUMULATIVE")
        if len(self.laws) != tree.n_levels:
            raise ProblemError(f"{len(self.laws)} laws of noise for {tree.n_levels} levels; give one per level")
        if self.totals is not None:
            n_leaves = tree.n_regions - tree.n_inner
            if self.totals.shape != (n_leaves,) or int(self.totals.sum()) != self.total or self.totals.min() < 0:
                raise ProblemError(f"give one number of groups per leaf, {n_leaves} that add up to {self.total:,}")

    @property
    def hierarchy(self) -> Hierarchy:
        return self.values.hierarchy

    @property
    def max_sizes(self) -> tuple[int, ...]:
        """The largest size of every level, root first."""
        return self.values.max_sizes

    @property
    def public_totals(self) -> np.ndarray:
        """The public numbers of groups: of all regions, int64, shape (regions,), or of the root alone, shape (1,)."""
        if self.totals is None:
            return np.array([self.total], np.int64)
        return np.concatenate(self.totals_by_level())

    def totals_by_level(self) -> tuple[np.ndarray, ...]:
        """The numbers of groups of the regions of every level, shape (regions of the level,) each.

        Raises:
            ProblemError: only the root's is public.
        """
        if self.totals is None:
            raise ProblemError("only the root's total is public here; measure with totals='regions'")
        return summed_by_level(self.hierarchy, self.totals)


def summed_by_level(tree: Hierarchy, totals: np.ndarray) -> tuple[np.ndarray, ...]:
    """Add up the numbers of groups of leaves, shape (leaves,); int64, shape (regions of the level,) per level."""
    found = [totals.astype(np.int64)]
    for level in range(tree.n_levels - 2, -1, -1):
        starts = tree.first_child[tree.level(level)] - tree.level(level).stop
        found.insert(0, np.add.reduceat(found[0], starts))
    return tuple(found)
