"""The network of M_H with other sizes on every level, of the cells that are worth looking at.

Cells are arcs and sums are vertices. An inner region whose children have sizes 0..k has a vertex for every size s < k,
which says that its count is its children's, and one for all its sizes from k on, which says it of the tail. The cell of
region r and size s is an arc from the vertex of r that it counts for to the vertex of r's parent. Above the root lies
the root's total, if there is one, and below each leaf the leaf's; where there is none, the ground.

Most cells of a region with many sizes are 0 in any answer. They are left out until their price says otherwise.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_levels.certificate import LevelPrices
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.counts_by_level import CountsByLevel
from pgsr.parallel import share
from pgsr.quadratic_flow import Network

_GROUND = 0


@dataclass(frozen=True, eq=False)
class Selection:
    """The cells of a problem that are in its network.

    Only cells that are parts are chosen: those of leaves, and those of a tail. A sum is there if one of its parts is.

    Attributes:
        kept: whether a part is in the network, per level; bool, shape (regions of the level, parts).
    """

    problem: LevelProblem
    kept: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, problem: LevelProblem) -> "Selection":
        """Choose what would be positive if regions stood alone: their tails as large as their children say."""
        from pgsr.algorithms.m_h_levels import selection_kernel as kernels

        tree, tables = problem.hierarchy, problem.noisy.tables
        chosen = []
        for level, table in enumerate(tables):
            parts = table[:, first_part(problem, level) :]
            kept = np.empty(parts.shape, bool)
            if level < tree.n_levels - 1:
                starts = tree.first_child[tree.level(level)] - tree.level(level).stop
                totals = np.add.reduceat(tables[level + 1][:, -1], starts, dtype=np.int64)
            else:
                totals = problem.totals
            if totals is None:
                np.greater(parts, 0, out=kept)
                kept |= parts == parts.max(axis=1, keepdims=True)  # the root's total has a way to every leaf
            elif parts.size:
                share(kernels.keep_large, range(len(parts)), parts.shape[1], parts, totals.astype(np.int64), kept)
            chosen.append(kept)
        return cls(problem, tuple(chosen))

    def network(self) -> "SelectedNetwork":
        """Make the network of the chosen cells."""
        problem, tree = self.problem, self.problem.hierarchy
        sums = self._sums()
        top = _GROUND if problem.total is None else 1
        numbers, n = [], top + 1
        for here in sums:
            number = np.full(here.shape, -1, np.int32)
            n_here = int(np.count_nonzero(here))
            number[here] = np.arange(n, n + n_here, dtype=np.int32)
            numbers.append(number)
            n += n_here
        n_leaves = len(problem.noisy.tables[-1])
        leaves = np.zeros(n_leaves, np.int32)
        if problem.totals is not None:
            leaves = np.arange(n, n + n_leaves, dtype=np.int32)
            n += n_leaves
        arcs, places = [], []
        for level in range(tree.n_levels):
            here, table = tree.level(level), problem.noisy.tables[level]
            row, column = (index.astype(np.int32) for index in np.nonzero(self._cells(level, sums)))
            if level < tree.n_levels - 1:
                start = numbers[level][row, np.minimum(column, numbers[level].shape[1] - 1)]
            else:
                start = leaves[row]
            if level == 0:
                end = np.full(len(row), top, np.int32)
            else:
                end = numbers[level - 1][(tree.parent[here] - tree.level(level - 1).start)[row], column]
            arcs.append((start, end, table[row, column], problem.w[here][row], column < first_part(problem, level)))
            places.append((row, column))
        # Sorted by their start: the ground's first, which are the leaves' unless leaves have vertices of their own.
        order = [tree.n_levels - 1, *range(tree.n_levels - 1)] if problem.totals is None else list(range(tree.n_levels))
        supply = np.zeros(n, np.int64)
        if problem.total is not None:
            supply[top] = -problem.total
        if problem.totals is not None:
            supply[leaves] = problem.totals
        parts = (np.concatenate([arcs[level][i] for level in order]) for i in range(5))
        start, end, y, w, free = parts
        network = Network.of(start, end, y, w, free, n, supply)
        return SelectedNetwork(self, network, top, tuple(numbers), leaves, tuple(places), tuple(order))

    def _sums(self) -> list[np.ndarray]:
        """Say which vertices of inner regions are there, per level with children."""
        tree = self.problem.hierarchy
        sums: list[np.ndarray] = [np.empty(0)] * (tree.n_levels - 1)
        for level in range(tree.n_levels - 2, -1, -1):
            starts = tree.first_child[tree.level(level)] - tree.level(level).stop
            sums[level] = np.logical_or.reduceat(self._cells(level + 1, sums), starts, axis=0)
            if self.kept[level].shape[1]:
                sums[level][:, -1] = True
        return sums

    def _cells(self, level: int, sums: list[np.ndarray]) -> np.ndarray:
        """Say which cells of a level are there, once it is known of the vertices at which they start."""
        if level == len(sums):
            return self.kept[level]
        return np.concatenate([sums[level][:, : first_part(self.problem, level)], self.kept[level]], axis=1)


@dataclass(frozen=True, eq=False)
class SelectedNetwork:
    """The network of a selection, and where its vertices and arcs are in the problem.

    Attributes:
        top: the vertex at which the root's cells end.
        numbers: of the vertices of inner regions, -1 where one is left out; per level with children, shape (regions of
            the level, K of the level below + 1).
        leaves: the vertices at which the cells of leaves start, shape (leaves,).
        places: row and column of every arc in the table of its level, per level.
        order: levels in the order of the arcs.
    """

    selection: Selection
    network: Network
    top: int
    numbers: tuple[np.ndarray, ...]
    leaves: np.ndarray
    places: tuple[tuple[np.ndarray, np.ndarray], ...]
    order: tuple[int, ...]

    def counts(self, x: np.ndarray) -> CountsByLevel:
        """Put the flow of every arc into its cell; cells that were left out hold 0."""
        noisy = self.selection.problem.noisy
        tables = [np.zeros(table.shape, table.dtype) for table in noisy.tables]
        at = 0
        for level in self.order:
            row, column = self.places[level]
            tables[level][row, column] = x[at : at + len(row)]
            at += len(row)
        return CountsByLevel(noisy.hierarchy, tuple(tables))

    def start(self, prices: LevelPrices) -> np.ndarray:
        """Take over prices that another selection of the same problem gave; shape (vertices,)."""
        out = np.zeros(self.network.n_vertices, np.asarray(prices.leaves).dtype)
        out[self.top] = prices.top
        for number, price in zip(self.numbers, prices.inner, strict=True):
            there = number >= 0
            out[number[there]] = price[there]
        out[self.leaves] = prices.leaves
        return out

    def offer(self, price: np.ndarray, slack: int) -> tuple[LevelPrices, int]:
        """Add cells that are worth a unit at these prices to the selection; return all prices, and how many were added.

        Args:
            price: of the vertices; shape (vertices,).
            slack: 1 for integers, 0 for real numbers.
        """
        from pgsr.algorithms.m_h_levels import selection_kernel as kernels

        problem, kept = self.selection.problem, self.selection.kept
        tree, inner, n_added = problem.hierarchy, [], 0
        above = np.full((1, problem.noisy.tables[0].shape[1]), price[self.top])
        for level, table in enumerate(problem.noisy.tables):
            here = tree.level(level)
            parent = tree.parent[here] - tree.level(level - 1).start if level else np.zeros(1, np.int64)
            if level < tree.n_levels - 1:
                known = self.numbers[level] >= 0
                own = np.where(known, price[self.numbers[level]], price[0])
                inner.append(own)
            else:
                own = price[self.leaves][:, None]
                known = np.ones(own.shape, bool)
            added = np.zeros(len(table), np.int64)
            fixed = parent, above, table, problem.w[here].copy(), slack, own, known, first_part(problem, level)
            share(kernels.offer, range(len(table)), table.shape[1], *fixed, kept[level], added)
            n_added += int(added.sum())
            above = own
        top = price[self.top]
        return LevelPrices(top.item(), tuple(inner), price[self.leaves]), n_added


def first_part(problem: LevelProblem, level: int) -> int:
    """Give the first size of a level whose cell is a part, of a tail or of nothing, and no sum of children's cells."""
    sizes = problem.noisy.max_sizes
    if level == len(sizes) - 1:
        return 0
    return sizes[level + 1] if sizes[level] > sizes[level + 1] else sizes[level] + 1
