"""The parametric bootstrap with sizes per level: its replicates, against one K, and how often it holds."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.algorithms import TreeProjection
from pgsr.estimators import IsotonicTreeProjection
from pgsr.intervals import intervals
from pgsr.intervals.replicates import bootstrapped
from pgsr.intervals.statistics import statistic_of
from pgsr.methods.mechanism import Mechanism
from pgsr.noise import Geometric
from pgsr.noise.measurement import Totals
from pgsr.privacy import Seeded
from pgsr.problems.problem import Problem

TREE = Hierarchy.from_paths([("r", a, b) for a, b in product("AB", "CDE")])
SIZES = (9, 6, 3)


MECHANISMS = {
    "M_H": Mechanism(Geometric(View.COUNTS, 3), TreeProjection(), partial(Problem.m_h, totals="regions")),
    "M_H, root's total": Mechanism(Geometric(View.COUNTS, 3, totals="root"), TreeProjection()),
    "M_c^dp": Mechanism(Geometric(View.CUMULATIVE, 3), IsotonicTreeProjection(totals=Totals.REGIONS)),
}


def made(seed: int) -> CountOfCounts:
    leaves = np.random.default_rng(seed).poisson(60 * 0.7 ** np.arange(10), (6, 10))
    return CountOfCounts(TREE, TREE.sum_up(leaves)).folded(SIZES)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("statistic", ["count", "cumulative"])
def test_equals_a_loop_over_cells(name, statistic):
    """The symmetric form by sorting, from releases of the release; clipped to what is possible, whole numbers."""
    mechanism = MECHANISMS[name]
    released, asked = mechanism.release(made(1), Seeded("a")).estimate.counts(), []
    wanted = [statistic_of(statistic, released.sizes)]
    [found] = bootstrapped(mechanism, released, wanted, "0.8", 24, "b", lambda *told: asked.append(told))
    assert asked == [(place, 24) for place in range(24)]
    truth = CountOfCounts(TREE, released.tables, "replicate")
    again = [mechanism.release(truth, Seeded("replicates of a release: b", place)).estimate for place in range(24)]
    of = (lambda table: table) if statistic == "count" else (lambda table: np.cumsum(table, axis=1))
    for level in range(3):
        estimate = of(released.tables[level])
        assert np.array_equal(found.estimate[level], estimate)
        for cell in np.ndindex(estimate.shape):
            distances = sorted(abs(int(of(other.tables[level])[cell]) - int(estimate[cell])) for other in again)
            width = distances[int(np.ceil(23 * 0.8))]
            assert found.lower[level][cell] == max(0, estimate[cell] - width)
            assert found.upper[level][cell] == min(released.tables[0].sum(), estimate[cell] + width)
    assert found.lower[0].dtype == np.int64


@pytest.mark.drawn(1, pool="intervals hold the truth")
@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_cover(name):
    """90 % intervals of counts hold the truth in 85 % or more of the cells of every level, over many releases."""
    mechanism, held = MECHANISMS[name], [[], [], []]
    for seed in range(scale(12, 30)):
        truth = made(seed)
        released = mechanism.release(truth, Seeded(f"{seed}")).estimate.counts()
        found = intervals(mechanism, released, "count", replicates=60)
        for level, table in enumerate(truth.tables):
            held[level].append(((found.lower[level] <= table) & (table <= found.upper[level])).mean())
    assert min(map(np.mean, held)) >= 0.85, [float(np.mean(part)) for part in held]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"replicates": 19}, "whole number from 20 up"),
        ({"statistic": "mean"}, "intervals of mean want one max_size for all levels; write count or cumulative"),
        ({"level": 1}, "above 0 and below 1"),
        ({"released": None}, "give a result of the mechanism, or its counts"),
        ({"mechanism": None}, "give the Mechanism"),
    ],
)
def test_what_is_wrong_is_told(change, says):
    mechanism = MECHANISMS["M_H"]
    released = mechanism.release(made(1), Seeded("a")).estimate.counts()
    given = {"mechanism": mechanism, "released": released, "statistic": "count", "replicates": 20}
    with pytest.raises(PgsrError, match=says):
        intervals(**given | change)
