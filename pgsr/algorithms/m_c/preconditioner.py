"""The approximate inverses of the Hessian of a dual, for conjugate gradients."""

from functools import cache
from typing import Protocol

import numpy as np


class Hessian(Protocol):
    """The parts of a dual that make its generalised Hessian; the formula stands at the top of `tree_kernel`.

    Attributes:
        shape: number of nodes and of cells.
        levels, child_from, child, parent: the tree of nodes.
        edges, inside, gain: the leaves' blocks, and by how much the value of each rises with the price.
        chunk_from, chunk_start, chunk_stop: which leaves lie below which node.
        rate: by how much a node's own value rises with the price above it, shape (nodes, cells).
        first_free: before this cell the root has no price.
        held: whether the root's last cell is its public total.
        largest: what the leaves' gains at one cell add up to if every cell is a block.
        least: added to the diagonal.
    """

    shape: tuple[int, int]
    levels: np.ndarray
    child_from: np.ndarray
    child: np.ndarray
    parent: np.ndarray
    edges: np.ndarray
    inside: np.ndarray
    gain: np.ndarray
    chunk_from: np.ndarray
    chunk_start: np.ndarray
    chunk_stop: np.ndarray
    rate: np.ndarray
    first_free: int
    held: bool
    largest: float
    least: float


class Preconditioner(Protocol):
    """An approximation M of the Hessian at the blocks that a dual has when this is made; arrays are nodes x cells."""

    residual: float
    """At which residual, relative to the first and in the norm of M^-1, to stop. Loose on purpose: far from the optimum
    exact Newton directions take longer and are no better."""

    ridge: float
    """What the Hessian needs on its diagonal at the root's held cell, to be regular."""

    def __init__(self, dual: Hessian) -> None: ...

    def advance(
        self, step: float, direction: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray, out: np.ndarray
    ) -> float:
        """Do x += step * direction, rest -= step * product, out = M^-1 rest (may be `product`); return rest . out."""
        ...


class TreeDiagonal:
    """A preconditioner in which the leaves' part of every node is diagonal, so that every cell is a tree alone.

    Exact where every block is a single cell, and insensitive to how much rates differ between cells. Blocks of many
    cells make it poor: on values that are equal in all cells and nodes, such a block adds its length times what its
    diagonal says.
    """

    residual = 0.2

    def __init__(self, dual: Hessian) -> None:
        from pgsr.algorithms.m_c import tree_kernel

        self.tree, self.parent = (dual.levels, dual.child_from, dual.child), dual.parent
        self.inverse, self.share = np.zeros((2, *dual.shape))
        tree_kernel.diagonal(*_leaves(dual), dual.least, self.inverse)
        root = (dual.first_free, dual.held, dual.largest)
        self.ridge = tree_kernel.factor(dual.rate, *self.tree, *root, self.inverse, self.share)

    def advance(
        self, step: float, direction: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray, out: np.ndarray
    ) -> float:
        from pgsr.algorithms.m_c import tree_kernel

        tree_kernel.update(step, direction, product, x, rest, out)
        return tree_kernel.solve(self.inverse, self.share, *self.tree, self.parent, rest, out)


class TwoLevel:
    """A preconditioner of two levels: values constant on aggregates of cells, and a tree per cell for the rest.

    With Z the indicators of the aggregates at every node, P = Z (Z' Z)^-1 Z' the means over them,

        M^-1 = Z (Z' H Z)^-1 Z' + (I - P) T^-1 (I - P).

    Z' H Z is a tree whose nodes are small dense matrices, so it is eliminated exactly. T is the tree of every cell with
    the diagonal of (I - P) A (I - P) as the leaves' part A. Long blocks, which `TreeDiagonal` takes for weak, are what
    aggregates show; where blocks are single cells both say the same. Wants rates that differ little between cells.

    Complexity: O(nodes x (cells + aggregates^2)) per call, O(blocks + nodes x aggregates^3) to set up. Memory: as many
    numbers as a node's aggregates squared, and one per cell.

    Source: additive two-level methods, e.g. Toselli & Widlund 2005, chapter 2.
    """

    residual = 0.1

    def __init__(self, dual: Hessian) -> None:
        from pgsr.algorithms.m_c import tree_kernel, two_level_kernel

        m, n = dual.shape
        self.starts = aggregates(n)
        sizes = np.diff(self.starts)
        cells = (self.starts, np.repeat(np.arange(len(sizes)), sizes))
        self.tree, self.parent = (dual.levels, dual.child_from, dual.child), dual.parent
        self.ties = np.add.reduceat(dual.rate, self.starts[:-1], axis=1)
        self.coarse = np.empty((m, len(sizes), len(sizes)))
        two_level_kernel.coarse_leaves(*_leaves(dual), *cells, self.coarse)
        fixed = int(np.searchsorted(self.starts[1:], dual.first_free, side="right"))
        root = (sizes, fixed, dual.held, dual.largest, dual.least)
        self.ridge = two_level_kernel.coarse_inverses(self.ties, *self.tree, *root, self.coarse)
        self.inverse, self.share = np.zeros((2, *dual.shape))
        two_level_kernel.fine_leaves(*_leaves(dual), *cells, dual.least, self.inverse)
        root = (dual.first_free, dual.held, dual.largest)
        tree_kernel.factor(dual.rate, *self.tree, *root, self.inverse, self.share)

    def advance(
        self, step: float, direction: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray, out: np.ndarray
    ) -> float:
        from pgsr.algorithms.m_c import tree_kernel, two_level_kernel

        sums = np.empty(self.ties.shape)
        two_level_kernel.restrict(self.starts, step, direction, product, x, rest, out, sums)
        two_level_kernel.solve_coarse(self.coarse, self.ties, *self.tree, self.parent, sums)
        tree_kernel.solve(self.inverse, self.share, *self.tree, self.parent, rest, out)
        return two_level_kernel.prolong(self.starts, sums, rest, out)


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


_Array = np.ndarray


def _leaves(dual: Hessian) -> tuple[_Array, _Array, _Array, _Array, _Array, _Array]:
    return dual.edges, dual.inside, dual.gain, dual.chunk_from, dual.chunk_start, dual.chunk_stop
