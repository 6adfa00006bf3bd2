"""The approximate inverses of the Hessian of a dual, for conjugate gradients."""

from functools import cache
from typing import Protocol

import numpy as np

from pgsr.algorithms.m_c.arrays import Blocks, NodeTree
from pgsr.machine.parallel import share, share_levels


class Hessian(Protocol):
    """The parts of a dual that make its generalised Hessian; the formula stands at the top of `tree_kernel`.

    Attributes:
        shape: number of nodes and of cells.
        levels: of nodes, from the root down, as ranges.
        tree: the nodes, and which leaves lie below which.
        blocks: of the leaves, and by how much the value of each rises with the price.
        rate: by how much a node's own value rises with the price above it, shape (nodes, cells).
        largest: what the leaves' gains at one cell add up to if every cell is a block.
    """

    shape: tuple[int, int]
    levels: list[range]
    tree: NodeTree
    blocks: Blocks
    rate: np.ndarray
    largest: float


class TreeDiagonal:
    """A preconditioner in which the leaves' part of every node is diagonal, so that every cell is a tree alone.

    Exact where every block is a single cell, and insensitive to how much rates differ between cells. Blocks of many
    cells make it poor: on values that are equal in all cells and nodes, such a block adds its length times what its
    diagonal says.
    """

    def __init__(self, dual: Hessian) -> None:
        from pgsr.algorithms.m_c import tree_kernel

        pivot = np.empty(dual.shape)
        share(tree_kernel.diagonal, *_rows(dual), dual.tree, dual.blocks, pivot)
        self.cells = _Cells(dual, pivot)
        self.ridge = self.cells.ridge

    def solved(self, rest: np.ndarray) -> np.ndarray:
        """Compute M^-1 rest."""
        out = rest.copy()
        self.cells.solve(rest, out)
        return out


class TwoLevel:
    """A preconditioner of two levels: values constant on aggregates of cells, and a tree per cell for the rest.

    With Z the indicators of the aggregates at every node, P = Z (Z' Z)^-1 Z' the means over them,

        M^-1 = Z (Z' H Z)^-1 Z' + (I - P) T^-1 (I - P).

    T is the tree of every cell with the diagonal of (I - P) A (I - P) as the leaves' part A; docs/derivations/m_c.md
    derives it. Wants rates that differ little between cells.

    Complexity: O(nodes x (cells + aggregates^2)) per call, O(blocks + nodes x aggregates^3) to set up. Memory: as many
    numbers as a node's aggregates squared, and one per cell.

    Source: additive two-level methods, e.g. Toselli & Widlund 2005, chapter 2.
    """

    residual = 0.1
    """At which residual, relative to the first and in the norm of M^-1, to stop. Loose on purpose: far from the optimum
    exact Newton directions take longer and are no better."""

    def __init__(self, dual: Hessian) -> None:
        from pgsr.algorithms.m_c import two_level_kernel

        m, n = dual.shape
        self.starts = aggregates(n)
        sizes = np.diff(self.starts)
        cells = (self.starts, np.repeat(np.arange(len(sizes)), sizes))
        self.levels, self.children = dual.levels, (dual.tree.child_from, dual.tree.child)
        self.parent = dual.tree.parent
        self.ties = np.add.reduceat(dual.rate, self.starts[:-1], axis=1)
        self.coarse, pivot = np.empty((m, len(sizes), len(sizes))), np.empty(dual.shape)
        share(two_level_kernel.coarse_leaves, *_rows(dual), dual.tree, dual.blocks, *cells, self.coarse)
        matrices = (self.ties, *self.children, self.coarse)
        share_levels(two_level_kernel.coarse_inverses, dual.levels[::-1], len(sizes) ** 2, *matrices)
        self.ridge = self._close_root(dual)
        share(two_level_kernel.fine_leaves, *_rows(dual), dual.tree, dual.blocks, *cells, pivot)
        self.cells = _Cells(dual, pivot)

    def advance(
        self, step: float, direction: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray
    ) -> float:
        """Do x += step direction, rest -= step product, product = M^-1 rest; return rest . product."""
        from pgsr.algorithms.m_c import two_level_kernel as kernels

        (m, n), n_parts = x.shape, self.ties.shape[1]
        (sums, partial), dots = np.empty((2, *self.ties.shape)), np.empty(m)
        share(kernels.restrict, range(m), n, self.starts, step, direction, product, x, rest, product, sums)
        inverse = (self.coarse, self.ties)
        share_levels(kernels.coarse_up, self.levels[::-1], n_parts**2, *inverse, *self.children, sums, partial)
        share_levels(kernels.coarse_down, self.levels, n_parts**2, *inverse, self.parent, sums, partial)
        self.cells.solve(rest, product)
        share(kernels.prolong, range(m), n, self.starts, sums, rest, product, dots)
        return added_up(dots)

    def _close_root(self, dual: Hessian) -> float:
        """Invert the root's pivot, where the first aggregates may have no price; gives the ridge of the held cell."""
        from pgsr.algorithms.m_c import two_level_kernel

        root, ridge = self.coarse[0], 0.0
        free = np.arange(len(root) - dual.tree.held)
        root[free, free] += self.ties[0, free]
        if dual.tree.held and root[-1, -1] <= 1e-12 * dual.largest:
            ridge = dual.largest
            root[-1, -1] += ridge
        two_level_kernel.invert(root, int(np.searchsorted(self.starts[1:], dual.tree.first_free, side="right")))
        return ridge


