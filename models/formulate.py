"""The hand-over of a problem to solvers: its program with a finite box around the optima, and duals read as prices."""

from dataclasses import replace

import numpy as np

from pgsr.certificates import Multipliers
from pgsr.certificates.certificate import objective
from pgsr.certificates.multipliers import of_levels
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.feasibility import SECONDS, some_point
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.programs.program import Program
from pgsr.problems.programs.rows import program_of, regions_with_total, stated_sides, with_sums


def formulate(problem: Problem) -> Program:
    """Formulate any problem as a program in z = x - y (`pgsr.problems.programs.rows.program_of`) of a finite `reach`.

    Raises:
        Stopped: no point satisfies stated conditions, or none was found in time.
    """
    program, summed = program_of(problem), with_sums(problem)
    if program.n == program.n_cells:
        return replace(program, reach=reach(summed, program))
    low, high = reach(summed, program)
    if problem.conditions is not None and problem.conditions.choices is not None:  # the nearer, the tighter its rows
        y = program.origin[: program.n_cells]
        program = program_of(problem, (low + y, high + y))
    n_choosing = program.n - program.n_cells  # binary unknowns, which follow the cells
    return replace(program, reach=(np.append(low, np.zeros(n_choosing)), np.append(high, np.ones(n_choosing))))


def multipliers(problem: Problem, duals: np.ndarray, order_duals: np.ndarray | None = None) -> Multipliers:
    """Read prices from the duals v of `matrix z = right` in the Lagrangian objective + v (matrix z - right).

    Those of `order z <= order_right` are needed for stated rows only, since the order of cells needs no prices.
    """
    tree, sizes = problem.hierarchy, problem.sizes
    consistency, n_rows = [], 0
    for level in range(tree.n_levels - 1):
        shape = np.diff(tree.level_start)[level], sizes.max_sizes[level + 1] + 1
        stop = n_rows + int(np.prod(shape))
        consistency.append(duals[n_rows:stop].reshape(shape) if problem.consistent else np.zeros(shape))
        n_rows = stop if problem.consistent else 0
    with_total = regions_with_total(problem)
    totals = np.zeros({None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals])
    if problem.view is View.COUNTS:  # in the cumulative view totals are fixed cells
        totals[with_total] = -duals[n_rows : n_rows + len(with_total)]
    stated = None if problem.conditions is None else _stated_prices(problem.conditions, duals, order_duals)
    return Multipliers(of_levels(consistency, sizes), totals, stated)


def row_prices(problem: Problem, duals: np.ndarray, order_duals: np.ndarray) -> np.ndarray:
    """Read the prices of all rows but those of magnitudes, as `pgsr.certificates.duals.Duals` defines them."""
    n_equal, n_order, stated = len(duals), len(order_duals), np.zeros(0)
    if problem.conditions is not None:
        equal, above, below = (int(side.sum()) for side in stated_sides(problem.conditions))
        n_equal, n_order = n_equal - equal, n_order - above - below
        stated = _stated_prices(problem.conditions, duals, order_duals)
    return np.concatenate([-duals[:n_equal], -np.maximum(order_duals[:n_order], 0.0), stated])


def _stated_prices(conditions: Conditions, duals: np.ndarray, order_duals: np.ndarray | None) -> np.ndarray:
    """Read the prices of stated rows from the last duals of equalities and inequalities."""
    equal, above, below = stated_sides(conditions)
    stated = np.zeros(len(equal))
    stated[equal] = -duals[len(duals) - int(equal.sum()) :]
    if order_duals is not None:
        of_rows = np.maximum(order_duals[len(order_duals) - int(above.sum() + below.sum()) :], 0.0)
        stated[above] -= of_rows[: above.sum()]
        stated[below] += of_rows[above.sum() :]
    return stated


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
