"""The lower bound of regions: against all mechanisms on small worlds, and below the errors of real ones."""

from itertools import combinations_with_replacement, product

import naive
import numpy as np
import pytest
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.bounds import lower_bound, range_risk
from pgsr.bounds.boxes import Boxes, boxes
from pgsr.estimators import BottomUp
from pgsr.machine import blocks
from pgsr.methods import metrics
from pgsr.noise import Geometric, Noise
from pgsr.privacy import Approximate, Rho, Seeded

TINY = ([0, 2, 1, 0], [3, 0, 0, 1], [0, 1, 0, 1, 0], [1, 0, 2, 1], [4, 0, 0], [0, 0, 3, 0, 0], [1, 0, 0, 0, 0, 1])
"""Regions of 2 to 4 groups; their whole worlds have 15 to 35 data sets."""


@pytest.mark.parametrize("epsilon", [0.1, 1])
@pytest.mark.parametrize("row", TINY[::2], ids=str)
def test_no_mechanism_is_below(row, epsilon):
    """All mechanisms on the whole world, private between real neighbours: the least mean error is the bound itself.

    No mechanism is below, and measuring each coordinate alone, which is private in the whole world, attains it.
    """
    world = whole_world(sum(row), len(row) - 1)
    distance = np.abs(world[:, None] - world).sum(axis=2)
    bound = lower_bound(row, epsilon).emd[0]
    chosen = {tuple(data) for data in product_of(row, boxes(np.array([row]), epsilon))}
    prior = np.array([tuple(data) in chosen for data in world]) / len(chosen)
    assert prior.sum() == pytest.approx(1)
    neighbours = np.where(distance == 1, 1.0, np.inf)
    assert bound == pytest.approx(naive.least_risk(distance, neighbours, prior, epsilon), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (2, 0.01)])
@pytest.mark.parametrize("row", TINY[:2], ids=str)
def test_no_mechanism_with_delta_is_below(row, epsilon, delta):
    """All (epsilon, delta)-DP mechanisms on the whole world; any answer may be replaced by the nearest data set."""
    world = whole_world(sum(row), len(row) - 1)
    distance = np.abs(world[:, None] - world).sum(axis=2)
    budget = Approximate(epsilon, delta)
    chosen = {tuple(data) for data in product_of(row, boxes(np.array([row]), budget))}
    prior = np.array([tuple(data) in chosen for data in world]) / len(chosen)
    least = naive.least_risk(distance, np.where(distance == 1, 1.0, np.inf), prior, epsilon, delta)
    assert 0.8 * least <= lower_bound(row, budget).emd[0] <= least + 1e-7


@pytest.mark.parametrize("row", TINY[:2], ids=str)
def test_the_largest_error_near_the_counts_is_above(row):
    """The least largest error over all data sets between those of the bound is what it is below."""
    for epsilon in (0.1, 0.5, 1, 2):
        world, truth = whole_world(sum(row), len(row) - 1), np.cumsum(row)[:-1]
        data = np.vstack([product_of(row, boxes(np.array([row]), epsilon)), truth])
        near = world[((world >= data.min(axis=0)) & (world <= data.max(axis=0))).all(axis=1)]
        distance = np.abs(near[:, None] - near).sum(axis=2)
        neighbours = np.where(distance == 1, 1.0, np.inf)  # a shortest way between two of them never leaves them
        # Any answer is as well replaced by the nearest of these data sets, so they are answers enough.
        largest = naive.least_risk(distance, neighbours, None, epsilon)
        bound = lower_bound(row, epsilon).emd[0]
        assert bound <= largest + 1e-6
        assert bound >= 0.65 * largest  # so it says something


def test_numbers_vary_on_their_own_and_one_entity_changes_one_of_them():
    rng, seen = rng_of(7), 0
    for number in range(240):
        epsilon = (0.4, 1, 20)[number % 3]
        row = rng.integers(0, 4, rng.integers(2, 9)) * rng.integers(0, 2)
        row[rng.random(len(row)) < 0.5] = 0
        chosen = boxes(row[None], epsilon)
        assert (chosen.entities > 0).all()
        if np.prod(chosen.entities + 1.0) > 700:
            continue
        seen += len(chosen.region) > 1 and (chosen.groups * chosen.sizes > 1).any()
        values = np.array(list(product(*(range(n + 1) for n in chosen.entities))))
        data = product_of(row, chosen)
        assert ((data >= 0) & (data <= row.sum())).all()
        assert (np.diff(data, axis=1) >= 0).all()
        between = np.abs(values[:, None] - values).sum(axis=2)
        np.testing.assert_array_equal(between, np.abs(data[:, None] - data).sum(axis=2))
        bound = lower_bound(row, epsilon)
        assert bound.boxes[0] == len(chosen.region)
        assert np.abs(data - np.cumsum(row)[:-1]).sum(axis=1).max() <= bound.away[0]
    assert seen > 20


