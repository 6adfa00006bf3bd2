"""M_c^split as programs: solvers of integers against exhaustive search, reals against each other, files, starts."""

from dataclasses import fields
from functools import cache
from pathlib import Path

import naive
import numpy as np
import pytest
from instances import scale
from program_files import by_our_reader

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection
from pgsr.certificates import certify
from pgsr.certificates.certificate import objective
from pgsr.data import Estimate, Split
from pgsr.methods.gate import Besides
from pgsr.methods.method import Method
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, QpSolvers, Scip, Scipy
from pgsr.noise import Geometric
from pgsr.own_methods import METHODS
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, either

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])


def small_problem(seed: int) -> Problem:
    """Seven groups in two regions, thresholds that differ."""
    truth = CountOfCounts(TREE, [[0, 2, 1, 1, 0], [0, 1, 1, 0, 1]], "programs")
    views = ((Split(1), Split(2)), (Split(2), Split(0)), (View.CUMULATIVE, Split(1), Split(3)))[seed % 3]
    return Problem.m_c(Geometric(views, "1/2").measure(truth, Seeded(seed)))


def points(problem: Problem) -> np.ndarray:
    """Every feasible point of two leaves; shape (points, regions, cells)."""
    _, first, second = problem.region_totals.tolist()
    largest = problem.max_size
    vectors = [naive.monotone_vectors(largest, np.arange(n + 1)) for n in (first, second)]
    closed = [np.append(v, np.full((len(v), 1), n), axis=1) for v, n in zip(vectors, (first, second), strict=True)]
    pairs = np.indices((len(closed[0]), len(closed[1]))).reshape(2, -1)
    return np.stack([TREE.sum_up(np.stack([closed[0][i], closed[1][j]])) for i, j in pairs.T])


@cache
def best_of(seed: int) -> float:
    problem = small_problem(seed)
    return min(objective(problem, Estimate(TREE, View.CUMULATIVE, x)) for x in points(problem))


@pytest.mark.parametrize("solver", [Scipy(), Scip(), Gurobi(), CpSat(), MathOpt("HIGHS"), MathOpt("GLOP")], ids=repr)
def test_solvers_of_integers_equal_exhaustive_search(solver) -> None:
    if solver.unavailable() is not None:
        pytest.skip(solver.unavailable().reason)
    for seed in range(scale(3, 30)):
        problem, best = small_problem(seed), best_of(seed)
        result = solver.solve(problem)
        assert result.status is Status.OPTIMAL, (seed, result.reason)
        assert result.certificate.objective == best
        assert result.certificate.bound <= best


def test_solvers_of_reals_agree_and_bound_integers() -> None:
    for seed in range(scale(3, 30)):
        problem = small_problem(seed)
        found = [solver.solve(problem.relaxed()) for solver in (Cvxpy("CLARABEL"), Cvxpy("HIGHS"), MathOpt("PDLP"))]
        assert [result.status for result in found] == [Status.OPTIMAL] * 3, [result.reason for result in found]
        values = [result.certificate.objective for result in found]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
        assert values[0] == pytest.approx(values[2], rel=1e-6)
        assert values[0] <= Scipy().solve(problem).certificate.objective * (1 + 1e-6)
        for result in found:
            certificate = certify(problem.relaxed(), result.estimate, result.multipliers)
            assert certificate.objective == pytest.approx(values[0], rel=1e-6)


def test_files_have_the_problem_and_its_optimum(tmp_path: Path) -> None:
    problem = small_problem(0)
    best = Scipy().solve(problem).certificate.objective
    problem.write(tmp_path / "ranks.npz")
    again = Problem.read(tmp_path / "ranks.npz")
    assert again.ranks is not None
    assert problem.ranks is not None
    for field in fields(again.ranks):
        assert np.array_equal(getattr(again.ranks, field.name), getattr(problem.ranks, field.name))
    assert Scipy().solve(again).certificate.objective == best
    relaxed = Cvxpy("CLARABEL").solve(problem.relaxed()).certificate.objective
    for name in ("own.lp", "own.mps"):
        for shifted in (False, True):
            problem.relaxed().write(tmp_path / name, shifted=shifted)
            assert by_our_reader(tmp_path / name)[0] == pytest.approx(relaxed, rel=1e-6)
    assert "up(US,1,0)" in (tmp_path / "own.lp").read_text()


def test_native_models_have_the_optimum_and_name_the_pieces() -> None:
    problem = small_problem(0)
    for method in (Gurobi(), CpSat(), Scip()):
        model = method.model(problem)
        assert model.solve(problem).certificate.objective == Scipy().solve(problem).certificate.objective
        assert "ranks" in model.constraints
    model = Gurobi().model(problem)
    assert "up[US,1,0]" in [v.VarName for v in model.native.getVars()]


def test_solvers_that_need_squares_say_so() -> None:
    for name in ("daqp", "quadprog"):
        assert "ranks have costs that are straight lines" in str(QpSolvers(name).supports(small_problem(0).relaxed()))


def test_a_condition_and_a_start() -> None:
    problem = small_problem(1).where(cells(level=1, size=2) >= 1)
    best = min(objective(problem, Estimate(TREE, View.CUMULATIVE, x)) for x in points(problem) if (x[1:, 2] >= 1).all())
    result = Scipy().solve(problem)
    assert result.certificate.objective == best
    again = Scip().solve(problem, warm_start=result)
    assert again.certificate.objective == best
    pieces = problem.ranks.segments(problem.w, problem.max_size)
    for far in range(-9, 9):
        taken = pieces.taken(np.full(problem.n_unknowns, float(far)))
        for cell in np.unique(pieces.cell):
            ours = (pieces.cell == cell) & (pieces.sign == np.sign(far))
            assert taken[ours].sum() == min(abs(far), pieces.length[ours].sum())
            full = taken[ours] == pieces.length[ours]  # the cheaper one first
            order = np.argsort(pieces.number[ours])
            assert not (np.diff(full[order].astype(int)) > 0).any()


def test_alternatives_go_as_far_as_ranks_are_worth() -> None:
    """The first point that is found costs nothing in squares and much in ranks; the optimum is 70 squares away."""
    truth = CountOfCounts(Hierarchy.from_parents(["US"], [-1]), [[50, 150] + [0] * 29])
    problem = Problem.m_c(Geometric(Split(1), epsilon=20).measure(truth, Seeded("a")))
    first, far = [cells(size=0) == 50, cells(size=29) <= 140], cells(size=0) >= 120
    best = MathOpt("GSCIP").solve(problem.where(far))
    assert best.status is Status.OPTIMAL
    for method in (MathOpt("GSCIP"), CpSat(), Scipy()):
        result = method.solve(problem.where(either(first, far)))
        assert result.status is Status.OPTIMAL, (method, result)
        assert result.certificate.objective == best.certificate.objective


def test_no_method_of_our_own_takes_ranks() -> None:
    problem = small_problem(0)
    for entry in METHODS:
        if isinstance(entry.method, Method):
            for stated in (problem, problem.relaxed()):
                assert entry.method.supports(stated) is not None, entry.method
    assert Besides.RANKS.value in CumulativeIntegers().supports(problem)
    assert Besides.RANKS.value in CumulativeProjection().supports(problem.relaxed())
