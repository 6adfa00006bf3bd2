"""A folder tells whether its noise has the stated scale, wherever something was measured twice."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of, scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data.views import cumulative
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.laws.shapes import GaussianShape, GeometricShape, Shape
from pgsr.privacy.random import StreamId
from pgsr.release.checks.noise_law import (
    FACTORS,
    FALSE_ALARM,
    SumLaw,
    _is_found,
    families,
    judge,
    probability_beyond,
)
from pgsr.release.checks.noise_residuals import ResidualFamily, measured_below

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(2 + i)])
TRUTH = CountOfCounts(TREE, rng_of(7).poisson(4, (TREE.leaves.stop - TREE.leaves.start, 31)), "d")
RAGGED = Hierarchy.from_paths(
    [*(("US", f"s{i}", f"c{j}") for i in range(8) for j in range(3)), ("US", "DC")], pad_ragged=True
)


@pytest.fixture(autouse=True)
def every_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the law of a sum once per test: hundreds of judgements there ask for the same ones."""
    known: dict[tuple, np.ndarray] = {}

    def once(sizes: np.ndarray, parts: list[tuple[Shape, int]]) -> np.ndarray:
        asked = (sizes.tobytes(), *parts)
        if asked not in known:
            known[asked] = probability_beyond(sizes, parts)
        return known[asked].copy()

    monkeypatch.setattr("pgsr.release.checks.noise_law.probability_beyond", once)


def stated(*scales: float) -> tuple[Law | None, ...]:
    """The laws of these scales, root first; 0 where nothing is measured."""
    return tuple(DoubleGeometric(Fraction(b)) if b else None for b in scales)


def by_convolution(parts: list[tuple[Shape, int]], reach: int = 4_000) -> np.ndarray:
    """P(|R| <= m) for m = 0..reach, by adding up all pairs of values."""
    values = np.arange(-reach, reach + 1)
    law = (values == 0).astype(float)
    for shape, n in parts:
        if isinstance(shape, GeometricShape):
            one = np.exp(-np.abs(values) / shape.scale)
        else:
            assert isinstance(shape, GaussianShape)
            one = np.exp(-(values.astype(float) ** 2) / (2 * shape.sigma**2))
        one /= one.sum()
        for _ in range(n):
            law = np.convolve(law, one, "same")
    return np.cumsum(np.concatenate([[law[reach]], law[reach + 1 :] + law[:reach][::-1]]))


GEOMETRIC = [
    [(0.1, 1)],
    [(3.0, 1)],
    [(60.0, 1)],
    [(0.2, 2)],
    [(3.0, 2)],
    [(60.0, 2)],
    [(3.0, 1), (12.0, 3)],
    [(9.0, 31)],
]


@pytest.mark.few(6)
@pytest.mark.parametrize("parts", GEOMETRIC, ids=str)
@pytest.mark.parametrize("shapes", [(GeometricShape,), (GaussianShape,), (GaussianShape, GeometricShape)], ids=len)
def test_the_law_of_a_sum_equals_convolution(shapes, parts):
    at = np.array([0, 1, 2, 5, 17, 60, 200, 700])
    asked = [(shapes[place % len(shapes)](size), n) for place, (size, n) in enumerate(parts)]
    np.testing.assert_allclose(1 - probability_beyond(at, asked), by_convolution(asked)[at], atol=1e-11)


def test_bins_have_the_probabilities_of_the_law():
    law = SumLaw((1, 4), stated(6, 3))
    exact = by_convolution([(GeometricShape(6.0), 1), (GeometricShape(3.0), 4)])
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


@pytest.mark.slow
@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE], ids=str)
def test_false_alarms_are_as_rare_as_stated(view, totals):
    """The evidence has mean 1 at most, so it is above 10^9 with chance 10^-9."""
    tree = Hierarchy.from_paths([("US", f"s{i}") for i in range(5)])
    truth = CountOfCounts(tree, np.ones((5, 8), np.int64), "d")
    noise = Geometric(view, 2, totals=totals, totals_share="1/2")
    scales = stated(*(view.sensitivity / level for level in noise.budget(2).levels))
    found = [judge(noise.measure(truth, Seeded("null", i)), scales).evidence for i in range(scale(150, 2_000))]
    evidence = np.exp(found)
    assert max(found) < -np.log(FALSE_ALARM)
    assert evidence.mean() < 1 + 5 * evidence.std() / np.sqrt(len(evidence))


@pytest.mark.parametrize("claimed", ["1/10", "1", "10"])
@pytest.mark.parametrize("true", ["1/10", "1", "10", "1000000"])
@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE], ids=str)
@pytest.mark.few(3)
def test_a_false_epsilon_is_found(view, totals, true, claimed):
    """Also noise that is none at all (epsilon a million)."""
    noisy = Geometric(view, true, totals=totals).measure(TRUTH, Seeded("k"))
    share = Fraction(9, 10) if totals == "noisy" else 1
    verdict = judge(noisy, (DoubleGeometric(3 * view.sensitivity / (share * Fraction(claimed))),) * 3)
    assert verdict.refuted == (true != claimed)
    assert (verdict.most or 9) < 1.7
    assert (verdict.least or 0) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("wrong", range(3))
def test_one_level_s_false_share_is_found(wrong):
    noisy = Geometric(View.COUNTS, 3).measure(TRUTH, Seeded("k"))
    scales = [2.0, 2.0, 2.0]
    assert not judge(noisy, stated(*scales)).refuted
    scales[wrong] = 100.0  # few values are known twice above, so a small lie is not found
    assert judge(noisy, stated(*scales)).refuted


