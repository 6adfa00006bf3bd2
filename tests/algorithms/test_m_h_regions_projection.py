"""M_H with every region's total: the claims of RegionTotalsProjection; who agrees with it stands in the matrix."""

import re
from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import Isotonic, RegionTotalsProjection, TreeProjection
from pgsr.certificates import certify
from pgsr.errors import ProblemError
from pgsr.estimators import IsotonicTreeProjection
from pgsr.models import Flow
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.problems.conditions import total


def test_some_totals_are_proved():
    """The totals of some regions, nested ones among them, stated by `where`; with or without the root's."""
    rng = rng_of(61)
    for _ in range(scale(10, 600)):
        problem = some_totals(rng, random_problem(rng, int(rng.choice([2, 20, 500])), least=2))
        result = RegionTotalsProjection().solve(problem)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.gap <= 1e-9
        assert result.certificate.bound_by == "Lagrangian bound"


@pytest.mark.parametrize("spread", [6, 30, 1_000])
def test_random_problems_are_solved_and_proved(spread):
    """Noise far beyond the counts empties leaves at all sizes but a few; weights up to a million."""
    rng = rng_of(42)
    for number in range(scale(20, 1_000)):
        problem = random_problem(rng, spread)
        if number % 2:
            weights = (10.0 ** rng.uniform(0, 6, len(problem.w))).astype(np.int64) * (problem.w > 0)
            problem = replace(problem, weights=weights)
        assert_optimal(problem, RegionTotalsProjection().solve(problem))


@pytest.mark.parametrize("seed", [53, 57, 87])
def test_real_weights_of_eight_orders_of_magnitude(seed):
    """What ties vertices to the ground in other flows would hold these back: light arcs that carry nothing."""
    rng = np.random.default_rng((63, seed))
    problem = random_problem(rng, 500)
    problem = replace(problem, weights=10.0 ** rng.uniform(0, 8, len(problem.w)) * (problem.w > 0))
    assert_optimal(problem, RegionTotalsProjection().solve(problem))


@pytest.mark.parametrize("n_levels", [1, 2, 5])
def test_counts_of_1e8_keep_nine_digits(n_levels):
    rng = rng_of(44)
    tree = random_tree(rng, max_regions=60, n_levels=n_levels)
    counts = (10.0 ** rng.uniform(-1, 8, (tree.n_regions - tree.n_inner, 40))).astype(np.int64)
    counts[rng.random(len(counts)) < 0.1] = 0
    truth = CountOfCounts(tree, counts)
    noisy = Geometric(View.COUNTS, "0.1", totals="regions").measure(truth, Seeded(f"large {n_levels}"))
    problem = Problem.m_h(noisy, totals="regions").relaxed()
    assert_optimal(problem, RegionTotalsProjection().solve(problem))


def test_totals_far_from_the_counts():
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
    noisy = np.array([[-900, 5, 0], [-800, -9, 10**6], [-7, -999, 3]])
    for totals in ([10**6 + 1, 10**6, 1], [1, 0, 1], [3, 1, 2], [2 * 10**9, 10**9, 10**9]):
        problem = Problem.m_h(measurement_of(tree, noisy, np.array(totals)), totals="regions").relaxed()
        assert_optimal(problem, RegionTotalsProjection().solve(problem))


