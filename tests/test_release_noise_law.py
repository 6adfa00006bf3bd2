"""A folder tells whether its noise has the stated scale, wherever something was measured twice."""

from fractions import Fraction

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
from pgsr.accounting import Rho
from pgsr.laws import DiscreteGaussian, DoubleGeometric
from pgsr.noise import Noise
from pgsr.release.noise_law import FALSE_ALARM, Binned, Sum, families, measured_below
from pgsr.release.noise_law import judge as judged
from pgsr.release.noise_shapes import Gaussian, Shape, probability_beyond
from pgsr.release.noise_shapes import Geometric as Shaped

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(2 + i)])
TRUTH = CountOfCounts(TREE, np.random.default_rng(7).poisson(4, (TREE.leaves.stop - TREE.leaves.start, 31)), "d")
RAGGED = Hierarchy.from_paths(
    [*(("US", f"s{i}", f"c{j}") for i in range(8) for j in range(3)), ("US", "DC")], pad_ragged=True
)


def judge(noisy, scales):
    """Double geometric noise of these scales is stated; 0 where there is none."""
    return judged(noisy, [DoubleGeometric(Fraction(size)) if size else None for size in scales])


@pytest.fixture(autouse=True)
def every_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the law of a sum once per test: hundreds of judgements there ask for the same ones."""
    known: dict[tuple, np.ndarray] = {}

    def once(sizes: np.ndarray, parts: list[tuple[Shape, int, int]]) -> np.ndarray:
        asked = (sizes.tobytes(), *parts)
        if asked not in known:
            known[asked] = probability_beyond(sizes, parts)
        return known[asked].copy()

    monkeypatch.setattr("pgsr.release.noise_law.probability_beyond", once)


def by_convolution(parts: list[tuple[Shape, int]], reach: int = 4_000) -> np.ndarray:
    """P(|R| <= m) for m = 0..reach, by adding up all pairs of values."""
    values = np.arange(-reach, reach + 1)
    law = (values == 0).astype(float)
    for shape, n in parts:
        one = np.exp(-np.abs(values) / shape.scale if isinstance(shape, Shaped) else -((values / shape.sigma) ** 2) / 2)
        one /= one.sum()
        for _ in range(n):
            law = np.convolve(law, one, "same")
    return np.cumsum(np.concatenate([[law[reach]], law[reach + 1 :] + law[:reach][::-1]]))


@pytest.mark.parametrize(
    "parts",
    [
        *([(Shaped(0.1), 1)], [(Shaped(3.0), 1)], [(Shaped(60.0), 1)], [(Shaped(0.2), 2)], [(Shaped(3.0), 2)]),
        *([(Shaped(60.0), 2)], [(Shaped(3.0), 1), (Shaped(12.0), 3)], [(Shaped(9.0), 31)]),
        *(
            [(Gaussian(0.2), 1)],
            [(Gaussian(2.9), 1)],
            [(Gaussian(80.0), 1)],
            [(Gaussian(0.3), 2)],
            [(Gaussian(2.9), 5)],
        ),
        *([(Gaussian(3.1), 3)], [(Gaussian(40.0), 31)], [(Shaped(3.0), 1), (Gaussian(5.0), 4)]),
    ],
    ids=str,
)
def test_the_law_of_a_sum_equals_convolution(parts):
    at = np.array([0, 1, 2, 5, 17, 60, 200, 700])
    ours = probability_beyond(at, [(shape, n, level) for level, (shape, n) in enumerate(parts)])
    np.testing.assert_allclose(1 - ours, by_convolution(parts)[at], atol=1e-11)


def test_bins_have_the_probabilities_of_the_law():
    law = Binned(Sum((1, 4)), (Shaped(6.0), Shaped(3.0)))
    exact = by_convolution([(Shaped(6.0), 1), (Shaped(3.0), 4)])
    np.testing.assert_allclose(law.null, np.diff(exact[law.edges], prepend=0, append=1), atol=1e-11)
    assert law.null.min() > 0
    for factors in ([0.001, 0.001], [0.5, 1.0], [1000.0, 1000.0]):
        assert law.alternative(np.array(factors)).sum() == pytest.approx(1)


def test_residuals_are_noise_alone():
    """They do not change if the truth does."""
    other = CountOfCounts(TREE, TRUTH.counts[TREE.leaves][::-1].copy(), "d")
    for view in (View.COUNTS, View.CUMULATIVE):
        for totals in ("root", "regions"):
            noise = Geometric(view, 1, ("1/2", "1/4", "1/4"), totals=totals)
            ours, theirs = (families(noise.measure(truth, Seeded("k"))) for truth in (TRUTH, other))
            for a, b in zip(ours, theirs, strict=True):
                assert a.residuals.keys() == b.residuals.keys()
                assert all((a.residuals[kind] == b.residuals[kind]).all() for kind in a.residuals)


def test_what_lies_below_a_region():
    measured = ~RAGGED.padded
    below = measured_below(RAGGED, measured)
    names = {f"s{i}" for i in range(8)}
    assert {RAGGED.paths[part][-1] for part in below[0]} == {*names, "DC"}
    assert {RAGGED.level_of[part] for part in below[0]} == {1, 2}, "the copy at the bottom stands for DC"
    measured[RAGGED.level(1)] = False
    assert len(measured_below(RAGGED, measured)[0]) == RAGGED.leaves.stop - RAGGED.leaves.start


@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE], ids=str)
def test_false_alarms_are_as_rare_as_stated(view, totals):
    """The evidence has mean 1 at most, so it is above 10^9 with chance 10^-9."""
    tree = Hierarchy.from_paths([("US", f"s{i}") for i in range(5)])
    truth = CountOfCounts(tree, np.ones((5, 8), np.int64), "d")
    noise = Geometric(view, 2, totals=totals, totals_share="1/2")
    scales = tuple(float(view.sensitivity / level) for level in noise.budget(2).levels)
    found = [judge(noise.measure(truth, Seeded("null", i)), scales).evidence for i in range(scale(300, 5_000))]
    evidence = np.exp(found)
    assert max(found) < -np.log(FALSE_ALARM)
    assert evidence.mean() < 1 + 5 * evidence.std() / np.sqrt(len(evidence))


@pytest.mark.parametrize("stated", ["1/10", "1", "10"])
@pytest.mark.parametrize("true", ["1/10", "1", "10", "1000000"])
@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE], ids=str)
def test_a_false_epsilon_is_found(view, totals, true, stated):
    """Also noise that is none at all (epsilon a million)."""
    noisy = Geometric(view, true, totals=totals).measure(TRUTH, Seeded("k"))
    share = Fraction(9, 10) if totals == "noisy" else 1
    verdict = judge(noisy, (float(3 * view.sensitivity / (share * Fraction(stated))),) * 3)
    assert verdict.refuted == (true != stated)
    assert (verdict.most or 9) < 1.7
    assert (verdict.least or 0) > 0.6


@pytest.mark.parametrize("wrong", range(3))
def test_one_level_s_false_share_is_found(wrong):
    noisy = Geometric(View.COUNTS, 3).measure(TRUTH, Seeded("k"))
    scales = [2.0, 2.0, 2.0]
    assert not judge(noisy, tuple(scales)).refuted
    scales[wrong] = 100.0  # few values are known twice above, so a small lie is not found
    assert judge(noisy, tuple(scales)).refuted


def test_the_stated_power_is_had():
    """Epsilons just beyond those that would be found are found, nearly always."""
    right = judge(Geometric(View.CUMULATIVE, 3).measure(TRUTH, Seeded("k")), (1.0, 1.0, 1.0))
    assert not right.refuted
    for times in (right.most, right.least):
        # The true epsilon is `times` the stated one: scale 1 is drawn, scale `times` is stated.
        found = [
            judge(Geometric(View.CUMULATIVE, 3).measure(TRUTH, Seeded("k", i)), (times,) * 3).refuted for i in range(30)
        ]
        assert sum(found) >= 29, times


def test_one_value_far_off_is_enough():
    """A single public total that is 60 scales away, as where counts are passed off for cumulative counts."""
    noise = Geometric(View.CUMULATIVE, 1, (0, 0, 1), totals="root")
    noisy = Geometric(View.CUMULATIVE, 3, totals="root").measure(TRUTH, Seeded("k"))
    assert not judge(noisy, (1.0, 1.0, 1.0)).refuted
    noisy.matrix[0, -1] += 60
    assert judge(noisy, (1.0, 1.0, 1.0)).refuted
    assert judge(noise.measure(TRUTH, Seeded("k")), (0.0, 0.0, 1.0)).n_values == 0


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(5), Fraction(900)])
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE], ids=str)
def test_gaussian_noise_of_another_width_or_kind_is_found(view, variance):
    """Stated right it is not refuted; wider, narrower or double geometric of the same variance it is."""
    rho = Fraction(2 if view is View.COUNTS else 1) / (2 * variance)
    noisy = Noise(view, Rho(3 * rho), laws="gaussian").measure(TRUTH, Seeded("gauss"))
    stated = DiscreteGaussian(variance)
    verdict = judged(noisy, [stated] * 3)
    assert not verdict.refuted
    assert verdict.can_tell
    for factor in (Fraction(1, 3), Fraction(4)):
        assert judged(noisy, [DiscreteGaussian(variance * factor)] * 3).refuted
    if variance > 1:
        other = DoubleGeometric(Fraction(float(variance / 2) ** 0.5).limit_denominator(100))
        assert judged(noisy, [other] * 3).evidence > verdict.evidence


@pytest.mark.parametrize(("leaves", "epsilon"), [(300, 20), (1_000, 30), (300, 6)])
def test_the_stated_power_is_had_where_the_noise_is_small(leaves, epsilon):
    """Scales below 1, where nearly all noise is 0 and a stretched law would be wrong."""
    tree = Hierarchy.from_paths([("US", f"c{i}") for i in range(leaves)])
    truth = CountOfCounts(tree, np.full((leaves, 21), 5), "d")
    stated = float(4 / epsilon)
    right = judge(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("k")), (stated,) * 2)
    assert not right.refuted
    for times in filter(None, (right.most, right.least)):
        if times * epsilon > 1_000:
            continue
        other = Fraction(epsilon) * Fraction(times).limit_denominator(1000)
        found = [
            judge(Geometric(View.COUNTS, other).measure(truth, Seeded("k", i)), (stated,) * 2).refuted
            for i in range(10)
        ]
        assert sum(found) >= 9, (times, found)


def test_leaves_alone_are_judged_by_their_public_totals():
    noise = Geometric(View.CUMULATIVE, "1/2", (0, 0, 1), totals="regions")
    noisy = noise.measure(TRUTH, Seeded("k"))
    assert not judge(noisy, (0.0, 0.0, 2.0)).refuted
    assert judge(noisy, (0.0, 0.0, 20.0)).refuted
    assert judge(noisy, (0.0, 0.0, 2.0)).n_values == TREE.leaves.stop - TREE.leaves.start


def test_too_little_is_known_twice():
    tree = Hierarchy.from_paths([("US", "a"), ("US", "b")])
    truth = CountOfCounts(tree, np.ones((2, 3), np.int64), "d")
    leaves = Geometric(View.COUNTS, 1, (0, 1), totals="root").measure(truth, Seeded("k"))
    verdict = judge(leaves, (0.0, 2.0))
    assert verdict.n_values == 0
    assert not verdict.can_tell
    assert judge(Geometric(View.COUNTS, 1).measure(truth, Seeded("k")), (4.0, 4.0)).most is None
