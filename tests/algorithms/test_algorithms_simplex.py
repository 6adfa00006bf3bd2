"""Projection onto simplices against exact fractions and exhaustive search, and the proofs of its optimality."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms.simplex import SimplexProjection, simplex_projection
from pgsr.certificates import certify
from pgsr.certificates.regions_alone import is_region_exchange_optimal, simplex_bound
from pgsr.data import Estimate
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded


def naive_problem(rows, totals):
    """The naive problem of one root with the other rows below it; totals need not add up."""
    rows = np.asarray(rows)
    names = [f"r{i}" for i in range(len(rows))]
    tree = Hierarchy.from_parents(names, [-1] + [0] * (len(rows) - 1))
    measurement = naive.measurement_of(tree, rows, 0)
    return Problem.naive(replace(measurement, public=Totals.REGIONS, totals=np.asarray(totals)))


def test_equals_exact_fractions():
    rng = rng_of(31)
    for _ in range(scale(1_000, 50_000)):
        y = rng.integers(-6, 10, int(rng.integers(1, 9)))
        total = int(rng.integers(0, 15))
        exact = naive.simplex_projection(y, total)
        real = simplex_projection(y[None], np.array([total]), integer=False)[0]
        assert real == pytest.approx([float(value) for value in exact], abs=1e-12)
        integers = simplex_projection(y[None], np.array([total]), integer=True)[0]
        floors = [value.numerator // value.denominator for value in exact]
        order = sorted(range(len(y)), key=lambda i: (floors[i] - exact[i], i))
        for i in order[: total - sum(floors)]:
            floors[i] += 1
        assert integers.tolist() == floors


def test_exchange_test_equals_brute_force():
    rng = rng_of(33)
    lone = Hierarchy.from_parents(["all"], [-1])
    for _ in range(scale(150, 5_000)):
        y = rng.integers(-3, 6, int(rng.integers(1, 5)))
        total = int(rng.integers(0, 5))
        problem = naive_problem([y], [total])
        points = naive.feasible_points(lone, len(y), total)
        values = ((points[:, 0] - y) ** 2).sum(axis=1)
        for index in rng.choice(len(points), min(len(points), 10), replace=False):
            estimate = Estimate(lone, View.COUNTS, points[index])
            assert is_region_exchange_optimal(problem, estimate) == (values[index] == values.min())


@pytest.mark.parametrize("integer", [True, False])
def test_any_estimate_gives_a_bound(integer):
    rng = rng_of(34)
    for _ in range(scale(60, 10_000)):
        y = rng.integers(-3, 6, (3, int(rng.integers(1, 4))))
        problem = naive_problem(y, rng.integers(0, 5, 3))
        if not integer:
            problem = problem.relaxed()
        best = certify(problem, SimplexProjection().solve(problem).estimate).objective
        wild = Estimate(problem.hierarchy, View.COUNTS, rng.normal(0, 3, y.shape))
        assert simplex_bound(problem, wild) <= best + 1e-12


@pytest.mark.parametrize("integer", [True, False])
def test_random_problems_are_solved_and_proved(integer):
    rng = rng_of(35)
    for i in range(scale(40, 1_000)):
        truth = random_truth(rng, random_tree(rng), name=f"simplex {i}")
        problem = Problem.naive(Geometric(View.COUNTS, epsilon="1").measure(truth, Seeded("simplex")))
        result = SimplexProjection().solve(problem if integer else problem.relaxed())
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.bound_by == ("exchange test" if integer else "Lagrangian bound")
        assert result.certificate.feasible


@pytest.mark.parametrize("integer", [True, False])
def test_counts_of_1e9_lose_no_digits(integer):
    rng = rng_of(36)
    truth = rng.integers(0, 10**9, (40, 500)) * (rng.random((40, 500)) < 0.5)
    problem = naive_problem(truth + rng.integers(-20, 21, truth.shape), truth.sum(axis=1))
    result = SimplexProjection().solve(problem if integer else problem.relaxed())
    assert result.status is Status.OPTIMAL
    assert abs(result.certificate.gap) < 1e-9


def test_empty_regions_and_one_size():
    problem = naive_problem([[5, -3, 2], [-1, -2, -3], [7, 7, 7]], [0, 0, 21])
    assert SimplexProjection().solve(problem).estimate.values.tolist() == [[0, 0, 0], [0, 0, 0], [7, 7, 7]]
    assert SimplexProjection().solve(problem.relaxed()).status is Status.OPTIMAL
    far = SimplexProjection().solve(naive_problem([[0, 0, 1], [0, 0, -1]], [10**15, 2]))
    assert far.status is Status.OPTIMAL
    assert far.estimate.values.sum(axis=1).tolist() == [10**15, 2]
    one_size = naive_problem([[5], [-2]], [3, 10**12])
    assert SimplexProjection().solve(one_size).estimate.values.tolist() == [[3], [10**12]]


def test_a_region_that_was_not_measured_is_projected_from_its_children():
    rng = rng_of(37)
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "DC")], pad_ragged=True)
    truth = random_truth(rng, tree, name="padded")
    problem = Problem.naive(Geometric(View.COUNTS, epsilon="1").measure(truth, Seeded("padded")))
    result = SimplexProjection().solve(problem)
    assert result.status is Status.OPTIMAL
    copy = tree.index(("US", "DC"))
    np.testing.assert_array_equal(result.estimate.values[copy], result.estimate.values[tree.first_child[copy]])
