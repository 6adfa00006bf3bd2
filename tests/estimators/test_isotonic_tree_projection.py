"""M_c^dp, with sizes per level and every region's total: both steps against the slow, obvious way."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import rng_of, scale
from level_points import SHAPES
from made_measurements import measurement_of

from pgsr import CountOfCounts, Hierarchy, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.certificates import certify
from pgsr.data import Estimate
from pgsr.estimators import IsotonicTreeProjection
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SHAPES)
def test_both_steps_equal_brute_force(name):
    """Fits in fractions, rounded; then all points with the public totals. In all 21,600 small trees at full counts."""
    shape, largest = SHAPES[name]
    points, tree, generator = shape.points(largest), shape.tree, rng_of(41, len(name))
    region_of_cell = np.repeat(np.arange(tree.n_regions), [shape.max_sizes[i] + 1 for i in tree.level_of])
    sums = np.stack([points[:, region_of_cell == region].sum(axis=1) for region in range(tree.n_regions)], axis=1)
    squares, small = (points**2).sum(axis=1), np.flatnonzero(sums[:, 0] <= largest)  # no leaf's cell can be larger
    assert len(small) > 10
    for trial in range(scale(100, 2400)):
        values = shape.split(generator.integers(-3, 9, shape.n_cells))
        held, root_alone = sums[generator.choice(small)], trial % 2 == 0
        public, totals = ("root", held[:1]) if root_alone else ("regions", held)
        noise = (GeometricNoise(Fraction(1)),) * tree.n_levels
        measurement = measurement_of(tree, View.CUMULATIVE, values, 0, noise, public, totals, False)
        y = []
        for region in range(tree.n_regions):
            level = int(tree.level_of[region])
            row = values[level][region - tree.level(level).start].copy()
            most = int(held[0 if root_alone else region])
            if not root_alone:
                row[-1] = most
            fit = [min(max(round(value), 0), most) for value in naive.isotonic_l2(row)]
            y += np.diff(fit, prepend=0).tolist()
        possible = sums[:, 0] == held[0]
        if not root_alone:
            possible = (sums[:, tree.leaves] == held[tree.leaves]).all(axis=1)
        best = (squares - 2 * points @ y + np.dot(y, y))[possible].min()
        method = IsotonicTreeProjection(totals=public)
        result, second = method.apply(measurement), method.stated(measurement)
        assert result.status is Status.FEASIBLE
        step = certify(second, Estimate(tree, View.COUNTS, result.estimate.as_counts), result.multipliers)
        assert step.optimal
        assert step.objective == best


@pytest.mark.parametrize("totals", ["root", "regions"])
def test_the_flow_gives_an_optimum_of_step_2_where_all_levels_have_the_same_sizes(totals):
    """With every region's total the flow solves step 2; it is as near as a solver's answer with the root's alone."""
    tree = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])
    truth = CountOfCounts(tree, rng_of(42).integers(0, 30, (3, 9)))
    noisy = Geometric(View.CUMULATIVE, 1, totals=totals).measure(truth, Seeded("s"))
    method = IsotonicTreeProjection(totals=totals)
    found = method.apply(noisy).estimate.counts()
    assert (found.totals[: len(noisy.totals)] == noisy.totals).all()
    second = method.stated(noisy)
    assert certify(second, Estimate(tree, View.COUNTS, found.counts), method.apply(noisy).multipliers).optimal
    by_root = IsotonicTreeProjection().stated(noisy)
    loose = IsotonicTreeProjection().apply(noisy).estimate.counts().counts
    assert ((loose - by_root.target) ** 2).sum() == TreeProjection().solve(by_root).certificate.objective
