"""CumulativeFlow against brute force and branch and bound, and its own claims."""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from instances import random_tree, random_truth, scale

from pgsr import CountOfCounts, Geometric, Hierarchy, Measurement, Problem, Seeded, Status, Totals, View, certify
from pgsr.algorithms import CumulativeProjection
from pgsr.errors import ArgumentError
from pgsr.methods.gate import Deadline, Stopped
from pgsr.models import CumulativeFlow, Cvxpy, Scipy
from pgsr.models.top_down import integers_top_down
from pgsr.privacy.laws.per_level import GeometricNoise

pytest.importorskip("ortools")

TOTALS = ("root", "regions")


@pytest.mark.drawn(1)
@pytest.mark.parametrize("totals", TOTALS)
def test_a_share_is_the_best_below_its_parent(totals):
    """The share is best with `exact`; else between floor and ceiling of the relaxed optimum in 99 of 100 cases."""
    rng = np.random.default_rng(71)
    missed, count = 0, scale(100, 1_000)
    for _ in range(count):
        problem, root = fixed_parent(rng, totals)
        tree, y, w = problem.hierarchy, problem.target, problem.w
        public = problem.region_totals if totals == "regions" else None
        relaxed = CumulativeProjection().solve(problem.relaxed()).estimate.values
        best = cheapest_share(root, y[1:], w[1:], None if public is None else public[1:])
        plain, exact = (integers_top_down(tree, relaxed, root, w, y, public, exact=exact) for exact in (False, True))
        assert (w[1:, None] * (exact[1:] - y[1:]) ** 2).sum() == best
        missed += (w[1:, None] * (plain[1:] - y[1:]) ** 2).sum() != best
    assert missed <= count / 100, missed


def test_any_start_leads_to_the_best_share():
    """Values that miss their parent by far only cost time: windows grow until a share exists, then move."""
    rng = np.random.default_rng(72)
    for _ in range(scale(50, 500)):
        problem, root = fixed_parent(rng, "root")
        tree, y, w = problem.hierarchy, problem.target, problem.w
        start = np.maximum.accumulate(rng.uniform(0, 20, y.shape), axis=1)
        x = integers_top_down(tree, start, root, w, y, exact=True)
        assert (w[1:, None] * (x[1:] - y[1:]) ** 2).sum() == cheapest_share(root, y[1:], w[1:], None)
        assert_consistent(tree, integers_top_down(tree, start, root, w, y), root)


@pytest.mark.parametrize("totals", TOTALS)
def test_growing_only_where_the_relaxation_does_costs_nothing(totals):
    """Four levels: within 1e-4 of what the best share of every parent gives, mostly below it, and the gap is proved."""
    rng = np.random.default_rng(79)
    tree = Hierarchy.from_paths([("US", f"A{i // 25}", f"B{i // 5}", f"C{i}") for i in range(125)])
    truth = CountOfCounts(tree, rng.poisson(0.3 * np.exp(-np.arange(100) / 30), (125, 100)), name="four levels")
    for epsilon, gap in (("1", 5e-3), ("1/10", 5e-4)):
        problem = Problem.m_c(Geometric(View.CUMULATIVE, epsilon).measure(truth, Seeded("four levels")), totals=totals)
        plain, best = CumulativeFlow().solve(problem).certificate, CumulativeFlow(exact=True).solve(problem).certificate
        assert plain.objective <= (1 + 1e-4) * best.objective
        assert plain.gap < gap, plain


def test_values_that_never_grow_are_shared_nevertheless():
    """No child may grow at first, so no flow exists, and then any may."""
    tree = Hierarchy.from_paths([("US", f"S{i // 3}", f"C{i}") for i in range(6)])
    root = np.array([0, 2, 2, 5, 9])
    for level in (0.0, 0.5, 1.0):
        values = np.outer([6, 3, 3, 1, 1, 1, 1, 1, 1], np.full(5, level))
        assert_consistent(tree, integers_top_down(tree, values, root, np.ones(9)), root)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("totals", TOTALS)
def test_answers_are_feasible_and_not_below_the_bound(totals):
    rng = np.random.default_rng(73)
    for _ in range(scale(150, 10_000)):
        problem = random_problem(rng, totals)
        result = CumulativeFlow(exact=bool(rng.random() < 0.3)).solve(problem)
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE), result
        x, certificate = result.estimate.values, result.certificate
        assert_consistent(problem.hierarchy, x, x[0])
        assert x[0, -1] == problem.root_total
        if totals == "regions":
            assert (x[:, -1] == problem.region_totals).all()
        assert certificate.bound <= certificate.objective
        assert (result.status is Status.OPTIMAL) == (certificate.bound == certificate.objective)
        assert certify(problem, result.estimate).objective == certificate.objective


