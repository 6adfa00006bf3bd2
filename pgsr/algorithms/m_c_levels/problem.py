"""The joint problem on cumulative counts with other sizes on every level."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ProblemError


@dataclass(frozen=True, eq=False)
class CumulativeLevelProblem:
    """The nearest consistent monotone cumulative counts to given values, where the largest size differs by level.

        minimise    sum over regions r, sizes s < K of r's level  of  w[r, s] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],  s < k, the largest size of the level below,
                    0 <= x[r, 0] <= ... <= x[r, K - 1] <= G[r].

    Attributes:
        hierarchy: the regions.
        targets: y, one table per level, root first; float64, shape (regions of the level, K).
        totals: G, numbers of groups, which add up; int64, shape (regions of the level,) each.
        weights: w, positive, one per level: a number, or shape (K,), (1, K) or (regions of the level, K).

    Raises:
        ProblemError: tables of wrong shapes, largest sizes that rise, weights that are not positive, or totals that do
            not add up.
    """

    hierarchy: Hierarchy
    targets: tuple[np.ndarray, ...]
    totals: tuple[np.ndarray, ...]
    weights: tuple[np.ndarray | float, ...]

    def __post_init__(self) -> None:
        tree = self.hierarchy
        if not len(self.targets) == len(self.totals) == len(self.weights) == tree.n_levels:
            raise ProblemError(f"give targets, totals and weights of each of {tree.n_levels} levels")
        for level, (y, groups, w) in enumerate(zip(self.targets, self.totals, self.weights, strict=True)):
            here = tree.level(level)
            n = here.stop - here.start
            if y.ndim != 2 or len(y) != n or groups.shape != (n,):
                raise ProblemError(f"level {level} has {n} regions; give a row of targets and a total for each")
            if level and y.shape[1] > self.targets[level - 1].shape[1]:
                raise ProblemError(f"level {level} has more sizes than level {level - 1}; sizes may only be merged")
            if not (np.asarray(w) > 0).all():
                raise ProblemError(f"a weight of level {level} is not positive; give every level a part of the budget")
            if level and (np.add.reduceat(groups, self._starts(level - 1)) != self.totals[level - 1]).any():
                raise ProblemError(f"the totals of level {level} do not add up to those above; give consistent ones")

    @cached_property
    def w(self) -> tuple[np.ndarray, ...]:
        """The weights of every level, shape (1, K) where all its regions have the same, else (regions, K)."""
        return tuple(_rows(w, y.shape) for w, y in zip(self.weights, self.targets, strict=True))

    @property
    def n_cells(self) -> tuple[int, ...]:
        """K of every level, root first: the last cumulative count is the total."""
        return tuple(table.shape[1] for table in self.targets)

    def sums(self, level: int, of_children: np.ndarray) -> np.ndarray:
        """Add up rows of the level below over the children of every region of a level."""
        return np.add.reduceat(of_children, self._starts(level), axis=0)

    def _starts(self, level: int) -> np.ndarray:
        tree = self.hierarchy
        return tree.first_child[tree.level(level)] - tree.level(level).stop

    def objective(self, tables: tuple[np.ndarray, ...]) -> float:
        """Compute sum w (x - y)^2."""
        parts = zip(self.w, tables, self.targets, strict=True)
        return float(sum((w * (x - y) ** 2).sum() for w, x, y in parts))


def _rows(w: np.ndarray | float, shape: tuple[int, ...]) -> np.ndarray:
    """Give weights one row for all regions, or one for each."""
    given = np.asarray(w, float)
    return np.ascontiguousarray(
        np.broadcast_to(given, shape if len(given.shape) == 2 and len(given) > 1 else (1, shape[1]))
    )
