"""The relaxed optimum of M_c, proved: Newton's method on the prices of consistency."""

import math
import time
from dataclasses import dataclass

import numpy as np

from pgsr import memory
from pgsr.certificate import Multipliers, certify, objective
from pgsr.errors import MethodError
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.kernels import threads_for
from pgsr.measurement import Totals
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem
from pgsr.rounding import nearest
from pgsr.views import View

_LARGEST_VALUE = 2**45
_LEAVES_PER_CHUNK = 64
_CG_STEPS = 80
_CG_RESIDUAL = 0.2
"""Loose on purpose: far from the optimum tight Newton directions are slower, and not better."""

_ARMIJO = 1e-4
_HALVINGS = 40
_PATIENCE = 200
"""Newton steps without halving the gap after which the answer is left as it is."""

_GAP = 1e-9


@dataclass(frozen=True)
class CumulativeProjection:
    """Projects noisy cumulative counts onto consistent monotone ones: the relaxed M_c, globally, without a solver.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    Only consistency is dualised, with prices p[r, s] at inner regions (p = 0 above the root). For given prices every
    region is on its own,

        D(p) = sum over leaves l of         min over monotone 0 <= x  of  w[l] |x - y[l]|^2 - p[parent] . x
             + sum over inner regions r of  min over c                of  w[r] |c - y[r]|^2 + (p[r] - p[parent]) . c,

    an isotonic regression of y[l] + p[parent] / 2 w[l], clipped to 0..G[l] if that is public, and a closed form. D is
    concave and piecewise quadratic, and D(p) is a lower bound whatever p is. Its gradient is c[r] minus the sum of the
    children's values; minus its Hessian is a tree of weights 1 / 2w plus the averaging over the blocks of the isotonic
    regressions, so that a product costs the number of blocks, a hundredth of the number of cells. Newton directions are
    found by conjugate gradients, loosely, with the tree itself as preconditioner (averaging replaced by its diagonal).
    The leaves at these prices, scaled to the public total and added upwards, are feasible.

    An inner region of weight 0 forces its price to equal its parent's (0 at the root, but for a cell fixed at G), so it
    is taken out exactly: its children become its parent's.

    Args:
        gap: relative gap (objective - bound) / max(1, bound) at which an answer counts as optimal.

    Returns for an integer problem the relaxed optimum with every cumulative count rounded to the nearest integer, as
    the paper does for M_c^r; regions may then not add up.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per Newton step, 10 to 20 of them. Memory:
    about 24 bytes per cell of a leaf and 110 per cell of an inner region.

    Status: OPTIMAL, with a Lagrangian bound from the prices; FEASIBLE where rounding, or weights that differ by orders
    of magnitude, keep the gap above `gap`; RELAXED for an integer problem; TIMED_OUT (checked between Newton steps),
    which says the gap reached.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> result = CumulativeProjection().solve(Problem.m_c(noisy).relaxed())
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>
        >>> print(f"{result.estimate.values[0, -1]:.6f}")
        6.000000

    Source: the problem, Fioretto and Van Hentenryck 2019, section 8. Shown equal to an interior-point solver by
    `tests/test_cumulative_projection.py::test_equals_clarabel`.
    """

    gap: float = _GAP

    def __post_init__(self) -> None:
        if isinstance(self.gap, bool) or not isinstance(self.gap, int | float) or not 0 < self.gap < math.inf:
            raise MethodError(f"gap={self.gap!r} is not a positive number; give a relative gap such as 1e-9")

    def supports(self, problem: Problem) -> str | None:
        if problem.view is not View.CUMULATIVE:
            return f"CumulativeProjection works on cumulative counts; {problem.label} is about {problem.view.value}"
        if problem.norm != 2:
            return f"CumulativeProjection minimises squares, {problem.label} absolute values"
        if not problem.monotone or not problem.consistent or not problem.nonnegative:
            return f"CumulativeProjection needs consistency, order and signs, which {problem.label} does not all state"
        return None

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        start = time.perf_counter()
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.contradiction is not None:
            return Result(Status.INFEASIBLE, problem.contradiction)
        largest = max(int(np.abs(problem.target).max()), int(problem.measurement.totals.max()))
        if largest > _LARGEST_VALUE:
            return Result(Status.TOO_LARGE, "cumulative counts exceed 2^45, so their fractions have too few digits")
        n_inner = problem.hierarchy.n_inner * problem.target.shape[1]
        memory.require(110 * n_inner + 24 * (problem.n_unknowns - n_inner), repr(problem))
        with threads_for(problem.n_unknowns):
            return self._solve(problem, time_limit, start)

    def _solve(self, problem: Problem, time_limit: float | None, start: float) -> Result:
        dual = _Dual(problem)
        answer = _maximise(dual, self.gap / 2, None if time_limit is None else start + time_limit)
        solved = time.perf_counter()
        prices = dual.multipliers(answer.point)
        estimate = Estimate(problem.hierarchy, View.CUMULATIVE, answer.x)
        certificate = certify(problem.relaxed(), estimate, prices)
        seconds = Seconds(solve=solved - start)
        reached = f"relative gap {certificate.gap:.1e}" if certificate.gap is not None else repr(certificate)
        if certificate.gap is None:
            return Result(Status.FAILED, f"the answer misses our tolerances: {reached}", None, certificate, seconds)
        if certificate.gap > self.gap and answer.timed_out:
            reason = f"{reached} after {time_limit:g} s and {answer.steps} Newton steps, {self.gap:g} was asked for"
            return Result(Status.TIMED_OUT, reason, None, certificate, seconds)
        if not problem.integer:
            if certificate.gap <= self.gap:
                return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=prices)
            return Result(Status.FEASIBLE, f"Newton's method stopped at a {reached}", estimate, certificate, seconds)
        certified = time.perf_counter()
        rounded = Estimate(problem.hierarchy, View.CUMULATIVE, nearest(answer.x))
        seconds = Seconds(solve=solved - start, round=time.perf_counter() - certified)
        reason = f"relaxation solved to a {reached}, then every cumulative count rounded to the nearest integer"
        certificate = certify(problem, rounded, prices)
        return Result(Status.RELAXED, reason, rounded, certificate, seconds, multipliers=prices)

    def __repr__(self) -> str:
        return "CumulativeProjection()" if self.gap == _GAP else f"CumulativeProjection(gap={self.gap:g})"


