"""Private tables of groups: sensitivities by enumeration, exact totals, everything else on top."""

from fractions import Fraction

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.algorithms import TreeProjection
from pgsr.estimators import IsotonicTreeProjection, Matching
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Totals
from pgsr.noise.group_totals import noisy_totals
from pgsr.privacy import Ledger, Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.laws.per_level import GeometricNoise


def test_totals_are_consistent_and_near():
    rng = rng_of(62)
    tree = random_tree(rng, max_regions=30, n_levels=3)
    truth = random_truth(rng, tree, max_size=5, max_count=50)
    for replicate in range(scale(50, 500)):
        totals = noisy_totals(truth, DoubleGeometric(Fraction(3)), Seeded("t", replicate))
        assert (totals >= 0).all()
        assert (tree.sum_up(totals[tree.leaves]) == totals).all()
        assert np.abs(totals - truth.totals).mean() < 30
    assert (noisy_totals(truth, DoubleGeometric(Fraction(3, 10**8)), Seeded("t")) == truth.totals).all()


def test_the_whole_budget_is_spent_once():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[0, 20, 3], [5, 10, 1]])
    noise = Geometric(View.CUMULATIVE, "1", totals="noisy", totals_share="1/5")
    ledger = Ledger(1)
    noisy = noise.measure(truth, Seeded(1), ledger)
    assert ledger.left == 0
    assert noisy.epsilon == (Fraction(2, 5), Fraction(2, 5))
    assert noisy.totals_noise == GeometricNoise(Fraction(1, 10))
    assert noisy.public is Totals.NOISY
    with pytest.raises(PgsrError, match="below 1"):
        Geometric(View.COUNTS, 1, totals="noisy", totals_share=1)


@pytest.mark.parametrize(
    ("view", "post"),
    [
        (View.CUMULATIVE, Matching()),
        (View.RANKED, Matching()),
        ((View.CUMULATIVE, View.RANKED, View.CUMULATIVE), Matching()),
        (View.CUMULATIVE, IsotonicTreeProjection()),
        (View.COUNTS, TreeProjection()),
    ],
    ids=str,
)
def test_everything_else_works_on_noisy_totals(view, post):
    rng = rng_of(63)
    for replicate in range(scale(20, 200)):
        truth = random_truth(rng, random_tree(rng, max_regions=12, n_levels=3), max_size=5, max_count=9)
        noise = Geometric(view, "1", totals="noisy")
        measurement = noise.measure(truth, Seeded("n", replicate))
        released = Mechanism(noise, post).release(truth, Seeded("n", replicate)).estimate.counts()
        assert released.totals[0] == measurement.totals[0]
        if isinstance(post, Matching):
            assert (released.totals == measurement.totals).all()
    exact = Mechanism(Geometric(view, 10**9, totals="noisy"), post).release(truth, Seeded(0))
    assert (exact.estimate.values == truth.counts).all()


def test_problems_see_the_noisy_totals():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, [[0, 20, 3], [5, 10, 1]])
    noisy = Geometric(View.COUNTS, "1", totals="noisy").measure(truth, Seeded(1))
    assert Problem.m_h(noisy, totals="regions").totals is Totals.REGIONS
    assert TreeProjection().solve(Problem.m_h(noisy)).estimate.values[0].sum() == noisy.totals[0]
