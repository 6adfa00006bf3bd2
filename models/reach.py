"""The finite box around the optima of a problem, which solvers of integers and bounds need."""

import numpy as np

from pgsr.data.views import View
from pgsr.models.feasibility import some_point
from pgsr.models.program import Program
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem


def reach(problem: Problem, program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    Raises:
        Stopped: with stated conditions, no point satisfies them, or HiGHS found none in time.
    """
    if problem.view is View.RANKED:
        return program.lower, program.upper
    return _without_conditions(problem) if problem.conditions is None else _with_conditions(problem, program)


def _without_conditions(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    A feasible point of objective f shows |z| <= (f / w)^(1 / norm) for every cell of an optimum. Cells without weight
    are sums of cells with weight. Where x >= 0 and totals are public, 0 <= x <= total besides.
    """
    tree, sizes, y = problem.hierarchy, problem.sizes, problem.cells
    region = sizes.region_of_cell
    w, totals = problem.w[region], problem.stated_totals
    point = np.zeros(y.shape, np.int64)
    # Where all groups of a region have size 0, or in cumulative counts the largest, which all sizes fold into.
    cell = sizes.first_cell[:-1] if problem.view is View.COUNTS and not problem.monotone else sizes.last_cell
    if totals is not None and problem.totals is Totals.REGIONS:
        point[cell] = totals
    elif totals is not None:  # all groups in the first leaf below the first child, and so on
        point[cell[tree.level_start[:-1] if problem.consistent else 0]] = totals[0]
    f = float((w * np.abs(point - y).astype(float) ** problem.norm).sum())
    far = np.ceil((f / np.maximum(w, 1)) ** (1 / problem.norm)) + 1
    everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * tree.n_regions
    low, high = np.where(w > 0, -far, -everywhere - y), np.where(w > 0, far, everywhere - y)
    if problem.nonnegative:
        low = np.maximum(low, -y)
    if problem.nonnegative and (problem.view is View.COUNTS or problem.monotone) and totals is not None:
        if problem.totals is Totals.REGIONS:
            high = np.minimum(high, totals[region] - y)
        elif problem.consistent:
            high = np.minimum(high, totals[0] - y)
    return low, np.maximum(low, high)


def _with_conditions(problem: Problem, program: Program) -> tuple[np.ndarray, np.ndarray]:
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
