"""The trees of all sizes in the layout of this folder's loops: sizes x regions."""

from dataclasses import dataclass

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.machine.parallel import share
from pgsr.problems.problem import Problem

Prices = tuple[np.ndarray, np.ndarray]
"""What inner regions pay their children, (sizes, inner regions), and mu, what leaves are paid besides."""


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of all sizes, and passes over them.

    Attributes:
        y: noisy counts, shape (sizes, regions); a lone region stands below an added one without weight.
        w, parent, first_child: as in problem and hierarchy.
        n_inner: regions with children; they come first.
    """

    problem: Problem
    y: np.ndarray
    w: np.ndarray
    parent: np.ndarray
    first_child: np.ndarray
    n_inner: int

    @classmethod
    def of(cls, problem: Problem) -> "Forest":
        tree = problem.hierarchy
        if tree.n_levels > 1:
            y = np.ascontiguousarray(problem.target.T)
            # Copies, because compiled loops tell read-only arrays from others and would be compiled twice.
            fixed = problem.w.copy(), tree.parent.copy(), tree.first_child.copy(), tree.n_inner
            return cls(problem, y, *fixed)
        # A lone region becomes the only child of a region without weight, so that every tree has an inner region.
        y = np.stack([np.zeros_like(problem.target[0]), problem.target[0]], axis=1)
        w = np.array([0, problem.w[0]])
        return cls(problem, y, w, np.array([-1, 0]), np.array([1, 2, 2]), 1)

    @property
    def sizes(self) -> tuple[range, int]:
        """The rows that loops over all sizes share, and the cells of one."""
        return range(len(self.y)), self.y.shape[1]

    def chunks(self, number: int) -> tuple[range, int]:
        """The same for so many chunks of sizes."""
        return range(number), self.y.size // number

    def demands(self, mu: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute every region's gain, its share of the price above it, and the best prices, if active leaves stay so.

        Arrays of shape (sizes, inner regions): the derivatives of what a region takes and of what it pays its children
        by the price above it, and the prices at which demands add up.
        """
        from pgsr.algorithms.m_h_regions import tree_kernel as kernels

        gain, offset, below = (np.empty((len(self.y), self.n_inner)) for _ in range(3))
        links = self.y, self.w, self.first_child, self.n_inner
        share(kernels.newton_pass, *self.sizes, *links, mu, active, gain, offset)
        share(kernels.set_prices, *self.sizes, self.w, self.parent, self.n_inner, gain, offset, below)
        return gain, 1.0 - 2.0 * self.w[: self.n_inner] * gain, below

    def slope(self, at: Prices, active: np.ndarray, step: Prices) -> float:
        """Compute the derivative of the dual at prices and multipliers along a step of both.

        It lacks the step of mu times what is missing at the leaves.
        """
        from pgsr.algorithms.m_h_regions import tree_kernel as kernels

        value = np.empty(len(self.y))
        links = self.y, self.w, self.parent, self.first_child, self.n_inner
        share(kernels.slope, *self.sizes, *links, *at, active, *step, value)
        return float(value.sum())

    def continuous(self, below: np.ndarray, mu: np.ndarray, active: np.ndarray) -> Estimate:
        """Compute the counts of active leaves at given prices and multipliers, and their sums."""
        from pgsr.algorithms.m_h_regions import tree_kernel as kernels

        tree, x = self.problem.hierarchy, np.empty(self.y.shape)
        links = self.y, self.w, self.first_child, self.n_inner
        share(kernels.continuous_point, *self.sizes, *links, below, mu, active, x)
        return Estimate(tree, View.COUNTS, np.ascontiguousarray(x.T[-tree.n_regions :]))
