"""The judge of solvers' answers: each is checked here before anything is called solved."""

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from pgsr.algorithms.choice_tree.bound import choices_bound
from pgsr.certificates import Certificate, Multipliers, certify
from pgsr.certificates.certificate import ALTERNATIVES, MULTIPLIERS, is_decided
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View, counts_of_ranked
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Residuals, Result, Status
from pgsr.models.feasibility import contradicting_sum, scale_of, some_point
from pgsr.models.formulate import multipliers, row_prices
from pgsr.models.program import Program
from pgsr.models.proof import MOST_NODES, integer_bound, search
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import ACCEPTED_GAP, RESIDUAL

LARGEST_CHECKED = 100_000
"""Most unknowns of programs whose infeasibility is looked into; beyond, the linear program for it takes too long."""

LARGEST_NUMBER = 2.0**53
"""From here on floats do not tell neighbouring integers apart; no deviation of a problem within 64 bits is as large."""

CHECKING_SECONDS = 10.0
"""The time that each of the two checks of such a claim may take, beyond the solver's own."""

SEARCHING_SECONDS = 3.0
"""The time that the search for something better than an integer answer may take, beyond the solver's own."""

NO_OBJECTIVE = 2**61
"""An objective above all, to ask a search whether there is any point."""

DUALS_GAP = 1e-5
"""Largest relative gap that duals may leave by themselves to be handed on as prices of rows."""

MOST_NAMED = 4
"""Most stated conditions that the sentence about such a claim names."""


