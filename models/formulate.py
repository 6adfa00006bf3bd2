"""The hand-over of a problem to solvers: its program with a finite box around the optima, and duals read as prices."""

from dataclasses import replace

import numpy as np

from pgsr.certificates import Multipliers
from pgsr.certificates.multipliers import of_levels
from pgsr.data.views import View
from pgsr.models.reach import reach
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
