"""Integers of the joint L1 problem: loops against their conditions and linear programs, answers against brute force."""

import math
from dataclasses import replace

import numpy as np
import pytest
from instances import random_tree, random_truth, scale
from scipy.optimize import linprog
from test_m_c_projection import TOTALS, random_problem

from pgsr import Geometric, Hierarchy, Problem, Seeded, Status, View, certify
from pgsr.algorithms import EmdProjection
from pgsr.algorithms.m_c.absolute_integers import absolute_integers
from pgsr.algorithms.m_c.cycles_kernel import cancel_cycles
from pgsr.data.estimate import Estimate
from pgsr.methods.gate import NO_LIMIT
from pgsr.models import Scipy


def integer(problem: Problem) -> Problem:
    return replace(problem, norm=1, integer=True, label="M_c L1")


def least_in_the_box(x, y, weight, above, above_y, above_weight) -> float:
    """The least cost within floors and ceilings of rows and of their sums, by a linear program of all cells at once."""
    m, n = x.shape
    total = x.sum(axis=0)
    cost = [weight[row] * (1.0 if x[row, i] > y[row, i] else -1.0) for row in range(m) for i in range(n)]
    cost += [above_weight * (1.0 if total[i] > above_y[i] else -1.0) for i in range(n)]
    equal = np.zeros((n, (m + 1) * n))
    for i in range(n):
        equal[i, [row * n + i for row in range(m)]] = 1.0
        equal[i, m * n + i] = -1.0
    order = np.zeros((m * (n - 1), (m + 1) * n))
    for k, (row, i) in enumerate((row, i) for row in range(m) for i in range(n - 1)):
        order[k, row * n + i], order[k, row * n + i + 1] = 1.0, -1.0
    values = np.concatenate([x.ravel(), total])
    bounds = [(math.floor(v + 1e-9), math.ceil(v - 1e-9)) for v in values]
    found = linprog(cost, order, np.zeros(len(order)), equal, np.zeros(n), bounds)
    assert found.status == 0, found.message
    at_x = sum(c * v for c, v in zip(cost, values, strict=True))
    return float(found.fun) - at_x  # relative to the cost at x: the objective is linear in the box


def random_family(rng: np.random.Generator) -> tuple:
    m, n = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    step = rng.choice([0.0, 0.25, 0.5, 1.0, 1.5], (m, n), p=[0.5, 0.15, 0.15, 0.1, 0.1])
    x = np.cumsum(step, axis=1)
    y = rng.integers(-2, int(x.max()) + 3, (m, n))
    above_y = rng.integers(-2, int(x.sum(axis=0).max()) + 3, (1, n))
    weight, above_weight = rng.integers(1, 4, m).astype(float), rng.integers(0, 4, 1).astype(float)
    return x, y, weight, x.sum(axis=0)[None], above_y, above_weight


def cost_of(x, y, weight, above_y, above_weight) -> float:
    return float((weight[:, None] * np.abs(x - y)).sum() + (above_weight * np.abs(x.sum(axis=0) - above_y)).sum())


def test_cycles_keep_every_condition_and_lose_nothing():
    """Integers in the box, in order, no dearer than what they came from and no cheaper than the program of the box."""
    rng = np.random.default_rng(801)
    n_fractional = 0
    for _ in range(scale(300, 5_000)):
        x, y, weight, above, above_y, above_weight = random_family(rng)
        before, real = cost_of(x, y, weight, above_y, above_weight), x.copy()
        n_fractional += (x != np.floor(x)).any()
        least = least_in_the_box(x, y, weight, above[0], above_y[0], above_weight[0])
        sums = above.copy()
        cancel_cycles(x, y, weight, sums, above_y, above_weight, False, np.inf, True)
        assert (x == np.rint(x)).all()
        assert (np.floor(real) <= x).all()
        assert (x <= np.ceil(real)).all()
        assert (np.diff(x, axis=1) >= 0).all()
        assert (np.floor(above) <= x.sum(axis=0)).all()
        assert (x.sum(axis=0) <= np.ceil(above)).all()
        np.testing.assert_allclose(sums[0], x.sum(axis=0), atol=1e-6)
        after = cost_of(x, y, weight, above_y, above_weight)
        assert before + least - 1e-6 <= after <= before + 1e-6
    assert n_fractional > scale(200, 3_000)


