"""The dual of the integer M_c, smoothed, and integers from its prices, where levels have sizes of their own.

Cells of weight 0, from every region's own largest size to the root's, would make all sizes equal and leave the optimum
as it is: what a region has beyond its children's sizes can be shared out among them, whose totals leave room for it,
and costs them nothing. So this is M_c once more, and its dual over integers is as good as that of equal sizes. No such
cell is ever written: what a region has beyond its children's sizes is one chain of its own, its tail.
"""

import numpy as np

from pgsr.algorithms.m_c.arrays import LeafTerms
from pgsr.algorithms.m_c.dual import chunk_starts
from pgsr.algorithms.m_c.folded import feasible
from pgsr.algorithms.m_c.folded_dual import FoldedDual, flat
from pgsr.algorithms.m_c.projection import multipliers_of
from pgsr.algorithms.tree_rounding.rounding import integers_near
from pgsr.certificates import Multipliers
from pgsr.machine.parallel import share
from pgsr.problems.problem import Problem

_ROUNDS, _SWEEPS = 3, 6
"""How often at most regions settle before siblings exchange runs, and how often that is done."""


class FoldedRounded:
    """The same as `RoundedDual` in the arrays of `FoldedDual`; prices of all levels are one vector."""

    def __init__(self, problem: Problem, dual: FoldedDual) -> None:
        self.problem, self.dual = problem, dual

    def gradient(self, prices: np.ndarray, softness: float) -> np.ndarray:
        """Compute the counts of regions minus those of their children, all softly rounded."""
        return flat(self.dual.at(self.dual.by_level(prices), softness).gradient)

    def multipliers(self, prices: np.ndarray) -> Multipliers:
        """Collect the prices of all sums."""
        return multipliers_of(self.problem, self.dual.by_level(prices))

    def integers(self, prices: np.ndarray, softness: float) -> tuple[np.ndarray, ...]:
        """Find integers of all regions that satisfy all conditions, near the optimum if prices are; a table per level.

        1. What leaves take at these prices, added up, and integers next to that.
        2. Regions settle at the true costs, one after the other, and siblings exchange runs, as long as that pays.
        """
        from pgsr.algorithms.m_c import folded_integers_kernel as kernels

        problem, tree, sizes = self.problem, self.problem.hierarchy, self.problem.sizes
        self.gradient(prices, softness)
        near = integers_near(tree, feasible(self.dual), problem.root_total, problem.region_totals)
        x, y = (np.concatenate([table.ravel() for table in tables]) for tables in (near, problem.tables))
        width, shared = (np.array(cells)[tree.level_of] for cells in (sizes.max_sizes, self.dual.k))
        about = y.astype(np.int64), problem.w.astype(float), sizes.first_cell, width, shared, tree.parent
        for _ in range(_ROUNDS):
            for number in range(_SWEEPS):
                if not kernels.settle(0, tree.n_regions, *about, number % 2 == 0, x):
                    break
            if not sum(self._exchange(level, sizes.tables(x)[level]) for level in range(1, tree.n_levels)):
                break
        return sizes.tables(x)

    def _exchange(self, level: int, x: np.ndarray) -> float:
        """Let siblings exchange runs of the cells that their children do not tell apart; return what that gained."""
        from pgsr.algorithms.m_c import integers_kernel as kernels

        here, cells = self.problem.hierarchy.level(level), slice(self.dual.k[level], x.shape[1] - 1)
        n, start = cells.stop - cells.start, chunk_starts(self.problem.hierarchy.parent[here])
        if n == 0:
            return 0.0
        # Counted from the last cell that children have, a tail is what a leaf is.
        low = x[:, cells.start - 1 : cells.start] if cells.start else np.zeros((len(x), 1), np.int64)
        y, moved = self.problem.tables[level][:, cells] - low, x[:, cells] - low
        upper, weight = (x[:, -1] - low[:, 0]).astype(float), self.problem.w[here].astype(float)
        none = np.zeros((0, 0))
        leaves, gained = LeafTerms(y, upper, none, none, weight), np.empty(len(start))
        chunks = start, np.append(start[1:], len(x))
        share(kernels.exchange, range(len(start)), y.size // len(start), leaves, *chunks, n, moved, gained)
        x[:, cells] = moved + low
        return float(gained.sum())