class _Cells:
    """The tree of every cell on its own, factored, with this diagonal as the leaves' part; shape (nodes, cells).

    `ridge` is added at the root's held cell, and positive only if the diagonal is 0 there in every node: it is what the
    leaves' gains at a cell add up to if every cell is a block. Where the root has no price its inverse is 0.
    """

    def __init__(self, dual: Hessian, diagonal: np.ndarray) -> None:
        from pgsr.algorithms.m_c import tree_kernel

        self.levels, self.children = dual.levels, (dual.tree.child_from, dual.tree.child)
        self.parent = dual.tree.parent
        self.inverse, self.share, self.ridge = diagonal, np.zeros(dual.shape), 0.0
        n = dual.shape[1]
        share_levels(tree_kernel.eliminate, dual.levels[::-1], n, dual.rate, *self.children, self.inverse, self.share)
        root, last = self.inverse[0], n - dual.tree.held
        root[: dual.tree.first_free] = np.inf
        root[dual.tree.first_free : last] += dual.rate[0, dual.tree.first_free : last]
        if dual.tree.held:
            if root[-1] <= 1e-12 * dual.largest:
                self.ridge = dual.largest
            root[-1] += self.ridge
        np.divide(1.0, root, out=root)

    def solve(self, rest: np.ndarray, out: np.ndarray) -> float:
        """out = the solution for the right-hand side out; returns rest . out."""
        from pgsr.algorithms.m_c import tree_kernel

        n, dots = out.shape[1], np.empty(len(out))
        share_levels(tree_kernel.carry_up, self.levels[::-1], n, self.share, *self.children, out)
        share_levels(tree_kernel.carry_down, self.levels, n, self.inverse, self.share, self.parent, rest, out, dots)
        return added_up(dots)


def added_up(terms: np.ndarray) -> float:
    """The sum of these terms, added from the first to the last."""
    return float(np.cumsum(terms)[-1])


@cache
def aggregates(n: int) -> np.ndarray:
    """Compute where aggregates of n cells begin, and n; lengths grow by a constant factor, the last cell is alone.

    Small sizes, whose counts are large beside the noise, have short blocks. There are about 16 + n / 64 aggregates and
    never more than 48, for every node takes their square in memory and their cube in time. Read only.
    """
    wanted = min(16 + n // 64, 48)
    starts = np.arange(n + 1) if n <= wanted else np.append(_growing(n - 1, _growth(n - 1, wanted)), n)
    starts.flags.writeable = False
    return starts


def _growth(n: int, wanted: int) -> float:
    """Find the factor by which lengths grow so that at most `wanted` - 1 aggregates cover n cells."""
    low, high = 1.0, 2.0
    for _ in range(50):
        factor = (low + high) / 2
        low, high = (factor, high) if len(_growing(n, factor)) > wanted else (low, factor)
    return high


def _growing(n: int, factor: float) -> np.ndarray:
    starts, length = [0.0], 1.0
    while starts[-1] < n:
        starts.append(min(float(n), starts[-1] + length))
        length *= factor
    return np.unique(np.rint(starts).astype(np.int64))


def _rows(dual: Hessian) -> tuple[range, int]:
    """The rows that loops over nodes share, and the cells of one."""
    return range(dual.shape[0]), dual.shape[1]
