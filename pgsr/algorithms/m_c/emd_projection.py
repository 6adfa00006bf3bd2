"""The joint L1 projection of cumulative counts (the earth mover's distance), with a proven gap."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import Point, SquaresDual, TreeDual, cumulative_counts_exceed
from pgsr.algorithms.m_c.emd_dual import ProximalDual
from pgsr.algorithms.m_c.quasi_newton import QuasiNewton
from pgsr.certificates import Certificate, Multipliers, certify, lagrangian_bound, objective
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, GatedMethod
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import ACCEPTED_GAP

_ROUNDS = 60
_WARM_UP = 4
_WARM_UP_GAP = 1e-3
_WIDEST = 2.0

_RHO = (3.0, 3 / 4, 3 / 16, 3 / 64, 3 / 128)
"""The strength of the first proximal steps and of all after them, relative to one over the mean of |x - y|."""

_RIDGE = (0.03, 0.03, 0.03, 0.01, 0.003)
"""The ridges of their Hessians, see `ProximalDual`; the nearer the optimum, the fewer cells pass a kink."""

_SMOOTH = 2
"""The number of first steps that are smooth enough for gradients alone."""

_LEAST_RHO = 1e-4
"""The least strength of a step, relative to one over the mean of |x - y| where that is above 1."""

_STEP_ERROR = 0.2
"""The error at which a proximal step ends, relative to how far it moved (both in units of the objective)."""

_STEPS = 100


@dataclass(frozen=True)
class EmdProjection(GatedMethod):
    """Projects noisy cumulative counts onto consistent monotone ones in the L1 norm: M_c for the noise's likelihood.

        minimise    sum over regions r, sizes s of  w[r] |x[r, s] - y[r, s]|
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    Where w is 1 and totals are public this is the sum over regions of earth mover's distances. It is a linear program
    with three unknowns per cell. Two stages solve it:

    1. Squares with weights w / 2 max(|x - y|, delta) per cell at the last x, delta halved from round to round, by
       `SquaresDual`. A few rounds, because delta keeps them from the optimum; the first proves about 2e-2.
    2. The proximal point method: from a centre x', minimise the objective plus w rho / 2 |x - x'|^2 over the same
       conditions, and take the minimiser as the next centre. Every step's dual is smooth in the prices of consistency,
       see `ProximalDual`. The first two, with a strong rho, are maximised by gradients (`QuasiNewton`), the others by
       Newton's method. Steps lower rho; as the problem is a linear program, a step with a small one ends at an optimum,
       and its prices are optimal prices. But the smaller rho, the harder the step: below a hundredth of the first ones
       it stays, and the centre moves on. rho is relative to the mean of |x - y|, which grows with the noise.

    After each step the Lagrangian bound of the prices is computed (any prices give one), once they are brought to
    within the weights of those above, as optimal ones are; the best point and the best bound are kept.

    Args:
        rounds: largest number of proximal steps.
        gap: proven relative gap (objective - bound) / max(1, bound) at which to stop.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per Newton step, a logarithm of the sizes
    more where the blocks of a leaf change; 500 to 600 evaluations of the dual at national scale. Memory: about 90 bytes
    per cell.

    Status: OPTIMAL if the proven gap is at most 1e-6, else FEASIBLE, and the reason says the proven gap. When time is
    up (checked between Newton steps) the best point so far is the answer.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> result = EmdProjection().solve(Problem.m_c(noisy, norm=1).relaxed())
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>

    Extends: the relaxed M_c of Fioretto and Van Hentenryck 2019, section 8, to the norm of Kuo et al. 2018, section
    4.3, by proximal points (Rockafellar 1976). Shown equal to HiGHS by
    `tests/test_m_c_emd_projection.py::test_equals_highs`.
    """

    rounds: int = _ROUNDS
    gap: float = ACCEPTED_GAP

    def __post_init__(self) -> None:
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise MethodError(f"rounds={self.rounds!r} is not a positive integer; give a whole number from 1 up")
        if isinstance(self.gap, bool) or not isinstance(self.gap, int | float) or not 0 < self.gap < math.inf:
            raise MethodError(f"gap={self.gap!r} is not a positive number; give a relative gap such as 1e-4")

    def supports(self, problem: Problem) -> str | None:
        if problem.view is not View.CUMULATIVE:
            return f"EmdProjection works on cumulative counts; {problem.label} is about {problem.view.value}"
        if problem.norm != 1:
            return f"EmdProjection minimises absolute values, {problem.label} squares"
        if problem.integer:
            return (
                "EmdProjection finds real numbers; solve problem.relaxed(), or take a solver model that knows "
                "integers, such as pgsr.models.Scipy() or pgsr.models.MathOpt('GSCIP')"
            )
        if not problem.monotone or not problem.consistent or not problem.nonnegative:
            return f"EmdProjection needs consistency, order and signs, which {problem.label} does not all state"
        return None

    def exceeds(self, problem: Problem) -> str | None:
        return cumulative_counts_exceed(problem)

    def bytes_needed(self, problem: Problem) -> int:
        return 90 * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        best = _Best(problem)
        _search(best, self.rounds, self.gap, deadline)
        return _judged(problem, best, deadline.spent)

    def __repr__(self) -> str:
        rounds = [f"rounds={self.rounds}"] if self.rounds != _ROUNDS else []
        gap = [f"gap={self.gap:g}"] if self.gap != ACCEPTED_GAP else []
        return f"EmdProjection({', '.join(rounds + gap)})"


class _Best:
    """The best feasible point and the best prices of the problem so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.x: np.ndarray = np.empty(0)
        self.objective, self.bound = math.inf, -math.inf
        self.prices: Multipliers | None = None

    def offer(self, dual: TreeDual, point: Point) -> np.ndarray:
        """Judge the answer and the prices at this point; return the feasible answer they lead to."""
        x = dual.feasible(point)
        value = float(objective(self.problem, Estimate(self.problem.hierarchy, View.CUMULATIVE, x)))
        if value < self.objective:
            self.objective, self.x = value, x
        prices = dual.multipliers(replace(point, prices=_within_weights(dual, point.prices)))
        bound = lagrangian_bound(self.problem, prices)
        if bound > self.bound or self.prices is None:
            self.bound, self.prices = bound, prices
        return x

    @property
    def gap(self) -> float:
        return (self.objective - self.bound) / max(1.0, self.bound)