class SolverClaim(Enum):
    """The solver's own word on its answer, before it is checked."""

    OPTIMAL = "optimal"
    NEAR = "stopped at the gap that it was given"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped at its limit"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class SolverAnswer:
    """The answer of a solver.

    Attributes:
        claim: what it says of its answer.
        note: its message, quoted in the reason.
        values: v, or None.
        duals, order_duals: of the equalities and inequalities, in objective + duals (matrix v - right)
            + order_duals (order v - order_right); None if it has none.
        bound: its own bound on the objective of an integer program, or None.
    """

    claim: SolverClaim
    note: str = ""
    values: np.ndarray | None = None
    duals: np.ndarray | None = None
    order_duals: np.ndarray | None = None
    bound: float | None = None

    @property
    def finite_duals(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The duals of equalities and inequalities, where all are there and finite."""
        v, mu = self.duals, self.order_duals
        return None if v is None or mu is None or not (np.isfinite(v).all() and np.isfinite(mu).all()) else (v, mu)


def judged(
    solver: str,
    problem: Problem,
    program: Program,
    answer: SolverAnswer,
    time_limit: float | None = None,
    left: float | None = None,
) -> Result:
    """Judge a solver's answer to `problem`, where it solved `program`.

    Args:
        solver: its label.
        problem: what was asked.
        program: what was solved: that of `problem`, or of its relaxation, which is then rounded.
        answer: in cells.
        time_limit: for the reason, where it was reached.
        left: the seconds that are left for proofs, or None.
    """
    seconds = SEARCHING_SECONDS if left is None else min(SEARCHING_SECONDS, left)
    limit = "its limit" if time_limit is None else f"the time limit of {time_limit:g} s"
    if answer.claim is SolverClaim.INFEASIBLE:
        return _judged_infeasible(solver, problem, program)
    if answer.values is None:
        if answer.claim is SolverClaim.STOPPED:
            return Result(Status.TIMED_OUT, f"{solver} had no answer at {limit}{_noted(answer)}")
        return Result(Status.FAILED, f"{solver} gave no answer{_noted(answer)}")
    if not np.isfinite(answer.values).all():
        return Result(Status.FAILED, f"{solver} returned numbers that are not finite")
    if (np.abs(answer.values) >= LARGEST_NUMBER).any():
        return Result(Status.FAILED, f"{solver} returned numbers of 2^53 or more, which floats do not hold exactly")
    if program.integer:
        return _judged_integer(solver, problem, program, answer, limit, seconds)
    result = _judged_continuous(solver, problem, program, answer)
    if result.status is Status.FAILED and answer.claim is SolverClaim.STOPPED:
        return replace(result, status=Status.TIMED_OUT, reason=f"{solver} reached {limit}; {result.reason}")
    return result


def _judged_infeasible(solver: str, problem: Problem, program: Program) -> Result:
    """Judge the claim that no point satisfies the conditions.

    `Problem.contradiction`, asked before the solve, decides it without stated conditions, and with bounds of cells in
    M_H. Otherwise the claim is proved by a weighted sum of the conditions that contradicts itself, in integers also by
    such sums in all cases of a search; it is refuted by a point, and else it is a claim: FAILED.
    """
    says = f"{solver} says that no point satisfies the conditions"
    if problem.contradiction_is_complete:
        return Result(Status.FAILED, f"{says}, which is not so")
    if program.n > LARGEST_CHECKED:
        return Result(Status.FAILED, f"{says}; beyond {LARGEST_CHECKED:,} unknowns we do not look for a proof")
    found = contradicting_sum(program, CHECKING_SECONDS)
    if found is not None:
        named = found.stated(problem.conditions) if problem.conditions is not None else []
        more = f"; and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
        weighs = f"; of the stated ones it weighs {'; '.join(named[:MOST_NAMED])}{more}" if named else ""
        reason = f"{says}, and a weighted sum of them that we recomputed contradicts itself{weighs}"
        return Result(Status.INFEASIBLE, reason)
    if program.integer:
        start = np.rint(np.clip(0.0, program.lower, program.upper))
        cases = search(program, start, NO_OBJECTIVE, CHECKING_SECONDS)
        if cases.better is not None:
            return Result(Status.FAILED, f"{says}, but there is one")
        if cases.bound == NO_OBJECTIVE:
            return Result(Status.INFEASIBLE, f"{says}, and a search of ours finds a contradiction in every case")
    try:
        some_point(program, CHECKING_SECONDS)
    except Stopped:
        return Result(Status.FAILED, f"{says}, of which we have no proof")
    return Result(Status.FAILED, f"{says}, but HiGHS finds one")


def _prices(problem: Problem, program: Program, answer: SolverAnswer) -> Multipliers | None:
    """Read prices from the solver's duals, and those of stated bounds, where order needs them, from what is left over.

    Without a price of its bound a cell's slope plus its rows' prices is 0 at the optimum; what it is instead is the
    price.
    """
    if answer.duals is None or not np.isfinite(answer.duals).all() or problem.view is View.RANKED:
        return None
    order = answer.order_duals
    order = order if order is not None and np.isfinite(order).all() else None
    prices = multipliers(problem, answer.duals, order)
    if problem.conditions is None or not problem.monotone or order is None or answer.values is None:
        return prices
    low, high = _slopes(program, answer.values)
    if program.integer:  # those of the square's linear interpolation
        low, high = (low - program.weight, high + program.weight) if program.norm == 2 else (low, high)
    c = program.matrix.T @ answer.duals + program.order.T @ np.maximum(order, 0.0)
    left_over = np.where(low + c > 0, low + c, np.minimum(high + c, 0.0))
    return replace(prices, bounds=left_over[: program.n_cells])


def _slopes(program: Program, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the least and the largest slope of the objective in every cell: 2 w z, or from -w to w at a corner."""
    near = RESIDUAL * scale_of(program, z)
    w = program.weight.astype(float)
    if program.norm == 2:
        return 2 * w * z, 2 * w * z
    return np.where(z > near, w, -w), np.where(z < -near, -w, w)


def _judged_continuous(solver: str, problem: Problem, program: Program, answer: SolverAnswer) -> Result:
    """Accept or refuse a continuous answer; for an integer problem round it to the nearest integers, as the papers do.

    What is rounded is RELAXED where it breaks a condition, OPTIMAL where that is proved, else FEASIBLE.

    The answer passes if its own residuals are within `RESIDUAL` and its objective is within `ACCEPTED_GAP` of the
    Lagrangian bound of its duals. Otherwise the result is FAILED and says by how much.
    """
    z = answer.values
    assert z is not None
    relaxed = problem.relaxed()
    prices = _prices(problem, program, answer)
    certificate = None if problem.view is View.RANKED else certify(relaxed, _estimate(relaxed, program, z), prices)
    if certificate is not None:
        certificate = _with_bound_of_program(program, answer, certificate)
    residuals = _residuals(program, answer, certificate)

    def refuse(reason: str, z: np.ndarray = z) -> Result:
        estimate = _estimate(relaxed, program, z)
        return Result(Status.FAILED, reason, None, certificate, residuals=residuals, refused=estimate)

    if residuals.gap is None and residuals.primal <= RESIDUAL:
        return refuse(f"{solver} gave no duals{_noted(answer)}, and without them nothing can be proved of its answer")
    feasible = certificate is None or certificate.feasible or problem.integer
    if residuals.primal > RESIDUAL or not feasible or residuals.gap is None or abs(residuals.gap) > ACCEPTED_GAP:
        gap = "unknown" if residuals.gap is None else f"{residuals.gap:.1e}"
        says = "says it solved the program" if answer.claim is SolverClaim.OPTIMAL else f"{answer.claim.value}"
        remedy = "tighten its tolerances" if answer.claim is SolverClaim.OPTIMAL else "give it more time"
        return refuse(
            f"{solver} {says}{_noted(answer)}, but its relative residual is {residuals.primal:.1e} (allowed "
            f"{RESIDUAL:g}) and its gap {gap} (allowed {ACCEPTED_GAP:g}); {remedy}"
        )
    if not problem.integer:
        result = Result(Status.OPTIMAL, "", _estimate(problem, program, z), certificate, residuals=residuals)
        return _with_row_prices(result, problem, program, answer)
    if problem.monotone:
        z = _in_order(problem, program, z)
    rounded = _estimate(problem, program, nearest(z))
    judged = certify(problem, rounded, prices)
    if judged.bound is None and answer.duals is not None and answer.order_duals is not None:
        judged = judged.with_bound(lagrangian_bound(program, answer.duals, answer.order_duals), MULTIPLIERS)
    rounding = "relaxation solved, then every cell rounded to the nearest integer"
    if judged.optimal:
        reason = f"{rounding}; our exact test proves the result optimal"
        return Result(Status.OPTIMAL, reason, rounded, judged, residuals=residuals)
    reason = f"{rounding}; the bound is the relaxation's"
    return Result(Status.RELAXED, reason, rounded, judged, residuals=residuals)


def _with_row_prices(result: Result, problem: Problem, program: Program, answer: SolverAnswer) -> Result:
    """Add the prices of all rows by the solver's duals, if the bound of these alone meets the objective."""
    duals, z = answer.finite_duals, answer.values
    if duals is None or z is None:
        return result
    v, mu = duals
    objective = float(program.weight @ np.abs(z) ** program.norm)
    if not abs(objective - lagrangian_bound(program, v, mu)) <= DUALS_GAP * max(1.0, abs(objective)):
        return result
    prices = row_prices(problem, v, mu)
    if program.norm == 1:
        measured, c = program.weight > 0, program.matrix.T @ v + program.order.T @ np.maximum(mu, 0.0)
        slopes = (slope[measured] for slope in _slopes(program, z))
        prices = np.concatenate([prices, -np.clip(-c[measured], *slopes)])
    return replace(result, problem=problem, row_prices=prices)


def _judged_integer(
    solver: str, problem: Problem, program: Program, answer: SolverAnswer, limit: str, seconds: float
) -> Result:
    """Accept an integer answer if it is one and satisfies every condition; OPTIMAL where our own proof says so.

    Proofs are the exact tests of `pgsr.certificates`, and a bound that the objective meets in integers: by the solver's
    duals, or by a search around the answer (`pgsr.models.proof`). Whatever prices they are given, what these prove is
    computed here. What the solver alone claims is a sentence beside the status FEASIBLE. An optimum that an exact test
    or a better point refutes is a failure.
    """
    z, claims = answer.values, answer.claim is SolverClaim.OPTIMAL
    assert z is not None
    whole = nearest(z)
    fractional = int((np.abs(whole - z) > 1e-4).sum())
    estimate = _estimate(problem, program, whole)
    certificate = certify(problem, estimate, _prices(problem, program, answer))
    claimed = _claimed(solver, answer)

    def refuse(reason: str) -> Result:
        return Result(Status.FAILED, reason, None, certificate, refused=estimate, claimed=claimed)

    if fractional and answer.duals is None:
        reason = f"{solver} returned {fractional:,} counts that are not whole numbers"
        return Result(Status.FAILED, reason, refused=_estimate(problem, program, z), claimed=claimed)
    if fractional:
        reason = f"the linear program has {fractional:,} fractional cells, rounded to the nearest integer"
        return Result(Status.RELAXED, reason, estimate, _with_own_bound(program, answer, certificate))
    if problem.view is View.RANKED:
        certificate = _with_order(program, whole, certificate)
    if not certificate.feasible:
        return refuse(f"{solver} returned an infeasible answer")
    if claims and is_decided(problem) and not certificate.optimal:
        return refuse(f"{solver} claims an optimum that our exact test refutes")
    certificate = _with_own_bound(program, answer, certificate)
    choosing = problem.conditions is not None and problem.conditions.choices is not None
    if choosing and not certificate.optimal:
        known = choices_bound(problem, upto=certificate.objective, time_limit=seconds)
        certificate = certificate if known is None else _raised(certificate, known.value, ALTERNATIVES)
        if claims and known is not None and known.complete and known.value < (certificate.objective or 0):
            return refuse(
                f"{claimed}, at {certificate.objective:,}; but a point of objective {known.value:,} is feasible"
            )
    if not certificate.optimal and program.n <= LARGEST_CHECKED:
        assert certificate.objective is not None
        found = search(program, whole, int(certificate.objective), seconds, MOST_NODES if claims else 1)
        certificate = _raised(certificate, found.bound)
        if claims and found.better is not None:
            least = certify(problem, _estimate(problem, program, found.better)).objective
            return refuse(f"{claimed}, at {certificate.objective:,}; but a point of objective {least:,} is feasible")
    if certificate.optimal:
        reason = "" if claims else f"{solver} stopped before claiming it; our own proof shows it"
        return Result(Status.OPTIMAL, reason, estimate, certificate, claimed=claimed)
    left = "we have no proof of it" if certificate.bound is None else "our own bound leaves a gap"
    ended = f"{solver} reached {limit}" if answer.claim is SolverClaim.STOPPED else f"{solver} {answer.claim.value}"
    reason = f"{claimed}; {left}" if claims else ended
    return Result(Status.FEASIBLE, reason, estimate, certificate, claimed=claimed)


def _claimed(solver: str, answer: SolverAnswer) -> str:
    """Say what the solver alone claims of its answer."""
    if answer.claim is SolverClaim.OPTIMAL:
        return f"optimal, by {solver}"
    known = answer.bound is not None and math.isfinite(answer.bound)
    return f"no answer is below {answer.bound:,.10g}, by {solver}" if known else ""


def _with_own_bound(program: Program, answer: SolverAnswer, certificate: Certificate) -> Certificate:
    """Improve a bound by the program's own, in exact integers, with the solver's duals."""
    duals = answer.finite_duals
    return certificate if duals is None else _raised(certificate, integer_bound(program, *duals))


def _raised(certificate: Certificate, bound: float | None, by: str = MULTIPLIERS) -> Certificate:
    """Replace the bound of a certificate by a better one."""
    if bound is None or (certificate.bound is not None and bound <= certificate.bound):
        return certificate
    return certificate.with_bound(bound, by)


def primal_residual(program: Program, z: np.ndarray) -> float:
    """Compute the largest violation of a row or a bound, relative to `scale_of`."""
    scale = scale_of(program, z)
    rows = float(np.abs(program.matrix @ z - program.right).max(initial=0.0))
    order = float((program.order @ z - program.order_right).max(initial=0.0))
    bounds = float(np.maximum(program.lower - z, z - program.upper).max(initial=0.0))
    return max(rows, order, bounds) / scale


def dual_residual(program: Program, z: np.ndarray, duals: np.ndarray, order_duals: np.ndarray) -> float:
    """Compute the largest violation of stationarity, relative to 1 + the largest slope of objective or conditions.

    The slope of the Lagrangian in a cell is w' + c with c = duals @ matrix + order_duals @ order, where w' is 2 w z, or
    anything in [-w, w] at a corner of w |z|. It may be positive at a lower bound and negative at an upper one.
    """
    near = RESIDUAL * scale_of(program, z)
    c = program.matrix.T @ duals + program.order.T @ np.maximum(order_duals, 0.0)
    low, high = _slopes(program, z)
    too_high = np.where(z <= program.lower + near, 0.0, np.maximum(low + c, 0.0))
    too_low = np.where(z >= program.upper - near, 0.0, np.maximum(-(high + c), 0.0))
    scale = 1.0 + float(max(np.abs(high).max(initial=0.0), np.abs(c).max(initial=0.0)))
    negative = float(np.maximum(-order_duals, 0.0).max(initial=0.0))
    return max(float(too_high.max(initial=0.0)), float(too_low.max(initial=0.0)), negative) / scale


def lagrangian_bound(program: Program, duals: np.ndarray, order_duals: np.ndarray) -> float:
    """A bound on the continuous program by any duals: every cell's minimum on its own, within bounds and reach."""
    mu = np.maximum(order_duals, 0.0)
    c = program.matrix.T @ duals + program.order.T @ mu
    low = np.maximum(program.lower, program.reach[0])
    high = np.minimum(program.upper, program.reach[1])
    w = program.weight.astype(float)
    if program.norm == 2:
        z = np.clip(-c / (2 * np.where(w > 0, w, 1.0)), low, high)
        z = np.where(w > 0, z, np.where(c > 0, low, high))
        cells = w * z * z + c * z
    else:
        corners = np.stack([np.clip(0.0, low, high), low, high])
        cells = (w * np.abs(corners) + c * corners).min(axis=0)
    return math.fsum(cells) - float(duals @ program.right) - float(mu @ program.order_right)


def _with_bound_of_program(program: Program, answer: SolverAnswer, certificate: Certificate) -> Certificate:
    """Replace a bound that leaves a gap by the program's, if that is better.

    The problem's bound drops the prices of stated rows that tie regions without weight to others where regions are not
    consistent, and there is none where order meets weights of cells; the program's keeps all prices, those of order
    among them, within its reach, which ends at a total of 0 for example.
    """
    duals, have = answer.finite_duals, certificate.bound
    if duals is None or certificate.objective is None:
        return certificate
    if have is not None and certificate.objective - have <= ACCEPTED_GAP * max(1.0, abs(have)):
        return certificate
    bound = lagrangian_bound(program, *duals)
    better = math.isfinite(bound) and (have is None or bound > have)
    return certificate.with_bound(bound, MULTIPLIERS) if better else certificate


def _residuals(program: Program, answer: SolverAnswer, certificate: Certificate | None) -> Residuals:
    z, duals = answer.values, answer.finite_duals
    assert z is not None
    primal, gap = primal_residual(program, z), None
    dual = None if duals is None else dual_residual(program, z, *duals)
    if certificate is not None and certificate.bound is not None:
        # Not certificate.gap: that is for answers feasible to the last digit, this one is feasible to RESIDUAL.
        assert certificate.objective is not None
        gap = (certificate.objective - certificate.bound) / max(1.0, abs(certificate.bound))
    elif duals is not None:
        bound = lagrangian_bound(program, *duals)
        objective = float(program.weight @ np.abs(z) ** program.norm)
        gap = (objective - bound) / max(1.0, abs(bound))
    return Residuals(primal, dual, gap)


def _in_order(problem: Problem, program: Program, z: np.ndarray) -> np.ndarray:
    """Put neighbours in order that a solver left out of order within its tolerance, lest they round differently."""
    x = (program.origin + z)[: program.n_cells]
    if problem.view is not View.RANKED:
        rising = [np.maximum.accumulate(table, axis=1).ravel() for table in problem.sizes.tables(x)]
        return np.append(np.concatenate(rising) - program.origin[: program.n_cells], z[program.n_cells :])
    vectors = np.split(x, problem.first_cell[1:-1])
    return np.concatenate([np.maximum.accumulate(v) for v in vectors]) - program.origin


def _with_order(program: Program, z: np.ndarray, certificate: Certificate) -> Certificate:
    """Count neighbouring ranked sizes out of order, which the counts that they amount to do not show."""
    wrong = int((program.order @ z > program.order_right).sum())
    return replace(certificate, violations=certificate.violations | {"monotone": wrong}) if wrong else certificate


def _estimate(problem: Problem, program: Program, z: np.ndarray) -> Estimate:
    """Make the estimate x = origin + z, of ranked sizes the counts that they amount to.

    A group of a size below 0 or above K is not counted, so that its region violates its number of groups.
    """
    x = (program.origin + z)[: program.n_cells]
    if problem.view is not View.RANKED:
        return Estimate(problem.hierarchy, problem.view, problem.sizes.shaped(x))
    largest = problem.max_size
    sizes = np.split(nearest(x), problem.first_cell[1:-1])
    rows = [counts_of_ranked(part[(part >= 0) & (part <= largest)], largest) for part in sizes]
    return Estimate(problem.hierarchy, View.COUNTS, np.stack(rows))


def _noted(answer: SolverAnswer) -> str:
    return f" ({answer.note})" if answer.note else ""
