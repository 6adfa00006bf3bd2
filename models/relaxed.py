"""The relaxed optimum of an integer program, around which its windows are laid."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load
from pgsr.models.program import Program, SolverProgram, quadratic, scaled

NEAR = 1e-6
"""The tolerance: the windows need the optimum to a fraction of a step."""

FAR = 2.0
"""How many times the largest violation at z = 0 a bound is away that is left out."""


def relaxed_optimum(program: Program, time_limit: float | None = None) -> np.ndarray | None:
    """Solve the relaxation of a program of squares by Clarabel, an interior-point method; z of shape (n,).

    None where Clarabel is not installed or finds no optimum within the limit. Windows then lie around the noisy values
    themselves, and move more often. No answer depends on where windows lie at first, its time does.
    """
    if load("clarabel") is None or not program.n:
        return None
    handed, units = scaled(quadratic(program))
    answer = by_clarabel(_without_far_bounds(handed), NEAR, time_limit, refined=False)
    if answer.values is None or answer.claim is not SolverClaim.OPTIMAL or not np.isfinite(answer.values).all():
        return None
    return units.values * np.clip(answer.values, handed.lower, handed.upper)


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


def by_clarabel(program: SolverProgram, near: float, time_limit: float | None, refined: bool) -> SolverAnswer:
    """Solve a continuous program by Clarabel's own interface, to a relative tolerance.

    Unrefined, its linear systems are solved once each, which takes 0.6 times as long and serves where `near` is coarse.
    """
    clarabel = load("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.iterative_refinement_enable = refined
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = near
    if time_limit is not None:
        settings.time_limit = time_limit
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
    claim, z, duals = (
        claims.get(found.status, SolverClaim.FAILED),
        np.asarray(found.x, float),
        np.asarray(found.z, float),
    )
    return SolverAnswer(
        claim, "" if claim is SolverClaim.OPTIMAL else f"it says {found.status}", z, duals[:m], duals[m : m + k]
    )
