"""The network of M_H with other sizes on every level, of the cells that are worth looking at.

Cells are arcs and sums are vertices. An inner region whose children have sizes 0..k has a vertex for every size s < k,
which says that its count is its children's, and one for all its sizes from k on, which says it of the tail. The cell of
region r and size s is an arc from the vertex of r that it counts for to the vertex of r's parent. Above the root lies
the root's total, if there is one, and below each leaf the smallest public total around it; where there is none, the
ground.

Most cells of a region with many sizes are 0 in any answer. They are left out until their price says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pgsr.algorithms.m_h_flow.part import UNKNOWN, FlowPart, PartPrices
from pgsr.machine.compilation import read_only
from pgsr.machine.parallel import share

GROUND = -1
ABOVE = -2
"""Numbers that stand for vertices outside a piece; see `Arcs`."""

_FEW_SIZES = 16
"""The most sizes with which all cells of a leaf are in the network from the start if most of them are 0, as M_c^dp fits
a block of few groups. Such cells are alike, and most would join in the end, round after round."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The cells of a problem that are in its network.

    Only cells that are parts are chosen: those of leaves, and those of a tail. A sum is there if one of its parts is.

    Attributes:
        kept: whether a part is in the network, per level; bool, shape (regions of the level, parts).
    """

    part: FlowPart
    kept: tuple[np.ndarray, ...]

    @classmethod
    def empty(cls, part: FlowPart) -> "Selection":
        """Choose nothing."""
        shapes = ((len(table), table.shape[1] - part.first_tail(l)) for l, table in enumerate(part.tables))
        return cls(part, tuple(np.zeros(shape, bool) for shape in shapes))

    @classmethod
    def of(cls, part: FlowPart) -> "Selection":
        """Choose the cells that would be positive if regions stood alone: their tails as large as their children say.

        Of leaves with few sizes and many zeros, all cells.
        """
        from pgsr.algorithms.m_h_flow import selection_kernel as kernels

        tree, tables = part.hierarchy, part.tables
        chosen = cls.empty(part)
        for level, (table, kept) in enumerate(zip(tables, chosen.kept, strict=True)):
            parts = table[:, part.first_tail(level) :]
            is_last = level == tree.n_levels - 1
            totals = part.known[tree.leaves] if is_last else tree.sum_below(tables[level + 1][:, -1], level)
            if parts.size:
                given = read_only(table), part.first_tail(level), totals.astype(np.int64), kept
                share(kernels.keep_large, range(len(parts)), parts.shape[1], *given)
                if is_last:  # a leaf without a total has what is positive, and a way to the root
                    kept[(totals == UNKNOWN)[:, None] & (parts > 0)] = True
                    if parts.shape[1] <= _FEW_SIZES:
                        kept[2 * np.count_nonzero(parts, axis=1) < parts.shape[1]] = True
        return chosen

    def piece(self) -> "Piece":
        """Make the arcs of the chosen cells."""
        part, tree = self.part, self.part.hierarchy
        sums, numbers, supply, begins, n = self._sums(), [], [], [], 0
        for here in sums:
            number = np.full(here.shape, -1, np.int32)
            n_here = int(np.count_nonzero(here))
            begins.append(np.diff(np.nonzero(here)[0], prepend=-1) > 0)
            number[here] = np.arange(n, n + n_here, dtype=np.int32)
            numbers.append(number)
            supply.append(np.zeros(n_here, np.int64))
            n += n_here
        own, leaves = np.unique(part.fixed.set_of, return_inverse=True)
        n_grounded = int(np.count_nonzero(own < 0))  # 0 or 1
        leaves = np.where(leaves < n_grounded, GROUND, leaves - n_grounded + n).astype(np.int32)
        own = own[n_grounded:]
        supply += np.split(part.fixed.totals[own], np.searchsorted(part.fixed.regions[own], tree.level_start[1:-1]))
        begins += [np.ones(len(totals), bool) for totals in supply[len(begins) :]]
        arcs, places = [], []
        for level in range(tree.n_levels):
            here, table = tree.level(level), part.tables[level]
            row, column = (index.astype(np.int32) for index in np.nonzero(self._cells(level, sums)))
            if level < tree.n_levels - 1:
                start = numbers[level][row, np.minimum(column, numbers[level].shape[1] - 1)]
            else:
                start = leaves[row]
            if level == 0:
                end = ABOVE - column
            else:
                end = numbers[level - 1][(tree.parent[here] - tree.level(level - 1).start)[row], column]
            groups: list[slice | np.ndarray] = [slice(None)]
            if level == tree.n_levels - 1:
                groups = _by_start(start, n + np.cumsum([0, *map(len, supply[tree.n_levels - 1 : -1])]))
            for group in groups:
                r, c = row[group], column[group]
                w = part.w[here].astype(np.int32)[r]
                arcs.append(Arcs(start[group], end[group], table[r, c], w, c < part.first_tail(level)))
                places.append((r, c))
        # Those of leaves that start at the ground stand first.
        grounded = tree.n_levels - 1
        arcs.insert(0, arcs.pop(grounded))
        places.insert(0, places.pop(grounded))
        return Piece(self, arcs, supply, begins, tuple(numbers), leaves, tuple(places), self._cells(0, sums)[0])

    def _sums(self) -> list[np.ndarray]:
        """Say which vertices of inner regions are there, per level with children."""
        tree = self.part.hierarchy
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
        return np.concatenate([sums[level][:, : self.part.first_tail(level)], self.kept[level]], axis=1)


@dataclass(frozen=True, eq=False)
class Arcs:
    """Some arcs of a network, as in `FlowNetwork`, whose vertices are numbered within a piece.

    `GROUND` stands for the ground, `ABOVE - s` for the vertex at which the cell of the piece's root of size s ends.
    """

    start: np.ndarray
    end: np.ndarray
    y: np.ndarray
    w: np.ndarray
    free: np.ndarray

    def none(self) -> "Arcs":
        """Give no arcs, of the same kinds of numbers."""
        return Arcs(self.start[:0], self.end[:0], self.y[:0], self.w[:0], self.free[:0])


@dataclass(frozen=True, eq=False)
class Piece:
    """The arcs of a selection, and where they and its vertices are in the part.

    Vertices stand in layers: those of inner regions level by level, then those of public totals by the level of the
    region whose total it is. `layers` lists them.

    Attributes:
        arcs: by the layer at which they start, the ground before all others; sorted by start.
        supply: of the vertices, per layer; int64.
        begins: whether a vertex is its region's first one in the layer, bool, per layer.
        numbers: of the vertices of inner regions, -1 where one is left out; per level with children, shape (regions of
            the level, K of the level below + 1).
        leaves: the vertices at which the cells of leaves start, shape (leaves,).
        places: row and column of every arc in the table of its level, per layer at which arcs start.
        root: whether a cell of the root is there, shape (K of the root + 1,).
    """

    selection: Selection
    arcs: list[Arcs]
    supply: list[np.ndarray]
    begins: list[np.ndarray]
    numbers: tuple[np.ndarray, ...]
    leaves: np.ndarray
    places: tuple[tuple[np.ndarray, np.ndarray], ...]
    root: np.ndarray

    @property
    def n_vertices(self) -> int:
        return sum(map(len, self.supply))

    def without_leaves(self) -> "Piece":
        """Leave out the arcs of leaves, where these are the roots of parts that have arcs of their own."""
        n_inner = len(self.numbers)
        arcs = [arcs if 1 <= i <= n_inner else arcs.none() for i, arcs in enumerate(self.arcs)]
        nowhere = np.empty(0, np.int32), np.empty(0, np.int32)
        places = (place if 1 <= i <= n_inner else nowhere for i, place in enumerate(self.places))
        return replace(self, arcs=arcs, places=tuple(places))

    def counts(self, flows: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Put the flows of the arcs of every layer into their cells; cells that were left out hold 0."""
        tables = tuple(np.zeros(table.shape, table.dtype) for table in self.selection.part.tables)
        for level, (row, column), flow in zip(self._levels(), self.places, flows, strict=True):
            tables[level][row, column] = flow
        return tables

    def flows(self, counts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Take the flows of the arcs of every layer from their cells: the reverse of `counts`."""
        places = zip(self._levels(), self.places, strict=True)
        return [counts[level][row, column] for level, (row, column) in places]

    def _levels(self) -> list[int]:
        """List the levels of the cells whose arcs start at each layer."""
        return [-1, *range(len(self.numbers)), *[-1] * (len(self.numbers) + 1)]

    def start(self, prices: PartPrices) -> np.ndarray:
        """Take over prices that another selection of the same problem gave; shape (vertices,)."""
        out = np.zeros(self.n_vertices, prices.leaves.dtype)
        for number, price in zip(self.numbers, prices.inner, strict=True):
            there = number >= 0
            out[number[there]] = price[there]
        stated = self.leaves != GROUND
        out[self.leaves[stated]] = prices.leaves[stated]
        return out

    def offer(self, price: np.ndarray, top: np.ndarray, n_levels: int | None = None) -> tuple[PartPrices, int]:
        """Add cells that are worth a unit at these prices to the selection; return all prices, and how many were added.

        Not all of them are added where there are many; if there are any some are.

        Args:
            price: of the vertices; shape (vertices,).
            top: at which the root's cells end; shape (K of the root + 1,).
            n_levels: look at cells of the first levels only, or of all if None.
        """
        from pgsr.algorithms.m_h_flow import selection_kernel as kernels

        part, kept = self.selection.part, self.selection.kept
        tree, inner, n_added, above = part.hierarchy, [], 0, top[None, :].copy()
        leaves = np.append(price, np.zeros(1, price.dtype))[self.leaves]  # the ground is the last one
        for level, table in enumerate(part.tables[:n_levels]):
            here = tree.level(level)
            parent = tree.parent[here] - tree.level(level - 1).start if level else np.zeros(1, np.int64)
            if level < tree.n_levels - 1:
                known = self.numbers[level] >= 0
                own = np.zeros(known.shape, price.dtype)
                own[known] = price[self.numbers[level][known]]
                inner.append(own)
            else:
                own, known = leaves[:, None], np.ones((len(table), 1), bool)
            added = np.zeros(len(table), np.int64)
            fixed = parent, above, read_only(table), part.w[here].copy(), own, known, part.first_tail(level)
            share(kernels.offer, range(len(table)), table.shape[1], *fixed, kept[level], added)
            n_added += int(added.sum())
            above = own
        return PartPrices(top, tuple(inner), leaves), n_added


def layers(n_levels: int, first: int) -> list[tuple[int, int]]:
    """List the layers of the vertices of a piece whose root is at level `first`, in the order of a whole network.

    The ground, levels of inner regions, and levels of regions with public totals.
    """
    inner = [(1, first + level) for level in range(n_levels - 1)]
    return [(0, 0), *inner, *((2, first + level) for level in range(n_levels))]


def _by_start(start: np.ndarray, firsts: np.ndarray) -> list[slice | np.ndarray]:
    """Group the arcs of leaves by the layer at which they start, the ground first, each group in order of its start.

    Args:
        firsts: the first vertex of every layer of public totals.
    """
    if (start[1:] >= start[:-1]).all():
        bounds = [0, *np.searchsorted(start, firsts).tolist(), len(start)]
        return [slice(*pair) for pair in pairwise(bounds)]
    order = np.argsort(start, kind="stable")
    return list(np.split(order, np.searchsorted(start[order], firsts)))
