"""The dual of M_H with fixed totals of regions, and its maximum by Newton's method."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_regions.forest import Forest
from pgsr.certificates import Multipliers
from pgsr.certificates.fixed_totals import FixedTotals
from pgsr.data.estimate import Estimate
from pgsr.engines.newton import Operators, conjugate_gradients, line_search
from pgsr.machine.parallel import share
from pgsr.methods.gate import NO_LIMIT, Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_FORCING = 0.1
_MOST_STEPS = 100
_MOST_CONJUGATE_STEPS = 500
_TRIALS = 40
"""How many lengths of a step are tried at most."""

_ROUNDING = 1e-14
_NOTHING = -1e200
"""The multiplier of leaves without groups, so low that they take none at any price."""


@dataclass(frozen=True, eq=False)
class TotalsPoint:
    """A point of the dual: prices and multipliers, and the dual there.

    Attributes:
        below: what every inner region pays its children, shape (sizes, inner regions).
        mu: what the leaves of every set are paid besides, shape (sets,).
        active: 1 where a leaf is positive, shape (sizes, leaves), uint8.
        number: number of sizes at which a leaf is positive, shape (leaves,).
        missing: total - sum of y over these sizes of the set's leaves, shape (sets,), exact.
        gradient: total - sum of x, the derivatives by mu, shape (sets,).
        value: the dual.
    """

    below: np.ndarray
    mu: np.ndarray
    active: np.ndarray
    number: np.ndarray
    missing: np.ndarray
    gradient: np.ndarray
    value: float


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual of `RegionTotalsProjection`'s problem, D(p, mu): concave, piecewise quadratic, once differentiable.

    On a fixed set of positive leaves the dual is a quadratic. Given mu its best prices follow from one pass up and down
    the trees; what is left is a system S dmu = r of one unknown per set of leaves, solved by conjugate gradients: S
    times a vector is such a pass, too. In network terms S^-1 says what it costs to send r[k] more groups through set k.
    Let a region be as stiff as if they were spread evenly over the n sizes at which it is free to take some, 2 w / n.
    Where each leaf is a set, this would cost

        (P r)[l] = 2 w[l] / n[l] r[l]  +  sum over regions a above l of  2 w[a] / n[a] (sum of r over leaves below a),

    which preconditions so well that two or three steps gain a digit. With all leaves active P is the inverse of S.
    A set of several leaves below region t takes in place of the first term what its own branches below t cost, springs
    in series and in parallel, and the regions from t upwards in the sum.

    A Newton step taken in full keeps the sum of x over the positive cells of a set at its total > 0, so some cell stays
    positive and S regular; where an inexact step loses all of them, the set is projected onto its total at fixed
    prices, which raises the dual. Armijo's rule shortens steps; every direction is one of ascent, however early
    conjugate gradients end.

    Complexity: O(regions x sizes) per step of either kind.
    """

    forest: Forest
    fixed: FixedTotals
    weights: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "Dual":
        fixed = FixedTotals.of(problem)
        assert fixed is not None, "problems with other conditions are refused"
        return cls(Forest.of(problem), fixed, problem.w[problem.hierarchy.leaves].astype(float))

    @property
    def totals(self) -> np.ndarray:
        """The total of the leaves of every set, shape (sets,)."""
        return self.fixed.totals

    def start(self) -> TotalsPoint:
        """Make the starting point: every set of leaves alone, projected onto its total."""
        below = np.zeros((len(self.forest.y), self.forest.n_inner))
        return self._projected(self.at(below, self._with_all_sizes(below)))

    def maximum(self, point: TotalsPoint, tolerance: float, deadline: Deadline = NO_LIMIT) -> TotalsPoint:
        """Find the maximum, where every set has its total at these prices.

        It ends when the next step promises to gain less than `tolerance`, relative to the value.
        """
        for _ in range(_MOST_STEPS):
            deadline.check("no proved optimum")
            enough = tolerance * max(1.0, abs(point.value))
            below, mu = self._direction(point, 1e-2 * enough)
            promised = 0.5 * self._slope(point, below, mu)
            point = self._ascend(point, below, mu, promised)
            if promised <= enough:
                break
        return self._projected(point)

    def estimate(self, point: TotalsPoint) -> Estimate:
        """Compute the counts of the leaves at a point, and their sums."""
        return self.forest.continuous(point.below, self.fixed.at_leaves(point.mu), point.active)

    def multipliers(self, point: TotalsPoint) -> Multipliers:
        """Make the multipliers of the problem; a set without groups gets the highest mu at which it takes none.

        Leaves are paid mu of their set in all. Spread over the fixed totals of all regions above a leaf, each one's
        price is its mu less that of the next one above, and an inner region's mu is paid on to its children.
        """
        forest, fixed, problem = self.forest, self.fixed, self.forest.problem
        tree, stated = problem.hierarchy, problem.conditions
        mu, wanted = point.mu.copy(), np.full(len(self.weights), -np.inf)
        for y, prices in zip(forest.y, point.below, strict=True):
            np.maximum(wanted, prices[self._above] + 2.0 * self.weights * y[forest.n_inner :], out=wanted)
        wanted = fixed.highest(wanted)
        for k in np.flatnonzero(fixed.totals == 0):  # regions before those below them
            above = mu[fixed.above[k]] if fixed.above[k] >= 0 else 0.0
            mu[k] = -max(0.0, float(wanted[k])) if np.isfinite(wanted[k]) else above
        prices = mu - np.append(mu, 0.0)[fixed.above]
        public, rows = fixed.rows < 0, fixed.rows[fixed.rows >= 0]
        totals = np.zeros(0 if problem.totals is None else 1 if problem.totals is Totals.ROOT else tree.n_regions)
        totals[fixed.regions[public]] = prices[public]
        of_rows = None if stated is None else np.zeros(len(stated.row_lower))
        if of_rows is not None:
            of_rows[rows] = prices[~public]
        consistency = point.below.T[: tree.n_inner] + np.append(mu, 0.0)[fixed.within[: tree.n_inner], None]
        return Multipliers(consistency, totals, conditions=of_rows)

    def at(self, below: np.ndarray, mu: np.ndarray) -> TotalsPoint:
        """Evaluate the dual at these prices in one pass."""
        from pgsr.algorithms.m_h_regions import totals_kernel as kernels

        forest, fixed, n_leaves = self.forest, self.fixed, len(self.weights)
        shape = kernels.CHUNKS, n_leaves
        active = np.empty((len(below), n_leaves), np.uint8)
        value, paid = np.empty(len(below)), np.empty(shape)
        number, count = np.empty((2, *shape), np.int64)
        links = forest.y, forest.w, forest.parent, forest.first_child, forest.n_inner
        leaves = below, fixed.at_leaves(mu), active
        share(kernels.evaluate, *forest.chunks(kernels.CHUNKS), *links, *leaves, value, number, count, paid)
        n, missing = number.sum(axis=0), fixed.totals - fixed.summed(count.sum(axis=0))
        finite = self._finite(mu)
        gradient = missing - fixed.summed((paid.sum(axis=0) + n * fixed.at_leaves(finite)) * self._rate)
        return TotalsPoint(below, mu, active, n, missing, gradient, float(value.sum() + finite @ missing))

    def _projected(self, point: TotalsPoint) -> TotalsPoint:
        """Find the best mu at these prices, set by set by Newton's method, which is monotone after its first step.

        Then the cells of a set that are positive only become fewer; where they do not, it is done. Where none is
        positive the method starts from the side on which all are.
        """
        lost = self._lost(point)
        mu = point.mu + self._newton_step(point)
        if lost.any():
            mu[lost] = self._with_all_sizes(point.below)[lost]
        point = self.at(point.below, mu)
        busy = np.ones(len(lost), bool)
        while busy.any():
            following = self.at(point.below, np.where(busy, point.mu + self._newton_step(point), point.mu))
            busy &= self.fixed.summed(following.number) < self.fixed.summed(point.number)
            point = following
        return point

    def _newton_step(self, point: TotalsPoint) -> np.ndarray:
        """Compute the change of mu at which every set would have its total, if the same cells stayed positive."""
        rise = self.fixed.summed(point.number * self._rate)
        return point.gradient / np.where(rise > 0.0, rise, 1.0)

    def _lost(self, point: TotalsPoint) -> np.ndarray:
        """Say which sets with groups have no positive cell."""
        return (self.fixed.summed(point.number) == 0) & (self.totals > 0)

    def _with_all_sizes(self, below: np.ndarray) -> np.ndarray:
        """Compute a mu so high that the leaves of every set with groups are positive at all sizes; shape (sets,)."""
        forest = self.forest
        lowest = np.full(len(self.weights), np.inf)
        for y, prices in zip(forest.y, below, strict=True):
            np.minimum(lowest, prices[self._above] + 2.0 * self.weights * y[forest.n_inner :], out=lowest)
        enough = self.fixed.highest(1.0 - lowest + 1e-9 * np.abs(lowest))
        return np.where(self.totals > 0, enough, _NOTHING)

    def _direction(self, point: TotalsPoint, enough: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute Newton's step in prices and mu, mu by conjugate gradients to a tenth of the error or to `enough`."""
        from pgsr.algorithms.m_h_regions import totals_kernel as kernels

        forest, fixed, response = self.forest, self.fixed, np.empty(point.below.shape)
        n_leaves, rate = len(self.weights), self._rate
        gain, keep, below = forest.demands(fixed.at_leaves(point.mu), point.active)
        links = forest.w, forest.parent, forest.first_child, forest.n_inner
        paid, chunks = np.empty((kernels.CHUNKS, n_leaves)), forest.chunks(kernels.CHUNKS)

        def curvature(mu: np.ndarray) -> np.ndarray:
            of_leaves = fixed.at_leaves(mu)
            share(kernels.respond, *chunks, point.active, *links, keep, rate * of_leaves, response, paid)
            return fixed.summed(rate * (point.number * of_leaves + paid.sum(axis=0)))

        share(kernels.paid_on, *chunks, point.active, forest.first_child, forest.n_inner, below, paid)
        now = point.number * fixed.at_leaves(self._finite(point.mu))
        residual = point.missing - fixed.summed(rate * (now + paid.sum(axis=0)))
        precondition = self._preconditioner(point.number, (gain > 0).sum(axis=0))
        mu = conjugate_gradients(Operators(curvature, precondition), residual, _FORCING, _MOST_CONJUGATE_STEPS, enough)
        curvature(mu)
        return below + response - point.below, mu

    def _preconditioner(self, number: np.ndarray, free: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Make P of the class; `number` and `free` count the sizes at which leaves and inner regions may take more."""
        tree, fixed = self.forest.problem.hierarchy, self.fixed
        stiffness, yields = np.zeros((2, tree.n_regions))
        of_inner = np.where(free > 0, 2.0 * self.forest.w[: len(free)] / np.maximum(free, 1), 0.0)
        stiffness[: tree.n_inner] = of_inner[: tree.n_inner]  # the forest adds a region above a lone one
        yields[tree.leaves] = number * self._rate  # a leaf's children, if it had some, would be as stiff as it is
        own = np.zeros(len(fixed.regions))
        for level in range(tree.n_levels - 1, -1, -1):
            here = tree.level(level)
            if level < tree.n_levels - 1:
                yields[here] = tree.sum_children(yields, level)
            sets = np.flatnonzero((fixed.regions >= here.start) & (fixed.regions < here.stop))
            some = sets[yields[fixed.regions[sets]] > 0.0]
            own[some] = 1.0 / yields[fixed.regions[some]]
            yields[here] /= 1.0 + stiffness[here] * yields[here]
            yields[fixed.regions[sets]] = 0.0  # what it sends does not come from the set above

        def precondition(groups: np.ndarray) -> np.ndarray:
            cost = np.zeros(tree.n_regions)
            cost[fixed.regions] = groups
            for level in range(tree.n_levels - 2, -1, -1):
                cost[tree.level(level)] += tree.sum_children(cost, level)
            cost *= stiffness
            for level in range(1, tree.n_levels):
                here = tree.level(level)
                cost[here] += cost[tree.parent[here]]
            return np.where(own > 0.0, own * groups + cost[fixed.regions], 0.0)

        return precondition

    def _slope(self, point: TotalsPoint, below: np.ndarray, mu: np.ndarray) -> float:
        """Compute the derivative of the dual along a direction."""
        at, step = self.fixed.at_leaves(point.mu), self.fixed.at_leaves(mu)
        slope = self.forest.slope((point.below, at), point.active, (below, step))
        return slope + float(mu @ point.missing)

    def _ascend(self, point: TotalsPoint, below: np.ndarray, mu: np.ndarray, promised: float) -> TotalsPoint:
        """Take a step by Armijo's rule; return the same point if rounding hides every ascent."""
        reached = point

        def look(length: float) -> tuple[float, float]:
            nonlocal reached
            reached = self.at(point.below + length * below, point.mu + length * mu)
            return reached.value, np.nan

        rounding = _ROUNDING * abs(point.value)
        if not line_search(look, point.value, 2.0 * promised, _TRIALS, rise=0.5e-4, rounding=rounding).is_enough:
            return point
        return self._projected(reached) if self._lost(reached).any() else reached

    @property
    def _rate(self) -> np.ndarray:
        """What a positive leaf takes more at one size where it is paid one more; shape (leaves,)."""
        return 0.5 / self.weights

    @property
    def _above(self) -> np.ndarray:
        """The inner region above every leaf."""
        return self.forest.parent[self.forest.n_inner :]

    def _finite(self, mu: np.ndarray) -> np.ndarray:
        return np.where(self.totals > 0, mu, 0.0)
