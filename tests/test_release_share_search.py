"""Shares of epsilon chosen on a public stand-in: exact, repeatable, and as good as trying a whole fine grid."""

from fractions import Fraction

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.datasets import census_like
from pgsr.errors import ArgumentError
from pgsr.estimators import Matching, TwoStage
from pgsr.methods.mechanism import Mechanism
from pgsr.noise import Geometric
from pgsr.release import choose_shares
from pgsr.release.plan import share_search
from pgsr.release.plan.planning import expected_errors, level_shares, stand_in_of, usual_splits
from pgsr.release.plan.share_search import Shares, _neighbours

SMALL = census_like("divisions", max_size=12, groups=20_000)
TREE = Hierarchy.from_paths([("US", f"{i // 4}", f"{i}") for i in range(8)])
TINY = stand_in_of(TREE, [40, 300, 20, 90, 60, 30, 500, 10], [0, 5, 3, 2, 1, 1])


def matching(shares: Shares) -> Mechanism:
    return Mechanism(Geometric(View.CUMULATIVE, "1/10", shares), Matching())


def two_stage(shares: Shares) -> Mechanism:
    return Mechanism(Geometric(View.CUMULATIVE, "1/10", shares), TwoStage())


@pytest.mark.drawn(1)
@pytest.mark.parametrize("method", [matching, two_stage])
def test_no_usual_split_is_better_on_the_stand_in(method) -> None:
    """By errors made again one by one, of a national, a divisional and a state level."""
    found = choose_shares(SMALL, method, replicates=3, progress=False)
    assert sum(found.shares) == 1
    assert found.shares[-1] > 0
    assert set(usual_splits(3)) < set(found.splits)
    again = expected_errors(SMALL, {"found": method(found.shares)}, 3, "shares", progress=False)
    place = found.splits.index(found.shares)
    assert again.mean[0].tolist() == found.errors.mean[place].tolist()
    worst = (found.errors.mean / found.errors.mean.min(axis=0)).max(axis=1)
    assert worst[place] == worst.min() == pytest.approx(found.ratios.max())
    usual = [worst[found.splits.index(split)] for split in usual_splits(3)]
    assert worst[place] < min(usual)


@pytest.mark.drawn(1, pool="searches of shares")
def test_a_whole_grid_of_sixteenths_has_nothing_much_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same noise; the search ends at 1/16, too, having tried less than half of the grid."""
    monkeypatch.setattr(share_search, "FINEST", Fraction(1, 16))
    replicates = scale(3, 6)
    found = choose_shares(TINY, matching, replicates=replicates, progress=False)
    grid = level_shares(3, [Fraction(i, 16) for i in range(17)])
    plan = expected_errors(TINY, {str(p): matching(p) for p in grid}, replicates, "shares", progress=False)
    least = np.minimum(found.least, plan.mean.min(axis=0))
    assert (found.expected / least).max() <= 1.05 * (plan.mean / least).max(axis=1).min()
    assert len(found.splits) < len(grid) / 2


@pytest.mark.drawn(1, pool="searches of shares")
def test_equal_input_gives_equal_shares_and_another_seed_other_noise() -> None:
    one, again = (choose_shares(TINY, matching, replicates=2, progress=False) for _ in range(2))
    assert one.shares == again.shares
    assert (one.errors.mean == again.errors.mean).all()
    other = choose_shares(TINY, matching, replicates=2, seed="other", progress=False)
    assert (other.errors.mean[: len(usual_splits(3))] != one.errors.mean[: len(usual_splits(3))]).any()


@pytest.mark.drawn(1, pool="searches of shares")
def test_levels_of_no_importance_cost_the_others_nothing() -> None:
    for level in range(3):
        importance = [float(place == level) for place in range(3)]
        found = choose_shares(TINY, two_stage, importance=importance, replicates=2, progress=False)
        assert found.ratios[level] == 1


def test_rivals_are_the_measure_where_they_are_given() -> None:
    """The usual splits are beaten where there are better ones: at the root alone, by a ratio below 1."""
    by_label = {str(p): matching(p) for p in usual_splits(3)}
    usual = expected_errors(TINY, by_label, 4, "shares", progress=False).mean.min(axis=0)
    found = choose_shares(TINY, matching, least=usual, importance=(1, 0, 0), replicates=4, progress=False)
    assert (found.least == usual).all()
    assert found.ratios.tolist() == (found.expected / usual).tolist()
    assert found.ratios[0] == found.errors.mean[:, 0].min() / usual[0] < 1


def test_neighbours_are_splits_and_leave_something_to_the_leaves() -> None:
    step = Fraction(1, 8)
    for shares in level_shares(3, [Fraction(i, 8) for i in range(9)]):
        for other in _neighbours(shares, step):
            assert sum(other) == 1
            assert min(other) >= 0
            assert other[-1] > 0
            assert sorted(abs(a - b) for a, b in zip(shares, other, strict=True)) == [0, step, step]
    assert (Fraction(0), Fraction(1, 20), Fraction(19, 20)) in set(
        _neighbours((Fraction(1, 20), Fraction(0), Fraction(19, 20)), step)
    ), "what a level has, if this is less than the step"


def test_where_every_level_is_measured_no_share_is_0() -> None:
    found = choose_shares(TINY, matching, zeros=False, replicates=2, progress=False)
    assert all(all(split) for split in found.splits)


def test_one_level_has_everything() -> None:
    root = CountOfCounts(Hierarchy.from_paths([("all",)]), [[0, 30, 10, 5]])
    found = choose_shares(root, matching, replicates=2, progress=False)
    assert found.shares == (1,)
    assert found.splits == ((1,),)


def test_the_table_has_the_ratio_that_is_made_small() -> None:
    found = choose_shares(TINY, matching, importance=(1, 0, 2), replicates=2, progress=False)
    rows = found.to_frame().to_dict("records")
    best = min(rows, key=lambda row: row["worst ratio to best"])
    assert best["split"] == ", ".join(map(str, found.shares))
    assert best["worst ratio to best"] == max(found.ratios[0], found.ratios[2] ** 2)
    assert len(rows) == len(found.splits)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"importance": (1, 2)}, "importance is one number per level, root first, from 0 up; there are 3 levels"),
        ({"importance": (0, 0, 0)}, "not 0 for all levels"),
        ({"importance": (1, 1, -1)}, "from 0 up"),
        ({"least": (1, 1)}, "least is one number per level"),
    ],
)
def test_what_is_no_question_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        choose_shares(TINY, matching, progress=False, **arguments)


def test_too_many_levels_are_refused() -> None:
    deep = stand_in_of(Hierarchy.from_paths([tuple("abcdefg")]), [9], [0, 1, 1])
    with pytest.raises(ArgumentError, match="shares of 7 levels; a search takes 6 at most, use usual_splits"):
        choose_shares(deep, matching, progress=False)
