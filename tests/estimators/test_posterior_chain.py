"""Forward-backward against brute force over all non-decreasing vectors, and against plain matrices."""

from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, product
from math import exp, lgamma, log

import naive
import numpy as np
import pytest
from instances import rng_of
from scipy.stats import chi2

from pgsr import CountOfCounts, Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View, cumulative, ranked
from pgsr.estimators import Posterior
from pgsr.estimators.posterior.evidence import SETTLED, Evidence, Marginals
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


def vectors(evidence: Evidence, mu: np.ndarray, shape: float = SHAPE) -> list[tuple[np.ndarray, float]]:
    """All vectors of counts, each with its mass under the prior and the noisy values, up to one constant."""
    found = []
    for groups in [evidence.total] if evidence.total is not None else range(evidence.most + 1):
        for inner in combinations_with_replacement(range(groups + 1), evidence.n_sizes - 1):
            counts = np.diff([*inner, groups], prepend=0)
            prior = [negative_binomial(int(x), mean, shape) for x, mean in zip(counts, mu, strict=True)]
            found.append((counts, likelihood(evidence, counts) * float(np.prod(prior))))
    return found


def log_evidence(evidence: Evidence, mu: np.ndarray, shape: float = SHAPE) -> float:
    """The logarithm of P(y, public total), up to a constant."""
    return log(sum(mass for _, mass in vectors(evidence, mu, shape)))


def marginals(evidence: Evidence, mu: np.ndarray, shape: float = SHAPE, width: float | None = None) -> Marginals:
    """What is found, in windows of all states where no width is given."""
    wide = np.full(evidence.n_sizes, evidence.most + 1.0 if width is None else width)
    return evidence.marginals(evidence.pilot().astype(float), wide, mu, np.full(len(mu), float(shape)), 1e-9)


def by_enumeration(evidence: Evidence, mu: np.ndarray) -> list[dict[int, float]]:
    """P(c[s] = c | y) for every s, by adding up over all vectors of counts."""
    found: list[dict[int, float]] = [{} for _ in range(evidence.n_sizes)]
    for counts, mass in vectors(evidence, mu):
        for of_size, c in zip(found, np.cumsum(counts).tolist(), strict=True):
            of_size[c] = of_size.get(c, 0.0) + mass
    return found


def by_matrices(evidence: Evidence, mu: np.ndarray) -> list[dict[int, float]]:
    """The same by products of matrices over all states 0..G, without windows or cuts; cumulative counts and counts."""
    states, steps = range(evidence.most + 1), []
    for s, mean in enumerate(mu):
        of_c = evidence.view is View.CUMULATIVE and s < evidence.measured
        ends = {evidence.total} if s == len(mu) - 1 and evidence.total is not None else states
        seen = [chance(evidence.law, evidence.values[s : s + 1] - x) for x in states] if s < evidence.measured else []
        at = [(seen[c] if of_c else 1.0) * (c in ends) for c in states]
        by = [negative_binomial(x, mean, SHAPE) * (1.0 if of_c or not seen else seen[x]) for x in states]
        steps.append(np.array([[by[c - before] * at[c] if c >= before else 0.0 for c in states] for before in states]))
    forward = [*accumulate(steps, np.matmul, initial=np.eye(len(states))[0])][1:]
    backward = [*accumulate(steps[:0:-1], lambda after, step: step @ after, initial=np.ones(len(states)))][::-1]
    return [dict(enumerate((f * b).tolist())) for f, b in zip(forward, backward, strict=True)]


def assert_same_posterior(
    evidence: Evidence, mu: np.ndarray, expected: list[dict[int, float]], tolerance: float
) -> None:
    found = marginals(evidence, mu)
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
        counts, masses = map(np.array, zip(*vectors(evidence, mu), strict=True))
        share = masses / masses.sum()
        assert marginals(evidence, mu).step_variance == pytest.approx(
            share @ counts**2 - (share @ counts) ** 2, abs=1e-8
        )


@pytest.mark.parametrize(("view", "public"), [case for case in CASES if case[0] in (View.COUNTS, View.CUMULATIVE)])
@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(2)), DiscreteGaussian(Fraction(9))], ids=str)
def test_equals_plain_matrices(view: View, public: bool, law: Law) -> None:
    rng = rng_of(6)
    for total in (1, 12, 30):
        evidence = made(view, 9, total, law, public, rng)
        mu = rng.exponential(3.0, evidence.n_sizes) + 0.01
        assert_same_posterior(evidence, mu, by_matrices(evidence, mu), 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("view", [*View, Split(1), Split(2)])
@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(1)), DiscreteGaussian(Fraction(3, 2))], ids=str)
def test_draws_have_the_posterior_law(view: AnyView, law: Law) -> None:
    """Frequencies of whole vectors against brute force, in a chi-square test of level 1e-6."""
    rng = rng_of(10)
    evidence = made(view, 4, 4, law, True, rng)
    mu, n = rng.exponential(1.0, 4) + 0.2, 60_000
    draws = evidence.draws(marginals(evidence, mu), rng.random((n, 4)))
    masses = {tuple(np.cumsum(counts).tolist()): mass for counts, mass in vectors(evidence, mu)}
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
    begun = np.clip(evidence.pilot() + 30.0, 0, 400), np.full(12, 2.0)
    narrow = evidence.marginals(*begun, mu, np.full(12, SHAPE), 1e-9)
    assert np.abs(marginals(evidence, mu).mean - narrow.mean).max() < 1e-5


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
    settled = evidence.settled(whole.mean, whole.variance, 1e-9)
    assert 5 <= settled < 39
    assert whole.variance[settled] <= SETTLED * 1e-9 < whole.variance[settled - 1]
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
