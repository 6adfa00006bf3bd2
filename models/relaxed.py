"""The relaxed optimum of an integer program, around which its windows are laid."""

import numpy as np
from scipy import sparse

from pgsr.models.optional import load
from pgsr.models.program import Program, quadratic, scaled

NEAR = 1e-6
"""The tolerance: the windows need the optimum to a fraction of a step."""


def relaxed_optimum(program: Program, time_limit: float | None = None) -> np.ndarray | None:
    """Solve the relaxation of a program of squares by Clarabel, an interior-point method; z of shape (n,).

    None where Clarabel is not installed or finds no optimum within the limit. Windows then lie around the noisy values
    themselves, and move more often. No answer depends on where windows lie at first, its time does.
    """
    clarabel = load("clarabel")
    if clarabel is None or not program.n:
        return None
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = NEAR
    if time_limit is not None:
        settings.time_limit = time_limit
    handed, unit = scaled(quadratic(program))
    below, above = np.flatnonzero(np.isfinite(handed.lower)), np.flatnonzero(np.isfinite(handed.upper))
    one = sparse.csr_array(sparse.eye_array(handed.n))
    rows = sparse.vstack([handed.matrix, handed.order, -one[below], one[above]], format="csc", dtype=float)
    right = np.concatenate([handed.right, handed.order_right, -handed.lower[below], handed.upper[above]])
    cones = [clarabel.ZeroConeT(len(handed.right)), clarabel.NonnegativeConeT(len(right) - len(handed.right))]
    squares = sparse.csc_matrix(sparse.diags_array(2.0 * handed.quadratic))
    solver = clarabel.DefaultSolver(squares, handed.linear, sparse.csc_matrix(rows), right, cones, settings)
    found = solver.solve()
    z = unit * np.asarray(found.x, float)
    solved = found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return z if solved and np.isfinite(z).all() else None
