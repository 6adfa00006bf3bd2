"""`pgsr.plan`: the error of an epsilon, and the epsilon of an error, by what `pgsr.measure` and `pgsr.estimate` do."""

from fractions import Fraction

import numpy as np
import pytest

import pgsr
from pgsr.data import stand_in
from pgsr.errors import ArgumentError, ProblemError
from pgsr.estimators import Matching, Posterior
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

GUESS = stand_in(regions=(1, 4), groups=4_000, max_size=6, mean_size=1.5)
MEMBERS = {"state": ["GA"] * 300 + ["MI"] * 300, "home": [place // 2 for place in range(600)]}


def errors_of(counts, mechanism, distance, replicates):
    runs = [mechanism.release(counts, Seeded("plan", draw)).estimate for draw in range(replicates)]
    return np.mean([metrics.level_means(counts, distance(counts, run)) for run in runs], axis=0)


def test_an_epsilon_has_the_errors_of_its_releases():
    found = pgsr.plan(GUESS, "cumulative", "matching", epsilon="1/2", distance="l1", replicates=3)
    mechanism = Mechanism(Geometric(pgsr.View.CUMULATIVE, "1/2", totals="regions"), Matching())
    np.testing.assert_allclose(found.errors.mean, errors_of(GUESS, mechanism, metrics.l1, 3))
    assert found.epsilon == Fraction(1, 2)


def test_an_error_has_the_epsilon_that_reaches_it_and_no_smaller_one():
    found = pgsr.plan(GUESS, "cumulative", "matching", error=10, replicates=2)
    assert (found.errors.mean <= 10).all()
    again = pgsr.plan(GUESS, "cumulative", "matching", epsilon=found.epsilon, replicates=2)
    np.testing.assert_array_equal(again.errors.mean, found.errors.mean)
    less = pgsr.plan(GUESS, "cumulative", "matching", epsilon=found.epsilon - Fraction(1, 10), replicates=2)
    assert found.epsilon > 1  # two digits: the next smaller one is a tenth less
    assert (less.errors.mean > 10).any()
    leaves = pgsr.plan(GUESS, "cumulative", "matching", error={"level_1": 50}, replicates=2)
    assert leaves.epsilon < found.epsilon
    assert leaves.targets == {"level_1": 50}


def test_an_earlier_table_stands_in_with_the_names_of_its_levels():
    """A row is a member, so numbers of groups are private, and get their part of epsilon."""
    earlier = pgsr.read(MEMBERS, ["state"], group="home", max_size=3)
    found = pgsr.plan(earlier, "cumulative", "posterior", epsilon=1, replicates=2)
    assert found.level_names == ("all", "state")
    mechanism = Mechanism(Geometric(pgsr.View.CUMULATIVE, 1, totals="noisy"), Posterior())
    np.testing.assert_allclose(found.errors.mean, errors_of(earlier, mechanism, metrics.cumulative_l1, 2))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": 1, "error": 10}, "give epsilon, to be told its error, or error"),
        ({}, "give epsilon, to be told its error, or error"),
        ({"epsilon": 1, "distance": "l2"}, "distance='l2' is unknown"),
        ({"error": {"town": 1}}, "no level is called 'town'; write one of level_0, level_1"),
        ({"error": -1}, "give a number above 0"),
        ({"epsilon": 1, "replicates": 1}, "from 2 up"),
        ({"epsilon": 1, "view": "counts"}, "isotonic fits need View.CUMULATIVE"),
        ({"epsilon": 1, "method": "mathcing"}, "did you mean 'matching'"),
        ({"epsilon": 1, "view": "cumulated"}, "view='cumulated' is unknown"),
        ({"epsilon": 1, "counts": MEMBERS}, "give public ones, from pgsr.read or pgsr.data.stand_in"),
    ],
)
def test_arguments_that_are_none(changed, said):
    asked = {"counts": GUESS, "view": "cumulative", "method": "matching"} | changed
    with pytest.raises((ArgumentError, ProblemError), match=said):
        pgsr.plan(**asked)