def test_moves_that_cost_are_left_out():
    """Two regions above: what the parent gains, the root loses; nothing is rounded that would not be free."""
    x, y = np.array([[0.5], [0.5]]), np.array([[0], [1]])
    above, above_y = np.array([[1.0], [1.0]]), np.array([[1], [1]])
    args = (y, np.ones(2), above, above_y, np.ones(2), False)
    assert cancel_cycles(x, *args, 1e-7, False) == 1  # one up and one down: free
    assert sorted(x[:, 0]) == [0.0, 1.0]
    x, above = np.array([[0.5]]), np.array([[0.5], [3.5]])
    stuck = (np.array([[0]]), np.ones(1), above, np.array([[0], [4]]), np.array([1.0, 1.0]), False)
    assert cancel_cycles(x, *stuck, 1e-7, False) == 1  # down: 2 less for child and parent, 1 more at the root
    x, above = np.array([[0.5]]), np.array([[0.5], [3.0]])
    stuck = (np.array([[0]]), np.ones(1), above, np.array([[1], [3]]), np.array([1.0, 1.0]), False)
    assert cancel_cycles(x, *stuck, 1e-7, False) == 0  # child and parent disagree, the root is where it wants to be
    assert x[0, 0] == 0.5
    assert cancel_cycles(x, *stuck, np.inf, True) == 1


@pytest.mark.drawn(1)
@pytest.mark.parametrize("totals", TOTALS)
def test_answers_are_feasible_and_near_the_integer_optimum(totals):
    """Random problems of one to four levels, any weights, against branch and bound; most are proved optimal."""
    rng = np.random.default_rng(802)
    n, n_optimal = scale(25, 200), 0
    for _ in range(n):
        problem = integer(random_problem(rng, totals))
        result, exact = EmdProjection().solve(problem), Scipy().solve(problem)
        assert exact.status is Status.OPTIMAL, (problem, exact)
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE), (problem, result)
        best, found = exact.certificate.objective, result.certificate
        assert found.feasible
        assert best <= found.objective <= best * 1.05 + 2 * int(problem.w.max())
        assert found.bound is None or found.bound <= best
        n_optimal += found.objective == best
        if result.status is Status.OPTIMAL:
            assert found.objective == best
    assert n_optimal >= 0.7 * n


@pytest.mark.parametrize("totals", ["root", "regions"])
def test_below_a_root_alone_integers_are_optimal(totals):
    rng = np.random.default_rng(803)
    for _ in range(scale(6, 60)):
        tree = random_tree(rng, max_regions=12, n_levels=2)
        truth = random_truth(rng, tree, max_size=12, max_count=20, name="two levels")
        noisy = Geometric(View.CUMULATIVE, "1/2", totals="regions").measure(truth, Seeded(str(rng.integers(10**9))))
        problem = Problem.m_c(noisy, norm=1, totals=totals)
        result = EmdProjection(gap=1e-7).solve(problem)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.objective == Scipy().solve(problem).certificate.objective


@pytest.mark.parametrize("totals", ["root", "regions"])
def test_three_levels_are_proved_within_a_small_gap(totals):
    rng = np.random.default_rng(804)
    tree = Hierarchy.from_paths([("n", f"s{s}", f"c{c}") for s in range(8) for c in range(12)])
    truth = random_truth(rng, tree, max_size=80, max_count=300, name="three levels")
    noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded("three levels"))
    problem = Problem.m_c(noisy, norm=1, totals=totals)
    result = EmdProjection().solve(problem)
    assert result.certificate.feasible
    assert result.certificate.gap is not None
    assert result.certificate.gap <= 2e-4


def test_any_feasible_point_becomes_feasible_integers():
    """Far from an optimum, too, and where tails have to be moved to the public total."""
    rng = np.random.default_rng(805)
    n_met = 0
    for _ in range(scale(40, 400)):
        problem = integer(random_problem(rng, "root"))
        tree = problem.hierarchy
        n_leaves = len(problem.target[tree.leaves])
        real = np.zeros(problem.target.shape)
        shares = rng.dirichlet(np.ones(n_leaves)) * problem.root_total
        grown = np.cumsum(rng.dirichlet(np.ones(problem.max_size + 1), n_leaves), axis=1)
        real[tree.leaves] = shares[:, None] * grown / grown[:, -1:]
        for level in range(tree.n_levels - 2, -1, -1):
            real[tree.level(level)] = tree.sum_children(real, level)
        x = absolute_integers(problem, real, NO_LIMIT)
        assert certify(problem, Estimate(tree, View.CUMULATIVE, x)).feasible
        n_met += tree.n_levels > 2
    assert n_met > 5
