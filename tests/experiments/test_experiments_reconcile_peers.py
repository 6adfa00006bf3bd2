"""The benchmark of tables made consistent: all methods answer the same question."""

import numpy as np
import pytest

from pgsr.experiments.benchmarks.interval_peers import (
    PEERS,
    SCALE,
    compared,
    county_world,
    exact,
    importance_sampling,
    linear,
)
from pgsr.experiments.benchmarks.reconcile_peers import (
    METHODS,
    dense_program,
    least_squares,
    made,
    ours,
)


def test_a_made_table_is_a_tree_of_its_values():
    data = made(200)
    table = data.table.to_pandas()
    assert len(table) == len(data.y) == data.starts[-1]
    assert table.notna().sum().tolist()[:4] == [len(table) - first for first in data.starts[:-1]]
    leaves = np.arange(float(len(data.y) - data.starts[-2]))
    assert np.abs(data.sums @ (data.leaves @ leaves)).max() == 0
    assert (data.leaves @ leaves)[0] == leaves.sum()


def test_all_methods_find_the_same_distance():
    pytest.importorskip("qpsolvers")
    data = made(120)
    least = data.judged(ours(data, integer=False)[0])
    whole = data.judged(ours(data, integer=True)[0])
    assert whole[0] == 0
    assert whole[2] >= least[2]
    for method in (dense_program, least_squares, METHODS["sparse program, HiGHS"]):
        off, _, distance = data.judged(method(data)[0])
        assert off < 1e-6
        assert distance == pytest.approx(least[2], rel=1e-6)
    off, below, distance = data.judged(METHODS["sparse program, OSQP"](data)[0])  # to its own tolerance, below 0 too
    assert off < 1e-3
    assert below < 0
    assert distance == pytest.approx(least[2], rel=0.02)


def test_intervals_are_compared_on_one_world():
    found = compared(county_world(0, 3, 12))
    assert len(found) == 3 * len(PEERS)
    assert set(found.groupby("method")["level"].nunique()) == {3}
    missing = found.note.str.contains("is not installed")
    assert found["coverage"].isna().tolist() == missing.tolist()
    assert not missing[~found.method.str.startswith("hierarchicalforecast")].any()
    world = county_world(4, 4, 60)
    (low, high, *_), (below, above, *_) = exact(world), linear(world)
    leaves = world.tree.leaves
    assert (high - low)[leaves].mean() < (above - below)[leaves].mean()


def test_importance_sampling_has_the_law_of_the_values_alone():
    """Two counties, a state and a nation with the same number: every pair of counties is tried."""
    world = county_world(2, 1, 2)
    numbers = np.arange(250)
    off = np.abs(numbers[:, None] + numbers - world.noisy[0]) + np.abs(numbers[:, None] + numbers - world.noisy[1])
    off = off + np.abs(numbers[:, None] - world.noisy[2]) + np.abs(numbers - world.noisy[3])
    mass = np.exp(-off / SCALE)
    exactly = np.cumsum(mass.sum(axis=1)) / mass.sum()
    low, high, middle, _ = importance_sampling(world)
    for at, chance in ((low, 0.05), (middle, 0.5), (high, 0.95)):
        place = int(at[2])
        assert (exactly[place - 1] if place else 0.0) - 0.03 <= chance <= exactly[place] + 0.03
