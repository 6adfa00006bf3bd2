"""The relaxed optimum of an integer program, around which its windows are laid."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pgsr import own_methods
from pgsr.data.views import View
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped
from pgsr.methods.method import Status
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load
from pgsr.models.program import Program, SolverProgram, quadratic, scaled
from pgsr.models.start import cells_of
from pgsr.problems.problem import Problem

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
