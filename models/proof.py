"""Prices that prove an integer answer, from the linear program of the window around it."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from pgsr.models.program import Program
from pgsr.models.window import magnitudes, window

ROUNDS = 3
"""The programs solved at most: where the linear optimum lies outside the window, it moves."""


def prices_around(program: Program, whole: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the duals of equalities and inequalities of a linear program around an integer answer, by SciPy's HiGHS.

    Solvers of integers give no duals, and without prices nothing bounds an objective. Those of the linear program of
    pieces around the answer are the best that there are. Nothing rests on HiGHS: any prices give a bound that holds.

    Args:
        program: of integers.
        whole: the answer z, integers of shape (n,).
        seconds: the time that HiGHS may take for each program.

    Returns:
        Duals as in `pgsr.models.judge.Answer`, or None if HiGHS has none within the time.
    """
    pieces = magnitudes(program) if program.norm == 1 else window(program, whole.astype(float))
    duals = None
    for _ in range(ROUNDS):
        handed = pieces.columns(integers=False, start=None)
        found: Any = linprog(
            handed.linear,
            A_ub=handed.order if len(handed.order_right) else None,
            b_ub=handed.order_right if len(handed.order_right) else None,
            A_eq=handed.matrix if len(handed.right) else None,
            b_eq=handed.right if len(handed.right) else None,
            bounds=np.stack([handed.lower, handed.upper], axis=1),
            method="highs",
            options={"time_limit": seconds},
        )
        if found.status != 0:
            return duals
        duals = -np.asarray(found.eqlin.marginals), -np.asarray(found.ineqlin.marginals)
        if not pieces.outside(found.x):
            return duals
        pieces = pieces.moved(pieces.cells(found.x))
    return duals
