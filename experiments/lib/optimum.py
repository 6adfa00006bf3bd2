"""The best known answer of an instance and prices that prove it, by whatever method of pgsr is best for its problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr import Problem, Result, View
from pgsr.algorithms import (
    CumulativeIntegers,
    CumulativeProjection,
    Isotonic,
    MeanConsistency,
    RegionTotalsProjection,
    SimplexProjection,
    TreeProjection,
)
from pgsr.certificates import Multipliers
from pgsr.data.views import ranked
from pgsr.errors import PgsrError
from pgsr.experiments.lib.grid import on_grid
from pgsr.experiments.lib.prices import UNIT, UNIT_OF_MAGNITUDES, closing_prices, ranked_prices
from pgsr.methods.method import Method
from pgsr.models import Cvxpy, Flow, Scipy
from pgsr.models.adapter import SolverModel
from pgsr.models.formulate import formulate, multipliers
from pgsr.models.program import SolverProgram, quadratic
from pgsr.models.relaxation import relaxed_optimum
from pgsr.models.window import magnitudes, window
from pgsr.noise.measurement import Totals
from pgsr.problems.programs.formulation import NamedProgram

SOLVER_LIMIT = 120.0
"""Seconds for a general solver where pgsr has no algorithm of its own."""

STEPS_UP_TO = 20_000
"""Unknowns up to which M_c in integers gets its prices from the linear program of unit steps, the best there are."""


class NotSolvedError(PgsrError):
    """No method gave an answer to an instance."""


@dataclass(frozen=True, eq=False)
class IntegerOptimum:
    """A feasible point and prices, both as integers over a unit, in the order of a file's unknowns and rows.

    Attributes:
        solution, solution_unit: the point is solution / solution_unit.
        prices, prices_unit: likewise.
        found_by, proved_by: the methods, in words.
    """

    solution: np.ndarray
    solution_unit: int
    prices: np.ndarray
    prices_unit: int
    found_by: str
    proved_by: str


def optimum_of(problem: Problem, program: NamedProgram) -> IntegerOptimum:
    """Solve a problem as well as pgsr can, and prove what can be proved of the answer.

    Args:
        program: of the problem, as its file states it.

    Raises:
        NotSolvedError: no method answered; the message says why.
    """
    unit = 1 if problem.integer else UNIT if problem.norm == 2 else UNIT_OF_MAGNITUDES
    method, multipliers, result = _answered(problem)
    cells, prices, proved_by = _proved(problem, result, multipliers)
    solution = np.concatenate([cells, _magnitudes(problem, cells, unit)])
    prices_unit = UNIT if problem.norm == 2 else UNIT_OF_MAGNITUDES
    if problem.integer and (prices == np.rint(prices)).all():
        prices_unit = 1
    return IntegerOptimum(
        solution, unit, _whole_prices(problem, program, prices, prices_unit), prices_unit, repr(method), proved_by
    )


def _answered(problem: Problem) -> tuple[Method, Any, Result]:
    """Try the methods for a problem in turn; the first that answers, with the multipliers of its relaxation."""
    failed = []
    for method in _methods(problem):
        result = method.solve(problem, SOLVER_LIMIT if isinstance(method, SolverModel) else None)
        if result.answer is None or result.certificate is None or not result.certificate.feasible:
            failed.append(f"{method!r}: {result.status.name} {result.reason}")
            continue
        return method, result.multipliers if problem.conditions is None else _interior_multipliers(problem), result
    raise NotSolvedError(f"{problem!r} was not solved; " + "; ".join(failed))


def _methods(problem: Problem) -> list[Method]:
    if problem.view is View.RANKED or (problem.monotone and not problem.consistent):
        return [Isotonic()]
    if not problem.consistent:
        return [SimplexProjection()]
    if problem.conditions is not None:
        return [Cvxpy("CLARABEL")]
    if not problem.nonnegative:
        return [MeanConsistency()]
    if problem.view is View.COUNTS and problem.totals is Totals.REGIONS:
        return [Flow(around=RegionTotalsProjection())] if problem.integer else [RegionTotalsProjection()]
    if problem.view is View.COUNTS:
        return [TreeProjection()]
    if problem.norm == 1:
        return [Scipy()]
    return [CumulativeIntegers()] if problem.integer else [CumulativeProjection(gap=1e-10)]


def _interior_multipliers(problem: Problem) -> Multipliers:
    """Take the multipliers of the relaxation from the duals of an interior point, which solver models keep back."""
    program = formulate(problem.relaxed())
    answer = Cvxpy("CLARABEL").run(quadratic(program), SOLVER_LIMIT).answer
    if answer.duals is None:
        raise NotSolvedError(f"Clarabel gave no duals of {problem!r} within {SOLVER_LIMIT:g} s: {answer.note}")
    return multipliers(problem, answer.duals, answer.order_duals)


def _proved(problem: Problem, result: Result, multipliers: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """The cells as integers over their unit, the prices of all rows but distances as floats, and who proved it."""
    assert result.answer is not None
    if problem.view is View.RANKED:
        vectors = [ranked(row) for row in np.asarray(result.answer.values)]
        return np.concatenate(vectors).astype(np.int64), ranked_prices(problem, vectors).stacked(), "subgradient chain"
    x = np.asarray(result.answer.values)
    if not problem.integer:
        unit = UNIT if problem.norm == 2 else UNIT_OF_MAGNITUDES
        cells = on_grid(problem, x, unit)
        if problem.norm == 1 and problem.consistent:
            return cells.ravel(), _solver_prices(problem), "duals of HiGHS"
        return cells.ravel(), closing_prices(problem, x, multipliers).stacked(), _argument(problem)
    cells = x.astype(np.int64)
    if problem.norm == 1 and problem.consistent:
        return cells.ravel(), _solver_prices(problem.relaxed()), "duals of HiGHS"
    if problem.consistent and problem.monotone and problem.n_unknowns <= STEPS_UP_TO:
        prices, stepped = _step_prices(problem)
        if stepped is not None:  # a vertex in integers, so an optimum
            cells = stepped.reshape(cells.shape)
        return cells.ravel(), prices, "duals of HiGHS in a window of steps"
    return cells.ravel(), closing_prices(problem, cells, multipliers).stacked(), _argument(problem)


def _argument(problem: Problem) -> str:
    if problem.consistent and problem.monotone:
        return f"prices of {'CumulativeIntegers' if problem.integer else 'CumulativeProjection'}"
    if problem.consistent and problem.totals is Totals.REGIONS:
        return "node potentials" if problem.integer else "prices of the dual"
    if problem.consistent:
        return "prices of the tree"
    return "subgradient chain" if problem.monotone else "prices of totals"


def _solver_prices(problem: Problem) -> np.ndarray:
    """Prices from the duals of the linear program of magnitudes; those of distances follow from the others."""
    program = formulate(problem)
    return _prices_of_run(magnitudes(program).columns(integers=False, start=None))


def _step_prices(problem: Problem) -> tuple[np.ndarray, np.ndarray | None]:
    """Prices from the duals of the last linear program of windows, the best bound that cells alone in integers give.

    Its solution besides, if it is integer: then it is the optimum, as it is wherever the conditions are a network.
    """
    program = formulate(problem)
    around = relaxed_optimum(problem, program)
    pieces = window(program, np.zeros(program.n) if around is None else around)
    while True:
        answer = Scipy().run(pieces.columns(integers=False, start=None), SOLVER_LIMIT).answer
        if answer.values is None or answer.duals is None or answer.order_duals is None:
            raise NotSolvedError(f"HiGHS gave no duals of {problem!r} within {SOLVER_LIMIT:g} s")
        z = pieces.cells(answer.values)
        if not pieces.outside(answer.values):
            break
        pieces = pieces.moved(z)
    whole = bool((np.abs(z - np.rint(z)) < 1e-6).all())
    prices = _stacked(answer.duals, answer.order_duals)
    return prices, program.origin + np.rint(z).astype(np.int64) if whole else None


def _prices_of_run(program: SolverProgram) -> np.ndarray:
    answer = Scipy().run(program, SOLVER_LIMIT).answer
    if answer.duals is None or answer.order_duals is None:
        raise NotSolvedError(f"HiGHS gave no duals within {SOLVER_LIMIT:g} s: {answer.note}")
    return _stacked(answer.duals, answer.order_duals)


def _stacked(duals: np.ndarray, order_duals: np.ndarray) -> np.ndarray:
    """Prices are duals with the other sign; those of inequalities are never positive."""
    return np.concatenate([-duals, np.minimum(0.0, -order_duals)])


def _magnitudes(problem: Problem, cells: np.ndarray, unit: int) -> np.ndarray:
    """The up and down of every measured cell, over the same unit; nothing where distances are squares."""
    if problem.norm == 2:
        return np.zeros(0, np.int64)
    measured = np.repeat(problem.w, np.diff(problem.first_cell)) > 0
    away = (cells - problem.cells * unit)[measured]
    return np.concatenate([np.maximum(away, 0), np.maximum(-away, 0)])


def _whole_prices(problem: Problem, program: NamedProgram, prices: np.ndarray, unit: int) -> np.ndarray:
    """The prices as integers over the unit, and those of distances, which leave no pull on the cells.

    A cell that may move freely in both directions may not be pulled by more than its weight. Where rounding, or a
    solver's tolerance, exceeds that, all prices are made as much smaller as it takes.
    """
    n_rows = len(prices)
    if problem.norm == 2:
        whole = np.rint(prices * unit).astype(np.int64)
        return _repaired(problem, whole)
    measured = program.m - n_rows
    rows, links = program.matrix[:n_rows].T.astype(np.int64), program.matrix[n_rows:]
    cells = sparse.csr_array(links).indices.reshape(measured, 3).min(axis=1) if measured else np.zeros(0, np.int64)
    weight = program.linear[-measured:].astype(np.int64) * unit if measured else np.zeros(0, np.int64)
    free_below, free_above = np.isinf(program.lower[cells]), np.isinf(program.upper[cells])
    factor = 1.0
    for _ in range(60):
        whole = np.rint(prices * (factor * unit)).astype(np.int64)
        pull = (rows @ whole)[cells]
        over = np.where(free_above, pull, 0) - weight, np.where(free_below, -pull, 0) - weight
        if max(int(part.max(initial=0)) for part in over) <= 0:
            return np.concatenate([whole, _link_prices(program, cells, pull, weight)])
        worst = float((weight / np.maximum(np.abs(pull), 1))[(over[0] > 0) | (over[1] > 0)].min())
        factor *= min(worst, 1.0) * (1.0 - 8.0 / unit)
    raise NotSolvedError(f"the prices of {problem!r} pull cells by more than their weight, whatever they are scaled by")


def _link_prices(program: NamedProgram, cells: np.ndarray, pull: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The best price of every x = y + up - down, given what else pulls x: the weight up or down, or minus the pull.

    A price m of at most the weight leaves up and down at 0, and adds m y and the minimum of -(pull + m) x.
    """
    y = program.row_lower[-len(cells) :]
    low, high = program.lower[cells], program.upper[cells]
    options = np.stack([np.clip(-pull, -weight, weight), -weight, weight])
    slope = -(pull + options).astype(float)
    with np.errstate(invalid="ignore"):
        values = options * y + np.where(slope == 0, 0.0, np.where(slope > 0, slope * low, slope * high))
    return options[np.argmax(values, axis=0), np.arange(len(cells))]


def _repaired(problem: Problem, whole: np.ndarray) -> np.ndarray:
    """Undo roundings that would pull inner cells without weight."""
    tree = problem.hierarchy
    if not problem.consistent or problem.view is View.RANKED or problem.w[: tree.n_inner].all():
        return whole
    n_sizes = problem.target.shape[1]
    price = whole[: tree.n_inner * n_sizes].reshape(tree.n_inner, n_sizes)
    root = slice(tree.n_inner * n_sizes, tree.n_inner * n_sizes + 1)
    for region in np.flatnonzero(problem.w[: tree.n_inner] == 0):
        if region:
            price[region] = price[tree.parent[region]]
        elif problem.view is View.COUNTS:
            price[0] = -whole[root] if problem.totals is Totals.ROOT else 0
        else:
            price[0, :-1] = 0
            whole[root] = -price[0, -1] if problem.totals is Totals.ROOT else whole[root]
    return whole
