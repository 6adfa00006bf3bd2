"""The prices of M_H in real numbers with fixed totals of regions: those of a flow of quadratic cost."""

from dataclasses import dataclass

import numpy as np

from pgsr.certificates import Multipliers
from pgsr.certificates.fixed_totals import FixedTotals
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.engines.quadratic_flow.relaxation import relaxed_prices
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_NOTHING = -1e200
"""The multiplier of leaves without groups, so low that they take none at any price."""

_ROUNDING = 1e-14
_TIES = 1e-8, 1e-12
"""What ties sums to the ground (`relaxed_prices`), so little because weights may differ by as much."""


@dataclass(frozen=True, eq=False)
class RegionFlow:
    """The cells of a problem that are in its network, and the prices found last; the folder's docstring explains both.

    Attributes:
        fixed: the sets of leaves with a fixed total.
        kept: whether a leaf's cell is in the network, shape (leaves, K + 1).
        below: what every inner region pays its children, and a last row of 0 for what is above the root; shape (inner
            regions + 1, K + 1).
        mu: what the leaves of every set are paid besides, shape (sets,).
    """

    problem: Problem
    fixed: FixedTotals
    kept: np.ndarray
    below: np.ndarray
    mu: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "RegionFlow":
        """Choose the cells that would be positive if sets stood alone, nearly: by some steps of Newton's method."""
        tree, fixed = problem.hierarchy, FixedTotals.of(problem)
        assert fixed is not None, "problems with other conditions are refused"
        shape = tree.n_regions - tree.n_inner, problem.target.shape[1]
        below, mu = np.zeros((tree.n_inner + 1, shape[1])), np.where(fixed.totals > 0, 0.0, _NOTHING)
        flow = cls(problem, fixed, np.ones(shape, bool), below, mu)
        flow.kept[:] = flow._settled(flow.kept, 6)
        return flow

    def solve(self, tolerance: float, deadline: Deadline) -> None:
        """Find prices at which no sum is off by more than `tolerance` groups and no cell that is left out is wanted."""
        tree, y, w = self.problem.hierarchy, self.problem.target, self.problem.w
        some, largest = self.fixed.totals > 0, max(np.abs(y).max(), self.fixed.totals.max(initial=0))
        tolerance = max(tolerance, 4.0 * float(np.spacing(float(largest))))  # the last digits of sums
        while True:
            deadline.check("no proved optimum")
            number, network = self._network()
            there, n = number > 0, network.n_vertices - np.count_nonzero(some)
            start = np.zeros(network.n_vertices)
            start[number[there]], start[n:] = self.below[there], -self.mu[some]
            price = relaxed_prices(network, start, tolerance, ties=_TIES)
            self.mu[some] = -price[n:]
            for level in range(tree.n_levels - 1):
                here = tree.level(level)
                # Where nothing is below, the price at which the region takes nothing.
                empty = self.below[tree.parent[here]] + 2.0 * w[here, None] * y[here]
                self.below[here] = np.where(there[here], price[number[here]], empty)
            wanted = (self._demand() > 0.0) & ~self.kept
            if not wanted.any():
                self._settled(self._demand() > 0.0, 2)
                return
            self.kept[wanted] = True

    def estimate(self) -> Estimate:
        """Compute the counts of the leaves, scaled to totals that cancelling prices have left off, and their sums."""
        fixed, x = self.fixed, np.maximum(0.0, self._demand())
        sums = fixed.summed(x.sum(axis=1))
        scale = fixed.totals / np.where(sums > 0.0, sums, 1.0)
        scale[(sums == 0.0) | (np.abs(scale - 1.0) < _ROUNDING)] = 1.0
        x *= np.append(scale, 1.0)[fixed.set_of, None]
        return Estimate(self.problem.hierarchy, View.COUNTS, self.problem.hierarchy.sum_up(x))

    def multipliers(self) -> Multipliers:
        """Make the multipliers of the problem; a set without groups gets the highest mu at which it takes none.

        Leaves are paid mu of their set in all. Spread over the fixed totals of all regions above a leaf, each one's
        price is its mu less that of the next one above, and an inner region's mu is paid on to its children.
        """
        fixed, problem, mu = self.fixed, self.problem, self.mu.copy()
        tree, conditions = problem.hierarchy, problem.conditions
        y, w = problem.target[tree.leaves], problem.w[tree.leaves]
        wanted = fixed.highest((self.below[tree.parent[tree.leaves]] + 2.0 * w[:, None] * y).max(axis=1))
        for k in np.flatnonzero(fixed.totals == 0):  # regions before those below them
            above = mu[fixed.above[k]] if fixed.above[k] >= 0 else 0.0
            mu[k] = -max(0.0, float(wanted[k])) if np.isfinite(wanted[k]) else above
        prices = mu - np.append(mu, 0.0)[fixed.above]
        public, rows = fixed.rows < 0, fixed.rows[fixed.rows >= 0]
        totals = np.zeros(0 if problem.totals is None else 1 if problem.totals is Totals.ROOT else tree.n_regions)
        totals[fixed.regions[public]] = prices[public]
        of_rows = None if conditions is None else np.zeros(len(conditions.row_lower))
        if of_rows is not None:
            of_rows[rows] = prices[~public]
        consistency = self.below[:-1] + np.append(mu, 0.0)[fixed.within[: tree.n_inner], None]
        return Multipliers(consistency, totals, conditions=of_rows)

    def _settled(self, positive: np.ndarray, steps: int) -> np.ndarray:
        """Give sets their totals at the prices of inner regions, by steps of Newton's method; return what is positive.

        Whole numbers are added up apart from what is paid, of the size of the noise, so that large counts lose nothing.
        """
        tree, fixed = self.problem.hierarchy, self.fixed
        y, rate = self.problem.target[tree.leaves], 0.5 / self.problem.w[tree.leaves]
        for _ in range(steps):
            paid = (self.below[tree.parent[tree.leaves]] * positive).sum(axis=1)
            missing = fixed.totals - fixed.summed((y * positive).sum(axis=1)) - fixed.summed(rate * paid)
            rises = fixed.summed(rate * np.count_nonzero(positive, axis=1))
            some = (rises > 0.0) & (fixed.totals > 0)
            self.mu[some] = missing[some] / rises[some]
            positive = self._demand() > 0.0
        return positive

    def _demand(self) -> np.ndarray:
        """Compute what leaves would take at these prices if x might be below 0; shape (leaves, K + 1)."""
        leaves = self.problem.hierarchy.leaves
        x = self.below[self.problem.hierarchy.parent[leaves]] + self.fixed.at_leaves(self.mu)[:, None]
        x *= 0.5 / self.problem.w[leaves, None]
        x += self.problem.target[leaves]
        return x

    def _network(self) -> tuple[np.ndarray, FlowNetwork]:
        """Make the network of the cells that are kept, and the numbers of the vertices of inner regions, like `below`.

        Vertices are the ground, those of inner regions and sizes, and those of sets that have groups. 0 stands for the
        ground and for what is left out; a region of weight 0 has the vertices of the region above.
        """
        tree, fixed, y, w = self.problem.hierarchy, self.fixed, self.problem.target, self.problem.w
        there = tree.sum_up(self.kept.astype(np.int32)) > 0
        row, column = np.nonzero(there[: tree.n_inner] & (w[: tree.n_inner, None] > 0))
        number = np.zeros((tree.n_inner + 1, y.shape[1]), np.int32)
        number[row, column] = np.arange(1, len(row) + 1)
        for r in np.flatnonzero(w[: tree.n_inner] == 0):
            number[r] = np.where(there[r], number[tree.parent[r]], 0)
        n, some = len(row) + 1, fixed.totals > 0
        source = np.append(np.where(some, n - 1 + np.cumsum(some), 0), 0)[fixed.set_of]  # of every leaf
        order = np.argsort(source, kind="stable")
        leaf, size = np.nonzero(self.kept[order])
        leaf = order[leaf]
        # Arcs sorted by their start: those of leaves of no set, those of inner regions, those of sets.
        first = np.searchsorted(source[leaf], 1)
        start = np.concatenate([source[leaf[:first]], np.arange(1, n), source[leaf[first:]]])
        region = np.concatenate([leaf[:first] + tree.n_inner, row, leaf[first:] + tree.n_inner])
        size = np.concatenate([size[:first], column, size[first:]])
        arcs = start.astype(np.int32), number[tree.parent[region], size], y[region, size].astype(np.int64)
        supply = np.concatenate([np.zeros(n, np.int64), fixed.totals[some]])
        owner = np.concatenate([[-1], row, tree.n_regions + np.arange(len(supply) - n)])
        aggregate = np.cumsum(np.diff(owner, prepend=-1) != 0).astype(np.int32)
        return number, FlowNetwork(*arcs, w[region].astype(float), region < tree.n_inner, supply, aggregate)
