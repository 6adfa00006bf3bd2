"""The posterior release: always valid, whatever was measured; closer than the papers' releases on fresh noise."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from instances import FULL, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, Status, View
from pgsr.certificates.conditions import broken_conditions
from pgsr.datasets import census_like
from pgsr.estimators import BottomUp, Matching, Posterior
from pgsr.estimators.posterior.prior_fit import learn
from pgsr.methods import metrics
from pgsr.methods.gate import NO_LIMIT
from pgsr.noise import Geometric, Noise, SplitByRoot
from pgsr.privacy import Rho, Seeded


def small(rng: np.random.Generator, n_sizes: int = 7) -> CountOfCounts:
    """Make random groups in a tree of three levels."""
    tree = Hierarchy.from_paths([("r", f"a{i}", f"b{j}") for i in range(3) for j in range(rng.integers(1, 5))])
    leaves = rng.poisson(rng.exponential(4.0, n_sizes), (tree.n_regions - tree.n_inner, n_sizes))
    return CountOfCounts(tree, tree.sum_up(leaves))


@pytest.mark.few(1)
@pytest.mark.parametrize("view", [*View, SplitByRoot()])
@pytest.mark.parametrize("totals", ["regions", "noisy", "root"])
@pytest.mark.parametrize("shares", [None, ("1/4", "0", "3/4"), ("0", "0", "1")])
def test_every_release_is_valid(view: View, totals: str, shares: tuple[str, ...] | None) -> None:
    rng = rng_of(21)
    for seed in range(3):
        truth = small(rng)
        if totals == "root" and view is not View.CUMULATIVE:
            continue
        noisy = Geometric(view, "2", shares=shares, totals=totals).measure(truth, Seeded(f"valid {seed}"))
        result = Posterior().apply(noisy)
        assert result.status is Status.FEASIBLE
        assert not any(broken_conditions(noisy, result.estimate).values())


PADDED = Hierarchy.from_paths([("r", "a"), ("r", "b", "c"), ("r", "b", "d")], pad_ragged=True)
PAIR, ALONE = Hierarchy.from_parents(["r", "a", "b"], [-1, 0, 0]), Hierarchy.from_parents(["r"], [-1])


@pytest.mark.parametrize(
    ("truth", "view"),
    [
        (small(rng_of(22)), (View.CUMULATIVE, View.RANKED, View.COUNTS)),
        (CountOfCounts(PADDED, PADDED.sum_up(np.array([[3, 9, 2], [1, 4, 0], [0, 2, 2]]))), View.CUMULATIVE),
        *((CountOfCounts(PAIR, [[0, 0], [0, 0]]), view) for view in (View.CUMULATIVE, View.RANKED)),
        *((CountOfCounts(PAIR, [[5, 0], [0, 0]]), view) for view in (View.CUMULATIVE, View.RANKED)),
        *((CountOfCounts(ALONE, [[3, 40, 20, 9, 1, 0, 0]]), view) for view in (View.CUMULATIVE, View.RANKED)),
    ],
)
def test_trees_and_tables_of_every_kind(truth: CountOfCounts, view) -> None:
    """Views that differ by level, copies of a leaf that ends early, empty regions, and a root that is a leaf."""
    for totals in ("regions", "noisy", "root") if view is View.CUMULATIVE else ("regions",):
        noisy = Geometric(view, 2, totals=totals).measure(truth, Seeded("kinds"))
        assert Posterior().apply(noisy).status is Status.FEASIBLE
        assert len(list(Posterior().draws(noisy, 3))) == 3


def test_noise_of_large_quantities_is_known_to_be_larger() -> None:
    truth = small(rng_of(23))
    wide = Geometric(View.CUMULATIVE, 3, max_quantity=4).measure(truth, Seeded("quantity"))
    tight = Geometric(View.CUMULATIVE, Fraction(3)).measure(truth, Seeded("quantity"))
    spread = [Posterior().marginals(noisy).variance.sum() for noisy in (wide, tight)]
    assert spread[0] > 2 * spread[1]


def test_hardly_any_noise_is_no_division_by_zero() -> None:
    truth, epsilon = small(rng_of(24)), 10**9
    for view in View:
        noisy = Geometric(view, epsilon).measure(truth, Seeded("exact"))
        assert np.array_equal(Posterior().apply(noisy).estimate.counts().counts, truth.counts)
    gaussian = Noise(View.COUNTS, Rho(epsilon)).measure(truth, Seeded("exact"))
    assert np.array_equal(Posterior().apply(gaussian).estimate.counts().counts, truth.counts)


@pytest.mark.parametrize("epsilon", [1, 20])
def test_regions_without_a_size_in_common(epsilon: int) -> None:
    """The prior of the tree contradicts each of them at first, so far that it must give way."""
    small, large = np.zeros((2, 51), np.int64)
    small[1:6], large[40:46] = [20_000, 9_000, 5_000, 2_000, 500], [100, 4_000, 9_000, 16_000, 7_000, 300]
    tree = Hierarchy.from_paths([("US", name) for name in "abcd"])
    truth = CountOfCounts(tree, [small, large, small, large])
    result = Posterior().apply(Geometric(View.CUMULATIVE, epsilon).measure(truth, Seeded("apart")))
    assert metrics.emd(truth, result.estimate.counts()).max() < 100 / epsilon


def test_time_limits() -> None:
    noisy = Geometric(View.CUMULATIVE, 1).measure(small(rng_of(26)), Seeded("limits"))
    assert Posterior().apply(noisy, time_limit=1e-9).status is Status.TIMED_OUT


@pytest.mark.slow
def test_closer_than_the_papers_releases_at_every_level() -> None:
    """Equal total epsilon: below top-down matching at equal shares, and below bottom-up with all at the leaves."""
    truth = census_like("counties", 150, 20_000_000) if FULL else census_like("divisions", 150, 100_000)
    for shares, other in ((None, Matching()), (("0", "0", "1"), BottomUp())):
        errors = {Posterior(): [], other: []}
        for seed in range(scale(3, 2)):
            noisy = Geometric(View.CUMULATIVE, 1, shares=shares).measure(truth, Seeded(f"closer {seed}"))
            for method, found in errors.items():
                found.append(metrics.level_means(truth, metrics.emd(truth, method.apply(noisy).estimate)))
        ours, theirs = (np.mean(found, axis=0) for found in errors.values())
        assert (ours < 0.92 * theirs).all(), (ours, theirs)


@pytest.mark.parametrize("totals", ["regions", "root", "noisy"])
@pytest.mark.parametrize("shares", [None, ("1/20", "0", "19/20")])
@pytest.mark.few(1)
def test_a_release_is_the_same_in_blocks_of_any_size(
    totals: str, shares: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bits, and those of the steps one by one, near these in wide windows; the measurement is only read."""
    truth = census_like("divisions", 20, 10_000, seed=27)
    noisy = Geometric(View.CUMULATIVE, 1, shares=shares, totals=totals).measure(truth, Seeded("lean"))
    before = noisy.matrix.copy()
    method, real = Posterior(), Posterior(integer=False).apply(noisy)
    means = np.array(learn(noisy, NO_LIMIT).seen.mean)
    assert np.array_equal(method.together(noisy, means), real.estimate.values)
    assert method.together(noisy, method.marginals(noisy).mean) == pytest.approx(real.estimate.values, abs=0.05)
    once = method.apply(noisy)
    assert once.status is Status.FEASIBLE
    monkeypatch.setattr("pgsr.machine.blocks.BLOCK_CELLS", 50)
    assert np.array_equal(once.estimate.values, method.apply(noisy).estimate.values)
    assert np.array_equal(noisy.matrix, before)


@pytest.mark.slow
def test_the_memory_of_a_release_is_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of draws and of a release; the estimate is at most three times what is used in the first steps."""
    monkeypatch.setattr("pgsr.estimators.posterior.prior_fit.MOST_STEPS", 1)
    asked: list[int] = []
    monkeypatch.setattr("pgsr.machine.memory.require", lambda needed, what: asked.append(needed))
    truth = census_like("states", 400, 300_000, seed=29)
    noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded("memory"))
    peaks = []
    for work in (Posterior().apply, Posterior().marginals):
        asked.clear()
        tracemalloc.start()
        try:
            work(noisy)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert sum(asked) / 3 < peaks[-1] < 1.25 * sum(asked), "a quarter for what threads have by themselves"
    assert peaks[0] < peaks[1]
