"""The claims of CumulativeProjection; who agrees with it stands in the matrix."""

from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import psutil
import pytest
from instances import random_tree, random_truth, rng_of, scale
from made_measurements import cells_of, measurement_of

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeProjection
from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.certificates import certify
from pgsr.estimators import IsotonicTreeProjection
from pgsr.methods.gate import Deadline, Stopped
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.conditions import cells

TOTALS = ("root", "regions", None)


@pytest.mark.parametrize("totals", TOTALS)
def test_answers_are_feasible_and_proved(totals):
    rng = rng_of(62)
    for _ in range(scale(20, 2_000)):
        problem = random_problem(rng, totals)
        result = CumulativeProjection(gap=1e-10).solve(problem)
        assert result.status is Status.OPTIMAL, (problem, result)
        x, tree, certificate = result.estimate.values, problem.hierarchy, result.certificate
        assert certificate.feasible
        assert certificate.bound <= certificate.objective + 1e-9
        assert certificate.gap <= 1e-10
        assert x.min() >= 0
        assert (np.diff(x, axis=1) >= 0).all()
        np.testing.assert_allclose(x, tree.sum_up(x[tree.leaves]), rtol=1e-12, atol=1e-12)
        if totals == "root":
            assert x[0, -1] == pytest.approx(problem.root_total, rel=1e-12)
        if totals == "regions":
            assert (x[:, -1] == problem.region_totals).all()


def test_bounds_of_upper_regions_only_where_they_follow():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = Problem.of(np.zeros((3, 4), int), tree, View.CUMULATIVE, groups=9, label="M_c").relaxed()
    follows = problem.where(cells(level=1, size=1) <= 2, cells(level=0, size=1) <= 4, cells(size=0) == 0)
    assert CumulativeProjection().solve(follows).status is Status.OPTIMAL
    for condition in (cells(level=0, size=1) <= 3, cells(level=0, size=2) >= 1):
        result = CumulativeProjection().solve(follows.where(condition))
        assert result.status is Status.UNSUPPORTED
        assert condition.name in result.reason
    assert "ties several" in CumulativeProjection().supports(problem.where(cells(level=1, size=1).sum() <= 2))


@pytest.mark.parametrize("totals", ["root", "regions"])
def test_counts_of_1e8_keep_the_gap(totals):
    rng = rng_of(66)
    for levels in (2, 3, 4):
        tree = random_tree(rng, max_regions=40, n_levels=levels)
        counts = (10.0 ** rng.uniform(-1, 8, (tree.n_regions - tree.n_inner, 200))).astype(np.int64)
        truth = CountOfCounts(tree, counts * (rng.random(counts.shape) < 0.3), name="large")
        noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(f"large {levels}"))
        result = CumulativeProjection().solve(Problem.m_c(noisy, totals=totals).relaxed())
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.gap <= 1e-9


