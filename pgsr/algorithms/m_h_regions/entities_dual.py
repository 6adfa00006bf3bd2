"""The dual of M_H with every region's total and number of entities, and its maximum by Newton's method."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_h_regions.forest import Forest
from pgsr.algorithms.m_h_regions.totals_dual import conjugate_gradients
from pgsr.certificates import Multipliers
from pgsr.data.estimate import Estimate
from pgsr.machine.parallel import share
from pgsr.methods.gate import NO_LIMIT, Deadline
from pgsr.problems.problem import Problem

_FORCING = 0.1
_MOST_STEPS = 100
_SHORTEST = 2.0**-40
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the dual: prices, the best multipliers of all leaves at these, and the dual there.

    Attributes:
        below: what every inner region pays its children, shape (sizes, inner regions).
        mu, nu: what every leaf is paid besides, per group and per entity, shape (leaves,) each.
        active: 1 where a leaf is positive, shape (sizes, leaves), uint8.
        number: sums of 1, s and s^2 over these sizes, shape (3, leaves).
        missing: G - sum of y and E - sum of s y over these sizes, shape (2, leaves), exact.
        value: the dual.
    """

    below: np.ndarray
    mu: np.ndarray
    nu: np.ndarray
    active: np.ndarray
    number: np.ndarray
    missing: np.ndarray
    value: float


