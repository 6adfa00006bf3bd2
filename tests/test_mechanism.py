"""The whole mechanism: M_c^dp step by step, privacy by construction."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, scale

from pgsr import Geometric, Ledger, Mechanism, PgsrError, Problem, Seeded, Status, View, certify
from pgsr.algorithms import IsotonicTreeProjection, TreeProjection, isotonic_l2


def test_isotonic_tree_projection_is_its_two_steps():
    rng = np.random.default_rng(41)
    for _ in range(scale(100, 1_000)):
        tree = random_tree(rng, max_regions=5)
        total = int(rng.integers(0, 4))
        noisy = rng.integers(-2, 6, (tree.n_regions, 2))
        measurement = naive.measurement_of(tree, noisy, total, View.CUMULATIVE)
        result = IsotonicTreeProjection().apply(measurement)
        n = tree.n_regions
        repaired = isotonic_l2(noisy, np.zeros(n, int), np.full(n, total))
        counts = np.diff(repaired, axis=1, prepend=0)
        problem = naive.problem_of(tree, counts, total)
        best = naive.objectives(problem, naive.feasible_points(tree, 2, total)).min()
        assert certify(problem, result.estimate).objective == best
        assert result.certificate.feasible
        assert result.certificate.problem == "M_c"


def test_without_noise_every_mechanism_returns_the_truth():
    rng = np.random.default_rng(42)
    truth = random_truth(rng, random_tree(rng, max_regions=20, n_levels=3), max_size=8)
    for view, post in ((View.COUNTS, TreeProjection()), (View.CUMULATIVE, IsotonicTreeProjection())):
        result = Mechanism(Geometric(view, epsilon=10**9), post).release(truth, Seeded(0))
        assert (result.estimate.values == truth.counts).all()


def test_post_processing_is_a_function_of_the_measurement_alone():
    """The same noisy numbers from two different truths give the same release, bit by bit."""
    rng = np.random.default_rng(43)
    tree = random_tree(rng, max_regions=12, n_levels=3)
    truth = random_truth(rng, tree, max_size=5)
    for view, post in ((View.COUNTS, TreeProjection()), (View.CUMULATIVE, IsotonicTreeProjection())):
        noisy = Geometric(view, 1).measure(truth, Seeded(1))
        again = replace(noisy, values=noisy.matrix.copy())
        one, two = (post.apply(m) if view is View.CUMULATIVE else post.solve(Problem.m_h(m)) for m in (noisy, again))
        assert (one.estimate.values == two.estimate.values).all()


def test_a_mechanism_spends_its_budget_once():
    rng = np.random.default_rng(44)
    truth = random_truth(rng, random_tree(rng, max_regions=12), max_size=5)
    mechanism = Mechanism(Geometric(View.COUNTS, "2/3"), TreeProjection())
    ledger = Ledger(1)
    mechanism.release(truth, Seeded(1), ledger)
    with pytest.raises(PgsrError, match="1/3 of 1 is left"):
        mechanism.release(truth, Seeded(2), ledger)


def test_a_mechanism_states_its_problem():
    rng = np.random.default_rng(45)
    truth = random_truth(rng, random_tree(rng, max_regions=12), max_size=5)
    relaxed = Mechanism(Geometric(View.COUNTS, 1), TreeProjection(), lambda m: Problem.m_h(m).relaxed())
    assert relaxed.release(truth, Seeded(1)).certificate.problem == "M_H^r"
    wrong = Mechanism(Geometric(View.CUMULATIVE, 1), TreeProjection()).release(truth, Seeded(1))
    assert wrong.status is Status.UNSUPPORTED
    with pytest.raises(PgsrError, match="say which problem"):
        Mechanism(Geometric(View.RANKED, 1), TreeProjection()).release(truth, Seeded(1))
