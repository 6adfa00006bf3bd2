"""Thresholds of split views from a stand-in: the definition, what moves them, and what is refused."""

import naive
import numpy as np
import pytest

from pgsr import CountOfCounts, Geometric, Hierarchy, Mechanism, Noise, Rho, Seeded, Split, View, metrics
from pgsr.algorithms import BottomUp, Posterior
from pgsr.datasets import census_like
from pgsr.errors import ProblemError
from pgsr.noise.thresholds import split_by

TREE = Hierarchy.from_parents(["US", "GA", "MI", "NV"], [-1, 0, 0, 0])
GROUPS = np.array([100_000, 90_000, 9_980, 20])


def one_region(row):
    return CountOfCounts(Hierarchy.from_parents(["all"], [-1]), np.array([row]), "stand-in")


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    row = rng.integers(0, 4, rng.integers(1, 30)) ** rng.integers(1, 9)
    row[rng.integers(len(row))] += 1
    factor, shape = float(rng.choice([0.3, 1.0, 3.0])), naive.falling(row.astype(float)) / row.sum()
    found = split_by(Geometric(View.COUNTS, 1), one_region(row), TREE, GROUPS, factor)
    for region, split in enumerate(found.view):
        assert split.threshold == sum(GROUPS[region] * p > factor for p in shape)
        assert split.ranks is None


def test_more_groups_have_more_columns():
    stand_in = one_region([0, *(10**9 // np.arange(1, 2001) ** 3)])
    own = split_by(Geometric(View.CUMULATIVE, 1), stand_in, TREE, GROUPS).view
    assert own[0].threshold > own[1].threshold > own[2].threshold > own[3].threshold


def test_any_budget_and_levels_that_are_not_measured():
    noise = split_by(Noise(View.CUMULATIVE, Rho("1/2"), shares=(0, 1)), census_like("states", 20), TREE, GROUPS)
    assert noise.view[0].on(20) is View.CUMULATIVE
    assert all(isinstance(view, Split) and 0 < view.threshold <= 21 for view in noise.view[1:])


def test_a_region_without_groups_has_ranks_alone():
    noise = split_by(Geometric(View.CUMULATIVE, 1), census_like("states", 20), TREE, GROUPS * 0, ranks=None)
    assert set(noise.view) == {Split(0)}


def test_sparse_regions_are_measured_better_than_by_either_view():
    """A power law up to 1,000: the mean over five draws, at the leaves, by both releases of split measurements."""
    rng, size = np.random.default_rng(5), np.arange(1, 1001)
    drawn = [np.minimum(np.floor((1 - rng.random(n)) ** (-1 / 1.2)), 1000).astype(int) for n in (2000, 500, 150)]
    truth = CountOfCounts(TREE, [np.bincount(sizes, minlength=1001) for sizes in drawn], "power law")
    stand_in = one_region([0, *np.floor(10**9 * (size**-1.2 - (size + 1) ** -1.2)).astype(int)])
    for post in (BottomUp(), Posterior(intervals=False)):
        errors = {}
        for name, noise in {
            "cumulative": Geometric(View.CUMULATIVE, 1, shares=(0, 1)),
            "ranked": Geometric(View.RANKED, 1, shares=(0, 1)),
            "split": split_by(Geometric(View.CUMULATIVE, 1, shares=(0, 1)), stand_in, TREE, truth.totals),
        }.items():
            draws = [Mechanism(noise, post).release(truth, Seeded("split", k)) for k in range(5)]
            errors[name] = np.mean([metrics.emd(truth, draw.estimate)[1:].mean() for draw in draws])
        assert errors["split"] < 0.9 * min(errors["cumulative"], errors["ranked"]), (post, errors)


def test_refusals_name_the_argument():
    noise, stand_in = Geometric(View.CUMULATIVE, 1), census_like("states", 20)
    with pytest.raises(ProblemError, match="each of the 4 regions"):
        split_by(noise, stand_in, TREE, GROUPS[:3])
    with pytest.raises(ProblemError, match="no groups"):
        split_by(noise, one_region([0, 0]), TREE, GROUPS)
    with pytest.raises(ProblemError, match="factor"):
        split_by(noise, stand_in, TREE, GROUPS, factor=0)