@dataclass(frozen=True, eq=False)
class EntityDual:
    """The dual of `EntityTotalsProjection`'s problem in the prices alone, D(p) = max over mu, nu of D(p, mu, nu).

    For given prices every leaf is on its own: y + p / 2w projected onto {x >= 0, sum x = G, sum s x = E}, a problem in
    two unknowns that is solved exactly. So D is concave, piecewise quadratic and once differentiable.

    On a fixed set of positive cells the joint dual is a quadratic. Given mu and nu its best prices follow from one pass
    up and down the trees; what is left is a system S (dmu, dnu) = r of two unknowns per leaf, solved by conjugate
    gradients as in `totals_dual.Dual`: S times a vector is such a pass, too. In network terms S^-1 says what it
    costs to send r[l] = (groups, entities) more through leaf l. If they were spread as evenly as they can be over the
    sizes at which a region is free to take some, that would be

        (P r)[l] = 2 w[l] N[l]^-1 r[l]  +  sum over regions a above l of  2 w[a] N[a]^-1 (sum of r over leaves below a),

    where N is the 2 x 2 matrix of the sums of 1, s and s^2 over these sizes; it preconditions. With all leaves positive
    at all sizes P is the inverse of S.

    N is singular where a leaf has all its groups at one size. Leaves are projected at every point, so residuals lie in
    the range of S, conjugate gradients stay there, and N^-1 may be the pseudo-inverse. Armijo's rule shortens steps in
    p, and leaves are projected anew at each.

    Complexity: O(regions x sizes) per step of either kind.
    """

    forest: Forest
    totals: np.ndarray
    entities: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "EntityDual":
        assert problem.entities is not None
        leaves = problem.hierarchy.leaves
        # Copies, because compiled loops tell read-only arrays from others and would be compiled twice.
        totals, entities = problem.region_totals[leaves].copy(), problem.entities[leaves].copy()
        if problem.hierarchy.n_levels == 1:
            totals, entities = problem.region_totals[:1].copy(), problem.entities[:1].copy()
        return cls(Forest.of(problem), totals, entities, problem.w[leaves].astype(float))

    def start(self) -> Point:
        """Make the starting point: every leaf alone, projected onto its total and its entities."""
        nothing = np.zeros(len(self.totals))
        return self.at(np.zeros((len(self.forest.y), self.forest.n_inner)), nothing, nothing)

    def maximum(self, point: Point, tolerance: float, deadline: Deadline = NO_LIMIT) -> Point:
        """Find the maximum by Newton's method.

        It ends when the next step promises to gain less than `tolerance`, relative to the value, or when rounding hides
        every ascent.
        """
        for _ in range(_MOST_STEPS):
            deadline.check("no proved optimum")
            enough = tolerance * max(1.0, abs(point.value))
            below, mu, nu = self._direction(point, 1e-2 * enough)
            promised = 0.5 * self._slope(point, below)
            reached = self._ascend(point, below, mu, nu, promised)
            if promised <= enough or reached is point:
                return reached
            point = reached
        return point

    def estimate(self, point: Point) -> Estimate:
        """Compute the counts of the leaves at a point, and their sums."""
        return self.forest.continuous(point.below, point.mu, point.nu, point.active)

    def multipliers(self, point: Point) -> Multipliers:
        """Make the multipliers of the problem; a leaf without groups gets the highest mu at which it takes none."""
        forest, tree = self.forest, self.forest.problem.hierarchy
        totals, entities = np.zeros((2, tree.n_regions))
        totals[tree.leaves], entities[tree.leaves] = point.mu, point.nu
        for leaf in np.flatnonzero(self.totals == 0):
            region = forest.n_inner + leaf
            wanted = point.below[:, forest.parent[region]] + 2.0 * self.weights[leaf] * forest.y[:, region]
            totals[tree.leaves.start + leaf] = -max(0.0, float(wanted.max()))
        return Multipliers(point.below.T[: tree.n_inner], totals, entities)

    def at(self, below: np.ndarray, mu: np.ndarray, nu: np.ndarray) -> Point:
        """Evaluate the dual at these prices, with leaves projected onto their totals from these multipliers on."""
        from pgsr.algorithms.m_h_regions import entities_kernel as kernels

        forest, n_leaves = self.forest, len(self.totals)
        mu, nu, value = mu.copy(), nu.copy(), np.empty(len(below))
        active = np.empty((len(below), n_leaves), np.uint8)
        number, missing = np.empty((3, n_leaves)), np.empty((2, n_leaves), np.int64)
        start = forest.y, forest.w, forest.parent, forest.n_inner, below, self.totals, self.entities
        share(kernels.project_leaves, range(n_leaves), len(below), *start, mu, nu, active, number, missing)
        links = forest.y, forest.w, forest.parent, forest.first_child, forest.n_inner
        share(kernels.evaluate, *forest.sizes, *links, below, mu, nu, active, value)
        return Point(below, mu, nu, active, number, missing, float(value.sum() + mu @ missing[0] + nu @ missing[1]))

    def _direction(self, point: Point, enough: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute Newton's step; multipliers by conjugate gradients to a tenth of the error or to `enough`."""
        from pgsr.algorithms.m_h_regions import entities_kernel as kernels

        forest, n_leaves, response = self.forest, len(self.totals), np.empty(point.below.shape)
        gain, keep, below = forest.demands(point.mu, point.nu, point.active)
        links = forest.w, forest.parent, forest.first_child, forest.n_inner
        paid, chunks = np.empty((kernels.CHUNKS, 2, n_leaves)), forest.chunks(kernels.CHUNKS)
        rate, n = 0.5 / self.weights, point.number

        def on_leaves(mu: np.ndarray, nu: np.ndarray) -> np.ndarray:
            return rate * (np.stack([n[0] * mu + n[1] * nu, n[1] * mu + n[2] * nu]) + paid.sum(axis=0))

        def curvature(change: np.ndarray) -> np.ndarray:
            mu, nu = change.reshape(2, -1)
            share(kernels.respond, *chunks, point.active, *links, keep, rate * mu, rate * nu, response, paid)
            return on_leaves(mu, nu).ravel()

        share(kernels.paid_on, *chunks, point.active, forest.first_child, forest.n_inner, below, paid)
        residual = (point.missing - on_leaves(point.mu, point.nu)).ravel()
        change = conjugate_gradients(curvature, self._preconditioner(point, gain > 0), residual, _FORCING, enough)
        curvature(change)
        mu, nu = change.reshape(2, -1)
        return below + response - point.below, mu, nu

    def _preconditioner(self, point: Point, free: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Make P of the class; `free`, (sizes, inner regions), says where inner regions may take more."""
        tree = self.forest.problem.hierarchy
        own = _Spread.of(point.number, self.weights)
        if tree.n_levels == 1:
            return lambda change: own(change.reshape(2, -1)).ravel()
        sizes = np.arange(len(free), dtype=float)
        inner = _Spread.of(np.stack([np.ones(len(free)), sizes, sizes**2]) @ free, self.forest.w[: tree.n_inner])
        above = self.forest.parent[self.forest.n_inner :]

        def precondition(change: np.ndarray) -> np.ndarray:
            groups = change.reshape(2, -1)
            cost = inner(tree.sum_up(groups.T)[: tree.n_inner].T)
            for level in range(1, tree.n_levels - 1):
                here = tree.level(level)
                cost[:, here] += cost[:, tree.parent[here]]
            return np.where(point.number[0] > 0, own(groups) + cost[:, above], 0.0).ravel()

        return precondition

    def _slope(self, point: Point, step: np.ndarray) -> float:
        """Compute the derivative along a step of the prices alone, because projected leaves set their multipliers."""
        none = np.zeros(len(self.totals))
        return self.forest.slope((point.below, point.mu, point.nu), point.active, (step, none, none))

    def _ascend(self, point: Point, below: np.ndarray, mu: np.ndarray, nu: np.ndarray, promised: float) -> Point:
        """Take a step by Armijo's rule; return the same point if rounding hides every ascent."""
        length = 1.0
        while length > _SHORTEST:
            reached = self.at(point.below + length * below, point.mu + length * mu, point.nu + length * nu)
            if reached.value >= point.value + 1e-4 * length * promised - _ROUNDING * abs(point.value):
                return reached
            length *= 0.5
        return point


@dataclass(frozen=True, eq=False)
class _Spread:
    """The matrices 2 w N^-1 of many regions: the pseudo-inverse where one size only is free, 0 where none is.

    Attributes:
        mean: mean of the free sizes.
        of_groups: 2 w / n, what one more group costs.
        of_size: 2 w / sum of (s - mean)^2, what one more entity costs.
        scale: 1, or for a single size s what makes (1, s) of length 1.
    """

    mean: np.ndarray
    of_groups: np.ndarray
    of_size: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, number: np.ndarray, weights: np.ndarray) -> "_Spread":
        n, first, second = number
        mean = first / np.maximum(n, 1)
        spread = np.where(n > 1, second - mean * first, 1.0)
        return cls(
            mean,
            np.where(n > 0, 2.0 * weights / np.maximum(n, 1), 0.0),
            np.where(n > 1, 2.0 * weights / spread, 0.0),
            np.where(n > 1, 1.0, 1.0 / (1.0 + mean**2)),
        )

    def __call__(self, more: np.ndarray) -> np.ndarray:
        """Multiply with (groups, entities), shape (2, regions)."""
        groups, entities = more
        sloped = self.of_size * (entities - self.mean * groups)
        level = self.of_groups * groups - self.mean * sloped
        single = self.of_groups * self.scale**2 * (groups + self.mean * entities)
        one = self.of_size == 0.0
        return np.stack([np.where(one, single, level), np.where(one, self.mean * single, sloped)])
