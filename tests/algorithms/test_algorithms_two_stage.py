"""TwoStage: valid releases, exact where there is no noise, and closer than the published ones."""

import sys
from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from made_measurements import cells_of

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import CumulativeProjection
from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1
from pgsr.datasets import census_like
from pgsr.estimators import BottomUp, Matching, TwoStage
from pgsr.methods import metrics
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded


def test_releases_are_valid():
    rng = rng_of(81)
    for _ in range(scale(20, 5_000)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 8)), max_count=30, name="valid")
        totals = str(rng.choice(["root", "regions"]))
        shares = split(rng, tree.n_levels)
        noise = Geometric(View.CUMULATIVE, "1/2", shares=shares, totals=totals)
        noisy = noise.measure(truth, Seeded(str(rng.integers(10**9))))
        result = TwoStage().apply(noisy)
        assert result.status is Status.FEASIBLE, result
        counts = result.estimate.counts()
        assert counts.totals[0] == truth.totals[0]
        if totals == "regions":
            assert (counts.totals == truth.totals).all()


def test_a_single_size():
    """K = 0: with public totals nothing is left to estimate; with the root's alone, the leaves' totals are."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    one = naive.measurement_of(tree, np.array([[4], [9], [-2]]), 5, View.CUMULATIVE)
    assert (TwoStage().apply(one).estimate.values.ravel() == [5, 5, 0]).all()
    public = replace(one, public=Totals.REGIONS, totals=np.array([5, 2, 3]))
    assert (TwoStage().apply(public).estimate.values.ravel() == [5, 2, 3]).all()


def test_little_noise_gives_the_truth():
    rng = rng_of(82)
    for _ in range(scale(10, 100)):
        truth = random_truth(rng, random_tree(rng), max_size=9, max_count=50, name="truth")
        for totals in ("root", "regions"):
            noisy = Geometric(View.CUMULATIVE, 10**6, totals=totals).measure(truth, Seeded("truth"))
            assert not metrics.l1(truth, TwoStage().apply(noisy).estimate).any()


def test_the_joint_stage_is_the_projection_of_the_midpoints():
    """One level measured: nothing is left to project, so the fractional answer is the midpoints, and their sums."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    truth = CountOfCounts(tree, [[0, 9, 0, 1, 5], [0, 8, 5, 1, 5]])
    noise = Geometric(View.CUMULATIVE, "1/3", shares=("0", "1"), totals="regions")
    noisy = noise.measure(truth, Seeded("midpoints"))
    x = TwoStage(integer=False).apply(noisy).estimate.values
    for leaf in (1, 2):
        total = int(noisy.region_totals[leaf])
        middle = isotonic_l1(noisy.matrix[leaf, :-1], 0, total, Optimum.MIDPOINT)
        np.testing.assert_allclose(x[leaf], np.append(middle, total), atol=1e-9)
    np.testing.assert_allclose(x[0], x[1] + x[2], atol=1e-9)


@pytest.mark.slow
def test_closer_than_matching_at_every_level():
    """The same measurements, epsilon split equally: at the root less than three quarters of the error."""
    truth = census_like(regions="counties", max_size=40, groups=1_000_000)
    errors = {method: [] for method in (TwoStage(), Matching())}
    for seed in range(3):
        noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded(f"equal {seed}"))
        for method, found in errors.items():
            found.append(metrics.level_means(truth, metrics.emd(truth, method.apply(noisy).estimate)))
    two_stage, matching = (np.mean(found, axis=0) for found in errors.values())
    assert (two_stage < [0.75, 0.95, 0.97] * matching).all(), (two_stage, matching)


@pytest.mark.slow
def test_the_true_midpoint_is_closer_than_the_smallest_optimum():
    truth = census_like(regions="counties", max_size=40, groups=1_000_000)
    errors = {method: [] for method in (TwoStage(), BottomUp())}
    noise = Geometric(View.CUMULATIVE, "1/2", shares=("0", "0", "1"), totals="regions")
    for seed in range(2):
        noisy = noise.measure(truth, Seeded(f"leaves {seed}"))
        for method, found in errors.items():
            found.append(metrics.level_means(truth, metrics.emd(truth, method.apply(noisy).estimate)))
    middle, smallest = (np.mean(found, axis=0) for found in errors.values())
    assert (middle < smallest).all(), (middle, smallest)


def test_weights_are_squares_of_epsilon():
    """Levels of the same noisy values with other shares: stage two is M_c on the midpoints with weights eps^2."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    truth = CountOfCounts(tree, [[0, 9, 0, 1, 5], [0, 8, 5, 1, 5]])
    noisy = Geometric(View.CUMULATIVE, 1, shares=("1/4", "3/4"), totals="root").measure(truth, Seeded("weights"))
    values = np.sort(np.clip(noisy.matrix, 0, None), axis=1)
    values[0, -1] = noisy.root_total
    values[0] = np.minimum(values[0], noisy.root_total)
    monotone = replace(noisy, cells=values.ravel())
    x = TwoStage(integer=False).apply(monotone).estimate.values
    fitted = np.minimum(monotone.matrix, monotone.root_total)
    problem = Problem.m_c(replace(monotone, cells=cells_of(fitted)))
    weighted = replace(problem, weights=np.array([1, 9, 9])).relaxed()
    np.testing.assert_allclose(x, CumulativeProjection().solve(weighted).estimate.values, atol=1e-4)


def test_without_the_flow_it_is_no_release():
    rng = rng_of(83)
    tree = random_tree(rng, n_levels=3)
    truth = random_truth(rng, tree, max_size=5, max_count=30, name="real")
    noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded("real"))
    result = TwoStage(integer=False).apply(noisy)
    assert result.status is Status.RELAXED
    assert result.reason == "the estimate is no release: 42 integrality"
    assert result.certificate.violations["consistency"] == 0


def test_it_needs_no_solver_and_stops_in_time(monkeypatch):
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
    steps = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(0))
    assert TwoStage().apply(steps, time_limit=1e-9).status is Status.TIMED_OUT
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    assert TwoStage().apply(steps).status is Status.FEASIBLE


def split(rng: np.random.Generator, n_levels: int) -> tuple[str, ...]:
    """Shares of epsilon in twentieths, some of them 0 but the leaves'."""
    parts = rng.integers(0, 5, n_levels) * (rng.random(n_levels) < 0.7)
    parts[-1] = 1 + parts[-1]
    return tuple(f"{part}/{parts.sum()}" for part in parts)
