"""A view per region: the measurement, and who can use it."""

from dataclasses import replace

import numpy as np

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.algorithms import IsotonicFit
from pgsr.comparison import overlay
from pgsr.estimators import BottomUp, Matching, Merge, NoConsistency
from pgsr.estimators.matching.alone import precision_of
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y", "z")])
GROUPS = (3, 9, 40, 10, 1, 0)
TRUTH = CountOfCounts(TREE, [np.bincount(np.arange(n) % 31, minlength=31) for n in GROUPS], "by region")
"""Sizes 0..30."""


def few_ranked(truth: CountOfCounts, most: int = 10) -> tuple[View, ...]:
    """The view of every region: ranked sizes of those with few groups, which are public."""
    return tuple(View.RANKED if total <= most else View.CUMULATIVE for total in truth.totals.tolist())


MIXED = Geometric(few_ranked(TRUTH), "1").measure(TRUTH, Seeded("mixed"))


def test_every_region_has_its_view():
    few = TRUTH.totals <= 10
    assert [MIXED.view_of(region) is View.RANKED for region in range(TREE.n_regions)] == few.tolist()
    assert few.any()
    assert not few.all()
    assert [len(values) for values in MIXED.rows] == np.where(few, TRUTH.totals, 31).tolist()
    assert MIXED.views_on(0) == {View.CUMULATIVE}
    assert MIXED.views_on(2) == {View.CUMULATIVE, View.RANKED}
    assert MIXED.label == "4 regions cumulative, 5 regions ranked"


def test_by_level_and_by_region():
    """Views of the leaves alone differ; a level without epsilon is not measured."""
    views = (View.COUNTS, *[View.CUMULATIVE] * 2, *few_ranked(TRUTH)[3:])
    noise = Geometric(views, "1", ("1/2", "0", "1/2"))
    found = noise.measure(TRUTH, Seeded("levels"))
    assert tuple(found.view_of(r) for r in range(9)) == views
    assert [found.row(r).any() for r in range(3)] == [True, False, False]
    assert noise.label == "counts x cumulative x cumulative x ranked x ranked x cumulative x ranked x ranked x 1 more"


def test_tables_and_figures():
    frame = MIXED.to_frame()
    ranked = frame[frame["rank"].notna()]
    assert len(frame) == sum(map(len, MIXED.rows))
    assert ranked["noisy_group_size"].notna().all()
    assert ranked["noisy_cumulative_count"].isna().all()
    assert set(ranked["region_id"]) == {"US/GA/x", "US/GA/y", "US/MI/x", "US/MI/y"}  # US/MI/z has no group to rank
    assert MIXED.plot(("US", "GA", "x")).axes[0].get_xlabel() != MIXED.plot(0).axes[0].get_xlabel()
    assert overlay(truth=TRUTH, noisy=MIXED, region=("US", "GA", "z")).get_suptitle() == "US / GA / z"


def test_regions_alone_and_bottom_up():
    """Each region's fit is the one by its own view."""
    source = Seeded("fits")
    by_view = {view: Geometric(view, "1").measure(TRUTH, source) for view in (View.RANKED, View.CUMULATIVE)}
    alone = {view: _counts(NoConsistency(), noisy) for view, noisy in by_view.items()}
    mixed = Geometric(few_ranked(TRUTH), "1").measure(TRUTH, source)
    found = _counts(NoConsistency(), mixed)
    for region in range(TREE.n_regions):
        assert np.array_equal(found[region], alone[mixed.view_of(region)][region])
    leaves = _counts(BottomUp(), mixed)
    assert np.array_equal(leaves[TREE.leaves], found[TREE.leaves])
    assert np.array_equal(leaves, TREE.sum_up(leaves[TREE.leaves]))


def _counts(post, noisy: Measurement) -> np.ndarray:
    return np.asarray(post.apply(noisy).answer.as_counts)


def test_matching_weighs_regions_by_their_views():
    """2 / epsilon^2 for one ranked size, 4 / epsilon^2 for a cumulative one, per group of the size."""
    for region in range(TREE.n_regions):
        groups = IsotonicFit().groups(MIXED, region)
        factor = 2 if MIXED.view_of(region) is View.RANKED else 4
        assert np.allclose(precision_of(IsotonicFit(), MIXED, region, groups, False).near, groups.count / 9 / factor)


def test_matching_by_levels_is_matching_by_regions():
    """A view per level, and the same written per region, are one measurement."""
    levels = (View.CUMULATIVE, View.RANKED, View.CUMULATIVE)
    noisy = Geometric(levels, "1/2").measure(TRUTH, Seeded("levels"))
    by_region = replace(noisy, views=tuple(levels[level] for level in TREE.level_of))
    for post in (Matching(), Matching(merge=Merge.AVERAGE), NoConsistency()):
        assert np.array_equal(_counts(post, noisy), _counts(post, by_region))
