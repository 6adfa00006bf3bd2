"""M_c^dp with sizes per level: both steps against the slow, obvious way."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import scale
from level_points import SHAPES

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
from pgsr.algorithms import IsotonicTreeProjection
from pgsr.algorithms.m_h_levels import LevelIsotonicTreeProjection, LevelMechanism, LevelProblem
from pgsr.algorithms.m_h_levels.isotonic_tree_projection import repaired
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.errors import ProblemError
from pgsr.noise import measured_by_level
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.laws import DoubleGeometric


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", SHAPES)
def test_both_steps_equal_brute_force(name):
    """Fits in fractions, rounded; then all points with the public totals. In all 21,600 small trees at full counts."""
    shape, largest = SHAPES[name]
    points, tree, generator = shape.points(largest), shape.tree, np.random.default_rng([41, len(name)])
    region_of_cell = np.repeat(np.arange(tree.n_regions), [shape.max_sizes[i] + 1 for i in tree.level_of])
    sums = np.stack([points[:, region_of_cell == region].sum(axis=1) for region in range(tree.n_regions)], axis=1)
    squares, small = (points**2).sum(axis=1), np.flatnonzero(sums[:, 0] <= largest)  # no leaf's cell can be larger
    assert len(small) > 10
    for trial in range(scale(100, 2400)):
        values = shape.split(generator.integers(-3, 9, shape.n_cells))
        held, root_alone = sums[generator.choice(small)], trial % 2 == 0
        totals = None if root_alone else held[tree.leaves]
        measurement = MeasurementByLevel(
            values, View.CUMULATIVE, (DoubleGeometric(Fraction(1)),) * tree.n_levels, int(held[0]), totals
        )
        y = []
        for region in range(tree.n_regions):
            level = int(tree.level_of[region])
            row = values.tables[level][region - tree.level(level).start].copy()
            most = int(held[0 if root_alone else region])
            if not root_alone:
                row[-1] = most
            fit = [min(max(round(value), 0), most) for value in naive.isotonic_l2(row)]
            y += np.diff(fit, prepend=0).tolist()
        possible = sums[:, 0] == held[0]
        if not root_alone:
            possible = (sums[:, tree.leaves] == totals).all(axis=1)
        best = (squares - 2 * points @ y + np.dot(y, y))[possible].min()
        result = LevelIsotonicTreeProjection().apply(measurement)
        assert result.optimal
        assert result.certificate.objective == best


def test_equals_m_c_dp_where_all_levels_have_the_same_sizes():
    tree = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])
    truth = CountOfCounts(tree, np.random.default_rng(42).integers(0, 30, (3, 9)))
    by_level = CountsByLevel.of(truth, (8, 8, 8))
    noisy = measured_by_level(Geometric(View.CUMULATIVE, 1, totals="root"), by_level, Seeded("s"), "data")
    found = LevelIsotonicTreeProjection().apply(noisy)
    matrix = np.concatenate(noisy.values.tables)
    same = naive.measurement_of(tree, matrix, truth.totals[0], View.CUMULATIVE)
    expected = IsotonicTreeProjection().apply(same).estimate.counts().counts
    y = np.concatenate(repaired(noisy).tables)
    counts = np.concatenate(found.counts.tables)
    assert found.optimal
    assert ((counts - y) ** 2).sum() == ((expected - y) ** 2).sum() == found.certificate.objective


def test_the_mechanism_keeps_the_totals_that_its_noise_makes_public():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
    for totals, public in (("root", [6]), ("regions", [6, 3, 3])):
        mechanism = LevelMechanism(Geometric(View.COUNTS, "1/10", totals=totals), (3, 2))
        measurement = mechanism.measure(truth, Seeded("k"))
        assert measurement.public_totals.tolist() == public
        counts = mechanism.post_process(measurement).counts
        assert np.concatenate([table.sum(axis=1) for table in counts.tables])[: len(public)].tolist() == public


def test_what_cannot_be_used_is_told():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
    noisy = measured_by_level(Geometric(View.COUNTS, 2), truth, Seeded("k"), "data")
    with pytest.raises(ProblemError, match=r"M_c\^dp needs View.CUMULATIVE"):
        LevelIsotonicTreeProjection().apply(noisy)
    cumulative = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("k"), "data")
    with pytest.raises(ProblemError, match=r"M_H needs View.COUNTS"):
        LevelProblem.of(cumulative)
    with pytest.raises(ProblemError, match=r"M_H needs View.COUNTS"):
        LevelMechanism(Geometric(View.CUMULATIVE, 2), (3, 2)).check(truth, Seeded("k"))
    with pytest.raises(ProblemError, match="one per level"):
        MeasurementByLevel(noisy.values, View.COUNTS, noisy.laws[:1], 6)
    with pytest.raises(ProblemError, match="2 that add up to 6"):
        MeasurementByLevel(noisy.values, View.COUNTS, noisy.laws, 6, np.array([1, 2]))
    with pytest.raises(ProblemError, match=r"give View.COUNTS or View.CUMULATIVE"):
        MeasurementByLevel(noisy.values, View.RANKED, noisy.laws, 6)
