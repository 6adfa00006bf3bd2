"""The integer M_c: a proved relaxed optimum, made integer from the root down by min-cost flows."""

from dataclasses import dataclass, field

import numpy as np

from pgsr.algorithms.m_c import CumulativeProjection
from pgsr.certificates import certify
from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.methods.gate import Deadline, GatedMethod, Stopped
from pgsr.methods.method import Method, Result, Seconds, Status
from pgsr.models.optional import load, not_installed
from pgsr.models.top_down import integers_top_down
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_BYTES_PER_CELL = 50
"""The memory of the real and the integer values and the certificate, besides what `around` needs."""


@dataclass(frozen=True)
class CumulativeFlow(GatedMethod):
    """Finds consistent monotone integers next to noisy cumulative counts: the integer M_c, with a proven gap.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   x integer,
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    1. `around` solves the relaxation, and gives the prices of its dual.
    2. The root's values are rounded to the nearest integers: near the optimum the first order of the objective vanishes
       in directions that the regions below can follow.
    3. From the root down every inner region shares its integers among its children by a min-cost flow; see
       `pgsr.models.top_down`.

    Always feasible, by construction. Near the optimum below each fixed parent (at it, with `exact`); a heuristic
    for the whole: on tiny three-level instances at epsilon 1 the mean excess over the optimum is below 1 %. The bound
    is the dual over integers at the prices of step 1, in which every region is solved in integers; at national scale
    the gap is 5e-4 at epsilon 1 and 1e-5 at epsilon 0.1.
    `pgsr.algorithms.CumulativeIntegers` comes closer from both sides.

    Args:
        around: a method that solves the relaxation. Without prices in its result the answer has no bound.
        exact: whether every region's share is optimal for its parent's integers. At national scale that takes a
            hundred times as long, and is no better for the whole: at epsilon 0.1 the gap is 1.4e-5 instead of 1e-5.

    Shapes: any depth, any number of sizes. Complexity: that of `around`, and one flow per inner region.

    Status: OPTIMAL where the bound leaves no room for a smaller integer; FEASIBLE, with the proven gap; TIMED_OUT
    (checked between regions); NOT_INSTALLED; or the status of `around` if it has no answer.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> result = CumulativeFlow().solve(Problem.m_c(noisy))
        >>> result.certificate.feasible, int(result.estimate.values[0, -1])
        (True, 6)

    Extends: M_c of Fioretto and Van Hentenryck 2019, section 8, by cheapest flows from the root down. Shown by
    `tests/test_models_cumulative_flow.py`.
    """

    around: Method = field(default_factory=CumulativeProjection)
    exact: bool = False

    def __post_init__(self) -> None:
        require_kind(self.around, Method, "around", "give a method for the relaxation, such as CumulativeProjection()")

    def supports(self, problem: Problem) -> str | None:
        require_kind(problem, Problem, "the problem", "give a Problem, such as Problem.m_c(noisy)")
        if not problem.integer:
            return f"CumulativeFlow finds integers; solve a relaxation with {self.around!r}"
        if problem.view is not View.CUMULATIVE:
            return f"CumulativeFlow works on cumulative counts; {problem.label} is about {problem.view.value}"
        if problem.norm != 2:
            return f"CumulativeFlow minimises squares, {problem.label} absolute values"
        if not problem.monotone or not problem.consistent or not problem.nonnegative:
            return f"CumulativeFlow needs consistency, order and signs, which {problem.label} does not all state"
        return self.around.supports(problem.relaxed())

    def unavailable(self) -> Result | None:
        return not_installed("ortools") if load("ortools.graph.python.min_cost_flow") is None else None

    def exceeds(self, problem: Problem) -> str | None:
        del problem  # `around` asks for itself, flows scale their costs
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return _BYTES_PER_CELL * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        relaxed = self.around.solve(problem.relaxed(), deadline.left)
        if relaxed.answer is None:
            reason = f"no relaxed optimum to start from: {relaxed.reason}"
            return Result(relaxed.status, reason, seconds=relaxed.seconds)
        solved = deadline.spent
        totals = None if problem.totals is not Totals.REGIONS else problem.region_totals
        root = integer_root(relaxed.answer.values[0], None if problem.totals is None else problem.root_total)
        try:
            x = integers_top_down(
                problem.hierarchy,
                relaxed.answer.values,
                root,
                problem.w,
                problem.target,
                totals,
                deadline,
                self.exact,
            )
        except Stopped as refused:
            return Result(refused.status, refused.reason, seconds=Seconds(0.0, solved, deadline.spent - solved))
        estimate = Estimate(problem.hierarchy, View.CUMULATIVE, x)
        seconds = Seconds(0.0, solved, deadline.spent - solved)
        certificate = certify(problem, estimate, relaxed.multipliers)
        assert certificate.feasible, certificate
        if certificate.optimal:
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=relaxed.multipliers)
        reason = "no bound: the relaxation came without prices"
        if certificate.gap is not None:
            reason = f"within a relative gap of {certificate.gap:.1e} of the optimum, proved"
        return Result(Status.FEASIBLE, reason, estimate, certificate, seconds, multipliers=relaxed.multipliers)

    def __repr__(self) -> str:
        parts = [] if self.around == CumulativeProjection() else [f"around={self.around!r}"]
        parts += ["exact=True"] if self.exact else []
        return f"CumulativeFlow({', '.join(parts)})"


def integer_root(values: np.ndarray, total: int | None) -> np.ndarray:
    """The nearest non-negative, non-decreasing integers, the last one `total` where that is given; shape kept.

    Example:
        >>> integer_root(np.array([-1e-9, 1.7, 1.6999999, 3.2]), 3)
        array([0, 2, 2, 3])
    """
    root = np.maximum.accumulate(np.maximum(nearest(values), 0))
    if total is None:
        return root
    root = np.minimum(root, total)
    root[-1] = total
    return root
