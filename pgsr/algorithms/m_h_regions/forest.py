"""The trees of all sizes in the layout of the loops of this room: sizes x regions."""

from dataclasses import dataclass

import numpy as np

from pgsr.estimate import Estimate
from pgsr.problem import Problem
from pgsr.views import View


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of all sizes, and passes over them.

    Attributes:
        y: noisy counts, shape (sizes, regions); a lone region stands below an added one without weight.
        w, parent, first_child: as in problem and hierarchy.
        n_inner: regions with children; they come first.
        shift: what leaves are paid besides the price of the region above, shape (regions,); 0 if only prices pay.
    """

    problem: Problem
    y: np.ndarray
    w: np.ndarray
    parent: np.ndarray
    first_child: np.ndarray
    n_inner: int
    shift: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "Forest":
        tree = problem.hierarchy
        if tree.n_levels > 1:
            y = np.ascontiguousarray(problem.target.T)
            # Copies, because compiled loops tell read-only arrays from others and would be compiled twice.
            fixed = problem.w.copy(), tree.parent.copy(), tree.first_child.copy(), tree.n_inner
            return cls(problem, y, *fixed, np.zeros(tree.n_regions))
        # A lone region becomes the only child of a region without weight, so that every tree has an inner region.
        y = np.stack([np.zeros_like(problem.target[0]), problem.target[0]], axis=1)
        w = np.array([0, problem.w[0]])
        return cls(problem, y, w, np.array([-1, 0]), np.array([1, 2, 2]), 1, np.zeros(2))

    def newton_pass(self, below: np.ndarray, *out: np.ndarray) -> None:
        """Linear demands on the leaves that are positive at prices `below`; see the kernel."""
        from pgsr.algorithms.m_h_regions import tree_kernel as kernels

        kernels.newton_pass(self.y, self.w, self.first_child, self.n_inner, self.shift, below, *out)

    def continuous(self, below: np.ndarray) -> Estimate:
        """What leaves take at these prices, shape (sizes, inner regions), and their sums."""
        from pgsr.algorithms.m_h_regions import tree_kernel as kernels

        x = np.empty(self.y.shape)
        kernels.continuous_point(self.y, self.w, self.first_child, self.n_inner, self.shift, below, x)
        return self._estimate(x)

    def _estimate(self, x: np.ndarray) -> Estimate:
        n_regions = self.problem.hierarchy.n_regions
        return Estimate(self.problem.hierarchy, View.COUNTS, np.ascontiguousarray(x.T[-n_regions:]))
