"""The exact optimum of M_H, in integers or relaxed."""

import time
from dataclasses import dataclass

import numpy as np

from pgsr import memory
from pgsr.certificates import Multipliers, certify
from pgsr.estimate import Estimate
from pgsr.measurement import Totals
from pgsr.method import Result, Seconds, Status
from pgsr.nearest_tree.size_trees import RootDemand, SizeTrees, root_price
from pgsr.problem import Problem
from pgsr.views import View

RELATIVE_GAP = 1e-9
"""A relaxed answer with a larger proven gap is reported as failed."""

SLACK = 0.25
"""How far, in groups, the windows of the integers may lie off at the root, so that the last prices can be spared."""

WIDEST = 10_000
"""Windows beyond which the method gives up."""


@dataclass(frozen=True)
class TreeProjection:
    """Projects noisy counts onto consistent non-negative ones: M_H exactly, without a solver.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0 (integer),   sum_s x[root, s] = G.

    Every inner region pays its children a price per group, the dual of its consistency condition; a leaf at price p
    takes max(0, y + p / 2w). The optimal prices solve a convex piecewise linear system whose Jacobians are M-matrices,
    so Newton's method from the all-positive side decreases monotonically and ends after finitely many steps, each one
    pass up and down the trees; given the root's price every size is on its own, and that price is found by Newton's
    method on one number. The integer optimum lies near: inside windows of a few counts around the continuous one, unit
    steps are merged by cost (the paper's dynamic program on slopes), the root takes the cheapest G over all sizes, and
    the exchange test proves the answer globally optimal; else the windows are widened.

    Shapes: any depth, any number of sizes; `StreamedTreeProjection` does it in bounded memory. Complexity: O(regions x
    sizes) per Newton step, 3 to 5 of the root's with a few of the trees' each, and as much for the integers. Memory: 8
    bytes per unknown for the answer, 56 more where the region has children, and the certificate's blocks.

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
        if problem.entities is not None:
            return "TreeProjection knows no numbers of entities; EntityTotalsProjection() does, with every total"
        return None

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        reason = self.supports(problem)
        if reason is not None:
            return Result(Status.UNSUPPORTED, reason)
        if problem.contradiction is not None:
            return Result(Status.INFEASIBLE, problem.contradiction)
        reason = problem.exceeds_arithmetic
        if reason is not None:
            return Result(Status.TOO_LARGE, reason)
        memory.require(48 * problem.n_unknowns, repr(problem))
        return _solve(problem, time_limit)


def _solve(problem: Problem, time_limit: float | None) -> Result:
    start = time.perf_counter()
    trees = SizeTrees.of(problem.hierarchy, problem.target, problem.w)
    total = problem.measurement.root_total if problem.totals is not None else None
    root, below = _prices(trees, total, SLACK if problem.integer else 0.0)
    if not problem.integer:
        return _judged_relaxation(problem, trees, root, below, start)
    solved = time.perf_counter()
    width = 1
    while True:
        merged = trees.merge(below, width)
        roots = merged.root.cheapest(total)
        estimate = None if roots is None else Estimate(problem.hierarchy, View.COUNTS, merged.distribute(roots))
        certificate = None if estimate is None else certify(problem, estimate)
        seconds = Seconds(solve=solved - start, round=time.perf_counter() - solved)
        if certificate is not None and certificate.optimal:
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
        if time_limit is not None and seconds.total > time_limit:
            return Result(Status.TIMED_OUT, f"no certified optimum within {time_limit:g} s", seconds=seconds)
        if width > WIDEST:
            return Result(Status.FAILED, f"no certified optimum in windows of {width:,} counts", seconds=seconds)
        width = 2 * width + 1


def _prices(trees: SizeTrees, total: int | None, slack: float) -> tuple[float, np.ndarray]:
    """What the root is paid, and what every inner region pays its children; `slack` as in `root_price`."""
    if total == 0:  # nobody may take anything
        return trees.lowest_prices()
    below, last = trees.highest_prices(), np.inf

    def ask(root: float) -> RootDemand:
        nonlocal last
        if root > last:  # prices so far are those of a lower root price; start again from above
            below.fill(np.inf)
        last = root
        return trees.settle(root, below)

    if total is None:
        ask(0.0)
        return 0.0, below
    return root_price(ask, total, slack), below


def _judged_relaxation(problem: Problem, trees: SizeTrees, root: float, below: np.ndarray, start: float) -> Result:
    estimate = Estimate(problem.hierarchy, View.COUNTS, trees.continuous(below))
    seconds = Seconds(solve=time.perf_counter() - start)
    multipliers = Multipliers(below[: problem.hierarchy.n_inner], np.array([root]))
    certificate = certify(problem, estimate, multipliers)
    if certificate.gap is not None and certificate.gap <= RELATIVE_GAP:
        return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
    reason = f"the answer misses our tolerances: relative gap {certificate.gap}, {certificate!r}"
    return Result(Status.FAILED, reason, None, certificate, seconds)
