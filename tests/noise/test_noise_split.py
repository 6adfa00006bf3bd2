"""The split view: the theorem behind it, what is measured, both ends of the threshold, and who refuses it."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from instances import FULL, random_tree, random_truth, rng_of, scale
from neighbours import ALONE, PAIR
from privacy_checks import check_likelihood, check_losses, frozen

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1, isotonic_l2
from pgsr.data import Split
from pgsr.estimators import BottomUp, Matching, NoConsistency, Posterior, TwoStage
from pgsr.estimators.matching.alone import precision_of
from pgsr.methods import Mechanism
from pgsr.methods.method import Method, PostProcess
from pgsr.methods.toys import toy_of
from pgsr.noise import Geometric, Measurement, Noise, SplitByRoot
from pgsr.own_methods import METHODS
from pgsr.privacy import Ledger, Relation, Rho, Seeded, Unit
from pgsr.privacy.random import StreamId

TREE = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])
TRUTH = CountOfCounts(TREE, [np.bincount(np.arange(n) % 8, minlength=10) for n in (3, 9, 40, 0)], "split")


def test_values_are_those_of_the_definition() -> None:
    """Without noise, against boxes; regions, noisy totals, ranks."""
    rng = rng_of(2)
    for i in range(scale(40, 400)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}")
        split = Split(int(rng.integers(0, truth.max_size + 1)))
        totals = "noisy" if i % 2 else "regions"
        if not isinstance(split.on(truth.max_size), Split):
            continue
        noisy = Geometric(split, 10**9, totals=totals, totals_share="1/2").measure(truth, Seeded(i))
        for region in range(truth.hierarchy.n_regions):
            sizes = np.repeat(np.arange(truth.max_size + 1), truth.counts[region]).tolist()
            expected = np.array(naive.split_view(sizes, split.threshold), np.int64)
            assert noisy.row(region).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("unit", "relation", "totals"),
    [
        (Unit.ENTITY, "add_remove", "regions"),
        (Unit.ENTITY, "add_remove", "noisy"),
        (Unit.entity_in_groups(3), "move", "regions"),
        (Unit.GROUP, "add_remove", "noisy"),
    ],
    ids=str,
)
def test_both_ends_are_the_plain_views_bit_by_bit(unit: Unit, relation: str, totals: str) -> None:
    """T = 0 is the ranked view, T = K and more the cumulative one, of the same seed, whatever the noise."""
    steps = [
        lambda view: Geometric(view, "0.7", totals=totals, max_quantity=2),
        lambda view: Noise(view, Rho("1/5"), totals=totals, unit=unit, relation=Relation(relation), max_quantity=2),
    ]
    for step in steps:
        for split, plain in ((Split(0), View.RANKED), (Split(9), View.CUMULATIVE), (Split(99), View.CUMULATIVE)):
            ours, theirs = (step(view).measure(TRUTH, Seeded("ends")) for view in (split, plain))
            assert ours.view is plain
            assert frozen(ours) == frozen(theirs)


def test_parts_have_the_noise_of_the_whole_views() -> None:
    """Columns are the first ones of the cumulative view, rows those of the ranked one less T, if no size is below."""
    truth = CountOfCounts(TREE, [np.bincount(3 + np.arange(n) % 5, minlength=10) for n in (3, 9, 40, 0)], "parts")
    whole = {view: Geometric(view, "0.7").measure(truth, Seeded("same")).rows for view in View}
    for region, values in enumerate(Geometric(Split(3), "0.7").measure(truth, Seeded("same")).rows):
        assert values[:3].tolist() == whole[View.CUMULATIVE][region][:3].tolist()
        assert values[3:].tolist() == (whole[View.RANKED][region] - 3).tolist()


def test_no_two_cells_share_noise_and_every_stream_is_asked_for_once() -> None:
    """The root that thresholds follow from, too: a second draw of secure noise would be another release of it."""

    class Counting(Seeded):
        def stream(self, identity: StreamId):
            asked.append((identity.view, identity.path))
            return super().stream(identity)

    asked: list[tuple[str, tuple[str, ...]]] = []
    Geometric(Split(4), 1).measure(TRUTH, Counting("once"))
    assert sorted(asked) == sorted((view, path) for path in TREE.paths for view in ("cumulative", "ranked"))
    asked.clear()
    Geometric(SplitByRoot(), 1).measure(TRUTH, Counting("once"))
    assert len(asked) == len(set(asked))
    assert [view for view, path in asked if path == ("US",)] == ["cumulative"]


def test_losses() -> None:
    """Every pair of neighbours in small worlds, levels together: at most epsilon, and all of it for some pair.

    `small_checks.r6_losses_of_split_views` has all other thresholds.
    """
    assert check_losses(Geometric(Split(2), "7/10", ("1/3", "2/3")), PAIR, (3, 1), 4)


def noisy_values(measurement: Measurement) -> object:
    return measurement.views, frozen(measurement.cells)


def test_likelihood_ratios(counted: Callable[[int, str], None]) -> None:
    """P(output | D) <= e^epsilon P(output | D') in fractions, of noisy values, with public and with noisy totals."""
    bases, (low, high) = [Fraction(1, 2)], (-2, 3) if FULL else (-1, 2)  # exact values are 0 to 2
    noise = Geometric(Split(1), "1")
    n, attained = check_likelihood(Mechanism(noise, Matching()), ALONE, (2,), 2, 0, 2, bases, noisy_values)
    assert attained
    counted(n, "likelihoods")
    noise = replace(noise, totals="noisy", totals_share="1/3")
    for groups in (0, 1):
        n, _ = check_likelihood(Mechanism(noise, Matching()), ALONE, (groups,), 2, low, high, bases, noisy_values)
        counted(n, "likelihoods")


def test_a_threshold_per_level_and_per_region() -> None:
    by_level = Geometric((Split(3), View.COUNTS, Split(2)), 1).measure(TRUTH, Seeded("x"))
    assert [len(values) for values in by_level.rows] == [55, 10, 10, 5, 11, 42, 2]
    assert by_level.label == "split at 3 x counts x split at 2"
    views = (Split(3), View.CUMULATIVE, Split(0), Split(2), Split(2), Split(8), View.RANKED)
    by_region = Geometric(views, 1).measure(TRUTH, Seeded("x"))
    assert by_region.views == (*views[:2], View.RANKED, *views[3:])
    assert [len(values) for values in by_region.rows] == [55, 10, 40, 5, 11, 48, 0]
    assert by_region.label == "1 regions cumulative, 2 regions ranked, 4 regions split at 2 to 8"
    for region, view in enumerate(views):
        alone = Geometric(view, 1).measure(TRUTH, Seeded("x"))
        assert np.array_equal(by_region.row(region), alone.row(region))
    assert isinstance(Geometric((Split(2),) * 7, 1).measure(TRUTH, Seeded("x")).view, Split)


def test_levels_of_other_views_have_the_noise_of_the_worst() -> None:
    """Under Gaussian noise of a group's unit every region's cells have the sigma of its own view."""
    noise = Noise(Split(3), Rho("1/2"), ("0", "0", "1"), "gaussian", unit=Unit.GROUP, relation=Relation.REPLACE)
    law = noise.measure(TRUTH, Seeded("x")).law(3)
    assert law is not None
    assert law.spelling["sigma_squared"] == str((9 - 3) ** 2 + 3)


def test_values_as_cumulative_counts() -> None:
    """Without noise they are these."""
    sizes = [0, 1, 1, 2, 5, 7]
    truth = CountOfCounts(Hierarchy.from_paths([("x",)]), [np.bincount(sizes, minlength=9)])
    for threshold in range(9):
        split = Split(threshold)
        if not isinstance(split.on(8), Split):
            continue
        noisy = Geometric(split, 10**9).measure(truth, Seeded("x")).row(0)
        assert split.cumulative(noisy, 6, 8).tolist() == np.cumsum(truth.counts[0]).tolist()


def test_tables_figures_and_texts() -> None:
    noisy = Geometric(Split(4), 1).measure(TRUTH, Seeded("frame"))
    frame = noisy.to_frame()
    assert len(frame) == sum(map(len, noisy.rows))
    ranks = frame[frame["rank"].notna() & (frame["region_id"] == "US/MI/x")]
    assert ranks["rank"].tolist() == list(range(40))
    assert ranks["noisy_excess"].tolist() == noisy.row(5)[4:].tolist()
    assert repr(noisy).startswith("Measurement(Split(4), ")
    assert len(noisy.plot(("US", "MI", "x")).axes[0].lines[0].get_ydata()) == 10
    ledger = Ledger(2)
    Geometric(Split(4), 1).measure(TRUTH, Seeded("ledger"), ledger)
    assert "Split(4)" in str(vars(ledger))


def test_a_toy_is_split_as_its_target() -> None:
    for view in (Split(2), (View.CUMULATIVE, View.RANKED, Split(1)), (Split(3), *(Split(2),) * 6)):
        toy = toy_of(Geometric(view, 1).measure(TRUTH, Seeded("toy")))
        assert isinstance(toy, Measurement)
        assert any(isinstance(toy.view_of(region), Split) for region in range(toy.hierarchy.n_regions))


def test_methods_take_a_split_measurement_or_say_why_not() -> None:
    """Every method of the catalogue: a sentence or a result, no other error."""
    noisy = Geometric(Split(3), 1).measure(TRUTH, Seeded("gate"))
    for entry in METHODS:
        method = entry.method
        if not isinstance(method, Method):
            reason = method.supports(noisy)
            if reason is not None:
                assert "Split(3)" in reason or "split at 3" in reason
                with pytest.raises(PgsrError, match=re.escape(reason)):
                    method.apply(noisy)
            else:
                assert method.apply(noisy).estimate is not None
    for state in (Problem.isotonic, Problem.m_h, Problem.naive, Problem.mean_consistency):
        with pytest.raises(PgsrError, match=r"this measurement is of Split\(3\); measure that view"):
            state(noisy)


def test_regions_alone_join_the_fits_of_columns_and_rows() -> None:
    """Against lists: groups below the threshold as columns and rows have it, and of the ranks as many as are left."""
    rng, fewer = rng_of(7), 0
    for i in range(scale(60, 600)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}")
        split = Split(int(rng.integers(0, truth.max_size + 1)))
        if not isinstance(split.on(truth.max_size), Split):
            continue
        fit = IsotonicFit(*((1, 2), (2, 1))[i % 2], min_size=i % 5 // 4)
        noisy = Geometric(split, "1/2", totals="noisy" if i % 4 == 0 else "regions").measure(truth, Seeded("fits", i))
        for region, values in enumerate(noisy.rows):
            total, t = int(noisy.totals[region]), split.threshold
            below = IsotonicFit(fit.cumulative_norm, min_size=fit.min_size).cumulative_counts(
                np.append(values[:t], total)[None], np.array([total])
            )[0]
            ends = max(0, fit.min_size - t), truth.max_size - t
            beyond = (
                isotonic_l1(values[t:], *ends)
                if fit.ranked_norm == 1
                else isotonic_l2(values[None, t:], *map(np.atleast_1d, ends))[0]
            )
            if t:
                most, left = np.cumsum(below)[:t], np.sort(beyond)
                fewest = min(int(most[-1]), max(0, total - int((left > 0).sum())))  # fewer lose no more of the rows
                cost = {
                    u: ((np.minimum(most, u) - values[:t]) ** 2).sum()
                    + (left[: max(0, len(left) - (total - u))].astype(float) ** 2).sum()
                    for u in range(int(most[-1]), fewest - 1, -1)
                }
                fitted = np.minimum(most, min(cost, key=cost.__getitem__))
                below = np.diff(np.append(fitted, total), prepend=0)
            wanted = int(below[t])
            sizes = [t + int(x) for x in beyond][len(beyond) - min(wanted, len(beyond)) :]
            expected = np.append(below[:t], np.bincount(sizes, minlength=truth.max_size + 1)[t:])
            found = fit.groups(noisy, region)
            assert found.total == total
            assert np.array_equal(np.bincount(found.size, found.count, truth.max_size + 1), expected)
            fewer += wanted < len(beyond)
    assert fewer > 20


@pytest.mark.parametrize("post", [Matching(), Matching(partitions=True), BottomUp(), TwoStage(), Posterior()], ids=repr)
def test_releases_satisfy_the_four_conditions(post: PostProcess) -> None:
    rng = rng_of(72)
    for i in range(scale(12, 600)):
        totals = ("regions", "noisy")[i % 2]
        truth = random_truth(rng, random_tree(rng), name=f"set {i}")
        shares = (*(0,) * (truth.hierarchy.n_levels - 1), 1) if isinstance(post, BottomUp) else None
        least = 1 if isinstance(post, TwoStage) else 0  # it takes no ranked sizes
        views = tuple(Split(int(rng.integers(least, truth.max_size + 2))) for _ in range(truth.hierarchy.n_regions))
        result = Mechanism(Geometric(views, "1/2", shares, totals), post).release(truth, Seeded("conditions", i))
        assert result.certificate is not None
        assert result.measurement is not None
        assert not any(result.certificate.violations.values())
        assert np.array_equal(result.estimate.counts().totals, result.measurement.totals)


@pytest.mark.parametrize("post", [Matching(), BottomUp(), NoConsistency(), TwoStage(), Posterior()], ids=repr)
def test_without_noise_the_truth_comes_back(post: PostProcess) -> None:
    for split in (Split(1), Split(4), Split(8)):
        found = Mechanism(Geometric(split, 10**9), post).release(TRUTH, Seeded(0))
        assert np.array_equal(found.estimate.counts().counts, TRUTH.counts)


def test_matching_weighs_groups_by_columns_or_ranks() -> None:
    """A size below the threshold is a difference of two noisy values, one beyond it has a noisy value of its own."""
    noisy = Geometric(Split(4), "1").measure(TRUTH, Seeded("weights"))
    for region in range(TREE.n_regions):
        groups = IsotonicFit().groups(noisy, region)
        expected = groups.count / float(noisy.law(region).variance_bound) / np.where(groups.size < 4, 2, 1)
        assert np.allclose(precision_of(IsotonicFit(), noisy, region, groups, False).near, expected)


def test_two_stages_begin_with_the_fits_of_columns_and_rows() -> None:
    """Against lists: cumulative counts of columns, and of groups by their fitted ranks, none below the one before."""
    rng = rng_of(8)
    for i in range(scale(40, 400)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}")
        views = tuple(Split(int(rng.integers(1, truth.max_size + 2))) for _ in range(truth.hierarchy.n_regions))
        noisy = Geometric(views, "1/2", totals="noisy" if i % 4 == 0 else "regions").measure(truth, Seeded("two", i))
        found = [noisy.view_of(region) for region in range(truth.hierarchy.n_regions)]
        if not any(isinstance(view, Split) for view in found):
            continue
        alone = TwoStage().twice_alone(noisy)[:, :-1] / 2
        for region, (view, values) in enumerate(zip(found, noisy.rows, strict=True)):
            total, largest = int(noisy.totals[region]), truth.max_size
            t = view.threshold if isinstance(view, Split) else largest
            expected = list(isotonic_l1(values[:t], 0, total, Optimum.MIDPOINT))
            if isinstance(view, Split):
                beyond = isotonic_l2(values[None, t:], np.array([0]), np.array([largest - t]))[0]
                sizes = [0] * (total - len(beyond)) + [t + int(x) for x in beyond]
                expected += [sum(size <= s for size in sizes) for s in range(t, largest)]
            assert alone[region].tolist() == np.maximum.accumulate(expected).tolist()
