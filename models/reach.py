"""The finite box around the optima of a problem with stated conditions, which solvers of integers and bounds need."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from pgsr.measurement import Totals
from pgsr.method import Status
from pgsr.models.program import Program
from pgsr.problem import Problem
from pgsr.solving import Stopped
from pgsr.views import View

SECONDS = 60.0
"""The time that HiGHS may look for any point that satisfies the conditions."""


def reach_of_conditions(problem: Problem, program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    Where x >= 0 and a total is public, 0 <= x <= total, whatever else is stated; with bounds of the cells themselves
    that is usually all. Otherwise any point that satisfies the conditions, of objective f, shows |z| <= (f / w)^(1 /
    norm): 0 in all cells but for the totals where that is one, else one that HiGHS finds. Cells without weight are sums
    of cells with weight.

    Raises:
        Stopped: there is no such point, or HiGHS found none in time.
    """
    tree, y, w = problem.hierarchy, problem.target, problem.w[:, None]
    low, high = program.lower.reshape(y.shape), program.upper.reshape(y.shape)
    totals = problem.stated_totals
    if problem.nonnegative and (problem.view is View.COUNTS or problem.monotone):
        low = np.maximum(low, -y)
        if problem.totals is Totals.REGIONS:
            high = np.minimum(high, problem.region_totals[:, None] - y)
        elif totals is not None and problem.consistent:
            high = np.minimum(high, totals[0] - y)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        z = _some_point(problem, program).reshape(y.shape)
        f = float((w * np.abs(z) ** problem.norm).sum())
        far = np.ceil(1.001 * (f / np.maximum(w, 1)) ** (1 / problem.norm)) + 1  # the point is one within 1e-6 only
        everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * tree.n_regions
        low = np.maximum(low, np.where(w > 0, -far, -everywhere - y))
        high = np.minimum(high, np.where(w > 0, far, everywhere - y))
    return low.ravel(), np.maximum(low, high).ravel()


def _some_point(problem: Problem, program: Program) -> np.ndarray:
    """Find any z that satisfies the conditions; shape (cells,)."""
    origin = -program.origin.astype(float)
    if _satisfies(program, origin):
        return origin
    n_equal, n_above = len(program.right), len(program.order_right)
    found: Any = linprog(
        np.zeros(program.n),
        A_ub=program.order if n_above else None,
        b_ub=program.order_right if n_above else None,
        A_eq=program.matrix if n_equal else None,
        b_eq=program.right if n_equal else None,
        bounds=np.stack([program.lower, program.upper], axis=1),
        method="highs",
        integrality=np.full(program.n, int(program.integer)),
        options={"time_limit": SECONDS},
    )
    if found.status == 2:
        raise Stopped(Status.INFEASIBLE, "HiGHS says that no point satisfies the conditions")
    if found.x is None:
        reason = f"HiGHS found no point that satisfies the conditions in {SECONDS:g} s; state totals or bounds of cells"
        raise Stopped(Status.TIMED_OUT, reason)
    z = np.rint(found.x) if program.integer else found.x
    if program.integer and not _satisfies(program, z):
        raise Stopped(Status.FAILED, f"HiGHS' point for {problem.label} violates conditions; scale coefficients down")
    return z


def _satisfies(program: Program, z: np.ndarray) -> bool:
    """Say whether integers z satisfy every row and bound."""
    return bool(
        np.all(program.matrix @ z == program.right)
        and np.all(program.order @ z <= program.order_right)
        and np.all(program.lower <= z)
        and np.all(z <= program.upper)
    )