@pytest.mark.slow
@pytest.mark.parametrize("around", [None, RegionTotalsProjection()])
def test_integers_with_some_totals_equal_brute_force(around):
    rng = rng_of(62)
    checked = 0
    while checked < scale(50, 3_000):
        tree, n_sizes = random_tree(rng, max_regions=7), int(rng.integers(2, 4))
        totals = tree.sum_up(rng.integers(0, 3, (tree.n_regions - tree.n_inner, 1)))[:, 0]
        if totals[0] > 4:
            continue
        noisy = rng.integers(-3, 6, (tree.n_regions, n_sizes))
        problem = some_totals(rng, Problem.m_h(measurement_of(tree, noisy, totals), totals="regions"))
        problem = replace(problem, weights=np.where(np.arange(tree.n_regions) < tree.n_inner, rng.integers(0, 3), 2))
        public = replace(problem, totals=Totals.ROOT)  # else there is no end of feasible points
        points = naive.feasible_points(tree, n_sizes, int(totals[0]))
        rows, right = public.conditions.rows, public.conditions.row_lower
        points = points[(points.reshape(len(points), -1) @ rows.T.toarray() == right).all(axis=1)]
        result = Flow(around=around).solve(public)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.bound_by == "node potentials"
        values = naive.objectives(public, points)
        assert result.certificate.objective == values.min()
        for index in rng.choice(len(points), min(len(points), 4), replace=False):
            optimal = values[index] == values.min()
            assert certify(public, replace(result.estimate, values=points[index])).optimal == optimal
            if checked % 10 == 0:
                assert naive.has_negative_cycle(public, points[index]) != optimal
        checked += 1


def test_m_c_dp_keeps_every_total():
    """A lone region gets the nearest non-decreasing integers; a hierarchy an answer that is feasible for M_c."""
    rng, post = rng_of(52), IsotonicTreeProjection(Flow(around=RegionTotalsProjection()), "regions")
    for n_levels in (1, 2, 3):
        for _ in range(scale(3, 500)):
            truth = random_truth(rng, random_tree(rng, n_levels=n_levels))
            noise = Geometric(View.CUMULATIVE, "1/2", totals="regions")
            noisy = noise.measure(truth, Seeded(f"m_c^dp {rng.integers(1 << 30)}"))
            result = post.apply(noisy)
            assert result.status is Status.FEASIBLE
            assert result.certificate.feasible
            np.testing.assert_array_equal(result.estimate.values.sum(axis=1), truth.totals)
            if n_levels == 1:
                alone = Isotonic().solve(Problem.isotonic(noisy, norm=2))
                assert result.certificate.objective == alone.certificate.objective
    with pytest.raises(ProblemError, match="root's alone"):
        post.apply(Geometric(View.CUMULATIVE, 1, totals="root").measure(truth, Seeded("root")))


def test_contradicting_totals_are_named_at_any_size():
    """Sums beyond 2^52 are not looked into by `Problem.contradiction`, and so by the methods themselves."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    stated = Problem.of(np.zeros((3, 2), int), tree, groups=[8, 3, 5], totals="regions", label="M_H").relaxed()
    wrong = RegionTotalsProjection().solve(replace(stated, groups=np.array([7, 3, 5])))
    assert re.search("US is 7.* 8", wrong.reason), wrong
    assert RegionTotalsProjection().supports(stated.where(3 * total(("US", "MI")) == 15)) is None
    for groups_, conditions, name in [
        (9, [total(level=1) == [4, 4]], "US"),
        (2**45, [total(level=1) == [4, 4]], "US"),
        (2**45, [total(("US", "GA")) == 2**46], "US"),
        (2**45, [total(("US", "GA")) == 4, total(("US", "GA")) == 5], "GA"),
    ]:
        problem = Problem.of(np.zeros((3, 70), int), tree, groups=groups_, label="M_H").where(*conditions)
        for method in (RegionTotalsProjection(), Flow()):
            if method.unavailable() is None:
                result = method.solve(problem)
                assert result.status is Status.INFEASIBLE, result
                assert name in result.reason
    large = Problem.of(np.zeros((3, 70), int), tree, groups=None, totals=None).where(total(("US", "GA")) == 2**50)
    assert RegionTotalsProjection().solve(large).status is Status.TOO_LARGE


def test_time_limit():
    result = RegionTotalsProjection().solve(random_problem(rng_of(51)), time_limit=1e-9)
    assert result.status is Status.TIMED_OUT
    assert "after 1e-09 s" in result.reason


def random_problem(rng, spread=6, integer=False, least=1):
    """M_H (relaxed unless `integer`) of a random tree: K from 0 up, empty leaves, inner regions without weight."""
    tree = random_tree(rng)
    leaves = rng.integers(0, 5, (tree.n_regions - tree.n_inner, int(rng.integers(least, 9))))
    leaves[rng.random(len(leaves)) < 0.2] = 0
    counts = tree.sum_up(leaves * rng.integers(0, 2, leaves.shape))
    noisy = counts + rng.integers(-spread, spread + 1, counts.shape)
    weights = rng.integers(0, 5, tree.n_regions) * rng.integers(0, 2, tree.n_regions)
    weights[tree.leaves] = rng.integers(1, 5, tree.n_regions - tree.n_inner)
    problem = replace(Problem.m_h(measurement_of(tree, noisy, counts.sum(axis=1)), totals="regions"), weights=weights)
    return problem if integer else problem.relaxed()


def some_totals(rng, problem):
    """The same with the totals of some regions alone, the root's public or not, the others stated as conditions."""
    tree = problem.hierarchy
    known = rng.choice(tree.n_regions, int(rng.integers(1, tree.n_regions + 1)), replace=False)
    conditions = [total(tree.paths[r]) == int(problem.region_totals[r]) for r in known]
    public = None if rng.random() < 0.5 else Totals.ROOT
    return replace(problem, totals=public).where(*conditions)


