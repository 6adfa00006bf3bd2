"""Split views where levels have sizes of their own: what is measured, what it costs, both ends, and who refuses it."""

import re
from collections.abc import Callable
from dataclasses import replace

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from neighbours import PAIR
from privacy_checks import check_losses, frozen

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.data import Split
from pgsr.estimators import Matching, TwoStage
from pgsr.intervals import band
from pgsr.methods import Mechanism
from pgsr.methods.method import Method, PostProcess
from pgsr.noise import Geometric, Noise, SplitByRoot
from pgsr.noise.split_by_root import shape_of_noisy
from pgsr.own_methods import METHODS
from pgsr.privacy import Ledger, Rho, Seeded

TREE = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])
TRUTH = CountOfCounts(TREE, [np.bincount(np.arange(n) ** 2 % 11 % 9, minlength=10) for n in (3, 9, 40, 0)], "levels")
SIZES = (9, 7, 4)
MIXED = (*(View.CUMULATIVE,) * 3, *(View.RANKED,) * 4)
"""A view per region: the leaves are ranked."""


def test_values_are_those_of_the_definition() -> None:
    """Without noise, against boxes of groups of min(h, K) members; K may be below T, or T be 0."""
    rng, kinds = rng_of(4), set()
    for i in range(scale(40, 400)):
        truth = random_truth(rng, random_tree(rng), name=f"set {i}")
        tree = truth.hierarchy
        if tree.padded.any():
            continue
        sizes = tuple(sorted(rng.integers(0, truth.max_size + 1, tree.n_levels).tolist(), reverse=True))
        split = Split(int(rng.integers(0, truth.max_size + 1)))
        noisy = Geometric(split, 10**9, max_sizes=sizes).measure(truth, Seeded(i))
        assert noisy.sizes.max_sizes == sizes
        for region in range(tree.n_regions):
            largest = sizes[int(tree.level_of[region])]
            folded = np.minimum(np.repeat(np.arange(truth.max_size + 1), truth.counts[region]), largest).tolist()
            view, total = noisy.view_of(region), len(folded)
            assert view == split.on(largest)
            kinds.add(type(view).__name__ if isinstance(view, Split) else view)
            if isinstance(view, Split):
                expected = naive.split_view(folded, view.threshold)
            elif view is View.RANKED:
                expected = sorted(folded)
            else:
                expected = [sum(size <= s for size in folded) for s in range(largest + 1)]
            assert noisy.row(region).tolist() == expected
            assert noisy.max_size_of(region) == largest
            assert total == noisy.totals[region]
    assert kinds == {"Split", View.RANKED, View.CUMULATIVE}


@pytest.mark.few(1)
@pytest.mark.parametrize("view", [Split(1), Split(2), Split(0), (Split(3), Split(1)), View.RANKED], ids=repr)
def test_losses_with_sizes_per_level(view: object, counted: Callable[[int, str], None]) -> None:
    """Every pair of neighbours in small worlds, levels together: at most epsilon, and all of it for some pair."""
    for sizes in ((4, 2), (3, 3), (4, 1)):
        step = Geometric(view, "7/10", ("1/3", "2/3"), max_sizes=sizes)  # type: ignore[arg-type]
        counted(check_losses(step, PAIR, (3, 1), 4), "neighbour pairs of split views with sizes per level")


def test_from_k_on_it_is_the_cumulative_view_bit_by_bit() -> None:
    """T >= K of every level, the same for all or one per level or region; other data sets of the same seed, too."""
    rng = rng_of(5)
    for i in range(10):
        truth = CountOfCounts(TREE, rng.integers(0, 9, (4, 10)), f"set {i}")
        plain = Geometric(View.CUMULATIVE, "3/4", max_sizes=SIZES).measure(truth, Seeded("ends"))
        for view in (
            Split(9),
            Split(99),
            (Split(9), Split(8), Split(4)),
            (Split(9), *[Split(7)] * 2, *[Split(5)] * 4),
        ):
            ours = Geometric(view, "3/4", max_sizes=SIZES).measure(truth, Seeded("ends"))
            assert ours.view is View.CUMULATIVE
            assert frozen(ours) == frozen(plain)


def test_with_one_size_it_is_the_split_view_without() -> None:
    plain = Geometric(Split(3), 1).measure(TRUTH, Seeded("one"))
    assert frozen(Geometric(Split(3), 1, max_sizes=(9, 9, 9)).measure(TRUTH, Seeded("one"))) == frozen(plain)
    assert plain.sizes.equal


def test_counts_with_sizes_of_their_own_are_measured_so() -> None:
    ours, theirs = (
        Geometric(Split(3), 1, max_sizes=sizes).measure(truth, Seeded("folded"))
        for sizes, truth in ((None, TRUTH.folded(SIZES)), (SIZES, TRUTH))
    )
    assert frozen(ours) == frozen(theirs)
    assert ours.sizes.max_sizes == SIZES
    assert ours.view == Split(3)
    assert [len(ours.row(region)) for region in range(7)] == [3 + n for n in TRUTH.totals]


