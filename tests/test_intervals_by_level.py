"""The parametric bootstrap with sizes per level: its replicates, against one K, and how often it holds."""

from itertools import product

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Geometric, Hierarchy, PgsrError, Seeded, View
from pgsr.algorithms import IsotonicTreeProjection
from pgsr.algorithms.mechanism_by_level import LevelMechanism
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.intervals import intervals_by_level

TREE = Hierarchy.from_paths([("r", a, b) for a, b in product("AB", "CDE")])
SIZES = (9, 6, 3)


MECHANISMS = {
    "M_H": LevelMechanism(Geometric(View.COUNTS, 3), SIZES, "demo"),
    "M_H, root's total": LevelMechanism(Geometric(View.COUNTS, 3, totals="root"), SIZES, "demo"),
    "M_c^dp": LevelMechanism(Geometric(View.CUMULATIVE, 3), SIZES, "demo", IsotonicTreeProjection()),
}


def made(seed: int) -> CountsByLevel:
    leaves = np.random.default_rng(seed).poisson(60 * 0.7 ** np.arange(10), (6, 10))
    return CountsByLevel.of(CountOfCounts(TREE, TREE.sum_up(leaves)), SIZES)


def released_by(mechanism: LevelMechanism, truth: CountsByLevel, source: Seeded) -> CountsByLevel:
    return CountsByLevel(TREE, mechanism.release(truth, source).estimate.as_counts)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_equals_a_loop_over_cells(name, view):
    """The symmetric form by sorting, from releases of the release; clipped to what is possible, whole numbers."""
    mechanism = MECHANISMS[name]
    released, asked = released_by(mechanism, made(1), Seeded("a")), []
    found = intervals_by_level(mechanism, released, "0.8", view, 24, "b", progress=lambda *told: asked.append(told))
    assert asked == [(place, 24) for place in range(24)]
    again = [released_by(mechanism, released, Seeded("replicates of a release: b", place)) for place in range(24)]
    of = (lambda table: table) if view is View.COUNTS else (lambda table: np.cumsum(table, axis=1))
    for level in range(3):
        estimate = of(released.tables[level])
        assert np.array_equal(found.estimate[level], estimate)
        for cell in np.ndindex(estimate.shape):
            distances = sorted(abs(int(of(other.tables[level])[cell]) - int(estimate[cell])) for other in again)
            width = distances[int(np.ceil(23 * 0.8))]
            assert found.lower[level][cell] == max(0, estimate[cell] - width)
            assert found.upper[level][cell] == min(released.tables[0].sum(), estimate[cell] + width)
    assert found.lower[0].dtype == np.int64


@pytest.mark.drawn(2, pool="intervals hold the truth")
@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_cover(name):
    """90 % intervals of counts hold the truth in 85 % or more of the cells of every level, over many releases."""
    mechanism, held = MECHANISMS[name], [[], [], []]
    for seed in range(scale(12, 30)):
        truth = made(seed)
        released = released_by(mechanism, truth, Seeded(f"{seed}"))
        found = intervals_by_level(mechanism, released, replicates=60)
        for level, table in enumerate(truth.tables):
            held[level].append(((found.lower[level] <= table) & (table <= found.upper[level])).mean())
    assert min(map(np.mean, held)) >= 0.85, [float(np.mean(part)) for part in held]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"replicates": 19}, "whole number from 20 up"),
        ({"view": View.RANKED}, "give View.COUNTS or View.CUMULATIVE"),
        ({"level": 1}, "above 0 and below 1"),
        ({"form": "narrow"}, "the form 'narrow' is unknown"),
        ({"released": None}, "give the counts of a result"),
        ({"mechanism": None}, "such as LevelMechanism"),
    ],
)
def test_what_is_wrong_is_told(change, says):
    mechanism = MECHANISMS["M_H"]
    given = {"mechanism": mechanism, "released": released_by(mechanism, made(1), Seeded("a")), "replicates": 20}
    with pytest.raises(PgsrError, match=says):
        intervals_by_level(**given | change)
