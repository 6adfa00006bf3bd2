"""Solves that start from the result of another one: refused in a sentence, or seen to make a difference."""

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pgsr import Hierarchy, Problem, Result, Status, View
from pgsr.algorithms import CumulativeProjection, TreeProjection
from pgsr.certificates import certify
from pgsr.datasets import census_like
from pgsr.errors import ArgumentError, MethodError
from pgsr.models import CpSat, Cvxpy, Direct, Flow, Gurobi, MathOpt, QpSolvers, Scip, Scipy, Xpress
from pgsr.models.adapter import Route, SolverModel
from pgsr.models.catalogue import SOLVERS
from pgsr.models.formulate import formulate
from pgsr.models.program import ProgramKind, quadratic
from pgsr.models.relaxation import duals_to_start, values_to_start
from pgsr.models.window import magnitudes, window
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, either, total

FIRST_ONLY = [
    Gurobi(options={"SolutionLimit": 1}),
    Cvxpy("GUROBI", options={"SolutionLimit": 1}),
    MathOpt("GSCIP", options={"limits/solutions": 1}),
    Scip(options={"limits/solutions": 1}),
    Xpress(options={"maxmipsol": 1}),
]
"""Solvers of integer squares that stop at the first point that they have."""

FEW_STEPS = [
    Direct("OSQP", options={"max_iter": 25}),
    Cvxpy("SCS", options={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 25}),
    MathOpt("PDLP", options={"termination_criteria.iteration_limit": 1}),
    QpSolvers("proxqp", options={"max_iter": 2}),
]
"""Iterative solvers of continuous squares that may do next to nothing, and what they may do."""

ENOUGH = [
    Direct("OSQP"),
    Cvxpy("SCS", options={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000}),
    MathOpt("PDLP"),
    QpSolvers("proxqp"),
]


@cache
def draws(view=View.COUNTS, max_size=2):
    truth = census_like("states", max_size=max_size)
    return [Geometric(view, epsilon="0.1").measure(truth, Seeded(f"start {i}")) for i in range(2)]


def skip_if_missing(method):
    missing = method.unavailable()
    if missing is not None:
        pytest.skip(missing.reason)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", FIRST_ONLY, ids=repr)
def test_the_first_point_of_integers_is_the_start(method):
    """The optimum of another draw: feasible, far from optimal, and returned by a solver that goes no further."""
    skip_if_missing(method)
    problem, other = map(Problem.m_h, draws())
    start = TreeProjection().solve(other)
    given = certify(problem, start.estimate).objective
    assert given > 2 * TreeProjection().solve(problem).certificate.objective
    cold, warm = method.solve(problem), method.solve(problem, warm_start=start)
    assert warm.status is Status.FEASIBLE
    assert warm.certificate.objective == given
    assert cold.certificate is None or cold.certificate.objective != given


@pytest.mark.parametrize(
    "method",
    [CpSat(options={"stop_after_first_solution": True, "cp_model_presolve": False}), MathOpt("HIGHS"), Direct("HIGHS")],
    ids=repr,
)
def test_linear_programs_in_integers_start_there(method, capfd):
    problem, other = (Problem.m_c(noisy, norm=1) for noisy in draws(View.CUMULATIVE, 4))
    start, best = Scipy().solve(other), Scipy().solve(problem)
    given = certify(problem, start.estimate).objective
    assert given > best.certificate.objective
    if isinstance(method, CpSat):
        assert method.solve(problem, warm_start=start).certificate.objective == given
        return
    loud = replace(method, options={"output_flag": True, "log_to_console": True})
    warm = loud.solve(problem, warm_start=start)
    assert "MIP start solution is feasible" in capfd.readouterr().out
    assert warm.certificate.objective == best.certificate.objective


@pytest.mark.parametrize(("few", "enough"), list(zip(FEW_STEPS, ENOUGH, strict=True)), ids=repr)
def test_an_optimum_to_start_from_needs_next_to_no_steps(few, enough):
    problem = Problem.m_c(draws(View.CUMULATIVE, 8)[0]).relaxed()  # with equalities and inequalities
    optimum = enough.solve(problem)
    assert optimum.status is Status.OPTIMAL
    assert few.solve(problem).status is not Status.OPTIMAL
    warm = few.solve(problem, warm_start=optimum)
    assert warm.status is Status.OPTIMAL, warm
    assert warm.certificate.objective == pytest.approx(optimum.certificate.objective, rel=1e-6)


