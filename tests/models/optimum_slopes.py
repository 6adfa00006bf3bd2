"""The derivatives of a continuous problem's least objective, by solving it again with other right-hand sides.

The twin of `pgsr.certificates.duals.Duals`: it reads the program with names, moves one row, and never sees a dual.
"""

import math

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from pgsr import Problem
from pgsr.problems.programs import named
from pgsr.problems.programs.formulation import NamedProgram

STEP = 1e-3
"""How far right-hand sides are moved, in groups."""


def optimum_slopes(problem: Problem) -> dict[str, tuple[float, float]]:
    """Give the slopes of the least objective below and above every row's right-hand side, by the row's name."""
    program = named(problem, shifted=True)
    here, rows = least_objective(program), program.rows.texts()
    return {
        name: (
            (here - least_objective(program, row, -STEP)) / STEP,
            (least_objective(program, row, STEP) - here) / STEP,
        )
        for row, name in enumerate(rows)
    }


def least_objective(program: NamedProgram, row: int | None = None, moved: float = 0.0) -> float:
    """Solve a program with the sides of one row moved; infinity if no point satisfies it."""
    low, high = program.row_lower.copy(), program.row_upper.copy()
    if row is not None:
        low[row], high[row] = low[row] + moved, high[row] + moved
    eye = sparse.eye_array(program.n, format="csr")
    stacked = sparse.vstack([program.matrix, eye]).tocsr()
    low, high = np.concatenate([low, program.lower]), np.concatenate([high, program.upper])
    equal, below, above = low == high, np.isfinite(high) & (low != high), np.isfinite(low) & (low != high)
    matrix = sparse.csc_matrix(sparse.vstack([stacked[equal], stacked[below], -stacked[above]]))
    right = np.concatenate([high[equal], high[below], -low[above]])
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int(below.sum() + above.sum()))]
    squares = sparse.csc_matrix(sparse.diags_array(2.0 * program.quadratic.astype(float)))
    unit = max(1.0, float(np.abs(right).max(initial=0)))  # far from noise of thousands the solver finds no point
    for near in (1e-12, 1e-10, 1e-8):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = near
        linear = program.linear.astype(float) / unit
        solver = clarabel.DefaultSolver(squares, linear, matrix, right / unit, cones, settings)
        solved = solver.solve()
        if str(solved.status) in ("Solved", "AlmostSolved"):
            return unit * unit * solved.obj_val + program.constant
    n = int(equal.sum())
    point = linprog(np.zeros(program.n), matrix[n:], right[n:], matrix[:n], right[:n], bounds=(None, None))
    assert point.status == 2, "neither solved nor infeasible"
    return math.inf
