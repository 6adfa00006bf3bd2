"""The finite box around the optima of a problem with stated conditions, which solvers of integers and bounds need."""

import numpy as np

from pgsr.measurement import Totals
from pgsr.models.feasibility import some_point
from pgsr.models.program import Program
from pgsr.problem import Problem
from pgsr.views import View


def reach_of_conditions(problem: Problem, program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    Where x >= 0 and a total is public, 0 <= x <= total, whatever else is stated; with bounds of the cells themselves
    that is usually all. Otherwise any point that satisfies the conditions, of objective f, shows |z| <= (f / w)^(1 /
    norm): x = 0 where that is one, else one that HiGHS finds. Cells without weight are sums of cells with weight.

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
        z = some_point(program).reshape(y.shape)
        f = float((w * np.abs(z) ** problem.norm).sum())
        far = np.ceil(1.001 * (f / np.maximum(w, 1)) ** (1 / problem.norm)) + 1  # the point is one within 1e-6 only
        everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * tree.n_regions
        low = np.maximum(low, np.where(w > 0, -far, -everywhere - y))
        high = np.minimum(high, np.where(w > 0, far, everywhere - y))
    return low.ravel(), np.maximum(low, high).ravel()
