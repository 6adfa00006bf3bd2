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
    w, totals = problem.cell_weights, problem.stated_totals
    point = np.zeros(y.shape, np.int64)
    # Where all groups of a region have size 0, or in cumulative counts the largest, which all sizes fold into.
    cell = sizes.first_cell[:-1] if problem.view is View.COUNTS and not problem.monotone else sizes.last_cell
    if totals is not None and problem.totals is Totals.REGIONS:
        point[cell] = totals
    elif totals is not None:  # all groups in the first leaf below the first child, and so on
        point[cell[tree.level_start[:-1] if problem.consistent else 0]] = totals[0]
    far = np.ceil((_objective(problem, point) / np.maximum(w, 1)) ** (1 / problem.norm)) + 1
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
    y, w = problem.cells, problem.cell_weights
    low, high = program.lower[: y.size], program.upper[: y.size]
    totals = problem.stated_totals
    if problem.nonnegative and (problem.view is View.COUNTS or problem.monotone):
        low = np.maximum(low, -y)
        if problem.totals is Totals.REGIONS:
            high = np.minimum(high, problem.region_totals[problem.sizes.region_of_cell] - y)
        elif totals is not None and problem.consistent:
            high = np.minimum(high, totals[0] - y)
    assert problem.conditions is not None, "only asked where conditions are stated"
    choosing = problem.conditions.choices is not None
    if choosing or not (np.isfinite(low) & np.isfinite(high)).all():
        z = (_point_near(problem, program) if choosing else some_point(program, SECONDS))[: y.size]
        most = _objective(problem, y + z) / np.maximum(w, 1)
        far = np.ceil(1.001 * most ** (1 / problem.norm)) + 1  # the point is one within 1e-6 only
        everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * problem.hierarchy.n_regions
        low = np.maximum(low, np.where(w > 0, -far, -everywhere - y))
        high = np.minimum(high, np.where(w > 0, far, everywhere - y))
    return low, np.maximum(low, high)


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


def reach_of_added(
    problem: Problem, program: Program, cells: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Extend the reach of the cells to the unknowns that follow them (`pgsr.problems.programs.auxiliary`)."""
    low, high = cells
    n_choosing = program.n - len(low)
    return np.append(low, np.zeros(n_choosing)), np.append(high, np.ones(n_choosing))


def _objective(problem: Problem, x: np.ndarray) -> float:
    """Compute the objective of a point, with all that counts in it; shape (cells,)."""
    return float(objective(problem, Estimate(problem.hierarchy, problem.view, problem.sizes.shaped(x))))
