"""The exact optimum of M_H, in integers or relaxed."""

import time
from dataclasses import dataclass

import numpy as np

from pgsr import memory
from pgsr.certificate import Multipliers, certify
from pgsr.estimate import Estimate
from pgsr.kernels import threads_for
from pgsr.measurement import Totals
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem
from pgsr.views import View

RELATIVE_GAP = 1e-9
"""A relaxed answer with a larger proven gap is reported as failed."""

_LARGEST_VALUE = 2**50
_WIDEST = 10_000


@dataclass(frozen=True)
class TreeProjection:
    """Projects noisy counts onto consistent non-negative ones: M_H exactly, without a solver.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0 (integer),   sum_s x[root, s] = G.

    Every inner region pays its children a price per group, the dual of its consistency condition; a leaf at price p
    takes max(0, y + p / 2w). The optimal prices solve a convex piecewise linear system whose Jacobians are M-matrices,
    so Newton's method from the all-positive side decreases monotonically and ends after finitely many steps, each one
    pass up and down the trees of all sizes at once. The integer optimum lies near: inside windows of a few counts
    around the continuous one, unit steps are merged by cost (the paper's dynamic program on slopes), the root takes the
    cheapest G over all sizes, and the exchange test proves the answer globally optimal; else the windows are widened.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per Newton step, 5 to 10 of them, and as much
    for the integers. Memory: about 40 bytes per unknown.

    Ties: equal optima are common; smaller sizes and earlier regions are served first.

    Status: OPTIMAL with bound == objective, in integers; the relaxation with a Lagrangian bound from its prices.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> problem = Problem.m_h(Geometric(View.COUNTS, epsilon=4).measure(truth, Seeded("demo")))
        >>> TreeProjection().solve(problem).estimate.counts().totals[0]
        np.int64(6)

    Source: the problem and the dynamic program on cost tables, Fioretto and Van Hentenryck 2019, sections 5 to 7. Shown
    equal to exhaustive search by `tests/test_tree_projection.py::test_equals_brute_force`.
    """

    def supports(self, problem: Problem) -> str | None:
        if problem.view is not View.COUNTS or problem.monotone:
            return f"TreeProjection works on counts; {problem.label} is about the {problem.view.value} view"
        if problem.norm != 2:
            return f"TreeProjection minimises squares, {problem.label} absolute values"
        if not problem.consistent or not problem.nonnegative:
            return f"TreeProjection needs consistency and non-negativity, which {problem.label} does not state"
        if problem.totals is Totals.REGIONS:
            return "TreeProjection knows the root's total only; state the problem with totals='root'"
        return None

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.contradiction is not None:
            return Result(Status.INFEASIBLE, problem.contradiction)
        reason = too_large(problem)
        if reason is not None:
            return Result(Status.TOO_LARGE, reason)
        memory.require(48 * problem.n_unknowns, repr(problem))
        with threads_for(problem.n_unknowns):
            return self._solve(problem, time_limit)

    def _solve(self, problem: Problem, time_limit: float | None) -> Result:
        start = time.perf_counter()
        forest = Forest.of(problem)
        optimum = forest.prices()
        if not problem.integer:
            return _judged_relaxation(problem, forest, optimum, time.perf_counter() - start)
        solved = time.perf_counter()
        width = 1
        while True:
            estimate = forest.integers(optimum, width)
            certificate = None if estimate is None else certify(problem, estimate)
            seconds = Seconds(solve=solved - start, round=time.perf_counter() - solved)
            if certificate is not None and certificate.optimal:
                return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
            if time_limit is not None and seconds.total > time_limit:
                return Result(Status.TIMED_OUT, f"no certified optimum within {time_limit:g} s", seconds=seconds)
            if width > _WIDEST:
                return Result(Status.FAILED, f"no certified optimum in windows of {width:,} counts", seconds=seconds)
            width = 2 * width + 1


def too_large(problem: Problem) -> str | None:
    """Why the sums of the trees might not be exact, or None if they are."""
    largest = int(np.abs(problem.target).max()) * int(problem.w.max()) * problem.hierarchy.n_levels
    return "counts times weights exceed 2^50; scale the weights down" if largest > _LARGEST_VALUE else None


def _judged_relaxation(problem: Problem, forest: "Forest", optimum: "Prices", seconds: float) -> Result:
    start = time.perf_counter()
    estimate = forest.continuous(optimum)
    seconds += time.perf_counter() - start
    certificate = certify(problem, estimate, forest.multipliers(optimum))
    if certificate.gap is not None and certificate.gap <= RELATIVE_GAP:
        return Result(Status.OPTIMAL, "", estimate, certificate, Seconds(solve=seconds))
    reason = f"the answer misses our tolerances: relative gap {certificate.gap}, {certificate!r}"
    return Result(Status.FAILED, reason, None, certificate, Seconds(solve=seconds))