@pytest.mark.parametrize("epsilon", [0.1, 1, 30])
def test_chains_are_the_best_of_all(epsilon):
    """Boxes between all pairs of points are looked at, in Python."""
    rng, most = rng_of(8), int(np.ceil(40 / epsilon))
    risks = range_risk(np.arange(max(most, 200) + 2), epsilon)
    for _ in range(30):
        row = rng.integers(0, 40, rng.integers(2, 30))
        row[rng.random(len(row)) < rng.random()] = 0
        best = naive.best_chain_of_boxes(row, epsilon, lambda m, _: risks[m], most)
        assert lower_bound(row, epsilon).emd[0] == pytest.approx(best, rel=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("noise", "near"),
    [
        (Geometric(View.CUMULATIVE, 1, shares=(1,)), 0),
        (Geometric(View.RANKED, 1, shares=(1,)), 0),
        (Noise(View.CUMULATIVE, Rho("1/8"), shares=(1,), laws="gaussian"), 0.5),
    ],
    ids=["H_c", "H_g", "H_c in rho"],
)
def test_releases_are_above_on_the_mean_over_the_data(noise, near):
    """Isotonic regression of H_c and H_g, on data drawn from the product of ranges."""
    row, budget, rng = np.array([0, 60, 45, 30, 9, 0, 2, 0, 0, 1, 0, 0]), noise.cost, rng_of(10)
    chosen, tree, errors = boxes(row[None], budget), Hierarchy.from_parents(["all"], [-1]), []
    for number in range(400):
        cumulative = data_set(row, chosen, rng.integers(chosen.entities + 1))
        truth = CountOfCounts(tree, [np.diff(cumulative, prepend=0, append=row.sum())])
        measured = noise.measure(truth, Seeded("bounds", number))
        errors.append(metrics.emd(truth, BottomUp().apply(measured).estimate)[0])
    deviation = np.std(errors, ddof=1) / len(errors) ** 0.5
    assert np.mean(errors) - 4 * deviation > lower_bound(row, budget).emd[0] > near * np.mean(errors)


def test_regions_of_a_hierarchy_equal_their_rows():
    tree = Hierarchy.from_parents(["US", "GA", "MI", "empty"], [-1, 0, 0, 0])
    truth = CountOfCounts(tree, [[0, 5, 0, 1], [2, 7, 0, 0], [0, 0, 0, 0]])
    together = lower_bound(truth, 1)
    for region, row in enumerate(truth.counts):
        alone = lower_bound(row, 1)
        assert together.emd[region] == alone.emd[0]
        assert together.boxes[region] == alone.boxes[0]
    assert together.emd[3] == together.boxes[3] == 0
    folded = CountOfCounts(tree, ([[2, 12, 0, 1]], [[0, 6], [2, 7], [0, 0]]))
    assert lower_bound(folded, 1).emd[1] == lower_bound([0, 6], 1).emd[0] > 0


def test_blocks_of_regions_change_no_bound(monkeypatch):
    table = rng_of(1).poisson(30, (23, 8))
    whole = lower_bound(table, 1)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 24)  # three regions at a time, and the last two
    for name in ("emd", "boxes", "away"):
        assert np.array_equal(getattr(lower_bound(table, 1), name), getattr(whole, name)), name


def test_the_largest_numbers_of_groups_and_the_extremes_of_epsilon():
    by_hand = 2 * range_risk(40, 1) + range_risk(1, 1)  # c[0] and c[1], and the one group of size 2 or 3
    assert lower_bound([2**61, 2**61 - 1, 0, 1], 1).emd[0] == pytest.approx(by_hand)
    assert lower_bound([7], 1).boxes[0] == lower_bound([0, 0, 0], 1).boxes[0] == 0
    assert lower_bound([1, 2, 3], 10**9).emd[0] == pytest.approx(0)
    assert lower_bound([1, 1], "1e-9").emd[0] == pytest.approx(2 / 3)  # 0, 1 or 2 of two groups have a member


def whole_world(n_groups: int, max_size: int) -> np.ndarray:
    """Every c[0..K - 1] of so many groups."""
    sizes = np.array(list(combinations_with_replacement(range(max_size + 1), n_groups)))
    return (sizes[:, None] <= np.arange(max_size)[:, None]).sum(axis=2)


def product_of(row, chosen: Boxes) -> np.ndarray:
    """Every c[0..K - 1] of the product, in the order of `itertools.product`."""
    ranges = (range(n + 1) for n in chosen.entities)
    return np.array([data_set(row, chosen, values) for values in product(*ranges)])


def data_set(row, chosen: Boxes, values) -> np.ndarray:
    """The c[0..K - 1] with k in the boxes, by what their attributes say."""
    sizes = np.repeat(np.arange(len(row)), row)
    for box, k in enumerate(values):
        rank, groups, size, n = (int(a[box]) for a in (chosen.rank, chosen.groups, chosen.size, chosen.sizes))
        own = [size + n] * (k // n) + [size + k % n] * int(k % n > 0)
        sizes[rank : rank + groups] = [size] * (groups - len(own)) + own[::-1]
    return (sizes[:, None] <= np.arange(len(row) - 1)).sum(axis=0)
