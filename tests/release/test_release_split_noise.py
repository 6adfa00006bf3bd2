"""The noise of releases with split views: what is known twice, and planted bugs of the noise step."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_law import noise_by
from instances import random_tree, random_truth, rng_of, scale
from test_release_split_views import config

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Split
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import publish
from pgsr.release.checks.noise_law import families, judge
from pgsr.release.checks.noise_residuals import DOUBT
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.terms.kinds import Kind

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(10)])
TRUTH = CountOfCounts(
    TREE,
    [np.bincount(np.minimum(rng_of(i).geometric(0.25, 300), 30), minlength=31) for i in range(120)],
    "d",
)
LARGE = CountOfCounts(TREE, TRUTH.counts[TREE.leaves] * 20, "d")
LAWS = (DoubleGeometric(Fraction(3)),) * 3
VIEWS = (Split(20), Split(14), Split(9))


def measured(views: Any = VIEWS, epsilon: Any = 1, key: str = "k", truth: CountOfCounts = TRUTH) -> Measurement:
    return Geometric(views, epsilon).measure(truth, Seeded(key))


def bare(views: Any, truth: CountOfCounts, **about: Any) -> Measurement:
    """What would be measured without noise."""
    with noise_by(lambda law, values, stream: None):
        return Geometric(views, 1, **about).measure(truth, Seeded("bare"))


def test_residuals_are_noise_alone():
    """Without noise they are 0, of any thresholds and ranks; with it they have as many draws as is said."""
    rng, seen = rng_of(3), set()
    for i in range(scale(60, 600)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}", max_size=int(rng.integers(2, 9)))
        truth = CountOfCounts(truth.hierarchy, truth.counts[truth.hierarchy.leaves] * int(rng.integers(1, 200)), "many")
        views = tuple(Split(int(t)) for t in rng.integers(0, truth.max_size + 2, truth.hierarchy.n_regions))
        for family in families(bare(views, truth, totals="noisy" if i % 5 == 0 else "regions")):
            for residuals in family.residuals.values():
                assert not residuals.any(), (family.what, views)
            seen |= {family.what.split(",")[0]} if family.size else set()
    assert {"ranks of small groups", "members", "level 0"} <= seen


def test_ranks_of_small_groups_are_noise_alone_whatever_the_noise_of_columns_is():
    """It is at most what noise exceeds with a chance of 10^-13 over all regions; more takes in larger groups."""
    sizes = np.arange(1, 500)
    beyond = LAWS[0].probability_beyond(sizes) / 2 * TREE.n_regions
    reach = int(sizes[beyond <= DOUBT][0])
    without = bare(VIEWS, TRUTH)
    for raised, right in ((reach, True), (reach + 60, False), (-reach, True)):
        values = []
        for region, row in enumerate(without.rows):
            columns = np.arange(len(row)) < VIEWS[int(TREE.level_of[region])].threshold
            values.append(row + raised * columns)
        found = {family.what: family for family in families(replace(without, cells=np.concatenate(values)))}
        ranks = np.concatenate(list(found["ranks of small groups"].residuals.values()))
        assert len(ranks) > 0
        assert right == (not ranks.any())


def test_empty_regions_leave_nothing_out():
    """A region without groups is ranked as a whole, and has no value; those around it are compared all the same."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI"), ("US", "NV")])
    truth = CountOfCounts(tree, [[9, 20, 30, 4], [8, 7, 20, 9], [0, 0, 0, 0]])
    noisy = Geometric((Split(2), Split(2), Split(2), Split(0)), 1).measure(truth, Seeded("empty"))
    assert noisy.view_of(3) is View.RANKED
    found = next(family for family in families(noisy) if family.what == "level 0")
    expected = noisy.row(0)[:2] - noisy.row(1)[:2] - noisy.row(2)[:2]
    assert np.concatenate(list(found.residuals.values())).tolist() == expected.tolist()


