"""The points near which solvers start: another solve's estimate, or the relaxed optimum, around which windows lie."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pgsr import own_methods
from pgsr.checks import is_sparse
from pgsr.data.rounding import nearest
from pgsr.data.views import View, counts_of_cumulative, cumulative, ranked
from pgsr.errors import MethodError, NoDualsError
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load
from pgsr.models.program import Program, SolverProgram, quadratic, scaled
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import stated_sides

NEAR = 1e-6
"""The tolerance: the windows need the optimum to a fraction of a step."""

FAR = 2.0
"""How many times the largest violation at z = 0 a bound is away that is left out."""


def relaxed_optimum(problem: Problem, program: Program, deadline: Deadline = NO_LIMIT) -> np.ndarray | None:
    """Find the optimum of the relaxation of a program of squares, around which windows lie; z of shape (n,).

    By our own algorithm where there is one, else by Clarabel within half of the time that is left. No answer depends on
    where windows lie at first, its time does. None where Clarabel is not installed or fails: windows then lie around
    the noisy values themselves, and move more often.

    Raises:
        Stopped: the time is over.
    """
    n = program.n_cells
    own = own_methods.exact_method(problem.relaxed()) if program.n == n and problem.view is not View.RANKED else None
    if own is not None:
        found = own.solve(problem.relaxed(), deadline.left)
        if found.answer is not None:
            return cells_of(problem, found) - program.origin
    elif load("clarabel") is not None and program.n:
        handed, units = scaled(quadratic(program))
        options: dict[str, Any] = {"tol_gap_abs": NEAR, "tol_gap_rel": NEAR, "tol_feas": NEAR}
        options["iterative_refinement_enable"] = False  # 0.6 times as long, and enough here
        if deadline.left is not None:
            options["time_limit"] = deadline.left / 2
        answer = by_clarabel(_without_far_bounds(handed), options)
        if answer.claim is SolverClaim.STOPPED:
            raise Stopped(Status.TIMED_OUT, "no relaxed optimum to lay windows around within half of the time limit")
        if answer.claim is SolverClaim.OPTIMAL and answer.values is not None and np.isfinite(answer.values).all():
            return units.values * np.clip(answer.values, handed.lower, handed.upper)
    deadline.check("no windows were laid")
    return None


def _without_far_bounds(program: SolverProgram) -> SolverProgram:
    """Leave out bounds that no optimum is expected to reach; an interior point then takes a third of the steps.

    z = x - y is the change of a noisy value y. The optimum changes values about as much as the conditions are violated
    at z = 0, while the bound z >= -y of a cell of a million groups lies a million away, and interior-point methods
    start at the scale of the farthest bound.
    """
    violated = (np.abs(program.right), -program.order_right, program.lower, -program.upper)
    far = FAR * max(each[np.isfinite(each)].max(initial=0.0) for each in violated)
    lower = np.where(program.lower < -far, -np.inf, program.lower)
    return replace(program, lower=lower, upper=np.where(program.upper > far, np.inf, program.upper))


def by_clarabel(program: SolverProgram, options: Mapping[str, Any]) -> SolverAnswer:
    """Solve a continuous program by Clarabel's own interface."""
    clarabel = load("clarabel")
    settings = clarabel.DefaultSettings()
    for name, value in {"verbose": False, **options}.items():
        setattr(settings, name, value)
    below, above = np.flatnonzero(np.isfinite(program.lower)), np.flatnonzero(np.isfinite(program.upper))
    one = sparse.csr_array(sparse.eye_array(program.n))
    rows = sparse.vstack([program.matrix, program.order, -one[below], one[above]], format="csc", dtype=float)
    right = np.concatenate([program.right, program.order_right, -program.lower[below], program.upper[above]])
    m, k = len(program.right), len(program.order_right)
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(len(right) - m)]
    squares = sparse.csc_matrix(sparse.diags_array(2.0 * program.quadratic))
    solver = clarabel.DefaultSolver(
        squares, program.linear.astype(float), sparse.csc_matrix(rows), right.astype(float), cones, settings
    )
    found = solver.solve()
    status = clarabel.SolverStatus
    claims = {status.Solved: SolverClaim.OPTIMAL, status.AlmostSolved: SolverClaim.OPTIMAL,
              status.MaxTime: SolverClaim.STOPPED, status.PrimalInfeasible: SolverClaim.INFEASIBLE}  # fmt: skip
    claim, z, duals = claims.get(found.status, SolverClaim.FAILED), np.asarray(found.x), np.asarray(found.z)
    note = "" if claim is SolverClaim.OPTIMAL else f"it says {found.status}"
    return SolverAnswer(claim, note, z, duals[:m], duals[m : m + k])