def _search(best: _Best, rounds: int, gap: float, deadline: Deadline) -> None:
    """Run both stages until the gap is proved or time is up."""
    problem = best.problem
    x, prices, ascent = _reweighted(best, deadline)
    dual, share = ProximalDual(problem), 0.1
    unit = float(problem.w.sum()) * problem.target.shape[1] / max(1.0, best.objective)  # one over the mean of |x - y|
    weaker = 1.0  # halved where steps end as they should and the gap stays
    for step in range(rounds):
        before = best.gap
        if before <= gap or deadline.passed:
            return
        stage = min(step, len(_RHO) - 1)
        dual.towards(x, max(_LEAST_RHO * min(1.0, unit), unit * weaker * _RHO[stage]), _RIDGE[stage])
        enough = share * gap * max(1.0, best.objective)
        point = _proximal_step(dual, prices, enough, deadline, ascent if step < _SMOOTH else None)
        x, prices = best.offer(dual, point), point.prices
        if best.gap > before / 2 and step >= len(_RHO):
            share /= 2
            if _is_done(dual, point, enough):
                weaker /= 2


def _reweighted(best: _Best, deadline: Deadline) -> tuple[np.ndarray, np.ndarray, QuasiNewton]:
    """Run the first stage, reweighted least squares.

    Returns a feasible point, prices of shape (nodes, cells), and an ascent in the metric of the last round.
    """
    problem = best.problem
    y, w = problem.target, problem.w[:, None].astype(float)
    x, prices, width, dual = None, None, _WIDEST, SquaresDual(problem)
    for _ in range(_WARM_UP):
        cells = np.broadcast_to(w / (2.0 * _WIDEST), y.shape)
        if x is not None:
            cells = w / (2.0 * np.maximum(np.abs(x - y), width))
            width /= 2.0
        dual = SquaresDual(problem, np.ascontiguousarray(cells))
        answer = maximise(dual, _WARM_UP_GAP, deadline, start=prices)
        x, prices = best.offer(dual, answer.point), answer.point.prices
        if answer.timed_out:
            break
    assert x is not None
    assert prices is not None
    return x, _within_weights(dual, prices), QuasiNewton(dual)


def _within_weights(dual: TreeDual, prices: np.ndarray) -> np.ndarray:
    """Limit prices so that each differs from the one above by at most the node's weight, as optimal ones do.

    If they differ by more, a cell of the node pays to run away, and the bound is ruined.
    """
    prices = prices.copy()
    for r, above in enumerate(dual.parent):
        free = slice(0, dual.n - (r == 0 and dual.held))  # the held cell cannot run
        start = prices[above, free] if r else 0.0
        prices[r, free] = np.clip(prices[r, free], start - dual.weight[r], start + dual.weight[r])
    return prices


def _proximal_step(
    dual: ProximalDual, prices: np.ndarray, enough: float, deadline: Deadline, ascent: QuasiNewton | None
) -> Point:
    """Ascend until the step's error is small beside its movement, or small enough for the gap asked.

    By Newton's method, or by gradients alone if an `ascent` is given: where rho is large, many cells pass a kink per
    step, which Newton's method does not foresee and gradients of a few steps average over.
    """
    point = dual.at(prices)
    if ascent is not None:

        def gradient_at(prices: np.ndarray) -> np.ndarray:
            nonlocal point
            point = dual.at(prices)
            return point.gradient

        ascent.ascend(gradient_at, prices, _STEPS, lambda: _is_done(dual, point, enough) or deadline.passed)
        return point
    for _ in range(_STEPS):
        if _is_done(dual, point, enough) or deadline.passed:
            break
        following = dual.better(point)
        if following is None:
            break
        point = following
    return point


def _is_done(dual: ProximalDual, point: Point, enough: float) -> bool:
    accuracy = dual.accuracy(point)
    return accuracy.error <= max(_STEP_ERROR * accuracy.moved, enough)


def _judged(problem: Problem, best: _Best, spent: float) -> Result:
    """Make the result from the certificate of the best point and the best prices."""
    seconds = Seconds(solve=spent)
    estimate = Estimate(problem.hierarchy, View.CUMULATIVE, best.x)
    certificate: Certificate = certify(problem, estimate, best.prices)
    if certificate.gap is None:
        reason = f"no bound, or the answer misses our tolerances: {certificate!r}"
        status = Status.FEASIBLE if certificate.feasible else Status.FAILED
        return Result(status, reason, estimate if certificate.feasible else None, certificate, seconds)
    if certificate.gap <= ACCEPTED_GAP:
        return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=best.prices)
    reached = f"proven relative gap {certificate.gap:.1e}"
    return Result(Status.FEASIBLE, reached, estimate, certificate, seconds, multipliers=best.prices)