@dataclass(frozen=True, eq=False)
class _Point:
    """Prices, shape (nodes, cells), with the dual's value and gradient there, and the leaves' part of the objective."""

    prices: np.ndarray
    value: float
    gradient: np.ndarray
    leaves: float


@dataclass(frozen=True, eq=False)
class _Answer:
    """A feasible x, shape (regions, K + 1), and the prices it comes from."""

    x: np.ndarray
    point: _Point
    steps: int
    timed_out: bool


def _maximise(dual: "_Dual", gap: float, deadline: float | None) -> _Answer:
    """Newton's method until a feasible point is within the relative gap, time is up, or there is no progress."""
    point, steps, stuck = dual.at(np.zeros(dual.shape)), 0, False
    best, since = math.inf, 0
    while True:
        late = deadline is not None and time.perf_counter() > deadline
        estimated = dual.estimated_gap(point)
        if late or stuck or estimated <= gap:
            x, reached = dual.feasible(point)
            if late or stuck or reached - point.value <= gap * max(1.0, point.value):
                return _Answer(x, point, steps, late)
        if estimated < best / 2:
            best, since = estimated, steps
        following = dual.better(point)
        stuck = following is None or steps - since > _PATIENCE
        point, steps = following or point, steps + 1


class _Dual:
    """The dual of one problem on the tree without inner regions of weight 0.

    Nodes are the regions that have a price, m of them in level order, the root first (a lone region gets a root of
    weight 0 above it). Cells are the n that are not fixed in every region: the last one is not among them where
    everybody's total is public; where the root's alone is, it is `held` at the root.

    `rate` is 1 / 2w of the nodes, or 0 where w is 0. `residual` is y of a node minus the sum of its children's y, and
    `constant` the objective of fixed cells. Before cell `first_free` the root's price is 0 since its weight is.
    """

    def __init__(self, problem: Problem) -> None:
        tree, w, y, public = problem.hierarchy, problem.w, problem.target, problem.measurement
        lone = tree.n_levels == 1
        self.problem = problem
        self.everywhere = problem.totals is Totals.REGIONS or (lone and problem.totals is Totals.ROOT)
        self.held = problem.totals is Totals.ROOT and not lone
        self.n = y.shape[1] - self.everywhere
        kept, self.node_of, self.leaf_node = _contracted(tree, w)
        m = max(1, len(kept))
        self.shape = (m, self.n)
        self.weight = np.zeros(1) if lone else w[kept].astype(float)
        self.rate = np.divide(0.5, self.weight, out=np.zeros(m), where=self.weight > 0)
        self.parent = np.append(-1, self.node_of[tree.parent[kept[1:]]])
        self.y = np.ascontiguousarray(y[tree.leaves])
        self.leaf_weight = w[tree.leaves].astype(float)
        self.upper = np.full(len(self.y), np.inf)
        own = np.zeros(self.shape, np.int64) if lone else y[kept, : self.n]
        self.constant = 0.0
        if self.everywhere:
            self.upper[:] = public.totals[tree.leaves]
            self.constant = float((w * (public.totals - y[:, -1]).astype(float) ** 2).sum())
        elif self.held:
            own[0, -1] = public.root_total
            self.constant = float(w[0]) * float(public.root_total - int(y[0, -1])) ** 2
        self.first_free = 0 if self.weight[0] > 0 else self.n - self.held

        self.child = 1 + np.argsort(self.parent[1:], kind="stable")
        self.child_from = np.searchsorted(self.parent[self.child], np.arange(m + 1))
        start = _chunk_starts(self.leaf_node)
        order = np.argsort(self.leaf_node[start], kind="stable")
        self.chunk_node = self.leaf_node[start][order]
        self.chunk_start, self.chunk_stop = start[order], np.append(start[1:], len(self.y))[order]
        self.chunk_from = np.searchsorted(self.chunk_node, np.arange(m + 1))
        self.residual = own.copy()
        np.subtract.at(self.residual, self.parent[1:], own[1:])
        np.subtract.at(self.residual, self.leaf_node[start], np.add.reduceat(self.y[:, : self.n], start, axis=0))

        self.edges = np.tile(np.arange(self.n + 1, dtype=np.int32), (len(self.y), 1))
        self.inside = np.tile(np.array([0, self.n, self.n], np.int32), (len(self.y), 1))
        self.change = np.empty((len(start), self.n))

    def at(self, prices: np.ndarray) -> _Point:
        """The dual at these prices; the leaves' blocks are kept for `better`."""
        from pgsr.kernels import cumulative as kernels

        m, n = self.shape
        cost, value = np.zeros(len(self.chunk_node)), np.zeros(m)
        leaves = (self.y, self.upper, self.leaf_weight)
        chunks = (self.chunk_node, self.chunk_start, self.chunk_stop)
        kernels.fit_leaves(*leaves, prices, *chunks, n, self.edges, self.inside, self.change, cost)
        gradient = np.empty(self.shape)
        tree = (self.rate, self.parent, self.child_from, self.child, self.chunk_from)
        with threads_for(prices.size):
            kernels.gradient(self.residual, *tree, self.change, self.first_free, self.held, prices, gradient, value)
        spent = float(cost.sum())
        return _Point(prices, spent + float(value.sum()) + self.constant, gradient, spent)

    def estimated_gap(self, point: _Point) -> float:
        """About the relative gap of `feasible`, without forming it: exact but for the step to the public total."""
        from pgsr.kernels import cumulative as kernels

        cost, beyond = np.zeros(self.shape[0]), np.empty(self.shape)
        nodes = (self.rate, self.weight, self.parent, self.held)
        with threads_for(beyond.size):
            kernels.node_costs(*nodes, point.prices, point.gradient, beyond, cost)
        gap = abs(point.leaves + float(cost.sum()) + self.constant - point.value)
        if self.held:
            gap += abs(float(point.prices[0, -1] * beyond[0, -1]))
        return gap / max(1.0, point.value)

    def feasible(self, point: _Point) -> tuple[np.ndarray, float]:
        """The leaves at these prices, brought to the public total and added upwards; and their objective."""
        from pgsr.kernels import cumulative as kernels

        tree, public = self.problem.hierarchy, self.problem.measurement
        x = np.empty(self.problem.target.shape)
        leaves = x[tree.leaves]
        fits = (self.y, self.upper, self.leaf_weight, point.prices, self.leaf_node, self.n, self.edges, self.inside)
        kernels.leaf_values(*fits, leaves)
        if self.held:
            have = float(leaves[:, -1].sum())
            missing = public.root_total - have
            if missing >= 0:
                leaves[:, -1] += missing / self.leaf_weight / (1.0 / self.leaf_weight).sum()
            else:
                np.minimum(leaves, leaves[:, -1:] * (public.root_total / have), out=leaves)
        for level in range(tree.n_levels - 2, -1, -1):
            x[tree.level(level)] = tree.sum_children(x, level)
        if self.everywhere:
            x[:, -1] = public.totals
        return x, float(objective(self.problem, Estimate(tree, View.CUMULATIVE, x)))

    def better(self, point: _Point) -> _Point | None:
        """The next point of Newton's method; None if rounding allows no ascent."""
        with threads_for(point.prices.size):
            direction = self._direction(point.gradient)
        slope = float(np.vdot(point.gradient, direction))
        if not slope > 0.0:
            return None
        step = 1.0
        for _ in range(_HALVINGS):
            trial = self.at(point.prices + step * direction)
            end = float(np.vdot(trial.gradient, direction))
            # D is concave, so it rose by step * end at least: this decides where differences of D are lost in rounding.
            if end >= _ARMIJO * slope or trial.value >= point.value + _ARMIJO * step * slope:
                return trial
            step *= min(max(slope / (slope - end), 0.1), 0.7)
        return None

    def _direction(self, gradient: np.ndarray) -> np.ndarray:
        """An approximate Newton direction by preconditioned conjugate gradients."""
        from pgsr.kernels import cumulative as kernels

        pivot, product, direction = np.empty((3, *self.shape))
        leaves = (self.edges, self.inside, self.leaf_weight)
        chunks = (self.chunk_from, self.chunk_start, self.chunk_stop)
        root = (self.first_free, self.held)
        ridge = kernels.factor(*leaves, self.rate, self.parent, *chunks, *root, pivot)
        x, rest = np.zeros(self.shape), gradient.copy()
        solve = (self.rate, self.parent, pivot)
        direction[:], product[:] = 0.0, 0.0
        norm = first = kernels.precondition(*solve, 0.0, direction, product, x, rest, product)
        direction[:] = product
        for _ in range(_CG_STEPS):
            curvature = kernels.multiply(
                *leaves, self.rate, self.parent, self.child_from, self.child, *chunks, *root, ridge, direction, product
            )
            if not curvature > 0.0:
                break
            before, step = norm, norm / curvature
            norm = kernels.precondition(*solve, step, direction, product, x, rest, product)
            if norm <= _CG_RESIDUAL**2 * first:
                break
            direction *= norm / before
            direction += product
        return x

    def multipliers(self, point: _Point) -> Multipliers:
        """The prices of all inner regions: those taken out have their parent's."""
        n_inner, public = self.problem.hierarchy.n_inner, self.problem.measurement
        prices = np.zeros((n_inner, self.problem.target.shape[1]))
        prices[:, : self.n] = point.prices[self.node_of]
        n_totals = {None: 0, Totals.ROOT: 1}.get(self.problem.totals, len(public.totals))
        return Multipliers(prices, np.zeros(n_totals))


def _contracted(tree: Hierarchy, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The inner regions that are nodes, the node of every inner region, and that above every leaf."""
    if tree.n_levels == 1:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64)
    is_node = w[: tree.n_inner] > 0
    is_node[0] = True
    node_of = np.cumsum(is_node) - 1
    for level in range(1, tree.n_levels - 1):
        here = tree.level(level)
        node_of[here] = np.where(is_node[here], node_of[here], node_of[tree.parent[here]])
    return np.flatnonzero(is_node), node_of, node_of[tree.parent[tree.leaves]]


def _chunk_starts(leaf_node: np.ndarray) -> np.ndarray:
    """Where chunks of leaves begin: at a new node, and after so many of one."""
    new = np.append(True, leaf_node[1:] != leaf_node[:-1])
    runs = np.flatnonzero(new)
    position = np.arange(len(leaf_node)) - np.repeat(runs, np.diff(np.append(runs, len(leaf_node))))
    return np.flatnonzero(position % _LEAVES_PER_CHUNK == 0)