def values_to_start(problem: Problem, program: Program, start: Result) -> np.ndarray:
    """Write an estimate of the problem's regions and sizes, in either view, as values z of all unknowns of a program.

    Unknowns behind the cells (`pgsr.problems.programs.auxiliary`) get the values that follow from the cells. In
    integers every number is rounded. The values satisfy the program's rows as far as the estimate does; noisy values
    may be others than those that it was made of.

    Raises:
        MethodError: values are not finite; or sizes are ranked and a region has another number of groups than here.
    """
    x = cells_of(problem, start)
    if not np.isfinite(x).all():
        raise MethodError("warm_start has values that are not finite; give a result of solve, or None")
    x = nearest(x) if program.integer else x
    z = x - program.origin[: program.n_cells]
    if problem.conditions is not None and problem.conditions.choices is not None:
        z = np.concatenate([z, _chosen(problem.conditions.choices, x)])
    return z.astype(float)


def duals_to_start(program: Program, problem: Problem, start: Result) -> tuple[np.ndarray, np.ndarray] | None:
    """Write the prices of a result's rows as duals of equalities and inequalities of a continuous program.

    None where the result has none, or is of a problem with other rows. Prices of magnitudes follow from the others.
    """
    if start.problem is None:
        return None
    try:
        prices = start.duals.prices
    except NoDualsError:
        return None
    n_linked = int((program.weight > 0).sum()) if program.norm == 1 else 0
    stated = problem.conditions
    equal, above, below = stated_sides(Conditions.none(1) if stated is None else stated)
    n_equal = len(program.right) - int(equal.sum())
    n_order = len(program.order_right) - int(above.sum() + below.sum())
    if len(prices) != n_equal + n_order + len(equal) + n_linked:
        return None
    own, order, of_stated, _ = np.split(-prices, np.cumsum([n_equal, n_order, len(equal)]))
    equalities = np.concatenate([own, of_stated[equal]])
    return equalities, np.concatenate([order, np.maximum(of_stated[above], 0.0), np.maximum(-of_stated[below], 0.0)])


def cells_of(problem: Problem, start: Result) -> np.ndarray:
    """Write the estimate of a result in the problem's view, cell by cell."""
    estimate = start.estimate
    if problem.view is View.RANKED:
        counts = np.maximum(nearest(np.asarray(estimate.as_counts)), 0)
        sizes = [ranked(row) for row in counts]
        if [len(row) for row in sizes] != np.diff(problem.first_cell).tolist():
            raise MethodError("warm_start has other numbers of groups, so other ranks; give a result with the same")
        return np.concatenate([*sizes, np.zeros(0, np.int64)])
    tables = [table.toarray() if is_sparse(table) else table for table in estimate.tables]
    if estimate.view is not problem.view:
        tables = list(map(cumulative if problem.view is View.CUMULATIVE else counts_of_cumulative, tables))
    return np.concatenate([table.ravel() for table in tables])


def _chosen(choices: Choices, x: np.ndarray) -> np.ndarray:
    """Say which alternatives hold at these cells: 1 or 0 each."""
    have, holds = choices.rows @ x, np.ones(len(choices.choice), bool)
    np.logical_and.at(holds, choices.alternative, (choices.lower <= have) & (have <= choices.upper))
    return holds
