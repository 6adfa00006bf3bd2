"""TreeProjection against exhaustive search, the worked examples, and its own claims."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


@pytest.mark.slow
def test_equals_brute_force():
    rng = rng_of(1)
    for _ in range(scale(1_000, 50_000)):
        problem, points = small_instance(rng)
        result = TreeProjection().solve(problem)
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == naive.objectives(problem, points).min()


@pytest.mark.slow
def test_equals_brute_force_without_public_total():
    rng = rng_of(2)
    for _ in range(scale(200, 2_000)):
        tree = random_tree(rng, max_regions=4)
        noisy = rng.integers(-2, 3, (tree.n_regions, 2))
        problem = replace(naive.problem_of(tree, noisy, 0), totals=None)
        best = min(naive.objectives(problem, naive.feasible_points(tree, 2, total)).min() for total in range(9))
        result = TreeProjection().solve(problem)
        assert result.certificate.optimal
        assert result.certificate.objective == best


@pytest.mark.slow
def test_weights_equal_brute_force():
    rng = rng_of(3)
    for _ in range(scale(1_000, 20_000)):
        problem, points = small_instance(rng)
        weights = rng.integers(0, 5, problem.hierarchy.n_regions)
        weights[problem.hierarchy.leaves] += 1
        weighted = replace(problem, weights=weights)
        result = TreeProjection().solve(weighted)
        assert result.certificate.objective == naive.objectives(weighted, points).min()


def test_large_weights_leave_the_counting_sort():
    rng = rng_of(4)
    for _ in range(50):
        problem, points = small_instance(rng)
        weighted = replace(problem, weights=rng.integers(1, 10_000, problem.hierarchy.n_regions))
        assert TreeProjection().solve(weighted).certificate.objective == naive.objectives(weighted, points).min()


def test_example_of_a_release():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = np.array([[4, 1, 3, -1, 1], [3, 1, 0, -1, 0], [0, 1, 2, 0, -1]])
    result = TreeProjection().solve(naive.problem_of(tree, noisy, 6))
    assert result.certificate.objective == 7
    assert result.estimate.values[0].tolist() == [3, 1, 2, 0, 0]
    assert result.estimate.values[:, 0].tolist() == [3, 3, 0]
    assert result.estimate.values[:, 2].tolist() == [2, 0, 2]


def test_an_example_that_is_feasible_is_returned_unchanged():
    """A noisy tree that is already feasible is its own projection, at cost 0."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    assert truth.counts[0].tolist() == [3, 1, 2, 0, 0]
    result = TreeProjection().solve(naive.problem_of(tree, truth.counts, 6))
    assert result.certificate.objective == 0
    assert (result.estimate.values == truth.counts).all()


def test_relaxation_is_solved_and_bounds_the_integers():
    rng = rng_of(5)
    for _ in range(scale(300, 3_000)):
        problem, points = small_instance(rng)
        relaxed = TreeProjection().solve(problem.relaxed())
        assert relaxed.status is Status.OPTIMAL
        assert relaxed.certificate.feasible
        assert relaxed.certificate.gap <= 1e-9
        assert relaxed.certificate.bound <= naive.objectives(problem, points).min() * (1 + 1e-12) + 1e-9


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
def test_large_counts_and_deep_trees(epsilon):
    rng = rng_of(6)
    for levels in (1, 2, 3, 5):
        tree = random_tree(rng, max_regions=60, n_levels=levels)
        n_leaves = tree.n_regions - tree.n_inner
        truth = CountOfCounts(tree, (10.0 ** rng.uniform(-1, 8, (n_leaves, 40))).astype(np.int64))
        problem = Problem.m_h(Geometric(View.COUNTS, epsilon).measure(truth, Seeded(f"large {levels}")))
        result = TreeProjection().solve(problem)
        assert result.status is Status.OPTIMAL
        released = result.estimate.counts()
        assert released.totals[0] == truth.totals[0]


def test_empty_hierarchy_and_all_groups_in_one_cell():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
    empty = TreeProjection().solve(naive.problem_of(tree, np.array([[3, -1], [2, 2], [0, 5]]), 0))
    assert empty.status is Status.OPTIMAL
    assert not empty.estimate.values.any()
    relaxed = TreeProjection().solve(naive.problem_of(tree, np.array([[3, -1], [2, 2], [0, 5]]), 0).relaxed())
    assert relaxed.status is Status.OPTIMAL
    far = TreeProjection().solve(naive.problem_of(tree, np.array([[-900, 5], [-800, -9], [-7, -999]]), 10**6))
    assert far.certificate.optimal


def test_padded_and_unmeasured_regions_do_not_count():
    tree = Hierarchy.from_paths([("US", "GA", "x"), ("US", "GA", "y"), ("US", "DC")], pad_ragged=True)
    truth = CountOfCounts(tree, [[5, 2], [1, 1], [0, 4]])
    noisy = Geometric(View.COUNTS, 1, shares=("1/2", "0", "1/2")).measure(truth, Seeded(0))
    problem = Problem.m_h(noisy)
    assert problem.w.tolist() == [1, 0, 0, 1, 1, 1]
    points = naive.feasible_points(tree, 2, 13)
    assert TreeProjection().solve(problem).certificate.objective == naive.objectives(problem, points).min()


def test_refuses_what_it_does_not_solve():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
    counts = Geometric(View.COUNTS, 1).measure(truth, Seeded(0))
    steps = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(0))
    for problem, word in [
        (Problem.m_c(steps), "cumulative"),
        (Problem.m_h(counts, totals="regions").relaxed(), "RegionTotalsProjection"),
        (Problem.naive(counts), "consistency"),
        (replace(Problem.m_h(counts), norm=1), "absolute"),
    ]:
        result = TreeProjection().solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert word in result.reason


def small_instance(rng):
    """A random small M_H problem and all its feasible points."""
    tree = random_tree(rng, max_regions=7)
    n_leaves = tree.n_regions - tree.n_inner
    n_sizes = int(rng.integers(2, 4))
    total = int(rng.integers(0, 5 if n_leaves * n_sizes <= 6 else 4))
    noisy = rng.integers(-3, 6, (tree.n_regions, n_sizes))
    return naive.problem_of(tree, noisy, total), naive.feasible_points(tree, n_sizes, total)
