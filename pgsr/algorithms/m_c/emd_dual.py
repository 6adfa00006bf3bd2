"""The proximal step of the joint L1 problem on cumulative counts, as a smooth dual for Newton's method."""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c.arrays import ProximalLeaves
from pgsr.algorithms.m_c.dual import Point, TreeDual
from pgsr.machine.parallel import share
from pgsr.problems.problem import Problem

_RIDGE = 3e-2
"""The Hessian's ridge relative to the curvature of one free cell: kinks can hold every cell below a price."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The distance of a point from the end of its proximal step, computed without the feasible point it leads to.

    Attributes:
        error: the step's objective at the sums of the leaves, minus its dual value; at least 0 up to rounding.
        moved: the proximal term there, by which the step may have lowered the objective.
        objective: the sum of w |x - y| there.
    """

    error: float
    moved: float
    objective: float


class ProximalDual(TreeDual):
    """The dual for costs sum over cells of w |x - y| + w rho / 2 (x - centre)^2.

    Near a kept centre the answer of the L1 problem is unique, and its dual is once differentiable: a node's value is a
    soft threshold, a leaf's a priced chain of lines and kinks, see `absolute_kernel`. Blocks that sit at one of their y
    are held there by a kink and have no curvature, so a ridge is added to the Hessian.

    `towards(x, rho, ridge)` sets the centre, the strength and the ridge. Values of nodes of weight 0 have no cost
    and no centre.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.take_apart()
        y = problem.target
        self.rho = 1.0
        self.leaf_centre = self.y.astype(float)
        self.node_centre = np.zeros(self.shape)
        self.constant = 0.0
        if self.everywhere:
            self.constant = float((problem.w * np.abs(problem.region_totals - y[:, -1])).sum())
        elif self.held:
            self.constant = float(problem.w[0]) * abs(problem.root_total - int(y[0, -1]))

    def towards(self, x: np.ndarray, rho: float, ridge: float = _RIDGE) -> None:
        """Set the centre of the next step to x, shape (regions, K + 1)."""
        tree = self.problem.hierarchy
        self.rho = rho
        self.leaf_centre = np.ascontiguousarray(x[tree.leaves], float)
        if tree.n_levels > 1:
            self.node_centre = x[self.kept, : self.n] - self.node_y
        self.largest = float((1.0 / self.leaf_weight).sum()) / rho
        self.least = ridge / (rho * float(self.leaf_weight.mean()))
        self._last = None

    def fit(self, prices: np.ndarray) -> tuple[float, float]:
        from pgsr.algorithms.m_c import absolute_kernel as kernels

        cost, spent = np.zeros((len(self.tree.chunk_node), 2)), np.zeros(self.shape[0])
        leaves = ProximalLeaves(self.y, self.upper, self.leaf_weight, self.leaf_centre, self.rho)
        share(kernels.fit_leaves, *self.chunk_rows, leaves, self.tree, prices, self.blocks, self.change, cost)
        nodes = (self.weight, self.rho, self.node_centre, self.parent, self.held)
        share(kernels.fit_nodes, *self.node_rows, *nodes, prices, self.own, self.rate, spent)
        self.leaf_cost = cost.sum(axis=0)
        return float(cost.sum()), float(spent.sum()) + self.constant

    def accuracy(self, point: Point) -> Accuracy:
        """Compute the accuracy of the point that `at` was called with last."""
        from pgsr.algorithms.m_c import absolute_kernel as kernels

        beyond, cost = self.beyond(point), np.zeros((self.shape[0], 2))
        nodes = (self.weight, self.rho, self.node_centre, self.held, self.own)
        share(kernels.node_costs, *self.node_rows, *nodes, beyond, cost)
        absolute, squares = (float(v) for v in cost.sum(axis=0) + self.leaf_cost)
        error = absolute + self.constant + squares - point.value
        if self.held:
            # Some leaf's last cell takes what is missing, at its weight.
            error += (abs(float(point.prices[0, -1])) + float(self.leaf_weight.max())) * abs(float(beyond[0, -1]))
        return Accuracy(error, squares, absolute + self.constant)