def test_thresholds_of_the_noisy_root() -> None:
    """The numbers of sizes below the last class that expect more than half a group; whole views from K on."""
    step = Geometric(SplitByRoot(), 2, ("1/5", "2/5", "2/5"), max_sizes=SIZES)
    for seed in range(5):
        found = step.measure(TRUTH, Seeded(seed))
        shape = shape_of_noisy(found.row(0), int(found.totals[0]))
        assert found.view_of(0) is View.CUMULATIVE
        for region in range(1, TREE.n_regions):
            largest = found.max_size_of(region)
            columns = sum(bool(found.totals[region] * p > 0.5) for p in shape[:largest])
            assert found.view_of(region) == Split(columns).on(largest)


@pytest.mark.parametrize("post", [Matching(), Matching(partitions=True)], ids=repr)
def test_releases_satisfy_the_four_conditions(post: PostProcess) -> None:
    rng = rng_of(73)
    for i in range(scale(8, 100)):
        truth = CountOfCounts(TREE, rng.integers(0, 6, (4, 10)) * (rng.random((4, 10)) < 0.5), f"set {i}")
        views = tuple(Split(int(rng.integers(0, 9))) for _ in range(7))
        view = (SplitByRoot(), Split(2), MIXED, views)[i % 4]
        result = Mechanism(Geometric(view, "1/2", max_sizes=SIZES), post).release(truth, Seeded("four", i))
        assert result.certificate is not None
        assert not any(result.certificate.violations.values())
        assert result.estimate.sizes.max_sizes == SIZES
        assert result.estimate.counts().totals.tolist() == truth.totals.tolist()


def test_without_noise_the_truth_comes_back() -> None:
    for split in (Split(0), Split(2), Split(4), Split(5)):
        found = Mechanism(Geometric(split, 10**9, max_sizes=SIZES), Matching()).release(TRUTH, Seeded(0)).estimate
        for ours, theirs in zip(found.counts().tables, TRUTH.folded(SIZES).tables, strict=True):
            assert np.array_equal(ours, theirs)


def test_tables_figures_and_texts() -> None:
    noisy = Geometric(Split(4), 1, max_sizes=SIZES).measure(TRUTH, Seeded("frame"))
    assert len(noisy.to_frame()) == sum(len(noisy.row(region)) for region in range(7))
    assert noisy.views == (Split(4), Split(4), View.CUMULATIVE)
    assert np.size(noisy.plot(("US", "MI")).axes[0].lines[0].get_ydata()) == 8
    assert "sizes 0..9 / 0..7 / 0..4" in repr(noisy)
    by_rho = Noise(Split(3), Rho("1/2"), max_sizes=SIZES).measure(TRUTH, Seeded("rho"), Ledger(Rho("1/2")))
    assert by_rho.sizes.max_sizes == SIZES
    with pytest.raises(PgsrError, match="need 46 of them"):
        replace(noisy, views=(View.CUMULATIVE,))


def test_refusals() -> None:
    noisy = Geometric(Split(3), 1, max_sizes=SIZES).measure(TRUTH, Seeded("gate"))
    for entry in METHODS:
        method = entry.method
        if not isinstance(method, Method):
            reason = method.supports(noisy)
            if reason is None:
                assert method.apply(noisy).estimate is not None
                assert isinstance(method, Matching)
                continue
            with pytest.raises(PgsrError, match=re.escape(reason)):
                method.apply(noisy)
    assert "one largest size for all levels" in (TwoStage().supports(noisy) or "")
    for state in (Problem.m_c, Problem.isotonic, Problem.m_h, band):
        with pytest.raises(PgsrError, match=r"max_sizes|measurement is of Split\(3\)"):
            state(noisy)
    with pytest.raises(PgsrError, match="share of 0"):
        Geometric(Split(3), 1, (0, "1/2", "1/2"), max_sizes=SIZES).measure(TRUTH, Seeded(0))
    with pytest.raises(PgsrError, match="totals by level are public"):
        Geometric(Split(3), 1, totals="noisy", max_sizes=SIZES).measure(TRUTH, Seeded(0))
    with pytest.raises(
        PgsrError, match=r"tables with sizes per level are those of counts .* not of \(View.COUNTS, Split"
    ):
        Geometric((View.COUNTS, Split(3), Split(3)), 1, max_sizes=SIZES).measure(TRUTH, Seeded(0))
    with pytest.raises(PgsrError, match=r"not of Split\(3\); give View.COUNTS or View.CUMULATIVE"):
        Geometric(Split(3), 1).noisy_tables(TRUTH.folded(SIZES), Seeded(0), "nation")
