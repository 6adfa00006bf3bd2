"""The proximal step of M_c with costs of ranks, as a smooth dual for Newton's method."""

from typing import NamedTuple

import numpy as np

from pgsr.algorithms.m_c.dual import Point, TreeDual
from pgsr.algorithms.m_c.emd_dual import Accuracy
from pgsr.machine.parallel import share
from pgsr.problems.problem import Problem


class RankedRows(NamedTuple):
    """The terms of some regions: squares before the threshold, and from it on costs of ranks and a proximal term.

    Attributes:
        y: the noisy values, and of cells with costs of ranks the least of their best counts; int64, shape (rows, n).
        weight: w; (rows,).
        groups: the number of groups; int64, (rows,).
        threshold: the first cell with costs of ranks; int64, (rows,).
        first, starts, slopes, sums: the runs of ranks, as `pgsr.problems.ranks.FittedRanks.slopes` gives them.
        rho: the proximal term is w rho / 2 (x - centre)^2.
        centre: shape of y.
    """

    y: np.ndarray
    weight: np.ndarray
    groups: np.ndarray
    threshold: np.ndarray
    first: np.ndarray
    starts: np.ndarray
    slopes: np.ndarray
    sums: np.ndarray
    rho: float
    centre: np.ndarray


class RankedDual(TreeDual):
    """The dual for costs w (x - y)^2 of columns, and for costs of ranks plus w rho / 2 (x - centre)^2.

    Costs of ranks are piecewise linear, so they need the proximal term to be told by their prices; columns need none.
    Blocks that sit at the start of a run are held there by a kink and have no curvature, so a ridge is added to the
    Hessian. `towards(x, rho, ridge)` sets the centre, the strength and the ridge.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.softness = 1.0
        assert problem.ranks is not None
        assert self.everywhere, "ranks are of public numbers of groups"
        tree, lone = problem.hierarchy, problem.hierarchy.n_levels == 1
        self.leaf_rows = _rows(problem, np.arange(tree.n_inner, tree.n_regions), self.y)
        self.inner_rows = _rows(problem, np.zeros(1, np.int64) if lone else self.kept, self.node_y)
        if lone:
            self.inner_rows = self.inner_rows._replace(weight=np.zeros(1))

    def towards(self, x: np.ndarray, rho: float, ridge: float) -> None:
        """Set the centre of the next step to x, shape (regions, K + 1)."""
        tree = self.problem.hierarchy
        self.leaf_rows = self.leaf_rows._replace(rho=rho, centre=np.array(x[tree.leaves], float))
        self.inner_rows = self.inner_rows._replace(rho=rho)
        if tree.n_levels > 1:
            self.inner_rows = self.inner_rows._replace(centre=np.array(x[self.kept], float))
        self.largest = float((1.0 / self.leaf_weight).sum()) / min(rho, 2.0)
        self.least = ridge / (rho * float(self.leaf_weight.mean()))
        self._last = None

    def fit(self, prices: np.ndarray) -> tuple[float, float]:
        from pgsr.algorithms.m_c import ranked_kernel as kernels

        cost, spent = np.zeros((len(self.tree.chunk_node), 2)), np.zeros((self.shape[0], 2))
        share(
            kernels.fit_leaves,
            *self.chunk_rows,
            self.leaf_rows,
            self.tree,
            prices,
            self.softness,
            self.blocks,
            self.change,
            cost,
        )
        nodes = (self.inner_rows, self.parent, prices, self.softness, self.own, self.rate, spent)
        share(kernels.fit_nodes, *self.node_rows, *nodes)
        self.leaf_cost = cost.sum(axis=0)
        return float(cost.sum()), float(spent.sum())

    def accuracy(self, point: Point) -> Accuracy:
        """Compute the accuracy of the point that `at` was called with last."""
        from pgsr.algorithms.m_c import ranked_kernel as kernels

        beyond, cost = self.beyond(point), np.zeros((self.shape[0], 2))
        share(kernels.node_costs, *self.node_rows, self.inner_rows, self.own, beyond, cost)
        plain, squares = (float(v) for v in cost.sum(axis=0) + self.leaf_cost)
        return Accuracy(plain + squares - point.value, squares, plain)


def _rows(problem: Problem, regions: np.ndarray, y: np.ndarray) -> RankedRows:
    ranks = problem.ranks
    assert ranks is not None
    n, whole = problem.max_size, slice(0, problem.hierarchy.n_regions)
    first, starts, slopes, sums = ranks.slopes(whole, problem.w)
    count = np.diff(first)[regions]
    begin = np.append(0, np.cumsum(count))
    run = np.repeat(first[regions] - begin[:-1], count) + np.arange(begin[-1])
    each = count + 1
    edge = np.repeat(first[regions] + regions - np.append(0, np.cumsum(each))[:-1], each) + np.arange(each.sum())
    return RankedRows(
        np.ascontiguousarray(y[:, :n]),
        problem.w[regions].astype(float),
        problem.region_totals[regions].astype(np.int64),
        ranks.threshold[regions],
        begin,
        starts[edge],
        slopes[run],
        sums[run],
        1.0,
        np.zeros((len(regions), n)),
    )