@pytest.mark.drawn(2, pool="errors beside the papers'")
@pytest.mark.parametrize("totals", TOTALS)
def test_three_levels_are_within_a_percent_of_the_optimum_on_average(totals):
    rng = np.random.default_rng(74)
    tree = Hierarchy.from_paths([("US", f"S{i // 2}", f"C{i}") for i in range(6)])
    excess = []
    for _ in range(scale(25, 150)):
        truth = random_truth(rng, tree, max_size=4, max_count=3, name="tiny")
        noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(str(rng.integers(10**9))))
        problem = Problem.m_c(noisy, totals=totals)
        result, best = CumulativeFlow().solve(problem), Scipy().solve(problem)
        assert best.status is Status.OPTIMAL
        optimum = best.certificate.objective
        assert result.certificate.bound <= optimum <= result.certificate.objective
        if result.status is Status.OPTIMAL:
            assert result.certificate.objective == optimum
        excess.append((result.certificate.objective - optimum) / optimum)
    assert np.mean(excess) < 0.01, np.mean(excess)


def test_a_lone_region_is_solved():
    tree = Hierarchy.from_paths([("US",)])
    rng = np.random.default_rng(75)
    for _ in range(scale(20, 200)):
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 20)), max_count=9, name="lone")
        problem = Problem.m_c(Geometric(View.CUMULATIVE, "1/2").measure(truth, Seeded(str(rng.integers(10**9)))))
        assert CumulativeFlow().solve(problem).status is Status.OPTIMAL


def test_corner_cases():
    """Size 0 only, no groups at all, single children, an empty region."""
    chain = Hierarchy.from_paths([("US", "US", "US")])
    twins = Hierarchy.from_paths([("US", "GA", "A"), ("US", "GA", "B"), ("US", "MI", "C")])
    for tree, counts in [
        (chain, [[0, 3, 1]]),
        (twins, [[2, 0], [0, 0], [3, 0]]),
        (twins, [[0, 0, 0]] * 3),
        (twins, [[0, 4, 1], [0, 0, 0], [2, 0, 2]]),
    ]:
        noisy = Geometric(View.CUMULATIVE, 1).measure(CountOfCounts(tree, counts), Seeded("corner"))
        for totals in TOTALS:
            result = CumulativeFlow().solve(Problem.m_c(noisy, totals=totals))
            assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
            assert result.certificate.feasible
            result.estimate.counts()


def test_the_truth_is_its_own_optimum():
    rng = np.random.default_rng(76)
    for _ in range(scale(10, 100)):
        truth = random_truth(rng, random_tree(rng), max_size=9, max_count=50, name="exact")
        noisy = Geometric(View.CUMULATIVE, 10**6).measure(truth, Seeded("exact"))
        result = CumulativeFlow().solve(Problem.m_c(noisy))
        assert result.status is Status.OPTIMAL
        assert (result.estimate.values == noisy.matrix).all()


def test_huge_weights_and_counts_stay_within_64_bits():
    rng = np.random.default_rng(77)
    tree = random_tree(rng, max_regions=12, n_levels=3)
    counts = (10.0 ** rng.uniform(0, 8, (tree.n_regions - tree.n_inner, 30))).astype(np.int64)
    noisy = Geometric(View.CUMULATIVE, "1/1000").measure(CountOfCounts(tree, counts, name="huge"), Seeded("huge"))
    weights = rng.integers(2**30, 2**35, tree.n_regions)
    result = CumulativeFlow().solve(replace(Problem.m_c(noisy), weights=weights))
    assert result.status is Status.FEASIBLE
    assert result.certificate.gap < 1e-6


def test_another_relaxation_may_come_without_prices():
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(78)
    problem = random_problem(rng, "root")
    other = CumulativeFlow(around=Cvxpy("CLARABEL")).solve(problem)
    assert other.certificate.feasible
    assert other.certificate.objective <= 1.05 * CumulativeFlow().solve(problem).certificate.objective + 5


