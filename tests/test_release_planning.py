"""Choosing before seeing data: expected errors on a public stand-in."""

from fractions import Fraction

import numpy as np
import pytest

from pgsr import Hierarchy, PgsrError, View
from pgsr.algorithms import TreeProjection
from pgsr.datasets import census_like
from pgsr.estimators import BottomUp, Matching
from pgsr.methods import Mechanism
from pgsr.noise import Geometric
from pgsr.release.plan.planning import ExpectedErrors, expected_errors, level_shares, stand_in_of, usual_splits

TREE = Hierarchy.from_paths([("US", state) for state in "abcdefgh"])


def stand_in():
    law = 0.6 ** np.arange(30)
    return stand_in_of(TREE, [4_000] * 8, law)


def test_shares_add_up_and_reach_the_leaves():
    shares = level_shares(3, ["0", "0.05", "0.1", "0.85", "0.9", "0.95", "1"])
    assert all(sum(s) == 1 and s[-1] > 0 for s in shares)
    assert (Fraction("0.05"), Fraction(0), Fraction("0.95")) in shares
    assert len(set(shares)) == len(shares)


@pytest.mark.parametrize("n_levels", [1, 2, 3, 5])
def test_usual_splits_are_splits(n_levels):
    splits = usual_splits(n_levels)
    assert len(set(splits)) == len(splits)
    assert all(len(s) == n_levels and sum(s) == 1 and s[-1] > 0 and min(s) >= 0 for s in splits)
    assert (Fraction(1, n_levels),) * n_levels in splits


def test_a_stand_in_has_the_public_totals():
    made = stand_in()
    assert (made.totals[1:] == 4_000).all()
    assert made.max_size == 29
    assert stand_in_of(TREE, [5] * 8, [0, 1]).counts[1:, 1].tolist() == [5] * 8


def test_more_budget_means_smaller_expected_errors_and_the_split_matters():
    matching = {
        text: Mechanism(
            Geometric(View.CUMULATIVE, 1, ("1/2", "1/2") if text == "half" else ("9/10", "1/10")), Matching()
        )
        for text in ("half", "top")
    }
    rich = Mechanism(Geometric(View.CUMULATIVE, 5), Matching())
    plan = expected_errors(stand_in(), matching | {"rich": rich}, replicates=3, progress=False)
    assert plan.choice() == "rich"
    assert (plan.mean[2] < plan.mean[0]).all()
    assert plan.mean[1, 1] > plan.mean[0, 1], "a tenth of the budget is too little for the leaves"
    assert (plan.standard_error >= 0).all()
    assert (plan.seconds > 0).all()
    frame = plan.to_frame()
    assert list(frame["mechanism"]) == ["half", "top", "rich"]
    assert frame["worst ratio to best"].min() >= 1


def test_regret_and_importance():
    plan = ExpectedErrors(("a", "b", "c"), np.array([[1.0, 9.0], [9.0, 1.0], [2.0, 2.0]]), np.zeros((3, 2)), np.ones(3))
    assert plan.choice() == "c"
    assert plan.choice([1, 0]) == "a"
    assert plan.choice([0, 1]) == "b"
    for wrong in ([1], [0, 0], [-1, 1]):
        with pytest.raises(PgsrError, match="one number per level"):
            plan.choice(wrong)


def test_the_same_seed_gives_the_same_plan():
    mechanisms = {"bottom-up": Mechanism(Geometric(View.CUMULATIVE, 1, ("0", "1")), BottomUp())}
    first, second = (expected_errors(stand_in(), mechanisms, 2, "s", False).mean for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_choice_holds_on_other_data():
    """Planned on one made nation's law of sizes and applied to another nation: the choice is near the best there."""
    truth = census_like(regions="divisions", max_size=60, groups=400_000, seed=5)
    tree, totals = truth.hierarchy, truth.totals[truth.hierarchy.leaves]
    law = census_like(regions="states", max_size=60, groups=3_000_000, seed=77).counts[0]
    mechanisms = {
        " / ".join(map(str, shares)): Mechanism(Geometric(View.CUMULATIVE, 1, shares), Matching())
        for shares in level_shares(3, ["1/10", "1/3", "8/10"])
    }
    planned = expected_errors(stand_in_of(tree, totals, law), mechanisms, 3, progress=False)
    actual = expected_errors(truth, mechanisms, 3, "fresh", progress=False)
    regret = (actual.mean / actual.mean.min(axis=0)).max(axis=1)
    assert regret[actual.labels.index(planned.choice())] <= 1.35 * regret.min()


def test_mistakes_are_sentences():
    good = {"a": Mechanism(Geometric(View.COUNTS, 1), TreeProjection())}
    with pytest.raises(PgsrError, match="at least one mechanism"):
        expected_errors(stand_in(), {})
    with pytest.raises(PgsrError, match="at least 2"):
        expected_errors(stand_in(), good, replicates=1)
    with pytest.raises(PgsrError, match="stand-in"):
        expected_errors(TREE, good)
    with pytest.raises(PgsrError, match="leaf_totals"):
        stand_in_of(TREE, [1, 2], [1, 1])
    with pytest.raises(PgsrError, match="size_law"):
        stand_in_of(TREE, [1] * 8, [0, 0])


def test_what_is_clearly_worse_gets_one_or_two_replicates() -> None:
    """The others and those to be kept get all, with the errors that they have where nothing is dropped."""
    noises = {"good": 8, "near": 7, "worse": 4, "configured": "1/9", "bad": "1/8"}
    mechanisms = {
        label: Mechanism(Geometric(View.CUMULATIVE, epsilon), Matching()) for label, epsilon in noises.items()
    }
    told: list[tuple[int, int]] = []
    some = expected_errors(
        stand_in(), mechanisms, 5, "s", lambda *part: told.append(part), dropped_beyond=3, kept=["configured"]
    )
    every = expected_errors(stand_in(), mechanisms, 5, "s", False)
    two = expected_errors(stand_in(), mechanisms, 2, "s", False)
    assert (some.made, every.made) == ((5, 5, 2, 5, 1), ())
    assert told[-1] == (17, 18)
    for place in (0, 1, 3):
        np.testing.assert_array_equal(some.mean[place], every.mean[place])
    np.testing.assert_array_equal(some.mean[2], two.mean[2])
    np.testing.assert_array_equal(some.standard_error[2], two.standard_error[2])
    assert np.isnan(some.standard_error[4]).all()
    assert some.to_frame()["replicates"].tolist() == [5, 5, 2, 5, 1]
