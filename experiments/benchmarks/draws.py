"""The processor time of many noise draws of one problem: a native model updated, made anew, or no model at all."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from pgsr import Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.methods.method import Result
from pgsr.models import Cvxpy, Gurobi, MathOpt
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

SOLVERS = ((Cvxpy("CLARABEL"), 8), (Cvxpy("OSQP"), 8), (MathOpt("PDLP"), 8), (Gurobi(), 2))
"""The solvers, each with its largest size: Gurobi's bundled licence ends at 200 unknowns with squares."""


def table(draws: int, solvers: Iterable[tuple[Any, int]] = SOLVERS) -> pd.DataFrame:
    """Measure the relaxation of M_H in a nation with 51 states, every answer judged.

    Args:
        draws: of the noise, at epsilon 1; the model is made once for the column `update`, inside its time.
        solvers: methods with `.model`, each with its largest size.

    Returns:
        One row per solver: unknowns, the seconds of processors that `TreeProjection` takes for all draws, and as
        multiples of it `anew` (a model per draw), `update` (one model), and `method` (no model: sparse matrices).
        `proved` is the least number of draws that one of the four ways answers by a proved optimum.
    """
    return pd.DataFrame(list(_rows(draws, solvers)))


def _rows(draws: int, solvers: Iterable[tuple[Any, int]]) -> Iterator[dict[str, Any]]:
    for solver, max_size in solvers:
        truth = census_like("states", max_size=max_size)
        noisy = [Geometric(View.COUNTS, 1).measure(truth, Seeded(f"draw {draw}")) for draw in range(draws)]
        ours = TreeProjection()
        for warming in (ours.solve, solver.solve, lambda problem, solver=solver: solver.model(problem).solve(problem)):
            warming(_stated(noisy[0]))
        ways: dict[str, Callable[[], Iterable[Result]]] = {
            "ours": lambda noisy=noisy, ours=ours: (ours.solve(_stated(one)) for one in noisy),
            "anew": lambda noisy=noisy, solver=solver: _anew(solver, noisy),
            "update": lambda noisy=noisy, solver=solver: _updated(solver, noisy),
            "method": lambda noisy=noisy, solver=solver: (solver.solve(_stated(one)) for one in noisy),
        }
        found = {name: _seconds(way) for name, way in ways.items()}
        own = found.pop("ours")
        yield {
            "solver": repr(solver),
            "unknowns": _stated(noisy[0]).n_unknowns,
            "proved": min(own[1], *(proved for _, proved in found.values())),
            "TreeProjection (s)": round(own[0], 3),
            **{name: round(seconds / own[0], 1) for name, (seconds, _) in found.items()},
        }


def _stated(noisy: Measurement) -> Problem:
    return Problem.m_h(noisy).relaxed()


def _anew(solver: Any, noisy: Sequence[Measurement]) -> Iterator[Result]:
    for one in noisy:
        model = solver.model(_stated(one))
        yield model.solve(model.problem)


def _updated(solver: Any, noisy: Sequence[Measurement]) -> Iterator[Result]:
    model = solver.model(_stated(noisy[0]))
    for one in noisy:
        model.update(one)
        yield model.solve(model.problem)


def _seconds(way: Callable[[], Iterable[Result]]) -> tuple[float, int]:
    """Add up the time of all processors, which other work prolongs less than the clock, and count proved optima."""
    start = time.process_time()
    statuses = [result.status for result in way()]
    return time.process_time() - start, statuses.count(Status.OPTIMAL)
