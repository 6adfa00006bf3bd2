"""The approximate inverse of the Hessian of a dual, for conjugate gradients."""

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

    Exact where every block is a single cell, and insensitive to how much rates differ between cells. A block of |b|
    cells has the matrix gain 1 1': its diagonal is gain, and the sums of its rows are |b| gain. Sums of rows are exact
    on values that are constant on blocks, and at least the Hessian on all others. Conjugate gradients need fewer steps
    with them. The ascent in integers, for which M is a first guess, comes nearer to the optimum with the diagonal.

    Complexity: O(nodes x cells) per call, O(blocks) more to set up. Memory: two numbers per node and cell.

    Attributes:
        inverse: one over the pivots, shape (nodes, cells); 0 where the root has no price.
        share: rates over pivots, shape (nodes, cells).
        ridge: what is added at the root's held cell, positive only if the diagonal is 0 there in every node: what the
            leaves' gains at a cell add up to if every cell is a block.
    """

    def __init__(self, dual: Hessian, lumped: bool) -> None:
        """Factor the trees, with the sums of rows as the diagonal where `lumped`."""
        from pgsr.algorithms.m_c import tree_kernel

        self.levels, self.children = dual.levels, (dual.tree.child_from, dual.tree.child)
        self.parent, (m, n) = dual.tree.parent, dual.shape
        self.inverse, self.share, self.ridge = np.empty(dual.shape), np.zeros(dual.shape), 0.0
        share(tree_kernel.diagonal, range(m), n, dual.tree, dual.blocks, lumped, self.inverse)
        share_levels(tree_kernel.eliminate, dual.levels[::-1], n, dual.rate, *self.children, self.inverse, self.share)
        root, last = self.inverse[0], n - dual.tree.held
        root[: dual.tree.first_free] = np.inf
        root[dual.tree.first_free : last] += dual.rate[0, dual.tree.first_free : last]
        if dual.tree.held:
            if root[-1] <= 1e-12 * dual.largest:
                self.ridge = dual.largest
            root[-1] += self.ridge
        np.divide(1.0, root, out=root)

    def solved(self, rest: np.ndarray) -> np.ndarray:
        """Compute M^-1 rest."""
        out = rest.copy()
        self._solve(rest, out)
        return out

    def advance(
        self, step: float, direction: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray
    ) -> float:
        """Do x += step direction, rest -= step product, product = M^-1 rest; return rest . product."""
        from pgsr.algorithms.m_c import tree_kernel

        share(tree_kernel.advance, range(len(x)), x.shape[1], step, direction, product, x, rest)
        return self._solve(rest, product)

    def _solve(self, rest: np.ndarray, out: np.ndarray) -> float:
        """Compute the solution for the right-hand side `out` in place; return rest . out."""
        from pgsr.algorithms.m_c import tree_kernel

        n, dots = out.shape[1], np.empty(len(out))
        share_levels(tree_kernel.carry_up, self.levels[::-1], n, self.share, *self.children, out)
        share_levels(tree_kernel.carry_down, self.levels, n, self.inverse, self.share, self.parent, rest, out, dots)
        return added_up(dots)


def added_up(terms: np.ndarray) -> float:
    """The sum of these terms, added from the first to the last."""
    return float(np.cumsum(terms)[-1])
