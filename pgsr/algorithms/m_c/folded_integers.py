"""The dual of the integer M_c, smoothed, and integers from its prices, where levels have sizes of their own.

Cells of weight 0, from every region's own largest size to the root's, would make all sizes equal and leave the optimum
as it is: what a region has beyond its children's sizes can be shared out among them, whose totals leave room for it,
and costs them nothing. So this is M_c once more, and its dual over integers is as good as that of equal sizes. No such
cell is ever written: what a region has beyond its children's sizes is one chain of its own, its tail.
"""

import numpy as np

from pgsr.algorithms.m_c import cycles
from pgsr.algorithms.m_c.folded import feasible
from pgsr.algorithms.m_c.folded_dual import FoldedDual, Prices, flat
from pgsr.algorithms.m_c.projection import multipliers_of
from pgsr.algorithms.tree_rounding.rounding import integers_near
from pgsr.certificates import Multipliers
from pgsr.methods.gate import Deadline
from pgsr.problems.problem import Problem

Integers = tuple[np.ndarray, ...]
"""Cumulative counts of all regions; a table per level."""

_ROUNDS, _SWEEPS = 3, 6
"""How often at most regions settle and cycles are closed, and how often regions settle before that."""


class FoldedRounded:
    """The same as `RoundedDual` in the arrays of `FoldedDual`; prices of all levels are one vector."""

    def __init__(self, problem: Problem, dual: FoldedDual, deadline: Deadline) -> None:
        self.problem, self.dual, self.deadline = problem, dual, deadline

    def gradient(self, prices: np.ndarray, softness: float) -> np.ndarray:
        """Compute the counts of regions minus those of their children, all softly rounded."""
        return flat(self.dual.at(self.dual.by_level(prices), softness).gradient)

    def multipliers(self, prices: np.ndarray) -> Multipliers:
        """Collect the prices of all sums."""
        return multipliers_of(self.problem, self.dual.by_level(prices))

    def integers(self, prices: np.ndarray, softness: float) -> Integers:
        """Find integers of all regions that satisfy all conditions, near the optimum if prices are; a table per level.

        1. What leaves take at these prices, added up, and integers next to that.
        2. Regions settle at the true costs, one after the other, and negative cycles of siblings are closed, by turns.
        """
        from pgsr.algorithms.m_c import folded_integers_kernel as kernels

        problem, tree, sizes = self.problem, self.problem.hierarchy, self.problem.sizes
        self.gradient(prices, softness)
        near = integers_near(tree, feasible(self.dual), problem.root_total, problem.region_totals)
        x, y = (
            np.concatenate([table.ravel() for table in tables], dtype=np.int64) for tables in (near, problem.tables)
        )
        width, shared = (np.array(cells)[tree.level_of] for cells in (sizes.max_sizes, self.dual.k))
        about = y, problem.w.astype(float), sizes.first_cell, width, shared, tree.parent
        families, closing = _Families(problem, x, y), cycles.Closing(self.deadline)
        for _ in range(_ROUNDS):
            for number in range(_SWEEPS):
                if not kernels.settle(0, tree.n_regions, *about, number % 2 == 0, x):
                    break
            if not families.close(self.dual.by_level(prices), closing):
                break
        return sizes.tables(x)

    def closed(self, x: Integers, prices: Multipliers, deadline: Deadline) -> tuple[Integers, Multipliers]:
        """Return integers and prices as they are: `integers` has closed all families."""
        del deadline
        return x, prices


class _Families:
    """The children of every region as flows of their own, in the cells that their own children do not tell apart.

    Counted from the last cell that children have, a tail is what a leaf is (`pgsr.algorithms.m_c.cycles`). The sum of
    the last cells may rise to the next cell of the regions above, whose values stay.
    """

    def __init__(self, problem: Problem, x: np.ndarray, y: np.ndarray) -> None:
        self.problem, self.tree = problem, problem.hierarchy
        self.x, self.y = problem.sizes.tables(x), problem.sizes.tables(y)
        self.w = problem.w.astype(np.int64)
        off = [float(np.abs(a - b).max()) for a, b in zip(self.x, self.y, strict=True)]
        heaviest = [float(self.w[self.tree.level(level)].max()) for level in range(self.tree.n_levels)]
        steepest = sum(w * (1 + 2 * d) for w, d in zip(heaviest, off, strict=True))
        self.exceed = 2 * (problem.max_size + 1) * steepest > cycles.LONGEST

    def close(self, prices: Prices, closing: cycles.Closing) -> bool:
        """Close the cycles of all families, or parts of large ones; say whether anything moved."""
        tree, moved = self.tree, False
        for level in range(tree.n_levels - 2, -1, -1):
            k = [*self.problem.sizes.max_sizes, 0][level + 1 : level + 3]
            step = max(1, cycles.LARGEST // max(1, k[0] - k[1]))
            for row, region in enumerate(range(tree.n_regions)[tree.level(level)]):
                first, stop = tree.first_child[region : region + 2] - tree.level(level + 1).start
                for part in range(first, stop, step) if k[0] > k[1] and not self.exceed else ():
                    about = slice(k[1], k[0]), slice(part, min(part + step, stop)), prices[level][row, k[1] : k[0]]
                    moved |= self._close(region, level, *about, closing)
        return moved

    def _close(
        self, region: int, level: int, cells: slice, rows: slice, prices: np.ndarray, closing: cycles.Closing
    ) -> bool:
        own, start = self.x[level + 1][rows], self.tree.level(level + 1).start
        weight, slope, above, room = 0, np.zeros(cells.stop - cells.start, np.int64), [], -1
        while region >= 0:
            row, w = region - self.tree.level(level).start, int(self.w[region])
            x = self.x[level][row]
            weight, slope = weight + w, slope + w * (x[cells] - self.y[level][row, cells])
            if room < 0 and (len(x) > cells.stop + 1 or level == 0):
                room = int(x[cells.stop] - x[cells.stop - 1])
            above.append(x)
            region, level = int(self.tree.parent[region]), level - 1
        low = own[:, cells.start - 1 : cells.start] if cells.start else np.zeros((len(own), 1), np.int64)
        y, found = self.y[len(above)][rows, cells] - low, own[:, cells] - low
        upper, w = np.repeat(own[:, -1:] - low, len(slope), axis=1), self.w[start + rows.start : start + rows.stop]
        change = np.zeros(len(slope), np.int64)
        closing.close((y, w, np.zeros(y.shape, np.int64), upper, slope, weight), found, change, room, prices)
        moved = bool((own[:, cells] != found + low).any())
        own[:, cells] = found + low
        for x in above:
            x[cells] += change
        return moved