@pytest.mark.slow
def test_residuals_have_as_many_draws_as_is_said():
    squares: dict[str, list[float]] = {}
    for seed in range(scale(12, 40)):
        for family in families(measured(key=f"draws {seed}")):
            for kind, residuals in family.residuals.items():
                variance = sum(kind) * LAWS[0].variance
                squares.setdefault(family.what, []).extend((residuals**2 / variance).tolist())
    assert {"level 0", "level 1", "ranks of small groups", "members, level 0", "members, level 1"} <= squares.keys()
    for what, found in squares.items():
        assert abs(np.mean(found) - 1) < 6 * np.std(found) / np.sqrt(len(found)), what


@pytest.mark.slow
def test_scales_of_noise_are_told_apart():
    for views in (VIEWS, Split(6), (View.CUMULATIVE, Split(14), Split(9))):
        for seed in range(3):
            assert not judge(measured(views, key=f"right {seed}"), LAWS).refuted
        assert judge(measured(views), LAWS).can_tell
        assert judge(measured(views, 3), LAWS).refuted
        assert judge(measured(views, "1/3"), LAWS).refuted


def test_bottom_up_has_ranks_alone_to_be_compared():
    """Where leaves alone are measured, no regions are; cumulative counts had one number per region."""
    noisy = Geometric(Split(9), 1, ("0", "0", "1")).measure(TRUTH, Seeded("leaves"))
    laws = (None, None, DoubleGeometric(Fraction(1)))
    assert not judge(noisy, laws).refuted
    assert judge(noisy, laws).n_values > 20_000
    assert judge(noisy, (None, None, DoubleGeometric(Fraction(5, 4)))).refuted


def with_ranks(truth: CountOfCounts, change: Any) -> Measurement:
    """A measurement whose ranks are changed, given the exact ones, in every region."""
    measurement, exact, values = measured(truth=truth), bare(VIEWS, truth), []
    for region, (noisy, true) in enumerate(zip(measurement.rows, exact.rows, strict=True)):
        t = VIEWS[int(TREE.level_of[region])].threshold
        values.append(np.concatenate([noisy[:t], change(noisy[t:], true[t:])]))
    return replace(measurement, cells=np.concatenate(values))


def no_noise(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    return true


def no_noise_at_equal_sizes(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    return np.where(np.diff(true, prepend=-1) == 0, true, noisy)


def one_noise_at_equal_sizes(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    first = np.maximum.accumulate(np.where(np.diff(true, prepend=-1) != 0, np.arange(len(true)), 0))
    return true + (noisy - true)[first]


def box_counted_twice(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Ranks from one size too early: of every larger group a box is in a column and in a row."""
    return noisy + (true > 0)


def threshold_off_by_one(noisy: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Ranks from one size too late: of every larger group a box is in no set."""
    return noisy - (true > 0)


@pytest.mark.parametrize("bug", [no_noise, no_noise_at_equal_sizes, one_noise_at_equal_sizes])
def test_ranks_without_noise_of_their_own_are_found(bug):
    assert not judge(with_ranks(TRUTH, lambda noisy, true: noisy), LAWS).refuted
    assert judge(with_ranks(TRUTH, bug), LAWS).refuted


@pytest.mark.parametrize("bug", [box_counted_twice, threshold_off_by_one])
def test_boxes_in_two_sets_or_in_none_are_found(bug):
    """Levels have other thresholds, so that members do not add up; where all have the same, nothing tells."""
    assert not judge(with_ranks(LARGE, lambda noisy, true: noisy), LAWS).refuted
    assert judge(with_ranks(LARGE, bug), LAWS).refuted


def test_a_folder_without_noise_on_ranks_is_refused(tmp_path, monkeypatch):
    """The release fails its own check, and a folder that was made past it fails the check of whoever reads it."""
    wanted = config(tmp_path, Kind.BOTTOM_UP, times=10, threshold=4)
    both = Split.parts
    monkeypatch.setattr(
        Split, "parts", lambda view, row: [part for part in both(view, row) if part[0] is not View.RANKED]
    )
    with pytest.raises(ReleaseError, match="noise does not have the stated laws"):
        publish(wanted)