def measurement_of(tree, noisy, totals):
    """These noisy counts with every region's total."""
    return replace(naive.measurement_of(tree, noisy, 0), public=Totals.REGIONS, totals=np.asarray(totals))


def assert_optimal(problem, result):
    """Proved, and feasible to nine digits beyond what the certificate asks for."""
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.gap <= 1e-9
    x, tree, totals = result.estimate.values, problem.hierarchy, problem.region_totals
    assert x.min() >= 0
    np.testing.assert_allclose(x, tree.sum_up(x[tree.leaves]), rtol=1e-12)
    np.testing.assert_allclose(x.sum(axis=1), totals, rtol=1e-9, atol=1e-12)


def test_a_curvature_that_rounding_loses_ends_the_search():
    """Weights from 1 to 2^28: the curvature of a direction comes out as 0."""
    tree = Hierarchy.from_parents(list("abcdef"), [-1, 0, 1, 1, 2, 3])
    noisy = np.array([[1, 0, 3], [2, 0, 0], [-1, -1, 0], [-1, -2, 0], [3, 5, 1], [2, -2, 1]])
    weights, groups = np.array([0, 0, 0, 2**28, 2**17, 1]), np.array([3, 3, 2, 1, 2, 1])
    problem = Problem.of(noisy, tree, groups=groups, totals="regions", weights=weights, label="M_H", integer=False)
    result = RegionTotalsProjection().solve(problem)
    assert result.status in (Status.OPTIMAL, Status.FAILED)  # and no ZeroDivisionError
    assert result.certificate.feasible


@pytest.mark.parametrize("method", [TreeProjection(), RegionTotalsProjection()], ids=repr)
def test_counts_too_large_for_a_proof_in_reals_are_told(method):
    """Rounded to 64 bits, counts of 1e10 leave a gap, which integers do not have."""
    tree = Hierarchy.from_paths([("US", state, state + county) for state in "AB" for county in "xyz"])
    weights, told = np.array([1, 1000, 1, 1000, 1000, 1, 1, 1000, 1]), 0
    for seed in range(4):
        rng = rng_of(seed)
        full = tree.sum_up(rng.integers(0, 10**10, (6, 8)))
        groups = int(full[0].sum()) if isinstance(method, TreeProjection) else full.sum(axis=1)
        problem = Problem.of(full + rng.integers(-50, 50, full.shape), tree, weights=weights, groups=groups)
        result = method.solve(problem.relaxed())
        if result.status is Status.OPTIMAL:
            assert result.certificate.gap <= 1e-9
            continue
        told += 1
        assert result.status is Status.FAILED
        assert "counts this large, in numbers of 64 bits, can leave a gap of" in result.reason
        exact = TreeProjection() if isinstance(method, TreeProjection) else Flow()
        assert result.reason.endswith(f"so solve the problem in integers, which are exact, by {exact!r}")
        assert exact.solve(problem).status is Status.OPTIMAL
    assert told