STARTING_METHODS = [entry.method for entry in SOLVERS if getattr(entry.method, "starts", None)]


@pytest.mark.few(3)
@pytest.mark.parametrize("method", [*STARTING_METHODS, CumulativeProjection()], ids=repr)
def test_a_start_changes_no_objective(method):
    """From another draw, from an estimate that is not feasible, and from another view; the judge stays."""
    if isinstance(method, SolverModel):
        skip_if_missing(method)
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    counts = [
        Problem.of(y, tree, groups=14, label="M_H") for y in ([[1, 9, 3], [0, 5, 2], [-1, 4, 3]], [[4, 9, 3]] * 3)
    ]
    sums = [Problem.of(np.cumsum(p.target, axis=1), tree, View.CUMULATIVE, groups=14, label="M_c") for p in counts]
    started = 0
    for problem, other in [counts, sums]:
        for stated in (problem, problem.relaxed()):
            if method.supports(stated) is not None or method.no_start(stated) is not None:
                continue
            cold = method.solve(stated)
            rough = Cvxpy("CLARABEL").solve(other)  # rounded cell by cell
            starts = [method.solve(other if stated.integer else other.relaxed())]
            starts += [] if isinstance(method, CumulativeProjection) else [rough, TreeProjection().solve(counts[1])]
            for start in starts:
                warm = method.solve(stated, warm_start=start)
                if rounds(method, stated):  # halves go up or down by the last digit of a relaxation
                    assert warm.residuals.gap < 1e-6
                else:
                    assert warm.status is cold.status, (start, warm)
                    assert warm.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-6)
                started += 1
    assert started >= 1


def rounds(method, problem):
    return isinstance(method, SolverModel) and method.route(problem) is Route.RELAXED


