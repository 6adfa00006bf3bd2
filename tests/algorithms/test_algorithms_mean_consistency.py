"""The two passes of mean consistency against a dense solver, and the bound that proves them."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.certificates import Multipliers, certify
from pgsr.data import Estimate


def consistency_problem(rng, tree, noisy, view=View.COUNTS):
    """Mean consistency with random weights; inner regions are sometimes not measured."""
    weights = rng.integers(1, 10, tree.n_regions)
    weights[: tree.n_inner] *= rng.random(tree.n_inner) < 0.7
    return replace(Problem.mean_consistency(naive.measurement_of(tree, noisy, 0, view)), weights=weights)


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_equals_least_squares(view):
    rng = rng_of(41)
    for _ in range(scale(50, 5_000)):
        tree = random_tree(rng, max_regions=15)
        noisy = rng.integers(-20, 100, (tree.n_regions, int(rng.integers(1, 5))))
        problem = consistency_problem(rng, tree, noisy, view)
        result = MeanConsistency().solve(problem)
        assert result.status is Status.OPTIMAL, result
        np.testing.assert_allclose(
            result.estimate.values, naive.mean_consistency(tree, noisy, problem.w), rtol=0, atol=1e-8
        )
        assert result.certificate.bound <= result.certificate.objective
        assert result.certificate.bound_by == "Lagrangian bound"


def test_yields_negative_and_fractional_counts():
    """The reason why it is no release: GA's noise is shared with MI, which has nothing to give."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    noisy = np.array([[10], [11], [0]])
    problem = Problem.mean_consistency(naive.measurement_of(tree, noisy, 10))
    result = MeanConsistency().solve(problem)
    assert result.estimate.values[:, 0] == pytest.approx([10 + 1 / 3, 11 - 1 / 3, -1 / 3])
    with pytest.raises(PgsrError):
        result.estimate.counts()


def test_counts_of_1e9_lose_no_digits():
    """The changes are those of the same noise without the large counts."""
    rng = rng_of(44)
    tree = random_tree(rng, max_regions=60, n_levels=3)
    large = tree.sum_up(rng.integers(0, 10**9, (tree.n_regions - tree.n_inner, 20)))
    noise = rng.integers(-50, 51, large.shape)
    problem = Problem.mean_consistency(naive.measurement_of(tree, large + noise, 0))
    result = MeanConsistency().solve(problem)
    assert result.status is Status.OPTIMAL
    small = MeanConsistency().solve(Problem.mean_consistency(naive.measurement_of(tree, noise, 0)))
    np.testing.assert_allclose(result.estimate.values - large, small.estimate.values, rtol=0, atol=2e-5)
    assert result.certificate.bound == pytest.approx(small.certificate.bound, rel=1e-12)


def test_a_wrong_answer_has_a_gap():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    problem = Problem.mean_consistency(naive.measurement_of(tree, np.array([[10], [11], [0]]), 10))
    estimate = Estimate(tree, View.COUNTS, np.array([[11.0], [11.0], [0.0]]))
    assert certify(problem, estimate, Multipliers(np.array([[-2 / 3]]), np.zeros(0))).gap == pytest.approx(2 / 3)
