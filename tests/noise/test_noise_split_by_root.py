"""Thresholds of split views from the noisy root: the definition, what they hang on, and what they cost."""

from collections.abc import Callable
from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import FULL, rng_of
from neighbours import CHAIN
from privacy_checks import check_likelihood, frozen

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Split
from pgsr.errors import ProblemError
from pgsr.estimators import BottomUp, Matching, Posterior, TwoStage
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric, Measurement, Noise, SplitByRoot
from pgsr.noise.split_by_root import columns_worth, falling_shape, shape_of_noisy
from pgsr.privacy import Rho, Seeded

TREE = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])
TRUTH = CountOfCounts(TREE, [np.bincount(np.arange(n) ** 2 % 11 % 7, minlength=10) for n in (30, 90, 40, 0)], "steered")


def test_a_falling_shape_equals_the_definition() -> None:
    """The nearest falling vector is a mean of means: p[s] = min over a <= s of max over b >= s of the mean of a..b."""
    for groups in rng_of(0).integers(-3, 9, (20, 12)).astype(float):
        expected = np.maximum(naive.falling(groups), 0)
        expected = expected / expected.sum() if expected.sum() else expected
        np.testing.assert_allclose(falling_shape(groups), expected, atol=1e-12)


def test_columns_are_counted_as_defined() -> None:
    rng = rng_of(3)
    for _ in range(200):
        shape = np.sort(rng.integers(0, 4, 9) / 10)[::-1]
        groups, factor = int(rng.integers(0, 9)), float(rng.choice([0.3, 1, 2]))
        assert columns_worth(shape, groups, factor) == sum(groups * p > factor for p in shape)


@pytest.mark.parametrize("totals", ["regions", "noisy"])
def test_the_views_follow_from_the_published_root_alone(totals: str) -> None:
    """Whoever has the noisy root recomputes every threshold; the values are those of these views stated outright."""
    for seed in range(10):
        rule = SplitByRoot()
        step = Geometric(rule, 2, shares=("1/5", "2/5", "2/5"), totals=totals)
        found = step.measure(TRUTH, Seeded(seed))
        assert found.view_of(0) is View.CUMULATIVE
        shape = shape_of_noisy(found.row(0), int(found.totals[0]))
        for region in range(1, TREE.n_regions):
            columns = sum(bool(found.totals[region] * p > 0.5) for p in shape)
            assert found.view_of(region) == Split(columns).on(9), (seed, region)
        stated = Geometric(found.views, 2, shares=("1/5", "2/5", "2/5"), totals=totals).measure(TRUTH, Seeded(seed))
        assert frozen(stated) == frozen(found)


def test_other_regions_do_not_move_thresholds() -> None:
    """Two leaves that change places leave the root as it is, and so all thresholds."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    step = Geometric(SplitByRoot(), 1, shares=("1/2", "1/2"))
    rows = [0, 5, 3, 2], [0, 1, 3, 6]
    ours, theirs = (
        step.measure(CountOfCounts(tree, list(leaves), "places"), Seeded("places")) for leaves in (rows, rows[::-1])
    )
    assert ours.views == theirs.views
    assert ours.row(0).tolist() == theirs.row(0).tolist()
    assert frozen(ours.cells) != frozen(theirs.cells)


@pytest.mark.parametrize("groups", [1, 2] if FULL else [1])
def test_likelihood_ratios_of_root_and_leaf_together(groups: int, counted: Callable[[int, str], None]) -> None:
    """Of all noisy values, whose number hangs on the root's: at most e^epsilon, and all of it for some pair."""
    seen: set[object] = set()

    def values(measured: Measurement) -> object:
        seen.add(measured.views)
        return frozen((measured.views, measured.cells))

    noise = Geometric(SplitByRoot(), "1", ("1/2", "1/2"))
    n, attained = check_likelihood(Mechanism(noise, Matching()), CHAIN, (groups,), 2, 0, 2, [Fraction(1, 2)], values)
    assert attained
    assert len(seen) > 1, "the threshold moves"
    counted(n, "likelihoods")


@pytest.mark.slow
def test_sparse_regions_are_measured_better_than_by_either_view() -> None:
    """A power law up to 1,000: the mean over three draws, at the leaves, where the root gets 1/20."""
    tree, rng = Hierarchy.from_parents(["US", *"abcdef"], [-1] + [0] * 6), rng_of(5)
    drawn = [np.minimum(np.floor((1 - rng.random(n)) ** (-1 / 1.2)), 1000).astype(int) for n in (2000, 700, 300) * 2]
    truth = CountOfCounts(tree, [np.bincount(sizes, minlength=1001) for sizes in drawn], "power law")
    for post in (BottomUp(), Posterior()):
        errors = {}
        for view in (View.CUMULATIVE, (View.CUMULATIVE, View.RANKED), SplitByRoot()):
            noise = Geometric(view, 1, shares=("1/20", "19/20"))
            draws = [Mechanism(noise, post).release(truth, Seeded("by root", k)) for k in range(3)]
            errors[view] = np.mean([metrics.emd(truth, draw.estimate)[1:].mean() for draw in draws])
        *others, ours = errors.values()
        assert ours < 0.9 * min(others), (post, errors)


def test_other_budgets() -> None:
    noise = Noise(SplitByRoot(), Rho("1/2"), shares=("1/2", "1/4", "1/4")).measure(TRUTH, Seeded("rho"))
    assert noise.view_of(0) is View.CUMULATIVE
    assert any(isinstance(noise.view_of(region), Split) for region in range(TREE.n_regions))


def test_a_method_that_wants_columns_refuses_before_anything_is_measured() -> None:
    """A region may get the threshold 0, which is ranked sizes."""
    mechanism = Mechanism(Geometric(SplitByRoot(), 1), TwoStage())
    with pytest.raises(ProblemError, match=r"TwoStage needs View\.CUMULATIVE or a Split on every level"):
        mechanism.check(TRUTH, Seeded("columns"))
