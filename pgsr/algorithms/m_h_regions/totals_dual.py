"""The dual of M_H with every region's total, and its maximum by Newton's method."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_regions.forest import Forest
from pgsr.certificates import Multipliers
from pgsr.estimate import Estimate
from pgsr.parallel import share
from pgsr.problem import Problem
from pgsr.solving import NO_LIMIT, Deadline

Operator = Callable[[np.ndarray], np.ndarray]

_FORCING = 0.1
_MOST_STEPS = 100
_MOST_CONJUGATE_STEPS = 500
_SHORTEST = 2.0**-40
_ROUNDING = 1e-14
_NOTHING = -1e200
"""The multiplier of a leaf without groups, so low that the leaf takes none at any price."""


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the dual: prices and multipliers, and the dual there.

    Attributes:
        below: what every inner region pays its children, shape (sizes, inner regions).
        mu: what every leaf is paid besides, shape (leaves,).
        active: 1 where a leaf is positive, shape (sizes, leaves), uint8.
        number: number of sizes at which a leaf is positive, shape (leaves,).
        missing: G - sum of y over these sizes, shape (leaves,), exact.
        gradient: G - sum of x, the derivatives by mu, shape (leaves,).
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
    the trees; what is left is a system S dmu = r of one unknown per leaf, solved by conjugate gradients: S times a
    vector is such a pass, too. In network terms S^-1 says what it costs to send r[l] more groups through leaf l. If
    they were spread evenly over the n sizes at which a region is free to take some, that would be

        (P r)[l] = 2 w[l] / n[l] r[l]  +  sum over regions a above l of  2 w[a] / n[a] (sum of r over leaves below a),

    which preconditions so well that two or three steps gain a digit. With all leaves active P is the inverse of S.

    A Newton step taken in full keeps the sum of x over the positive sizes of a leaf at G > 0, so some size stays
    positive and S regular; where an inexact step loses all of them, the leaf is projected onto its total at fixed
    prices, which raises the dual. Armijo's rule shortens steps; every direction is one of ascent, however early
    conjugate gradients end.

    Complexity: O(regions x sizes) per step of either kind.
    """

    forest: Forest
    totals: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "Dual":
        leaves = problem.hierarchy.leaves
        return cls(Forest.of(problem), problem.region_totals[leaves], problem.w[leaves].astype(float))

    def start(self) -> Point:
        """Make the starting point: every leaf alone, projected onto its total."""
        below = np.zeros((len(self.forest.y), self.forest.n_inner))
        return self._projected(self.at(below, self._with_all_sizes(below)))

    def maximum(self, point: Point, tolerance: float, deadline: Deadline = NO_LIMIT) -> Point:
        """Find the maximum, where every leaf has its total at these prices.

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

    def estimate(self, point: Point) -> Estimate:
        """Compute what leaves take at a point, and their sums."""
        return self.forest.continuous(point.below, point.mu, np.zeros(len(point.mu)), point.active)

    def multipliers(self, point: Point) -> Multipliers:
        """Make the multipliers of the problem; a leaf without groups gets the highest mu at which it takes none."""
        forest, tree = self.forest, self.forest.problem.hierarchy
        totals = np.zeros(tree.n_regions)
        totals[tree.leaves] = point.mu
        for leaf in np.flatnonzero(self.totals == 0):
            region = forest.n_inner + leaf
            wanted = point.below[:, forest.parent[region]] + 2.0 * self.weights[leaf] * forest.y[:, region]
            totals[tree.leaves.start + leaf] = -max(0.0, float(wanted.max()))
        return Multipliers(point.below.T[: tree.n_inner], totals)

    def at(self, below: np.ndarray, mu: np.ndarray) -> Point:
        """Evaluate the dual at these prices in one pass."""
        from pgsr.algorithms.m_h_regions import totals_kernel as kernels

        forest, shape = self.forest, (kernels.CHUNKS, len(mu))
        active = np.empty((len(below), len(mu)), np.uint8)
        value, paid = np.empty(len(below)), np.empty(shape)
        number, count = np.empty((2, *shape), np.int64)
        links = forest.y, forest.w, forest.parent, forest.first_child, forest.n_inner
        share(kernels.evaluate, *forest.chunks(kernels.CHUNKS), *links, below, mu, active, value, number, count, paid)
        n, missing = number.sum(axis=0), self.totals - count.sum(axis=0)
        gradient = missing - (paid.sum(axis=0) + n * self._finite(mu)) * 0.5 / self.weights
        return Point(below, mu, active, n, missing, gradient, float(value.sum() + self._finite(mu) @ missing))

    def _projected(self, point: Point) -> Point:
        """Find the best mu at these prices, leaf by leaf by Newton's method, which is monotone after its first step.

        Then the sizes at which a leaf is positive only become fewer; where they do not, it is done. Where no size is
        positive the method starts from the side on which all are.
        """
        lost = (point.number == 0) & (self.totals > 0)
        step = 2.0 * self.weights / np.maximum(point.number, 1) * point.gradient
        mu = point.mu + step
        if lost.any():
            mu[lost] = self._with_all_sizes(point.below)[lost]
        point = self.at(point.below, mu)
        busy = np.ones(len(lost), bool)
        while busy.any():
            step = 2.0 * self.weights / np.maximum(point.number, 1) * point.gradient
            following = self.at(point.below, np.where(busy, point.mu + step, point.mu))
            busy &= following.number < point.number
            point = following
        return point

    def _with_all_sizes(self, below: np.ndarray) -> np.ndarray:
        """Compute a mu so high that every leaf with groups is positive at all sizes; shape (leaves,)."""
        forest = self.forest
        lowest = np.full(len(self.totals), np.inf)
        for y, prices in zip(forest.y, below, strict=True):
            np.minimum(lowest, prices[self._above] + 2.0 * self.weights * y[forest.n_inner :], out=lowest)
        return np.where(self.totals > 0, 1.0 - lowest + 1e-9 * np.abs(lowest), _NOTHING)

    def _direction(self, point: Point, enough: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute Newton's step in prices and mu, mu by conjugate gradients to a tenth of the error or to `enough`."""
        from pgsr.algorithms.m_h_regions import totals_kernel as kernels

        forest, response = self.forest, np.empty(point.below.shape)
        gain, keep, below = forest.demands(point.mu, np.zeros(len(point.mu)), point.active)
        links = forest.w, forest.parent, forest.first_child, forest.n_inner
        paid, chunks = np.empty((kernels.CHUNKS, len(point.mu))), forest.chunks(kernels.CHUNKS)
        rate = 0.5 / self.weights

        def curvature(mu: np.ndarray) -> np.ndarray:
            share(kernels.respond, *chunks, point.active, *links, keep, rate * mu, response, paid)
            return rate * (point.number * mu + paid.sum(axis=0))

        share(kernels.paid_on, *chunks, point.active, forest.first_child, forest.n_inner, below, paid)
        residual = point.missing - rate * (point.number * self._finite(point.mu) + paid.sum(axis=0))
        precondition = self._preconditioner(point.number, (gain > 0).sum(axis=0))
        mu = conjugate_gradients(curvature, precondition, residual, _FORCING, enough)
        curvature(mu)
        return below + response - point.below, mu

    def _preconditioner(self, number: np.ndarray, free: np.ndarray) -> Operator:
        """Make P of the class; `number` and `free` count the sizes at which leaves and inner regions may take more."""
        tree = self.forest.problem.hierarchy
        own = np.where(number > 0, 2.0 * self.weights / np.maximum(number, 1), 0.0)
        if tree.n_levels == 1:
            return lambda groups: own * groups
        stiffness = np.where(free > 0, 2.0 * self.forest.w[: tree.n_inner] / np.maximum(free, 1), 0.0)

        def precondition(groups: np.ndarray) -> np.ndarray:
            cost = tree.sum_up(groups)[: tree.n_inner] * stiffness
            for level in range(1, tree.n_levels - 1):
                here = tree.level(level)
                cost[here] += cost[tree.parent[here]]
            return np.where(number > 0, own * groups + cost[self._above], 0.0)

        return precondition

    def _slope(self, point: Point, below: np.ndarray, mu: np.ndarray) -> float:
        """Compute the derivative of the dual along a direction."""
        none = np.zeros(len(mu))
        slope = self.forest.slope((point.below, point.mu, none), point.active, (below, mu, none))
        return slope + float(mu @ point.missing)

    def _ascend(self, point: Point, below: np.ndarray, mu: np.ndarray, promised: float) -> Point:
        """Take a step by Armijo's rule; return the same point if rounding hides every ascent."""
        length = 1.0
        while length > _SHORTEST:
            reached = self.at(point.below + length * below, point.mu + length * mu)
            if reached.value >= point.value + 1e-4 * length * promised - _ROUNDING * abs(point.value):
                lost = (reached.number == 0) & (self.totals > 0)
                return self._projected(reached) if lost.any() else reached
            length *= 0.5
        return point

    @property
    def _above(self) -> np.ndarray:
        """The inner region above every leaf."""
        return self.forest.parent[self.forest.n_inner :]

    def _finite(self, mu: np.ndarray) -> np.ndarray:
        return np.where(self.totals > 0, mu, 0.0)


def conjugate_gradients(
    curvature: Operator, precondition: Operator, residual: np.ndarray, reduction: float, enough: float
) -> np.ndarray:
    """Solve curvature(x) = `residual` approximately, for a symmetric positive definite curvature.

    With r the residual, z = M^-1 r and p the direction: alpha = r.z / p.Ap, x += alpha p, r -= alpha Ap, and the next
    p is z + (new r.z / r.z) p. It ends when r.z has fallen by `reduction`^2, or to `enough`.

    Example:
        >>> conjugate_gradients(lambda x: np.array([2.0, 3.0]) * x, lambda x: x, np.array([2.0, 6.0]), 1e-9, 0.0)
        array([1., 2.])
    """
    x = np.zeros(len(residual))
    z = precondition(residual)
    p = z
    energy = float(residual @ z)
    end = max(reduction**2 * energy, enough)
    for _ in range(_MOST_CONJUGATE_STEPS):
        if energy <= end:
            break
        product = curvature(p)
        alpha = energy / float(p @ product)
        x = x + alpha * p
        residual = residual - alpha * product
        z = precondition(residual)
        before, energy = energy, float(residual @ z)
        p = z + energy / before * p
    return x
