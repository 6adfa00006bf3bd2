"""Integer pool-adjacent-violators against the min-max formula in fractions."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import Isotonic, MinMax
from pgsr.algorithms.isotonic.regression import (
    Optimum,
    isotonic_l1,
    isotonic_l1_middles,
    isotonic_l2,
    isotonic_l2_runs,
    isotonic_min_max,
    isotonic_within,
)
from pgsr.certificates import certify
from pgsr.certificates.regions_alone import isotonic_is_optimal
from pgsr.data import Estimate
from pgsr.errors import ProblemError
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells


def fit(y, lower=-(10**6), upper=10**6):
    return isotonic_l2(np.array([y]), np.array([lower]), np.array([upper]))[0].tolist()


def test_equals_brute_force():
    """Rounding the exact fit is optimal among integers."""
    rng = rng_of(22)
    grid = np.stack(np.meshgrid(*[np.arange(-3, 5)] * 4, indexing="ij"), -1).reshape(-1, 4)
    monotone = grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]
    for _ in range(scale(300, 20_000)):
        y = rng.integers(-3, 5, 4)
        best = ((monotone - y) ** 2).sum(axis=1).min()
        assert ((np.array(fit(y)) - y) ** 2).sum() == best


def test_equals_exact_fractions():
    rng = rng_of(21)
    for _ in range(scale(1_000, 100_000)):
        y = rng.integers(-5, 20, int(rng.integers(1, 9)))
        lower, upper = sorted(rng.integers(-4, 18, 2).tolist())
        exact = [min(max(value, lower), upper) for value in naive.isotonic_l2(y)]
        assert fit(y, lower, upper) == [round(value) for value in exact]


def test_min_max_equals_exact_fractions():
    rng = rng_of(30)
    for _ in range(scale(500, 20_000)):
        y = rng.integers(-9, 20, int(rng.integers(0, 9)))
        assert [Fraction(int(a), int(b)) for a, b in zip(*isotonic_min_max(y), strict=True)] == naive.isotonic_l2(y)


@pytest.mark.parametrize(
    ("view", "totals"), [(View.CUMULATIVE, "regions"), (View.CUMULATIVE, "root"), (View.RANKED, "regions")]
)
def test_min_max_is_pav(view, totals):
    """Both prove the same answers; what is not squares, or too long for a square of it, is refused in a sentence."""
    rng = rng_of(31)
    for _ in range(scale(10, 500)):
        problem = isotonic_problem(rng, view, 2, totals)
        for stated in (problem,) if view is View.RANKED else (problem, problem.relaxed()):
            ours, theirs = MinMax().solve(stated), Isotonic().solve(stated)
            assert ours.status is theirs.status is Status.OPTIMAL
            assert (np.asarray(ours.estimate.values) == np.asarray(theirs.estimate.values)).all()
    assert "state the problem with norm=2" in MinMax().solve(isotonic_problem(rng, view, 1, totals)).reason
    if view is View.CUMULATIVE:
        tree = Hierarchy.from_paths([("US",)])
        long = Problem.of(np.zeros((1, 20_001), int), tree, view, label="H_c", consistent=False)
        assert MinMax().solve(long).status is Status.TOO_LARGE
        assert "cells(" in MinMax().supports(problem.where(cells(size=0) <= 3))


def test_l1_equals_brute_force():
    """The optima among all monotone integer vectors within the bounds have a smallest and a largest one: these."""
    rng = rng_of(23)
    grid = np.stack(np.meshgrid(*[np.arange(-3, 5)] * 4, indexing="ij"), -1).reshape(-1, 4)
    monotone = grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]
    for _ in range(scale(300, 20_000)):
        y = rng.integers(-3, 5, 4)
        lower, upper = sorted(rng.integers(-3, 5, 2).tolist())
        inside = monotone[(monotone[:, 0] >= lower) & (monotone[:, -1] <= upper)]
        costs = np.abs(inside - y).sum(axis=1)
        small, large = (isotonic_l1(y, lower, upper, kind) for kind in (Optimum.SMALLEST, Optimum.LARGEST))
        middle = isotonic_l1(y, lower, upper, Optimum.MIDPOINT)
        for fit_ in (small, large, middle):
            assert np.abs(fit_ - y).sum() == costs.min()
            assert (np.diff(fit_) >= 0).all()
        unbounded = monotone[np.abs(monotone - y).sum(axis=1) == np.abs(monotone - y).sum(axis=1).min()]
        assert isotonic_l1(y, -9, 9).tolist() == unbounded.min(axis=0).tolist()
        assert isotonic_l1(y, -9, 9, Optimum.LARGEST).tolist() == unbounded.max(axis=0).tolist()


def test_values_near_and_far_apart_are_fitted_alike():
    """Near ones by counts of breakpoints, far ones by a heap: the fit of a million times the values is that of them."""
    rng = rng_of(17)
    for _ in range(scale(300, 3_000)):
        y = rng.integers(-5, int(rng.choice([3, 20, 60])), int(rng.integers(1, 60)))
        y = np.sort(y) + rng.integers(-4, 5, len(y)) if rng.random() < 0.5 else y
        for optimum in Optimum:
            near = isotonic_l1(y, -(2**40), 2**40, optimum)
            assert np.array_equal(isotonic_l1(10**6 * y, -(2**40), 2**40, optimum), 10**6 * near)


def test_runs_equal_the_rows():
    rng = rng_of(24)
    for _ in range(scale(500, 20_000)):
        y = rng.integers(-9, 40, int(rng.integers(1, 60)))
        value, count = isotonic_l2_runs(y, 0, 30)
        assert np.repeat(value, count).tolist() == fit(y, 0, 30)
    long = np.sort(rng.integers(0, 1000, 10_000)) + rng.integers(-9, 10, 10_000)
    assert np.repeat(*isotonic_l2_runs(long, 0, 1000)).tolist() == fit(long, 0, 1000)


def isotonic_problem(rng, view, norm, totals="regions"):
    tree = random_tree(rng, max_regions=6)
    truth = random_truth(rng, tree, max_size=5)
    return Problem.isotonic(
        Geometric(view, "0.5", totals=totals).measure(truth, Seeded(int(rng.integers(10**9)))), norm=norm
    )


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    ("view", "totals"), [(View.CUMULATIVE, "regions"), (View.CUMULATIVE, "root"), (View.RANKED, "regions")]
)
def test_the_method_proves_every_answer(view, totals, norm):
    rng = rng_of(25)
    for _ in range(scale(12, 1_000)):
        problem = isotonic_problem(rng, view, norm, totals)
        result = Isotonic().solve(problem)
        assert result.status is Status.OPTIMAL
        assert result.certificate.optimal
        if view is View.CUMULATIVE:
            relaxed = Isotonic().solve(problem.relaxed())
            assert relaxed.status is Status.OPTIMAL, relaxed
            assert relaxed.certificate.objective <= result.certificate.objective + 1e-9


def test_a_worse_ranked_answer_loses_its_proof():
    rng = rng_of(26)
    for _ in range(scale(50, 1_000)):
        problem = isotonic_problem(rng, View.RANKED, 2)
        best = Isotonic().solve(problem)
        counts = best.estimate.values.copy()
        region = int(rng.integers(len(counts)))
        if not counts[region].any():
            continue
        size = int(np.flatnonzero(counts[region])[0])
        counts[region, size] -= 1
        counts[region, (size + 3) % 6] += 1
        worse = certify(problem, Estimate(problem.hierarchy, View.COUNTS, counts))
        assert worse.optimal == (worse.objective == best.certificate.objective)
        counts[region, 0] += 1
        assert certify(problem, Estimate(problem.hierarchy, View.COUNTS, counts)).violations["totals"] == 1


def test_bounds_of_cells_equal_brute_force():
    """Both norms, every L1 optimum, random bounds; the chain passes what is optimal, and nothing else."""
    rng = rng_of(41)
    infeasible = 0
    for _ in range(scale(120, 20_000)):
        n, most = int(rng.integers(1, 6)), 5
        vectors = naive.monotone_vectors(n, np.arange(most + 1))
        y, some = rng.integers(-2, most + 3, n), rng.random((2, n)) < rng.random()
        lower, upper = (
            np.where(some[0], rng.integers(0, most + 1, n), 0),
            np.where(some[1], rng.integers(0, 6, n), most),
        )
        inside = vectors[((vectors >= lower) & (vectors <= upper)).all(axis=1)]
        if not len(inside):
            infeasible += 1
            with pytest.raises(ProblemError, match="no non-decreasing vector keeps both"):
                isotonic_within(y, lower, upper, 2)
            continue
        for norm in (1, 2):
            costs = (np.abs(inside - y) ** norm).sum(axis=1)
            best = inside[costs == costs.min()]
            found = isotonic_within(y, lower, upper, norm)
            assert found.dtype == np.int64
            assert (best == found).all(axis=1).any()
            assert norm == 2 or found.tolist() == best.min(axis=0).tolist()
            for x, cost in zip(inside, costs, strict=True):
                assert isotonic_is_optimal(x, y, None, None, norm, (lower, upper)) == (cost == costs.min())
    assert infeasible > 5


def test_method_takes_bounds_of_cumulative_cells():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, np.array([[0, 2, 0, 1], [0, 1, 1, 1]]))
    noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded(3))
    for norm in (1, 2):
        problem = Problem.isotonic(noisy, norm=norm).where(cells(size=0) == 0, cells(region=("US",), size=1) >= 3)
        result = Isotonic().solve(problem)
        assert result.certificate.optimal
        assert result.certificate.bound_by == "subgradient chain"
        assert (result.estimate.values[:, 0] == 0).all()
        assert result.estimate.values[0, 1] >= 3
    wrong = Isotonic().solve(problem.where(cells(region=("US", "GA"), size=2) >= 9))
    assert wrong.status is Status.INFEASIBLE


def test_middles_of_rows_are_those_of_vectors():
    generator = rng_of(44)
    rows, upper = generator.integers(-5, 12, (200, 7)), generator.integers(0, 9, 200)
    for row, most, middle in zip(rows, upper, isotonic_l1_middles(rows, upper), strict=True):
        assert np.array_equal(middle, isotonic_l1(row, 0, int(most), Optimum.MIDPOINT))
    assert isotonic_l1_middles(rows[:, :0], upper).shape == (200, 0)