@dataclass(frozen=True, eq=False)
class Prices:
    """What every inner region pays its children, shape (sizes, inner regions), and what the root is paid."""

    below: np.ndarray
    root: float


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of all sizes as the kernels want them: values by size and region, all regions but leaves first.

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

    def prices(self) -> Prices:
        """The optimal prices, by Newton's method from the side on which all leaves are positive."""
        from pgsr.kernels import tree as kernels

        n_sizes = len(self.y)
        total = self.problem.measurement.root_total if self.problem.totals is not None else None
        missing = 0 if total is None else total - int(self.y[:, 0].sum())
        gain, offset = np.zeros((2, n_sizes, self.n_inner))
        below = np.full((n_sizes, self.n_inner), np.inf)
        if total == 0:  # nobody may take anything; prices so low that nobody wants to
            root = -2.0 * float((np.abs(self.y).max(axis=0) * self.w).sum()) - 1.0
            kernels.set_prices(
                self.w, self.parent, self.n_inner, root, gain, -self.y[:, : self.n_inner].astype(float), below
            )
            return Prices(below, root)
        slope, intercept = np.empty((2, n_sizes))
        active = np.empty(n_sizes, np.int64)
        root, n_active = 0.0, self.y.size + 1
        while True:
            self.newton_pass(below, gain, offset, slope, intercept, active)
            if active.sum() >= n_active:  # the set of positive leaves only shrinks; unchanged means solved
                return Prices(below, root)
            n_active = int(active.sum())
            if total is not None:
                root = float((missing - intercept.sum()) / slope.sum())
            kernels.set_prices(self.w, self.parent, self.n_inner, root, gain, offset, below)

    def newton_pass(self, below: np.ndarray, *out: np.ndarray) -> None:
        """Linear demands on the leaves that are positive at prices `below`; see the kernel."""
        from pgsr.kernels import tree as kernels

        kernels.newton_pass(self.y, self.w, self.first_child, self.n_inner, self.shift, below, *out)

    def multipliers(self, prices: Prices) -> Multipliers:
        n_inner = self.problem.hierarchy.n_inner
        return Multipliers(prices.below.T[:n_inner], np.array([prices.root]))

    def continuous(self, prices: Prices) -> Estimate:
        """The relaxed optimum."""
        from pgsr.kernels import tree as kernels

        x = np.empty(self.y.shape)
        kernels.continuous_point(self.y, self.w, self.first_child, self.n_inner, self.shift, prices.below, x)
        return self._estimate(x)

    def integers(self, prices: Prices, width: int) -> Estimate | None:
        """The best integers inside windows around the relaxed optimum; None if their root cannot reach the total."""
        from pgsr.kernels import tree as kernels

        shape = (len(self.y), self.n_inner)
        center = np.empty(shape)
        low, length = np.empty((2, *shape), np.int64)
        steps = np.empty((*shape, 2 * width + 1), np.int64)
        fixed = (self.y, self.w, self.first_child, self.n_inner, prices.below, width)
        kernels.merge_steps(*fixed, center, low, length, steps)
        x = np.empty(self.y.shape, np.int64)
        roots = self._cheapest(low[:, 0], length[:, 0], steps[:, 0])
        if roots is None:
            return None
        x[:, 0] = roots
        kernels.distribute(*fixed, low, length, steps, x)
        return self._estimate(x)

    def _cheapest(self, low: np.ndarray, length: np.ndarray, steps: np.ndarray) -> np.ndarray | None:
        """Root counts per size: the cheapest steps over all sizes, up to the total or all that pay."""
        offered = np.arange(steps.shape[1]) < length[:, None]
        size, step = np.nonzero(offered)
        costs = steps[offered] + self.w[0] * (2 * (low[size] + step - self.y[size, 0]) + 1)
        if self.problem.totals is None:
            return low + np.bincount(size[costs < 0], minlength=len(low))
        missing = self.problem.measurement.root_total - int(low.sum())
        if not 0 <= missing <= len(costs):
            return None
        taken = size[np.argsort(costs, kind="stable")[:missing]]
        return low + np.bincount(taken, minlength=len(low))

    def _estimate(self, x: np.ndarray) -> Estimate:
        n_regions = self.problem.hierarchy.n_regions
        return Estimate(self.problem.hierarchy, View.COUNTS, np.ascontiguousarray(x.T[-n_regions:]))
