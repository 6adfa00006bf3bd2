"""Planning before data are seen: stand-ins, expected errors on them, and the least epsilon for an error."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from pgsr import Hierarchy, PgsrError, View
from pgsr.algorithms import TreeProjection
from pgsr.data.stand_in import geometric_law, stand_in, stand_in_of
from pgsr.errors import ArgumentError
from pgsr.estimators import BottomUp, Matching
from pgsr.methods import Mechanism, metrics
from pgsr.methods.expected_errors import (
    EPSILONS,
    ExpectedErrors,
    _place,
    _search,
    expected_errors,
    least_epsilon,
    shown,
)
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

LAST = len(EPSILONS) - 1

TREE = Hierarchy.from_paths([("US", state) for state in "abcdefgh"])
MADE = stand_in_of(TREE, [4_000] * 8, 0.6 ** np.arange(30))


# Stand-ins


def test_a_stand_in_has_the_public_totals():
    assert (MADE.totals[1:] == 4_000).all()
    assert MADE.max_size == 29
    assert stand_in_of(TREE, [5] * 8, [0, 1]).counts[1:, 1].tolist() == [5] * 8


def test_a_wished_shape_is_made_evenly():
    made = stand_in((1, 3, 7), groups=50_000, max_size=6, mean_size=2.0)
    tree = made.hierarchy
    assert tree.regions_per_level == [1, 3, 7]
    assert sorted(len(tree.children(region)) for region in (1, 2, 3)) == [2, 2, 3]
    assert made.totals[0] == 50_000
    assert np.ptp(made.totals[tree.leaves]) <= 1
    np.testing.assert_allclose(made.counts[0] / 50_000, geometric_law(2.0, 6), atol=0.01)


# Expected errors


def test_errors_are_those_of_releases_with_the_seed_of_plans():
    mechanism = Mechanism(Geometric(View.CUMULATIVE, 1, ("0", "1")), BottomUp())
    found = expected_errors(MADE, mechanism, 3)
    runs = [mechanism.release(MADE, Seeded("plan", replicate)).estimate for replicate in range(3)]
    errors = np.array([metrics.level_means(MADE, metrics.emd(MADE, run)) for run in runs])
    np.testing.assert_allclose(found.mean, errors.mean(axis=0))
    np.testing.assert_allclose(found.standard_error, errors.std(axis=0, ddof=1) / np.sqrt(3))
    assert found.seconds > 0
    by_count = expected_errors(MADE, mechanism, 3, distance=metrics.l1)
    np.testing.assert_allclose(
        by_count.mean, np.mean([metrics.level_means(MADE, metrics.l1(MADE, run)) for run in runs], axis=0)
    )


def test_more_budget_means_smaller_expected_errors_and_the_split_matters():
    half, top, rich = (
        expected_errors(MADE, Mechanism(Geometric(View.CUMULATIVE, epsilon, shares), Matching()), 3)
        for epsilon, shares in ((1, ("1/2", "1/2")), (1, ("9/10", "1/10")), (5, None))
    )
    assert (rich.mean < half.mean).all()
    assert top.mean[1] > half.mean[1], "a tenth of the budget is too little for the leaves"


SHAPE = {"regions": (1, 2), "groups": 10, "max_size": 3, "mean_size": 1.0}
GOOD = Mechanism(Geometric(View.COUNTS, 1), TreeProjection())


def aim(targets):
    return least_epsilon(falling, targets, ("nation", "state"), Fraction(1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: stand_in(**SHAPE | {"regions": (2, 4)}), "1 and then no fewer from the root"),
        (lambda: stand_in(**SHAPE | {"regions": (1, 4, 3)}), "1 and then no fewer from the root"),
        (lambda: stand_in(**SHAPE | {"regions": ()}), "1 and then no fewer from the root"),
        (lambda: stand_in(**SHAPE | {"regions": (1, 2.5)}), "regions=2.5; give a whole number from 1 up"),
        (lambda: stand_in(**SHAPE | {"groups": 0}), "groups=0; give a whole number"),
        (lambda: stand_in(**SHAPE | {"max_size": True}), "max_size=True; give a whole number"),
        (lambda: stand_in(**SHAPE | {"mean_size": float("nan")}), "mean_size=nan; give a number above 0"),
        (lambda: stand_in_of(TREE, [1, 2], [1, 1]), "leaf_totals"),
        (lambda: stand_in_of(TREE, [1] * 8, [0, 0]), "size_law"),
        (lambda: expected_errors(MADE, GOOD, 1), "from 2 up"),
        (lambda: expected_errors(MADE, GOOD, True), "from 2 up"),
        (lambda: expected_errors(TREE, GOOD, 2), "stand-in"),
        (lambda: aim({"town": 3}), "no level is called 'town'; write one of nation, state"),
        (lambda: aim({"state": 0}), "the target error of state is 0; give a number above 0"),
        (lambda: aim({"state": float("nan")}), "give a number above 0"),
        (lambda: aim({}), "there is no target"),
    ],
)
def test_mistakes_are_sentences(call, said):
    with pytest.raises(PgsrError, match=said):
        call()


# The least epsilon


def test_readable_epsilons_rise():
    assert list(EPSILONS) == sorted(set(EPSILONS))
    assert (EPSILONS[0], EPSILONS[-1]) == (Fraction(1, 1000), Fraction(100))
    assert all(Fraction(shown(epsilon)) == epsilon for epsilon in EPSILONS)
    assert max(b / a for a, b in pairwise(EPSILONS)) <= Fraction(11, 10)
    for epsilon in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(99)):
        assert EPSILONS[_place(epsilon)] == min(e for e in EPSILONS if e >= epsilon)
    assert _place(Fraction(1000)) == LAST


@pytest.mark.parametrize("start", [0, 150, LAST])
@pytest.mark.parametrize("wanted", [0, 1, 99, 271, LAST, LAST + 1])
def test_the_search_finds_the_first(start, wanted):
    """And tries no more than a few dozen."""
    asked = []
    found = _search(lambda place: asked.append(place) or place >= wanted, start)
    assert found == (wanted if wanted <= LAST else None)
    assert len(set(asked)) <= 30


def falling(epsilon: Fraction) -> ExpectedErrors:
    """An error of 1 / epsilon of the first level, and of 5 / epsilon of the second."""
    return ExpectedErrors(np.array([1.0, 5.0]) / float(epsilon), np.zeros(2), 0.0)


def test_all_targets_hold_at_the_epsilon_and_one_does_not_below():
    names = ("nation", "state")
    for targets, wanted in (({"nation": 10}, "1/10"), ({"nation": 10, "state": 10}, "1/2"), ({"state": 3}, "17/10")):
        found, tried = least_epsilon(falling, targets, names, Fraction(1, 3))
        assert found == Fraction(wanted)
        assert found in tried
    with pytest.raises(ArgumentError, match=r"not even epsilon 100 reaches an error of 0\.001 at .state., where it is"):
        least_epsilon(falling, {"state": 0.001}, names, Fraction(1))
