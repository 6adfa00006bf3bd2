"""EmdProjection against linear programming, the duals behind it against slow twins."""

from dataclasses import replace

import numpy as np
import pytest
from instances import random_tree, random_truth, scale
from test_m_c_projection import TOTALS, random_problem

from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, Status, View
from pgsr.algorithms import EmdProjection
from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.algorithms.m_c.emd_dual import ProximalDual
from pgsr.errors import MethodError
from pgsr.methods.gate import NO_LIMIT
from pgsr.models import Scipy


def absolute(problem: Problem) -> Problem:
    return replace(problem, norm=1, label="M_c L1^r")


@pytest.mark.drawn(1)
@pytest.mark.slow
@pytest.mark.parametrize("totals", ["root", "regions"])
def test_equals_highs(totals):
    """Any weights, regions of weight 0 included: feasible, within the proven gap, and no bound above the optimum."""
    rng = np.random.default_rng(71)
    for _ in range(scale(30, 300)):
        problem = absolute(random_problem(rng, totals))
        result, optimum = EmdProjection().solve(problem), Scipy().solve(problem)
        assert optimum.status is Status.OPTIMAL, (problem, optimum)
        assert result.status is Status.OPTIMAL, (problem, result)
        best, certificate = optimum.certificate.objective, result.certificate
        assert certificate.feasible
        assert certificate.bound <= best * (1 + 1e-9) + 1e-6
        assert best * (1 - 1e-9) - 1e-6 <= certificate.objective <= best + 2e-6 * max(1.0, best)


def test_without_totals():
    rng = np.random.default_rng(72)
    for _ in range(scale(15, 150)):
        problem = absolute(random_problem(rng, None))
        result, optimum = EmdProjection().solve(problem), Scipy().solve(problem)
        best = optimum.certificate.objective
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE), (problem, result)
        assert result.certificate.feasible
        assert best - 1e-6 <= result.certificate.objective <= best + 1e-5 * max(1.0, best)
        if result.certificate.bound is not None:
            assert result.certificate.bound <= best + 1e-6


@pytest.mark.parametrize("totals", ["root", "regions"])
def test_answers_are_feasible_and_bounds_true_whenever_it_stops(totals):
    rng = np.random.default_rng(73)
    for rounds in range(1, scale(4, 40)):
        problem = absolute(random_problem(rng, totals, max_regions=30))
        result, best = EmdProjection(rounds=rounds, gap=1e-3).solve(problem), EmdProjection().solve(problem)
        x = result.estimate.values
        assert result.certificate.feasible
        assert x.min() >= 0
        assert (np.diff(x, axis=1) >= 0).all()
        assert result.certificate.bound <= best.certificate.objective + 1e-6
        assert best.certificate.bound <= result.certificate.objective + 1e-6
        if result.status is Status.FEASIBLE:
            assert "gap" in result.reason


def test_larger_trees_reach_the_gap():
    rng = np.random.default_rng(74)
    for totals in ("root", "regions"):
        tree = random_tree(rng, max_regions=60, n_levels=3)
        truth = random_truth(rng, tree, max_size=60, max_count=300, name="larger")
        noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded(f"larger {totals}"))
        problem = Problem.m_c(noisy, norm=1, totals=totals).relaxed()
        result = EmdProjection().solve(problem)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.objective == pytest.approx(Scipy().solve(problem).certificate.objective, rel=1e-5)


def test_counts_of_1e8():
    rng = np.random.default_rng(75)
    tree = random_tree(rng, max_regions=20, n_levels=3)
    shape = (tree.n_regions - tree.n_inner, 40)
    truth = CountOfCounts(tree, (10.0 ** rng.uniform(-1, 8, shape)).astype(np.int64) * (rng.random(shape) < 0.3))
    noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded("large"))
    result = EmdProjection(gap=1e-4).solve(Problem.m_c(noisy, norm=1, totals="regions").relaxed())
    assert result.certificate.gap <= 1e-4, result


