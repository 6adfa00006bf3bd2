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


@pytest.mark.parametrize("seed", range(10))
def test_widths_are_the_largest_odd_ones_that_noise_and_groups_are_worth(seed):
    rng = np.random.default_rng(seed)
    stand_in = one_region(np.append(rng.integers(1, 60, 60), 0))
    noise = Geometric(View.CUMULATIVE, "1/10", shares=(0, 1))
    plain, summed = (split_by(noise, stand_in, TREE, GROUPS // 50, kappa=kappa).view for kappa in (0, 2))
    shape = naive.falling(stand_in.counts[0].astype(float)) / stand_in.totals[0]
    sigma = float(noise.levels(2)[1].law(noise.sensitivity(plain[1], 60)).variance_bound) ** 0.5
    assert summed[0] == plain[0]
    assert any(view.widths for view in summed)
    for groups, without, found in zip(GROUPS[1:] // 50, plain[1:], summed[1:], strict=True):
        if not found.widths:
            assert found == without
            continue
        assert min(without.threshold, 59) <= found.threshold <= 59
        widths, first = found.widths, 0
        assert sum(widths[:-1]) < without.threshold
        for width in widths:
            most = max(1.0, 2 * (sigma / (groups * shape[first])) ** 0.5)
            assert width % 2 == 1
            assert width <= most
            assert width + 2 > min(most, 59 - first)
            first += width


def test_sums_make_the_posterior_nearer_at_a_small_epsilon():
    """A power law up to 400, epsilon 1/10: the mean over five draws at the leaves."""
    size = np.arange(1, 401)
    drawn = [np.floor(n * (size**-1.2 - (size + 1) ** -1.2)).astype(int) for n in (9_000, 6_000, 3_000)]
    truth = CountOfCounts(TREE, [np.append(0, row) for row in drawn], "power law")
    noise, errors = Geometric(View.CUMULATIVE, "1/10", shares=(0, 1)), []
    for kappa in (0, 2):
        step = split_by(noise, truth, TREE, truth.totals, kappa=kappa)
        mechanism = Mechanism(step, Posterior(intervals=False))
        released = (mechanism.release(truth, Seeded("sums", i)).estimate for i in range(5))
        errors.append(np.mean([metrics.emd(truth, each)[1:].mean() for each in released]))
    assert errors[1] < 0.97 * errors[0]


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
