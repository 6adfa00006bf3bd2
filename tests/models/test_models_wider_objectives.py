"""Weights of cells in both norms: every solver against exhaustive search, bounds and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from condition_checks import best_integer, feasible_points, random_problems
from instances import rng_of, scale

from pgsr import Hierarchy, Problem, Status, View
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import EXCHANGE_TEST, MULTIPLIERS
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data import Estimate
from pgsr.engines.losses import loss, marginal_costs
from pgsr.errors import PgsrError
from pgsr.models import CpSat, Cvxpy, Direct, Flow, Gurobi, MathOpt, QpSolvers, Scip, Scipy
from pgsr.noise import Totals
from pgsr.problems.conditions import cells

INTEGER = (Gurobi(), Scip(), MathOpt("GSCIP"), MathOpt("HIGHS"), CpSat(), Scipy(), Direct("HIGHS"))
REAL = (Direct("CLARABEL"), Gurobi(), Direct("PIQP"), MathOpt("PDLP"), QpSolvers("proxqp"), Scipy())
NORMS = (2, 1)
TREE = Hierarchy.from_paths([("US", "GA", "Bibb"), ("US", "GA", "Cobb"), ("US", "SC", "York")])
NOISY = np.array([[1, 5, 2], [0, 3, 2], [1, 3, 0], [-1, 2, 1], [0, 1, 1], [1, 2, -1]])
COUNTS = Problem.of(NOISY, TREE, groups=9, label="M_H")


def widened(rng, norm, view=View.COUNTS, totals=Totals.ROOT, n=2):
    """Small problems of a norm, most of them with weights of cells, and all of their points."""
    for problem, _ in random_problems(rng, (view, 2, totals, True), n):
        shape = problem.target.shape
        weights = rng.integers(1, 4, shape) * (problem.w > 0)[:, None] if rng.random() < 0.6 else problem.w
        made = replace(problem, norm=norm, weights=weights)
        points = feasible_points(problem, 4)
        if problem.stated_totals.max() > 4:  # the points are those with leaves up to 4
            made = made.where(cells(level=problem.hierarchy.n_levels - 1) <= 4)
        yield made, points


@pytest.mark.parametrize(
    ("norm", "view", "totals"), [(1, View.CUMULATIVE, Totals.ROOT), (2, View.COUNTS, Totals.REGIONS)]
)
def test_integer_solvers_find_the_best_of_all_points(norm, view, totals):
    rng, proved = rng_of(11), 0
    for problem, points in widened(rng, norm, view, totals, scale(2, 20)):
        best = best_integer(problem, points)
        for method in INTEGER:
            if method.supports(problem) is not None:
                continue
            result = method.solve(problem)
            assert result.status is Status.OPTIMAL, (method, result, result.certificate)
            assert result.certificate.objective == best, (method, result)
            assert result.certificate.bound <= best
            proved += 1
    assert proved > 0


@pytest.mark.parametrize(("norm", "view"), [(1, View.COUNTS), (2, View.CUMULATIVE)])
def test_solvers_of_relaxations_agree_below_the_best_integers(norm, view):
    rng, solved = rng_of(12), 0
    for problem, points in widened(rng, norm, view, n=scale(2, 20)):
        found = [method.solve(problem.relaxed()) for method in REAL if method.supports(problem.relaxed()) is None]
        assert all(result.status is Status.OPTIMAL for result in found), found
        objectives = [result.certificate.objective for result in found]
        assert objectives == pytest.approx([objectives[0]] * len(found), rel=1e-5, abs=1e-5)
        assert max(result.certificate.bound for result in found) <= best_integer(problem, points) * (1 + 1e-9) + 1e-9
        solved += len(found)
    assert solved > 4


@pytest.mark.parametrize("norm", NORMS)
def test_our_own_bound_closes_the_gap_without_order(norm, monkeypatch):
    """Without the program's bound to fall back on; prices are the solver's duals of rows."""
    monkeypatch.setattr("pgsr.models.judge._with_bound_of_program", lambda program, answer, certificate: certificate)
    rng = rng_of(13)
    for problem, _ in widened(rng, norm, n=scale(4, 80)):
        result = Cvxpy("CLARABEL").solve(problem.relaxed())
        assert result.status is Status.OPTIMAL, (result, result.certificate)
        assert result.certificate.bound_by == MULTIPLIERS


def test_the_flow_of_or_tools_knows_weights_of_cells():
    pytest.importorskip("ortools")
    rng, solved = rng_of(35), 0
    for problem, _ in random_problems(rng, (View.COUNTS, 2, Totals.ROOT, True), scale(10, 100)):
        stated = replace(problem, weights=rng.integers(1, 5, problem.target.shape))
        assert Flow().solve(stated).certificate.objective == MathOpt("HIGHS").solve(stated).certificate.objective
        solved += 1
    assert solved > 0
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    weights = np.full((3, 2), 2)
    regions = Problem.of(np.ones((3, 2), int), tree, groups=np.array([4, 2, 2]), weights=weights, label="M_H")
    assert "root's total alone" in Flow().supports(regions)


@pytest.mark.parametrize("norm", NORMS)
def test_wild_multipliers_give_a_bound(norm):
    rng = rng_of(14)
    for problem, points in widened(rng, norm, n=scale(10, 100)):
        best, tree = best_integer(problem, points), problem.hierarchy
        for spread in (0.1, 1.0, 30.0):
            shape = tree.n_inner, problem.max_size + 1
            prices = Multipliers(spread * rng.normal(size=shape), spread * rng.normal(size=1))
            for stated in (problem, problem.relaxed()):
                assert lagrangian_bound(stated, prices) <= best


@pytest.mark.parametrize("norm", NORMS)
def test_the_exchange_test_decides(norm):
    rng, refuted = rng_of(15), 0
    for problem, points in widened(rng, norm, n=scale(6, 60)):
        best = best_integer(problem, points)
        for point in points[rng.permutation(len(points))[:20]]:
            certificate = certify(problem, Estimate(problem.hierarchy, problem.view, point))
            if certificate.feasible:
                assert (certificate.bound_by == EXCHANGE_TEST) == (certificate.objective == best)
                refuted += certificate.objective > best
    assert refuted > 0


def test_losses_and_their_steps():
    d = np.arange(-9, 10)
    for norm in NORMS:
        more, less = marginal_costs(np.array([3]), d, norm)
        assert (more == 3 * (loss(d + 1, norm) - loss(d, norm))).all()
        assert (less == 3 * (loss(d, norm) - loss(d - 1, norm))).all()


@pytest.mark.parametrize("method", [Cvxpy("CLARABEL"), Gurobi(), MathOpt("GSCIP"), CpSat(), Scip()], ids=repr)
def test_native_models_state_all_of_it(method):
    weights = np.arange(1, NOISY.size + 1).reshape(NOISY.shape)
    stated = replace(COUNTS, weights=weights)
    other = replace(Problem.of(NOISY[::-1], TREE, groups=9, label="M_H"), weights=weights)
    model = method.model(stated)
    for problem in (stated, other) if not isinstance(method, CpSat | Scip) else (stated,):
        if problem is other:
            model.update(other)
        result, direct = model.solve(problem), method.solve(problem)
        assert result.status is direct.status
        assert result.certificate.objective == direct.certificate.objective


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: replace(COUNTS, norm=3), "norm 3 is unknown"),
        (lambda: replace(COUNTS, weights=np.ones((2, 3), int)), "per cell in the shape of the values"),
        (lambda: replace(COUNTS, weights=np.eye(6, 3, dtype=int)), "a leaf has weight 0"),
        (lambda: replace(COUNTS, weights=np.array([[0, 1, 1], *[[1, 1, 1]] * 5])), "weights of 0 at some sizes"),
        (lambda: replace(COUNTS, weights=np.ones((6, 3), int)).w, "a weight for every cell"),
    ],
)
def test_what_cannot_be_stated_is_refused_in_words(make, words):
    with pytest.raises(PgsrError, match=words):
        make()