@pytest.mark.parametrize("norm", [1, 2])
def test_values_to_start_from_satisfy_every_row_that_the_estimate_does(norm):
    """Choices, magnitudes, and unit steps: no row of the program is off where the estimate is feasible."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1, 19, 3], [0, 5, 2], [-1, 4, 30]], tree, groups=14, norm=norm, label="M_H")
    problem = problem.where(either(total(("US", "GA")) >= 9, cells(("US", "GA"), size=0) == 0))
    plain = Problem.of([[1, 9, 3], [0, 5, 2], [-1, 4, 3]], tree, groups=14, label="M_H")
    result = Scipy().solve(plain.where(cells(("US", "GA"), size=0) == 0))
    program = formulate(problem)
    z = values_to_start(problem, program, result)
    assert z.shape == (program.n,)
    for handed in stated(program, z, norm):
        assert handed.matrix @ handed.start == pytest.approx(handed.right)
        assert (handed.order @ handed.start <= handed.order_right + 1e-9).all()
        assert (handed.lower - 1e-9 <= handed.start).all()
        assert (handed.start <= handed.upper + 1e-9).all()
        objective = handed.quadratic @ handed.start**2 + handed.linear @ handed.start + handed.constant
        assert objective == pytest.approx(certify(problem, result.estimate).objective)


def stated(program, z, norm):
    """The programs that solvers would get: a window of steps around the start among them."""
    if norm == 1:
        return [magnitudes(program).columns(True, z)]
    return [quadratic(program, z), window(program, z).columns(True, z)]


def test_duals_to_start_from_are_those_that_were_read():
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1, 9, 3], [0, 5, 2], [-1, 4, 3]], tree, groups=14, label="M_H")
    problem = problem.where(total(("US", "GA")) <= 5, total(("US", "MI")) >= 8).relaxed()
    kept = []

    class Keeping(Cvxpy):
        def run(self, program, time_limit):
            run = super().run(program, time_limit)
            kept.append((run.answer.duals, run.answer.order_duals))
            return run

    result = Keeping("CLARABEL").solve(problem)
    handed = replace(quadratic(formulate(problem)), start_duals=duals_to_start(formulate(problem), problem, result))
    unit = handed.start_duals[0] / kept[0][0]
    assert unit == pytest.approx(unit[0])
    assert handed.start_duals[1] == pytest.approx(unit[0] * kept[0][1], abs=1e-6)
    other = TreeProjection().solve(Problem.of([[1]], Hierarchy.from_parents(["US"], [-1])))
    assert duals_to_start(formulate(problem), problem, other) is None


@pytest.mark.parametrize(
    "method",
    [
        TreeProjection(),
        Flow(),
        Scipy(),
        Cvxpy("CLARABEL"),
        Direct("PIQP"),
        Cvxpy("SCIP"),
        Gurobi(),
        MathOpt("GLOP"),
        *map(QpSolvers, ("qpalm", "cvxopt", "daqp", "quadprog")),
    ],
    ids=repr,
)
def test_who_takes_no_start_says_so(method):
    """qpalm, daqp and quadprog would pass over it in silence, cvxopt fails from most points."""
    problem = Problem.m_h(draws()[0])
    for asked in (problem, problem.relaxed(), Problem.m_c(draws(View.CUMULATIVE)[0], norm=1).relaxed()):
        if method.supports(asked) is not None or (asked.integer and isinstance(method, Gurobi)):
            continue
        result = method.solve(asked, warm_start=TreeProjection().solve(problem))
        assert result.status is Status.UNSUPPORTED
        assert result.reason.startswith(f"{method!r} takes no start")
        assert "leave warm_start= out" in result.reason


def test_the_table_of_solvers_says_who_takes_starts():
    """Every solver model that the catalogue has is in the table of the page, with what it takes and gives."""
    page = (Path(__file__).parents[2] / "docs" / "model" / "solvers.md").read_text("utf-8")
    lines = page.split("| solver | prices of rows | takes a start of |")[1].split("\n\n")[0].splitlines()[2:]
    told = {}
    for line in lines:
        names, prices, kinds = (part.strip() for part in line.strip("|").split("|")[:3])
        for name in re.findall(r"`([^`]+)`", names):
            told[name.replace('"', "'")] = prices == "yes", kinds
    models = [entry.method for entry in SOLVERS if isinstance(entry.method, SolverModel) and not entry.method.options]
    for method in models:
        takes = ", ".join(kind.name for kind in ProgramKind if kind in method.starts)
        gives = bool({ProgramKind.LP, ProgramKind.QP} & method.takes)
        assert told.pop(repr(method)) == (gives, takes), method
    assert list(told) == ["CumulativeProjection()"]


def test_starts_that_do_not_fit_are_sentences():
    problem = Problem.m_h(draws()[0])
    result = TreeProjection().solve(problem)
    other_sizes = TreeProjection().solve(Problem.m_h(draws(View.COUNTS, 8)[0]))
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    other_regions = TreeProjection().solve(Problem.of([[1, 9, 3], [0, 5, 2], [-1, 4, 3]], tree, groups=14))
    for method in (Gurobi(), MathOpt("GSCIP"), TreeProjection()):
        for start, says in (
            (other_sizes, "sizes 0..8, .* has 0..2; give a result for the same sizes"),
            (other_regions, "other regions .* give a result for the same ones"),
            (Result(Status.TIMED_OUT, "no answer"), "without an estimate"),
        ):
            with pytest.raises(MethodError, match=says):
                method.solve(problem, warm_start=start)
        with pytest.raises(ArgumentError, match="warm_start is"):
            method.solve(problem, warm_start=result.estimate)
    broken = replace(result.estimate, values=result.estimate.values * math.nan)
    with pytest.raises(MethodError, match="not finite"):
        Scip().solve(problem, warm_start=replace(result, answer=broken))


def test_prices_of_cumulative_projection_start_it(monkeypatch):
    import pgsr.algorithms.m_c.projection as module

    steps, maximise = [], module.maximise
    monkeypatch.setattr(module, "maximise", lambda *given: (steps.append(maximise(*given)), steps[-1])[1])
    problem = Problem.m_c(draws(View.CUMULATIVE, 8)[0]).relaxed()
    cold = CumulativeProjection().solve(problem)
    warm = CumulativeProjection().solve(problem, warm_start=cold)
    assert steps[1].steps == 0 < steps[0].steps
    assert warm.certificate.objective == pytest.approx(cold.certificate.objective)
    unpriced = CumulativeProjection().solve(problem, warm_start=Cvxpy("CLARABEL").solve(problem))
    assert unpriced.status is Status.UNSUPPORTED
    assert "starts from prices of consistency" in unpriced.reason
    weights = np.r_[0, problem.w[1:]]
    unweighted = CumulativeProjection().solve(replace(problem, weights=weights), warm_start=cold)
    assert unweighted.status is Status.OPTIMAL