def test_what_is_not_solved_says_why(monkeypatch):
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
    counts, steps = (Geometric(view, 1).measure(truth, Seeded(0)) for view in (View.COUNTS, View.CUMULATIVE))
    for problem, word in [
        (Problem.m_h(counts), "cumulative"),
        (Problem.m_c(steps, norm=1), "absolute"),
        (Problem.m_c(steps).relaxed(), "integers"),
        (Problem.isotonic(steps, norm=2), "consistency"),
    ]:
        result = CumulativeFlow().solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert word in result.reason
    wrong = replace(steps, totals=np.array([6, 2, 3]))
    assert CumulativeFlow().solve(Problem.m_c(wrong, totals="regions")).status is Status.INFEASIBLE
    late = CumulativeFlow().solve(Problem.m_c(steps), time_limit=1e-9)
    assert late.status is Status.TIMED_OUT
    with pytest.raises(Stopped, match="inner ones reached after"):
        integers_top_down(tree, np.ones((3, 1)), np.ones(1, int), np.ones(3), deadline=Deadline(1e-9))
    with pytest.raises(Stopped, match="totals"):
        integers_top_down(tree, np.ones((3, 1)), np.ones(1, int), np.ones(3), totals=np.array([1, 2, 2]))
    with pytest.raises(ArgumentError, match="CumulativeProjection"):
        CumulativeFlow(around=CumulativeProjection)
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    assert CumulativeFlow().solve(Problem.m_c(steps)).status is Status.NOT_INSTALLED


def random_problem(rng: np.random.Generator, totals: str, max_regions: int = 12) -> Problem:
    """An integer M_c with noise of random size, weights 0..9, and whole inner levels not measured now and then."""
    tree = random_tree(rng, max_regions=max_regions)
    shape = (tree.n_regions - tree.n_inner, int(rng.integers(1, 13)))
    counts = rng.integers(0, int(rng.integers(1, 30)), shape) * (rng.random(shape) < 0.5)
    counts[rng.random(len(counts)) < 0.2] = 0
    weights = rng.integers(1, 10, tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    for level in range(tree.n_levels - 1):
        weights[tree.level(level)] *= int(rng.random() < 0.8)
    return noisy_problem(rng, tree, counts, weights, totals)


def fixed_parent(rng: np.random.Generator, totals: str) -> tuple[Problem, np.ndarray]:
    """Up to three leaves below a root whose integers are all but fixed by its weight, and those integers."""
    tree = Hierarchy.from_paths([("US", f"S{i}") for i in range(int(rng.integers(2, 4)))])
    counts = rng.integers(0, 4, (tree.n_regions - 1, int(rng.integers(2, 6)))) * (rng.random() < 0.9)
    weights = np.append(10**8, rng.integers(1, 5, tree.n_regions - 1))
    problem = noisy_problem(rng, tree, counts, weights, totals)
    root = tree.sum_up(np.cumsum(counts, axis=1))[0]
    values = problem.target.copy()
    values[0] = root
    return replace(problem, values=values), root


def noisy_problem(
    rng: np.random.Generator, tree: Hierarchy, counts: np.ndarray, weights: np.ndarray, totals: str
) -> Problem:
    true = tree.sum_up(np.cumsum(counts, axis=1))
    noisy = true + np.rint(rng.normal(0, 10.0 ** rng.uniform(-0.5, 1), true.shape)).astype(np.int64)
    noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
    public = true[:, -1].copy()
    measurement = Measurement(tree, View.CUMULATIVE, noisy, true.shape[1] - 1, noise, Totals.REGIONS, public, False)
    return replace(Problem.m_c(measurement, totals=totals), weights=weights)


def cheapest_share(root: np.ndarray, y: np.ndarray, w: np.ndarray, last: np.ndarray | None) -> int:
    """The least sum of w (c - y)^2 over all shares of the root's integers, size by size over all states."""
    before = np.zeros((1, len(y)), int)
    cost = np.zeros(1, int)
    for s, total in enumerate(root):
        here = np.stack(np.meshgrid(*[np.arange(total + 1)] * (len(y) - 1), indexing="ij"), axis=-1)
        here = here.reshape(-1, len(y) - 1)
        here = np.column_stack([here, total - here.sum(axis=1)])
        here = here[here[:, -1] >= 0]
        if s == len(root) - 1 and last is not None:
            here = last[None]
        allowed = (before[None] <= here[:, None]).all(axis=2)
        cheapest = np.where(allowed, cost, 10**12).min(axis=1)
        before, cost = here, cheapest + (w * (here - y[:, s]) ** 2).sum(axis=1)
    return int(cost.min())


def assert_consistent(tree: Hierarchy, x: np.ndarray, root: np.ndarray) -> None:
    assert x.dtype == np.int64
    assert (x[0] == root).all()
    assert (x == tree.sum_up(x[tree.leaves])).all()
    assert x.min() >= 0
    assert (np.diff(x, axis=1) >= 0).all()
