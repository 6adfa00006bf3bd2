"""The lower bound of regions: against all mechanisms on small worlds, and below the errors of real ones."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from naive import best_corners, least_risk

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View, metrics
from pgsr.algorithms import BottomUp
from pgsr.bounds import Coordinates, coordinates, lower_bound, range_risk
from pgsr.errors import CountError

TINY = ([0, 2, 1, 0], [3, 0, 0, 1], [0, 1, 0, 1, 0], [1, 0, 2, 1], [4, 0, 0], [0, 0, 3, 0, 0], [1, 0, 0, 0, 0, 1])
"""Regions of 2 to 4 groups; their whole worlds have 15 to 35 data sets."""


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
@pytest.mark.parametrize("row", TINY, ids=str)
def test_no_mechanism_is_below(row, epsilon):
    """All mechanisms on the whole world, private between real neighbours: the least mean error is the bound itself.

    No mechanism is below, and measuring each coordinate alone, which is private in the whole world, attains it.
    """
    world = whole_world(sum(row), len(row) - 1)
    distance = np.abs(world[:, None] - world).sum(axis=2)
    bound = lower_bound(row, epsilon).emd[0]
    chosen = {tuple(data) for data in product_of(row, coordinates(np.array([row]), epsilon))}
    prior = np.array([tuple(data) in chosen for data in world]) / len(chosen)
    assert prior.sum() == pytest.approx(1)
    neighbours = np.where(distance == 1, 1.0, np.inf)
    assert bound == pytest.approx(least_risk(distance, neighbours, prior, epsilon), rel=1e-6)


@pytest.mark.parametrize("row", TINY, ids=str)
def test_the_largest_error_near_the_counts_is_above(row):
    """The least largest error over all data sets between neighbouring sizes that occur is what the bound is below."""
    for epsilon in (0.5, 1):
        world = whole_world(sum(row), len(row) - 1)
        near = world[[is_near(row, data) for data in world]]
        distance = np.abs(near[:, None] - near).sum(axis=2)
        neighbours = np.where(distance == 1, 1.0, np.inf)  # shortest ways stay near, so these say it all
        # Of any answer the nearest data set between the sizes is no further from the truth, so these are enough.
        largest = least_risk(distance, neighbours, None, epsilon)
        bound = lower_bound(row, epsilon).emd[0]
        assert bound <= largest + 1e-6
        assert bound >= 0.4 * largest  # so it says something


def test_data_vary_on_their_own_and_one_entity_changes_one_coordinate():
    rng = np.random.default_rng(7)
    for _ in range(300):
        row = rng.integers(0, 4, rng.integers(2, 7)) * rng.integers(0, 2)
        row[rng.random(len(row)) < 0.4] = 0
        chosen = coordinates(row[None], 0.3)
        lengths = chosen.high - chosen.low
        assert (lengths > 0).all()
        if np.prod(lengths + 1.0) > 3_000:
            continue
        values = list(product(*(range(n + 1) for n in lengths)))
        data = product_of(row, chosen)
        assert len({tuple(each) for each in data}) == len(values)
        assert ((data >= 0) & (data <= row.sum())).all()
        assert (np.diff(data, axis=1) >= 0).all()
        assert all(is_near(row, each) for each in data)
        values = np.array(values).reshape(len(values), -1)
        np.testing.assert_array_equal(
            np.abs(values[:, None] - values).sum(axis=2), np.abs(data[:, None] - data).sum(axis=2)
        )


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_splits_are_the_best_of_all(epsilon):
    """Every way to split every segment is tried out."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        row = rng.integers(0, 40, rng.integers(2, 12))
        row[rng.random(len(row)) < 0.6] = 0
        row[np.flatnonzero(row)[4:]] = 0
        assert lower_bound(row, epsilon).emd[0] == pytest.approx(best_corners(row, epsilon, range_risk), rel=1e-9)


def test_at_least_what_columns_below_a_cut_and_rows_above_give():
    rng = np.random.default_rng(9)
    for _ in range(50):
        row = rng.integers(0, 30, 40) * (rng.random(40) < 0.4)
        sizes = np.flatnonzero(row)
        following = np.append(sizes[1:], min(sizes[-1] + 1, 39))
        gaps = following - sizes
        heights = np.where(gaps > 0, row[sizes], 0)
        by_cut = [range_risk(heights[:j], 0.5).sum() + range_risk(gaps[j:], 0.5).sum() for j in range(len(sizes) + 1)]
        assert lower_bound(row, 0.5).emd[0] >= max(by_cut) - 1e-9


