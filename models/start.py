"""The values from which a solver may start: those of another solve's estimate, in the unknowns of a program."""

import numpy as np

from pgsr.checks import is_sparse
from pgsr.data.rounding import nearest
from pgsr.data.views import View, counts_of_cumulative, cumulative, ranked
from pgsr.errors import MethodError, NoDualsError
from pgsr.methods.method import Result
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.programs.program import Program
from pgsr.problems.programs.rows import stated_sides


def values_to_start(problem: Problem, program: Program, start: Result) -> np.ndarray:
    """Write an estimate of the problem's regions and sizes, in either view, as values z of all unknowns of a program.

    Unknowns behind the cells (`pgsr.problems.programs.auxiliary`) get the values that follow from the cells. In
    integers every number is rounded. The values satisfy the program's rows as far as the estimate does; noisy values
    may be others than those that it was made of.

    Raises:
        MethodError: values are not finite; or sizes are ranked and a region has another number of groups than here.
    """
    x = cells_of(problem, start)
    if not np.isfinite(x).all():
        raise MethodError("warm_start has values that are not finite; give a result of solve, or None")
    x = nearest(x) if program.integer else x
    z = x - program.origin[: program.n_cells]
    if problem.conditions is not None and problem.conditions.choices is not None:
        z = np.concatenate([z, _chosen(problem.conditions.choices, x)])
    return z.astype(float)


def duals_to_start(program: Program, problem: Problem, start: Result) -> tuple[np.ndarray, np.ndarray] | None:
    """Write the prices of a result's rows as duals of equalities and inequalities of a continuous program.

    None where the result has none, or is of a problem with other rows. Prices of magnitudes follow from the others.
    """
    if start.problem is None:
        return None
    try:
        prices = start.duals.prices
    except NoDualsError:
        return None
    n_linked = int((program.weight > 0).sum()) if program.norm == 1 else 0
    stated = problem.conditions
    equal, above, below = stated_sides(Conditions.none(1) if stated is None else stated)
    n_equal = len(program.right) - int(equal.sum())
    n_order = len(program.order_right) - int(above.sum() + below.sum())
    if len(prices) != n_equal + n_order + len(equal) + n_linked:
        return None
    own, order, of_stated, _ = np.split(-prices, np.cumsum([n_equal, n_order, len(equal)]))
    equalities = np.concatenate([own, of_stated[equal]])
    return equalities, np.concatenate([order, np.maximum(of_stated[above], 0.0), np.maximum(-of_stated[below], 0.0)])


def cells_of(problem: Problem, start: Result) -> np.ndarray:
    """Write the estimate of a result in the problem's view, cell by cell."""
    estimate = start.estimate
    if problem.view is View.RANKED:
        counts = np.maximum(nearest(np.asarray(estimate.as_counts)), 0)
        sizes = [ranked(row) for row in counts]
        if [len(row) for row in sizes] != np.diff(problem.first_cell).tolist():
            raise MethodError("warm_start has other numbers of groups, so other ranks; give a result with the same")
        return np.concatenate([*sizes, np.zeros(0, np.int64)])
    tables = [table.toarray() if is_sparse(table) else table for table in estimate.tables]
    if estimate.view is not problem.view:
        tables = list(map(cumulative if problem.view is View.CUMULATIVE else counts_of_cumulative, tables))
    return np.concatenate([table.ravel() for table in tables])


def _chosen(choices: Choices, x: np.ndarray) -> np.ndarray:
    """Say which alternatives hold at these cells: 1 or 0 each."""
    have, holds = choices.rows @ x, np.ones(len(choices.choice), bool)
    np.logical_and.at(holds, choices.alternative, (choices.lower <= have) & (have <= choices.upper))
    return holds
