"""The finite box around the optima of a problem, which solvers of integers and bounds need."""

from dataclasses import replace

import numpy as np

from pgsr.certificates.certificate import objective
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.feasibility import SECONDS, some_point
from pgsr.models.program import Program
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import program_of


def reach(problem: Problem, program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    Where x >= 0 and a total is public, 0 <= x <= total, whatever else is stated; with stated bounds of the cells
    themselves that is usually all. Otherwise a feasible point of objective f shows |z| <= (f / w)^(1 / norm) for every
    cell of an optimum. Cells without weight are sums of cells with weight.

    Raises:
        Stopped: with stated conditions, no point satisfies them, or HiGHS found none in time.
    """
    if problem.view is View.RANKED:
        return program.lower, program.upper
    conditions, y, w = problem.conditions, problem.cells, problem.cell_weights
    low, high = _within_totals(problem, program.lower[: y.size], program.upper[: y.size])
    choosing = conditions is not None and conditions.choices is not None
    if conditions is None or choosing or not (np.isfinite(low) & np.isfinite(high)).all():
        if conditions is None:
            x, margin = _simple_point(problem), 1.0
        else:  # a point within 1e-6 only
            z, margin = _point_near(problem, program) if choosing else some_point(program, SECONDS), 1.001
            x = y + z[: y.size]
        most = float(objective(problem, Estimate(problem.hierarchy, problem.view, problem.sizes.shaped(x))))
        far = np.ceil(margin * (most / np.maximum(w, 1)) ** (1 / problem.norm)) + 1
        everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * problem.hierarchy.n_regions
        low = np.maximum(low, np.where(w > 0, -far, -everywhere - y))
        high = np.minimum(high, np.where(w > 0, far, everywhere - y))
    return low, np.maximum(low, high)


def _within_totals(problem: Problem, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Narrow bounds of z by x >= 0, and by the public totals that no x exceeds then."""
    y, totals = problem.cells, problem.stated_totals
    if problem.nonnegative:
        low = np.maximum(low, -y)
        if totals is not None and (problem.view is View.COUNTS or problem.monotone):
            if problem.totals is Totals.REGIONS:
                high = np.minimum(high, totals[problem.sizes.region_of_cell] - y)
            elif problem.consistent:
                high = np.minimum(high, totals[0] - y)
    return low, high


def _simple_point(problem: Problem) -> np.ndarray:
    """Give every region's groups one size; shape (cells,). It is feasible where no conditions are stated."""
    tree, sizes, totals = problem.hierarchy, problem.sizes, problem.stated_totals
    point = np.zeros(problem.cells.shape, np.int64)
    # Size 0, or in cumulative counts the largest, which all sizes fold into.
    cell = sizes.first_cell[:-1] if problem.view is View.COUNTS and not problem.monotone else sizes.last_cell
    if totals is not None and problem.totals is Totals.REGIONS:
        point[cell] = totals
    elif totals is not None:  # all groups in the first leaf below the first child, and so on
        point[cell[tree.level_start[:-1] if problem.consistent else 0]] = totals[0]
    return point


def _point_near(problem: Problem, program: Program) -> np.ndarray:
    """Find any point of a problem with choices within some distance of y, the smallest one tried at which there is one.

    The rows of alternatives depend on how far cells may go (`pgsr.problems.programs.auxiliary`), and solvers are exact
    where that is not far.
    """
    y = program.origin[: program.n_cells]
    everywhere = problem.intervals
    distance = 64.0
    while True:
        box = np.maximum(everywhere[0], y - distance), np.minimum(everywhere[1], y + distance)
        whole = bool((box[0] == everywhere[0]).all() and (box[1] == everywhere[1]).all())
        if (box[0] <= box[1]).all():
            near = program_of(problem, box)
            rest = np.full(near.n - len(y), np.inf)
            low = np.maximum(near.lower, np.append(box[0] - y, -rest))
            high = np.minimum(near.upper, np.append(box[1] - y, rest))
            try:
                return some_point(replace(near, lower=low, upper=high), SECONDS)
            except Stopped:
                if whole:
                    raise
        elif whole:
            raise Stopped(Status.INFEASIBLE, "no point satisfies the conditions")
        distance *= 8.0
