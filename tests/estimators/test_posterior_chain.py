"""Forward-backward against brute force over all non-decreasing vectors, and against plain dictionaries."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, lgamma

import naive
import numpy as np
import pytest
from instances import rng_of
from scipy.stats import chi2

from pgsr import CountOfCounts, Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View, cumulative, ranked
from pgsr.estimators import Posterior
from pgsr.estimators.posterior.evidence import SETTLED, Evidence
from pgsr.estimators.posterior.likelihood import Likelihood
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law

SHAPE = 7.0


def negative_binomial(x: int, mean: float, shape: float) -> float:
    p = mean / (shape + mean)
    return exp(lgamma(shape + x) - lgamma(shape) - lgamma(x + 1)) * p**x * (1 - p) ** shape


def likelihood(evidence: Evidence, counts: np.ndarray) -> float:
    """Written out from the law of the noise: P(noisy - true) over all measured values."""
    return chance(evidence.law, (evidence.values - vector(evidence.view, counts))[: evidence.measured])


def vector(view: AnyView, counts: np.ndarray) -> np.ndarray:
    """What is measured of one region, without noise."""
    if isinstance(view, Split):
        return np.array(naive.split_view(ranked(counts).tolist(), view.threshold), np.int64)
    return {View.COUNTS: np.copy, View.CUMULATIVE: cumulative, View.RANKED: ranked}[view](counts)


def chance(law: Law, noise: np.ndarray) -> float:
    """P(noise), up to a constant, by the formulas of the two laws."""
    if isinstance(law, DoubleGeometric):
        return exp(-float(np.abs(noise).sum() / law.scale))
    assert isinstance(law, DiscreteGaussian)
    return exp(-float((noise**2).sum() / (2 * law.sigma_squared)))


def by_enumeration(evidence: Evidence, mu: np.ndarray) -> list[dict[int, float]]:
    """P(c[s] = c | y) for every s, by adding up over all vectors of counts."""
    n = evidence.n_sizes
    found: list[dict[int, float]] = [{} for _ in range(n)]
    totals = [evidence.total] if evidence.total is not None else range(evidence.most + 1)
    for total in totals:
        for inner in combinations_with_replacement(range(total + 1), n - 1):
            c = np.array([*inner, total])
            counts = np.diff(c, prepend=0)
            mass = likelihood(evidence, counts)
            for x, mean in zip(counts, mu, strict=True):
                mass *= negative_binomial(int(x), mean, SHAPE)
            for s in range(n):
                found[s][int(c[s])] = found[s].get(int(c[s]), 0.0) + mass
    return found


def by_dictionaries(evidence: Evidence, mu: np.ndarray) -> list[dict[int, float]]:
    """The same by forward-backward over all states 0..G without windows or cuts; cumulative counts and counts."""
    n, most = evidence.n_sizes, evidence.most

    def weight(s: int, c: int) -> float:
        if evidence.view is View.CUMULATIVE and s < evidence.measured:
            return chance(evidence.law, evidence.values[s : s + 1] - c)
        return float(s < n - 1 or evidence.total is None or c == evidence.total)

    def step(s: int, x: int) -> float:
        seen = chance(evidence.law, evidence.values[s : s + 1] - x) if evidence.view is View.COUNTS else 1.0
        return seen * negative_binomial(x, mu[s], SHAPE)

    forward = [{c: weight(0, c) * step(0, c) for c in range(most + 1)}]
    for s in range(1, n):
        before = forward[-1]
        forward.append(
            {c: weight(s, c) * sum(before[c - x] * step(s, x) for x in range(c + 1)) for c in range(most + 1)}
        )
    if evidence.total is not None:
        forward[-1] = {c: mass * (c == evidence.total) for c, mass in forward[-1].items()}
    backward = dict.fromkeys(range(most + 1), 1.0)
    found = [{}] * n
    for s in range(n - 1, -1, -1):
        found[s] = {c: forward[s][c] * backward[c] for c in backward}
        after = {c: weight(s, c) * backward[c] * (s < n - 1 or forward[s][c] > 0) for c in backward}
        backward = {c: sum(step(s, x) * after[c + x] for x in range(most - c + 1)) for c in range(most + 1)}
    return found


def assert_same_posterior(
    evidence: Evidence, mu: np.ndarray, expected: list[dict[int, float]], tolerance: float
) -> None:
    wide = np.full(evidence.n_sizes, float(evidence.most + 1))
    found = evidence.marginals(evidence.pilot().astype(float), wide, mu, np.full(len(mu), SHAPE), 1e-9)
    for s, masses in enumerate(expected):
        total = sum(masses.values())
        mean = sum(c * mass for c, mass in masses.items()) / total
        second = sum(c * c * mass for c, mass in masses.items()) / total
        assert found.mean[s] == pytest.approx(mean, abs=tolerance)
        assert found.variance[s] == pytest.approx(second - mean**2, abs=10 * tolerance)
        below = np.cumsum([masses.get(c, 0.0) for c in range(evidence.most + 1)]) / total
        assert below[found.median[s]] >= 0.5 - 1e-9
        assert found.median[s] == 0 or below[found.median[s] - 1] <= 0.5 + 1e-9
    assert (np.diff(found.median) >= 0).all()
    assert found.step_variance[0] == found.variance[0]


def made(view: AnyView, n_sizes: int, total: int, law: Law, public: bool, rng: np.random.Generator) -> Evidence:
    """Noisy values of random groups."""
    counts = rng.multinomial(total, rng.dirichlet(np.full(n_sizes, 0.5)))
    values = vector(view, counts).astype(np.int64)
    noise = np.arange(-200, 201)
    masses = np.array([chance(law, noise[i : i + 1]) for i in range(len(noise))])
    values += rng.choice(noise, len(values), p=masses / masses.sum())
    measured = len(values) - (view is View.CUMULATIVE and public)
    return Evidence(view, values, measured, law, total if public else None, total if public else total + 4, n_sizes)


def test_variances_of_counts() -> None:
    """Var x[s] by adding up over all vectors."""
    rng = rng_of(9)
    for view, law in product(
        (*View, Split(1), Split(2)), (DoubleGeometric(Fraction(2)), DiscreteGaussian(Fraction(7, 2)))
    ):
        evidence = made(view, 4, 5, law, True, rng)
        mu = rng.exponential(2.0, 4) + 0.05
        sums = np.zeros((3, 4))
        for inner in combinations_with_replacement(range(6), 3):
            counts = np.diff([*inner, 5], prepend=0)
            mass = likelihood(evidence, counts) * np.prod(
                [negative_binomial(int(x), mean, SHAPE) for x, mean in zip(counts, mu, strict=True)]
            )
            sums += mass * np.stack([np.ones(4), counts, counts**2])
        expected = sums[2] / sums[0] - (sums[1] / sums[0]) ** 2
        found = evidence.marginals(evidence.pilot().astype(float), np.full(4, 9.0), mu, np.full(len(mu), SHAPE), 1e-9)
        assert found.step_variance == pytest.approx(expected, abs=1e-8)


LAWS = [
    *(DoubleGeometric(scale) for scale in (Fraction(1, 2), Fraction(3))),
    *(DiscreteGaussian(variance) for variance in (Fraction(1, 5), Fraction(2), Fraction(50))),
]

SPLITS = [Split(threshold) for threshold in range(3)]
CASES = [(view, True) for view in (*View, *SPLITS)] + [(View.CUMULATIVE, False)]


@pytest.mark.few(5)
@pytest.mark.parametrize(("view", "public"), CASES)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_equals_brute_force(view: AnyView, public: bool, law: Law) -> None:
    rng = rng_of(5)
    for _ in range(6):
        least = view.threshold + 2 if isinstance(view, Split) else 2
        evidence = made(view, int(rng.integers(least, 5)), int(rng.integers(1, 7)), law, public, rng)
        mu = rng.exponential(2.0, evidence.n_sizes) + 0.05
        assert_same_posterior(evidence, mu, by_enumeration(evidence, mu), 1e-9)


@pytest.mark.parametrize(("view", "public"), [case for case in CASES if case[0] in (View.COUNTS, View.CUMULATIVE)])
@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(2)), DiscreteGaussian(Fraction(9))], ids=str)
def test_equals_plain_dictionaries(view: View, public: bool, law: Law) -> None:
    rng = rng_of(6)
    for total in (1, 12, 30):
        evidence = made(view, 9, total, law, public, rng)
        mu = rng.exponential(3.0, evidence.n_sizes) + 0.01
        assert_same_posterior(evidence, mu, by_dictionaries(evidence, mu), 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("view", [*View, Split(1), Split(2)])
@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(1)), DiscreteGaussian(Fraction(3, 2))], ids=str)
def test_draws_have_the_posterior_law(view: AnyView, law: Law) -> None:
    """Frequencies of whole vectors against brute force, in a chi-square test of level 1e-6."""
    rng = rng_of(10)
    evidence = made(view, 4, 4, law, True, rng)
    mu, shapes = rng.exponential(1.0, 4) + 0.2, np.full(4, SHAPE)
    found = evidence.marginals(evidence.pilot().astype(float), np.full(4, 9.0), mu, shapes, 1e-9)
    n = 200_000
    draws = evidence.draws(found, rng.random((n, 4)))
    masses = {}
    for inner in combinations_with_replacement(range(5), 3):
        counts = np.diff([*inner, 4], prepend=0)
        prior = [negative_binomial(int(x), mean, SHAPE) for x, mean in zip(counts, mu, strict=True)]
        masses[*inner, 4] = likelihood(evidence, counts) * float(np.prod(prior))
    total = sum(masses.values())
    seen, times = np.unique(draws, axis=0, return_counts=True)
    assert set(map(tuple, seen)) <= set(masses)
    often = {tuple(vector): count for vector, count in zip(seen.tolist(), times, strict=True)}
    pairs = [(often.get(v, 0), n * mass / total) for v, mass in masses.items() if n * mass / total >= 10]
    statistic = sum((count - expected) ** 2 / expected for count, expected in pairs)
    assert chi2.sf(statistic, len(pairs)) > 1e-6


@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(6)), DiscreteGaussian(Fraction(70))], ids=str)
def test_narrow_windows_are_widened(law: Law) -> None:
    """Begun far from the truth and far too narrow, the answer is that of all states."""
    rng = rng_of(7)
    evidence = made(View.CUMULATIVE, 12, 400, law, True, rng)
    mu = np.full(12, 400 / 12)
    wide = evidence.marginals(evidence.pilot().astype(float), np.full(12, 401.0), mu, np.full(len(mu), SHAPE), 1e-9)
    narrow = evidence.marginals(
        np.clip(evidence.pilot() + 30.0, 0, 400), np.full(12, 2.0), mu, np.full(len(mu), SHAPE), 1e-9
    )
    assert np.abs(wide.mean - narrow.mean).max() < 1e-5


LAW = DoubleGeometric(Fraction(2))
VIEWS = (View.CUMULATIVE, View.COUNTS, View.RANKED, Split(3))


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_settled_sizes_have_the_posterior_that_all_windows_find(view: AnyView) -> None:
    """From the size on that moments tell, all groups have been counted: the posterior is that of before."""
    rng = rng_of(13)
    counts, mu = np.array([3, 60, 25, 0, 1, *[0] * 35]), np.append([3.0, 60, 25, 2, 1], np.geomspace(1e-2, 1e-15, 35))
    noisy = vector(view, counts).astype(np.int64)
    noisy += rng.integers(-2, 3, len(noisy))
    evidence = Evidence(view, noisy, len(noisy) - (view is View.CUMULATIVE), LAW, 89, 89, 40)
    about = evidence.pilot().astype(float), np.full(40, 60.0), mu, np.full(40, SHAPE), 1e-9
    whole = evidence.marginals(*about)
    settled = evidence.settled(whole.mean, whole.variance)
    assert 5 <= settled < 39
    assert whole.variance[settled] <= SETTLED < whole.variance[settled - 1]
    found = evidence.marginals(*about, settled)
    for name, value in vars(whole).items():
        np.testing.assert_allclose(getattr(found, name), value, atol=1e-8, err_msg=name)
    assert (found.variance[settled:] == 0).all()


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_sizes_that_are_not_settled_are_found_out(view: AnyView) -> None:
    """Told that all groups are small where one or two are large, windows are widened until they hold them."""
    for large in ([30], [20, 35]):
        counts = np.bincount([1] * 50 + [2] * 20 + large, minlength=40)
        noisy = vector(view, counts).astype(np.int64)
        evidence = Evidence(view, noisy, len(noisy) - (view is View.CUMULATIVE), LAW, counts.sum(), counts.sum(), 40)
        about = evidence.pilot().astype(float), np.full(40, 30.0), counts + 0.01, np.full(40, SHAPE), 1e-9
        whole, wrong = evidence.marginals(*about), evidence.marginals(*about, 5)
        assert whole.mean[10] < counts.sum() - 0.5
        np.testing.assert_allclose(wrong.mean, whole.mean, atol=1e-8)
        assert wrong.log_evidence == pytest.approx(whole.log_evidence)


def test_the_powers_of_gaussian_noise() -> None:
    """coarse[j] fine[i] is base^(i + j n), from 1 down to less than 1e-290, with a relative error below 1e-9."""
    for variance in (Fraction(1, 100), Fraction(5, 2), Fraction(10**4), Fraction(10**6)):
        found = Likelihood.of(DiscreteGaussian(variance), 10)
        n, exponent = len(found.fine), 1 / (2 * float(variance))
        for i, j in product((0, 1, n // 2, n - 1), (0, 1, len(found.coarse) // 2, len(found.coarse) - 1)):
            assert found.coarse[j] * found.fine[i] == pytest.approx(exp(-exponent * (i + j * n)), rel=1e-9, abs=1e-305)
        assert found.coarse[-1] * found.fine[-1] < 1e-290


def test_what_ranks_weigh_beyond_a_threshold() -> None:
    """The same identity for what groups have beyond a threshold, of the largest ranks alone."""
    rng = rng_of(11)
    for _ in range(200):
        top, n = int(rng.integers(1, 8)), int(rng.integers(1, 9))
        threshold, ranks = int(rng.integers(0, top)), int(rng.integers(1, n + 1))
        sizes = np.sort(rng.integers(0, top + 1, n))
        beyond = np.maximum(sizes - threshold, 0)[n - ranks :]
        noisy = rng.integers(-3, top + 4, ranks)
        c = np.searchsorted(sizes, np.arange(top), side="right") - (n - ranks)
        c = np.maximum(c, 0)
        wrong = sum(
            int((noisy[: c[s]] > s - threshold).sum() + (noisy[c[s] :] <= s - threshold).sum())
            for s in range(threshold, top)
        )
        outside = np.abs(noisy - np.clip(noisy, 0, top - threshold)).sum()
        assert np.abs(noisy - beyond).sum() == wrong + outside


@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(3)), DiscreteGaussian(Fraction(7))], ids=str)
def test_both_ends_of_the_threshold_are_the_plain_views(law: Law) -> None:
    """The posterior of a split at 0 is that of ranked sizes, that of a split at K of cumulative counts, bit by bit."""
    rng = rng_of(12)
    for view, split in ((View.RANKED, Split(0)), (View.CUMULATIVE, Split(7))):
        plain = made(view, 8, 25, law, True, rng)
        values = plain.values[: plain.measured]
        other = Evidence(split, values, len(values), law, plain.total, plain.most, 8)
        mu, shapes = rng.exponential(3.0, 8) + 0.05, np.full(8, SHAPE)
        assert np.array_equal(other.pilot(), plain.pilot())
        about = plain.pilot().astype(float), np.full(8, 9.0), mu, shapes, 1e-9
        for name, value in vars(plain.marginals(*about)).items():
            assert np.array_equal(value, getattr(other.marginals(*about), name))


def test_the_evidence_of_rows_is_counted_from_states_nearby() -> None:
    """Half of the noisy rows of 20,000 groups of one size are above it, and the regression of all of them is not."""
    truth = CountOfCounts(Hierarchy.from_parents(["US"], [-1]), [[0, 30, 20_000, 9, 4, 1, 0, 2]])
    measurement = Geometric(Split(1), "1/10", totals="regions").measure(truth, Seeded("anchor"))
    evidence = Evidence.of(measurement, 0)
    found = Posterior().marginals(measurement)
    assert (np.abs(evidence.pilot() - found.mean[0]) < 2_000).all()


def test_a_prior_that_contradicts_the_noisy_values_gives_way() -> None:
    """Large counts where the prior expects next to none: windows of millions of states would follow."""
    counts = np.repeat([90_000, 0], [40, 50])
    noisy = np.cumsum(counts) + rng_of(40).integers(-4, 5, 90)
    evidence = Evidence(
        View.CUMULATIVE, noisy, 89, DoubleGeometric(Fraction(2)), int(counts.sum()), int(counts.sum()), 90
    )
    wrong, shape = np.roll(counts, 20) + 0.001, np.full(90, 93.0)
    found = evidence.marginals(evidence.pilot().astype(float), np.full(90, 12.0), wrong, shape, 1e-9)
    assert np.abs(found.mean - np.cumsum(counts)).max() < 6
    changed = found.prior_mean != wrong
    assert np.flatnonzero(changed).tolist() == [*range(20), *range(40, 60)], "only where the prior is off"
    again = evidence.marginals(found.mean, np.full(90, 40.0), found.prior_mean, shape, 1e-9)
    assert found.log_evidence < again.log_evidence - 1e6, "that of the prior that was asked for, not of the one in use"
    np.testing.assert_allclose(again.mean, found.mean, atol=1e-6)
    drawn = evidence.draws(found, rng_of(41).random((20, 90)))
    assert np.abs(drawn - found.mean).max() < 40