@pytest.mark.slow
def test_the_stated_power_is_had():
    """Epsilons just beyond those that would be found are found, nearly always."""
    right = judge(Geometric(View.CUMULATIVE, 3).measure(TRUTH, Seeded("k")), stated(1, 1, 1))
    assert not right.refuted
    for times in (right.most, right.least):
        # The true epsilon is `times` the stated one: scale 1 is drawn, scale `times` is stated.
        found = [
            judge(Geometric(View.CUMULATIVE, 3).measure(TRUTH, Seeded("k", i)), stated(*(times,) * 3)).refuted
            for i in range(30)
        ]
        assert sum(found) >= 29, times


def test_one_value_far_off_is_enough():
    """A single public total that is 60 scales away, as where counts are passed off for cumulative counts."""
    noise = Geometric(View.CUMULATIVE, 1, (0, 0, 1), totals="root")
    noisy = Geometric(View.CUMULATIVE, 3, totals="root").measure(TRUTH, Seeded("k"))
    assert not judge(noisy, stated(1, 1, 1)).refuted
    values = noisy.matrix.copy()
    values[0, -1] += 60
    noisy = replace(noisy, cells=values.ravel())
    assert judge(noisy, stated(1, 1, 1)).refuted
    assert judge(noise.measure(TRUTH, Seeded("k")), stated(0, 0, 1)).n_values == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(("leaves", "epsilon"), [(300, 20), (1_000, 30), (300, 6)])
def test_the_stated_power_is_had_where_the_noise_is_small(leaves, epsilon):
    """Scales below 1, where nearly all noise is 0 and a stretched law would be wrong."""
    tree = Hierarchy.from_paths([("US", f"c{i}") for i in range(leaves)])
    truth = CountOfCounts(tree, np.full((leaves, 21), 5), "d")
    laws = stated(4 / epsilon, 4 / epsilon)
    right = judge(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("k")), laws)
    assert not right.refuted
    for times in filter(None, (right.most, right.least)):
        if times * epsilon > 1_000:
            continue
        other = Fraction(epsilon) * Fraction(times).limit_denominator(1000)
        found = [judge(Geometric(View.COUNTS, other).measure(truth, Seeded("k", i)), laws).refuted for i in range(10)]
        assert sum(found) >= 9, (times, found)


def test_leaves_alone_are_judged_by_their_public_totals():
    noise = Geometric(View.CUMULATIVE, "1/2", (0, 0, 1), totals="regions")
    noisy = noise.measure(TRUTH, Seeded("k"))
    assert not judge(noisy, stated(0, 0, 2)).refuted
    assert judge(noisy, stated(0, 0, 20)).refuted
    assert judge(noisy, stated(0, 0, 2)).n_values == TREE.leaves.stop - TREE.leaves.start


def test_too_little_is_known_twice():
    tree = Hierarchy.from_paths([("US", "a"), ("US", "b")])
    truth = CountOfCounts(tree, np.ones((2, 3), np.int64), "d")
    leaves = Geometric(View.COUNTS, 1, (0, 1), totals="root").measure(truth, Seeded("k"))
    verdict = judge(leaves, stated(0, 2))
    assert verdict.n_values == 0
    assert not verdict.can_tell
    assert judge(Geometric(View.COUNTS, 1).measure(truth, Seeded("k")), stated(4, 4)).most is None


@pytest.mark.slow
@pytest.mark.parametrize("sigma_squared", ["1/4", "5/2", "400"])
def test_gaussian_noise_is_told_from_another_sigma(sigma_squared):
    """Also from wider double geometric noise and from none at all; its own law is not refuted."""
    measured = Geometric(View.CUMULATIVE, 3, totals="root").measure(TRUTH, Seeded("k"))
    law = DiscreteGaussian(Fraction(sigma_squared))
    values = cumulative(TRUTH.counts)
    law.add_to(values, Seeded("gaussian").stream(StreamId("d", "cumulative", 0, ())))
    noisy = replace(measured, cells=values.ravel())
    assert not judge(noisy, (law,) * 3).refuted
    assert judge(noisy, (law,) * 3).can_tell
    for factor in ("1/2", "3/2"):
        assert judge(noisy, (DiscreteGaussian(law.sigma_squared * Fraction(factor) ** 2),) * 3).refuted
    assert judge(noisy, stated(*(2 * law.deviation,) * 3)).refuted
    exact = replace(measured, cells=cumulative(TRUTH.counts).ravel())
    assert judge(exact, (DiscreteGaussian(Fraction(25)),) * 3).refuted


class EvenLaw:
    """The law of a residual in ten bins, none of which tells the alternative from the statement better than others."""

    null = np.full(10, 0.1)

    def alternative(self, factors: np.ndarray) -> np.ndarray:
        return (1 + factors[0]) * self.null

    def law(self, _factors: np.ndarray) -> np.ndarray:
        return self.null


@pytest.mark.parametrize("factor", FACTORS)
def test_evidence_without_spread_is_found_by_its_mean(factor):
    """The variance of equal ratios is 0; computed as a difference of squares it may be below, which has no root."""
    kind = (1,)
    family = ResidualFamily("even", {kind: np.zeros(10_000, np.int64)})
    assert _is_found(family, {kind: EvenLaw()}, factor, 0.0) == (10_000 * np.log1p(factor) >= -np.log(FALSE_ALARM))