def test_extreme_totals():
    """An empty hierarchy, and totals far from the noisy values."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    y = np.array([[3, -1, 4], [2, 2, 2], [-900, -5, -700]])
    for total in (0, 1, 10**6):
        problem = Problem.m_c(naive.measurement_of(tree, y, total, View.CUMULATIVE)).relaxed()
        result = CumulativeProjection().solve(problem)
        assert result.status is Status.OPTIMAL, result
        assert result.estimate.values[0, -1] == pytest.approx(total)


def test_integers_are_the_rounded_relaxation():
    rng = rng_of(67)
    tree = random_tree(rng, max_regions=30, n_levels=3)
    truth = random_truth(rng, tree, max_size=40, max_count=50, name="rounded")
    noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded("rounded"))
    problem = Problem.m_c(noisy)
    result, relaxed = CumulativeProjection().solve(problem), CumulativeProjection().solve(problem.relaxed())
    assert result.status is Status.RELAXED
    assert "rounded" in result.reason
    assert result.estimate.values.dtype == np.int64
    assert (result.estimate.values == np.rint(relaxed.estimate.values)).all()
    assert result.certificate.violations == certify(problem, result.estimate).violations
    assert relaxed.certificate.bound * (1 - 1e-12) <= result.certificate.bound  # integers may bound better
    assert result.certificate.bound <= IsotonicTreeProjection().apply(noisy).certificate.objective


@pytest.mark.parametrize("totals", TOTALS)
def test_in_place_is_the_same_answer(totals):
    """The same bits, in the memory of the values; `objective_at` is the objective of what `feasible` forms."""
    rng = rng_of(69)
    for _ in range(scale(8, 200)):
        problem = random_problem(rng, totals)
        projection = CumulativeProjection()
        expected = projection.solve(problem).estimate.values
        dual = SquaresDual(problem)
        point = dual.at(rng.normal(0, 3, dual.shape))
        assert dual.objective_at(point) == pytest.approx(dual.objective(dual.feasible(point)), rel=1e-12)
        room = problem.target.copy()
        found = projection.in_place(replace(problem, cells=cells_of(room)), room.view(np.float64), Deadline())
        assert np.array_equal(found, expected)
        assert np.shares_memory(found, room)


def test_few_blocks_take_little_memory():
    """Leaves with a step every 1,000 sizes: what is kept of 4 million cells is far below 20 bytes of each."""
    tree = Hierarchy.from_parents(["US", *(f"{leaf}" for leaf in range(200))], [-1] + [0] * 200)
    process = psutil.Process()
    for n_sizes in (100, 20_000):  # the first to compile
        leaves = np.tile(64 * (np.arange(n_sizes) // 1_000), (200, 1))
        y = np.concatenate([leaves.sum(axis=0, keepdims=True), leaves])
        problem = Problem.of(y, tree, View.CUMULATIVE, groups=y[:, -1], integer=False)
        before = process.memory_info().rss
        dual = SquaresDual(problem)
        dual.at(np.zeros(dual.shape))
        taken = process.memory_info().rss - before
    assert (dual.blocks.inside[:, 2] <= 20).all()
    assert taken < 4 * y.size, f"{taken / y.size:.1f} bytes a cell"


def test_in_place_stops_with_a_reason():
    problem = random_problem(rng_of(70), "regions")
    with pytest.raises(Stopped, match="minimises squares"):
        CumulativeProjection().in_place(replace(problem, norm=1), problem.target.astype(float), Deadline())
    with pytest.raises(Stopped, match="relative gap"):
        CumulativeProjection(gap=1e-300).in_place(problem, problem.target.astype(float), Deadline(1e-9))


def test_time_limit_says_the_gap_reached():
    rng = rng_of(68)
    problem = random_problem(rng, "root", max_regions=40)
    result = CumulativeProjection(gap=1e-13).solve(problem, time_limit=1e-9)
    assert result.status is Status.TIMED_OUT
    assert "relative gap" in result.reason
    assert result.certificate.gap > 1e-13


def with_bounds(rng, problem):
    """The same with some bounds of cells of leaves, which may contradict each other."""
    tree, y, conditions = problem.hierarchy, np.abs(problem.target), []
    for _ in range(int(rng.integers(1, 5))):
        leaf, size = int(rng.integers(tree.n_inner, tree.n_regions)), int(rng.integers(0, problem.max_size + 1))
        cell, near = cells(tree.paths[leaf], size=size), int(y[leaf, size] * rng.choice([0.3, 1.0, 1.5]))
        conditions.append([cell <= near, cell >= near // 4, cell == 0, cell == near][int(rng.integers(4))])
    return problem.where(*conditions)


def random_problem(rng: np.random.Generator, totals: str | None, max_regions: int = 12) -> Problem:
    """A relaxed M_c with noise of random size, weights 0..9, and whole inner levels not measured now and then."""
    tree = random_tree(rng, max_regions=max_regions)
    shape = (tree.n_regions - tree.n_inner, int(rng.integers(1, 13)))
    counts = rng.integers(0, int(rng.integers(1, 30)), shape) * (rng.random(shape) < 0.5)
    true = tree.sum_up(np.cumsum(counts, axis=1))
    noisy = true + np.rint(rng.normal(0, 10.0 ** rng.uniform(-0.5, 1.5), true.shape)).astype(np.int64)
    noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
    public = true[:, -1].copy()
    measurement = measurement_of(tree, View.CUMULATIVE, noisy, shape[1] - 1, noise, Totals.REGIONS, public, False)
    weights = rng.integers(1, 10, tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.8
    for level in range(tree.n_levels - 1):
        weights[tree.level(level)] *= int(rng.random() < 0.8)
    problem = replace(Problem.m_c(measurement, totals=totals or "root"), weights=weights).relaxed()
    return problem if totals else replace(problem, totals=None)


def test_leaves_that_are_all_at_their_bounds_do_not_stop_the_ascent():
    """Noise of a thousand on five groups: every leaf stays at 0 until the price of the total is 2,000."""
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    for y in ([[-707, 510], [467, -1656]], [[2, 5], [4, -900_000]]):
        problem = Problem.of(y, tree, View.CUMULATIVE, groups=5, label="M_c").relaxed()
        result = CumulativeProjection().solve(problem)
        assert result.status is Status.OPTIMAL, result.reason
