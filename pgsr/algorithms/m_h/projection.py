"""The exact optimum of M_H, in integers or relaxed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pgsr.algorithms.m_h.by_flow import needs_flow, optimum_by_flow, refused_by_flow
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.rounded_reals import is_proved, missed
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.nearest_tree.bounded_prices import bounded_prices
from pgsr.engines.nearest_tree.bounds import CellBounds
from pgsr.engines.nearest_tree.exchange import LARGEST_SLOPE
from pgsr.engines.nearest_tree.integers import LARGEST as ALWAYS_SMALL
from pgsr.engines.nearest_tree.integers import SLACK, WIDEST, optimal_prices, widening
from pgsr.engines.nearest_tree.size_trees import SizeTrees
from pgsr.engines.nearest_tree.variance_passes import are_far_apart, settled
from pgsr.errors import TooLargeError
from pgsr.methods.gate import Deadline, GatedMethod, Stopped, Taken, refused_squares, require_possible_totals
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem


@dataclass(frozen=True)
class TreeProjection(GatedMethod):
    """Projects noisy counts onto consistent non-negative ones: M_H exactly, without a solver.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0 (integer),   sum_s x[root, s] = G,
                    lower[r, s] <= x[r, s] <= upper[r, s] where `Problem.where` states bounds;
                    or sum_s x[r, s] = G[r] in every region r, or sizes of their own on every level, in integers.

    Newton's method finds the prices of consistency and total. The integer optimum lies near: unit steps in windows
    around the relaxed one are merged by cost, and the exchange test proves the answer, or windows are widened
    (docs/derivations/m_h.md). With bounds breakpoints are merged instead. With every region's total or sizes
    per level the problem is a flow (`pgsr.algorithms.m_h_flow`, docs/derivations/m_h_levels.md). Fixed totals of some
    regions are for `RegionTotalsProjection`; what else `where` states is refused.

    Shapes: any depth, any number of sizes; `StreamedLevelTreeProjection` works in parts. Complexity: O(regions x sizes)
    per Newton step, some ten of them. Memory: 8 bytes per unknown for the answer, 56 more where the region has
    children, with bounds 80 more and 48 per level, and the certificate's blocks.

    Ties: equal optima are common; smaller sizes and earlier regions are served first.

    Status: OPTIMAL with bound == objective, in integers; INFEASIBLE where bounds and total contradict each other; the
    relaxation with a Lagrangian bound from its prices, or FAILED where counts from about 1e9 up leave a gap above 1e-9.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> problem = Problem.m_h(Geometric(View.COUNTS, epsilon=4).measure(truth, Seeded("demo")))
        >>> TreeProjection().solve(problem).estimate.counts().totals[0]
        np.int64(6)

    Source: the problem and the dynamic program on cost tables, Fioretto and Van Hentenryck 2019, sections 5 to 7. Shown
    equal to exhaustive search by `test_m_h_projection.py::test_equals_brute_force`.
    """

    conditions_taken: ClassVar[Taken] = Taken.BOUNDS
    sizes_per_level: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        reason = refused_squares(problem, "TreeProjection", View.COUNTS)
        return refused_by_flow(problem) if reason is None and needs_flow(problem) else reason

    def exceeds(self, problem: Problem) -> str | None:
        if problem.integer and not needs_flow(problem):
            return problem.exceeds_beside(1)  # slopes, in which weights meet differences, are looked at once known
        return problem.exceeds_arithmetic

    def bytes_needed(self, problem: Problem) -> int:
        if needs_flow(problem):
            return 200 * problem.n_unknowns
        if problem.conditions is None:
            return 48 * problem.n_unknowns
        return (80 + 48 * max(1, problem.hierarchy.n_levels - 1)) * problem.n_unknowns  # breakpoints of every level

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        if needs_flow(problem):
            return _by_flow(problem, deadline)
        total = problem.root_total if problem.totals is not None else None
        trees, root, below = _priced_trees(problem, total)
        if not problem.integer:
            return _judged_relaxation(problem, trees, root, below, deadline)
        _require_small_slopes(problem, trees, below)
        solved = deadline.spent
        for x in widening(trees, below, total):
            estimate = None if x is None else Estimate(problem.hierarchy, View.COUNTS, x)
            certificate = None if estimate is None else certify(problem, estimate)
            if certificate is not None and certificate.optimal:
                seconds = Seconds(solve=solved, round=deadline.spent - solved)
                return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
            deadline.check("no certified optimum")
        return Result(Status.FAILED, f"no certified optimum in windows of {WIDEST:,} counts")


def _require_small_slopes(problem: Problem, trees: SizeTrees, below: np.ndarray) -> None:
    """Raise `TooLargeError` if costs of units near the relaxed answer, added up along a branch, may leave 64 bits.

    A cost is w (2 (x - y) + 1): a large weight needs no small counts, but an answer that is near to them.
    """
    tree, y, w = problem.hierarchy, problem.target, problem.w
    largest = max(int(np.abs(y).max(initial=0)), *(() if problem.totals is None else (problem.root_total,)), 1)
    if largest * int(w.max()) * tree.n_levels <= ALWAYS_SMALL:
        return
    off = np.abs(trees.continuous(below) - y).max(axis=1)
    if float((w * (2.0 * off + 4.0)).max()) * tree.n_levels > LARGEST_SLOPE:
        raise TooLargeError(
            "weights times differences between counts and an answer exceed 2^58; scale the weights down, or hold "
            "counts of large weight by where"
        )


def _by_flow(problem: Problem, deadline: Deadline) -> Result:
    require_possible_totals(problem)
    estimate, prices = optimum_by_flow(problem, deadline)
    seconds = Seconds(solve=deadline.spent)
    certificate = certify(problem, estimate, prices)
    if certificate.optimal:
        return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=prices)
    reason = f"the flow's own prices do not prove it: {certificate!r}"
    return Result(Status.FAILED, reason, None, certificate, seconds, refused=estimate)


def _priced_trees(problem: Problem, total: int | None) -> tuple[SizeTrees, float, np.ndarray]:
    """Find the trees of all sizes, the root's price, and the prices of inner regions, shape (inner regions, sizes)."""
    tree, y, conditions = problem.hierarchy, problem.target, problem.conditions
    slack = SLACK if problem.integer else 0.0
    if conditions is None:
        trees = SizeTrees.of(tree, y, problem.w, None)
        return trees, *optimal_prices(trees, total, slack)
    bounds = conditions.lower.reshape(y.shape), conditions.upper.reshape(y.shape)
    intervals = CellBounds.of(tree, *bounds, downwards=problem.integer)
    reason = intervals.contradiction(tree, total, *bounds)
    if reason is not None:
        raise Stopped(Status.INFEASIBLE, reason)
    trees = SizeTrees.of(tree, y, problem.w, intervals)
    return trees, *bounded_prices(trees, intervals.clipped, total, slack)


def _judged_relaxation(
    problem: Problem, trees: SizeTrees, root: float, below: np.ndarray, deadline: Deadline
) -> Result:
    tree, x = problem.hierarchy, trees.continuous(below)
    prices = below[: tree.n_inner]
    if problem.conditions is None and tree.n_levels > 1 and are_far_apart(problem.w):
        x, prices = settled(tree, problem.target, problem.w, x, root)
    estimate = Estimate(tree, View.COUNTS, x)
    seconds = Seconds(solve=deadline.spent)
    multipliers = Multipliers(prices, np.array([root]))
    certificate = certify(problem, estimate, multipliers)
    if is_proved(problem, estimate, certificate):
        return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=multipliers)
    reason = missed(problem, estimate, certificate, "TreeProjection()")
    return Result(Status.FAILED, reason, None, certificate, seconds)