def test_what_is_not_solved_says_why():
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
    counts, steps = (Geometric(view, 1).measure(truth, Seeded(0)) for view in (View.COUNTS, View.CUMULATIVE))
    for problem, word in [
        (Problem.m_h(counts), "cumulative"),
        (Problem.m_c(steps), "squares"),
        (Problem.m_c(steps, norm=1), "integers"),
        (Problem.isotonic(steps, norm=1).relaxed(), "consistency"),
    ]:
        result = EmdProjection().solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert word in result.reason
    wrong = replace(steps, totals=np.array([6, 2, 3]))
    assert EmdProjection().solve(Problem.m_c(wrong, norm=1, totals="regions").relaxed()).status is Status.INFEASIBLE
    late = EmdProjection().solve(Problem.m_c(steps, norm=1).relaxed(), time_limit=1e-9)
    assert late.certificate.feasible  # the best so far
    for arguments in ({"gap": 0}, {"gap": float("inf")}, {"gap": True}, {"rounds": 0}, {"rounds": 1.5}):
        with pytest.raises(MethodError):
            EmdProjection(**arguments)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("totals", TOTALS)
def test_weights_per_cell_equal_clarabel(totals):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(77)
    for _ in range(scale(15, 150)):
        problem = random_problem(rng, totals)
        cells = rng.uniform(0.2, 5.0, problem.target.shape) * problem.w[:, None]
        dual = SquaresDual(problem, cells)
        answer = maximise(dual, 1e-9, NO_LIMIT)
        found = dual.objective(answer.x)
        assert found - answer.point.value <= 1e-8 * max(1.0, found)
        assert found == pytest.approx(weighted_optimum(cp, problem, cells), rel=1e-6, abs=1e-5)


def test_equal_weights_per_cell_are_weights_per_region():
    rng = np.random.default_rng(79)
    problem = random_problem(rng, "root", max_regions=30)
    cells = np.repeat(problem.w[:, None].astype(float), problem.target.shape[1], axis=1)
    one, other = (maximise(SquaresDual(problem, weights), 1e-10, NO_LIMIT) for weights in (None, cells))
    np.testing.assert_allclose(one.x, other.x, atol=1e-3)


def test_warm_starts_change_nothing():
    """Chains that start from the last blocks are those solved afresh, while prices and centre wander."""
    rng = np.random.default_rng(80)
    for _ in range(scale(10, 100)):
        problem = absolute(random_problem(rng, "regions", max_regions=20))
        warm, x = ProximalDual(problem), problem.target.astype(float)
        prices = np.zeros(warm.shape)
        for _ in range(10):
            prices = prices + rng.normal(0, 10.0 ** rng.uniform(-4, 0.5), prices.shape)
            x = x + rng.normal(0, 1, x.shape) * (rng.random() < 0.3)
            fresh = ProximalDual(problem)
            for dual in (warm, fresh):
                dual.towards(x, 0.1)
            one, other = warm.at(prices), fresh.at(prices)
            assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-6)
            np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-6)


def weighted_optimum(cp, problem: Problem, cells: np.ndarray) -> float:
    """The optimum of squares with weights per cell, by an interior-point solver on the leaves' values."""
    tree, y = problem.hierarchy, problem.target
    n_leaves = tree.n_regions - tree.n_inner
    z = cp.Variable((n_leaves, y.shape[1]))
    leaves, below = z + y[tree.leaves], tree.sum_up(np.eye(n_leaves))
    conditions = [leaves[:, 0] >= 0]
    if y.shape[1] > 1:
        conditions.append(cp.diff(leaves, axis=1) >= 0)
    if problem.totals == "regions":
        conditions.append(leaves[:, -1] == problem.groups[tree.leaves])
    elif problem.totals is not None:
        conditions.append(below[:1] @ leaves[:, -1] == problem.groups[:1])
    off = below @ z + below @ y[tree.leaves] - y
    tight = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(np.sqrt(cells), off))), conditions).solve(
        solver=cp.CLARABEL, **tight
    )


def test_the_gap_does_not_hang_on_the_scale_of_the_noise():
    """Two regions, noise of a million: the strength of proximal steps is relative to it, down to the least one."""
    y = [
        [878767, -40201, 1037318, 1416676, 3573101, 2647443],
        [88333, 84106, 1974149, 3071997, 2980571, 4193747],
    ]
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    problem = Problem.of(y, tree, View.CUMULATIVE, groups=3528045, norm=1, integer=False)
    result = EmdProjection().solve(problem)
    assert result.status is Status.OPTIMAL, result