@pytest.mark.parametrize("view", [View.CUMULATIVE, View.RANKED])
def test_releases_are_above_on_the_mean_over_the_data(view):
    """Isotonic regression of H_c and H_g, on data drawn from the product of ranges."""
    row, epsilon, rng = np.array([0, 60, 45, 30, 9, 0, 2, 0, 0, 1, 0, 0]), 1, np.random.default_rng(10)
    chosen, tree, errors = coordinates(row[None], epsilon), Hierarchy.from_parents(["all"], [-1]), []
    for number in range(400):
        values = rng.integers(chosen.low, chosen.high + 1)
        cumulative = data_set(row, chosen, values)
        truth = CountOfCounts(tree, [np.diff(cumulative, prepend=0, append=row.sum())])
        measured = Geometric(view, epsilon, shares=(1,)).measure(truth, Seeded("bounds", number))
        errors.append(metrics.emd(truth, BottomUp().apply(measured).estimate)[0])
    deviation = np.std(errors, ddof=1) / len(errors) ** 0.5
    assert np.mean(errors) - 4 * deviation > lower_bound(row, epsilon).emd[0]


def test_regions_of_a_hierarchy_equal_their_rows():
    tree = Hierarchy.from_parents(["US", "GA", "MI", "empty"], [-1, 0, 0, 0])
    truth = CountOfCounts(tree, [[0, 5, 0, 1], [2, 7, 0, 0], [0, 0, 0, 0]])
    together = lower_bound(truth, 1)
    for region, row in enumerate(truth.counts):
        alone = lower_bound(row, 1)
        assert together.emd[region] == alone.emd[0]
        assert together.coordinates[region] == alone.coordinates[0]
    assert together.emd[3] == together.coordinates[3] == 0
    folded = CountOfCounts(tree, ([[2, 12, 0, 1]], [[0, 6], [2, 7], [0, 0]]))
    assert lower_bound(folded, 1).emd[1] == lower_bound([0, 6], 1).emd[0] > 0


def test_what_is_no_table_is_refused():
    for wrong in ([[-1, 2]], [[0.5]], "counts", [], np.zeros((1, 2, 2), int)):
        with pytest.raises(CountError, match="no table of groups by size"):
            lower_bound(wrong, 1)


def whole_world(n_groups: int, max_size: int) -> np.ndarray:
    """Every c[0..K - 1] of so many groups."""
    sizes = np.array(list(combinations_with_replacement(range(max_size + 1), n_groups)))
    return (sizes[:, None] <= np.arange(max_size)[:, None]).sum(axis=2)


def product_of(row, chosen: Coordinates) -> np.ndarray:
    """Every c[0..K - 1] of the product of ranges."""
    ranges = (range(low, high + 1) for low, high in zip(chosen.low, chosen.high, strict=True))
    return np.array([data_set(row, chosen, values) for values in product(*ranges)])


def data_set(row, chosen: Coordinates, values) -> np.ndarray:
    """The c[0..K - 1] with these values of the coordinates, by what their attributes say."""
    cumulative = np.cumsum(row)[:-1].copy()
    parts = zip(chosen.cumulative, chosen.place, chosen.low, chosen.high, values, strict=True)
    for is_count, place, low, high, value in parts:
        if is_count:
            cumulative[place] = value
        else:
            for size in range(low, high):
                cumulative[size] = place + (value <= size)
    return cumulative


def is_near(row, data: np.ndarray) -> bool:
    """Whether every group's size is between the sizes next to its own that occur, one beyond the ends."""
    sizes, n, largest = np.flatnonzero(row), int(np.sum(row)), len(row) - 1
    if not n:
        return True
    before = dict(zip(sizes, [max(sizes[0] - 1, 0), *sizes[:-1]], strict=True))
    behind = dict(zip(sizes, [*sizes[1:], min(sizes[-1] + 1, largest)], strict=True))
    own = np.repeat(np.arange(largest + 1), row)
    now = np.repeat(np.arange(largest + 1), np.diff(data, prepend=0, append=n))
    return all(before[s] <= t <= behind[s] for s, t in zip(own, now, strict=True))
