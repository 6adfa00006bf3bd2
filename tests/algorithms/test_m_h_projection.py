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


@pytest.mark.parametrize("largest", [None, 4, 10_000])
def test_equals_brute_force(largest):
    """Without weights, with some of 0, and with larger ones than the counting sort takes."""
    rng = rng_of(1)
    for _ in range(scale(60, 50_000)):
        problem, points = small_instance(rng)
        if largest is not None:
            weights = rng.integers(0, largest + 1, problem.hierarchy.n_regions)
            weights[problem.hierarchy.leaves] += 1
            problem = replace(problem, weights=weights)
        result = TreeProjection().solve(problem)
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == naive.objectives(problem, points).min()


def test_equals_brute_force_without_public_total():
    rng = rng_of(2)
    for _ in range(scale(30, 2_000)):
        tree = random_tree(rng, max_regions=4)
        problem = replace(naive.problem_of(tree, rng.integers(-2, 3, (tree.n_regions, 2)), 0), totals=None)
        best = min(naive.objectives(problem, naive.feasible_points(tree, 2, total)).min() for total in range(9))
        result = TreeProjection().solve(problem)
        assert result.certificate.optimal
        assert result.certificate.objective == best


def test_relaxation_is_solved_and_bounds_the_integers():
    rng = rng_of(5)
    for _ in range(scale(40, 3_000)):
        problem, points = small_instance(rng)
        relaxed = TreeProjection().solve(problem.relaxed())
        assert relaxed.status is Status.OPTIMAL
        assert relaxed.certificate.feasible
        assert relaxed.certificate.gap <= 1e-9
        assert relaxed.certificate.bound <= naive.objectives(problem, points).min() * (1 + 1e-12) + 1e-9


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


def small_instance(rng):
    """A random small M_H problem and all its feasible points."""
    tree = random_tree(rng, max_regions=7)
    n_leaves = tree.n_regions - tree.n_inner
    n_sizes = int(rng.integers(2, 4))
    total = int(rng.integers(0, 5 if n_leaves * n_sizes <= 6 else 4))
    noisy = rng.integers(-3, 6, (tree.n_regions, n_sizes))
    return naive.problem_of(tree, noisy, total), naive.feasible_points(tree, n_sizes, total)
