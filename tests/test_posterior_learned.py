"""The prior that is learned by the evidence: its derivatives, its optimum, and what it gains and must not lose."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import lgamma, log

import naive
import numpy as np
import pytest
from scipy.optimize import minimize
from test_posterior_chain import CASES, LAWS, SHAPE, likelihood, made, negative_binomial

from pgsr import CountOfCounts, Hierarchy, Status, View
from pgsr.estimators import PooledPrior, Posterior
from pgsr.estimators.posterior import Evidence, Marginals
from pgsr.estimators.posterior import elementary_kernel as elementary
from pgsr.estimators.posterior.dispersion import Dispersion
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.learned import Given, LearnedPrior
from pgsr.estimators.posterior.learned_kernel import derivatives, eliminated, inverted, prior_means
from pgsr.methods.gate import NO_LIMIT
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric


def test_elementary_functions():
    rng = np.random.default_rng(1)
    for exponent in rng.uniform(-300, 300, 500):
        assert elementary.log(np.exp(exponent)) == pytest.approx(np.log(np.exp(exponent)), rel=4e-16, abs=4e-16)
        assert elementary.exp(exponent) == pytest.approx(np.exp(exponent), rel=2e-15)
    assert (elementary.log(0.0), elementary.exp(-1e9), elementary.exp(1e9)) == (-np.inf, 0.0, np.inf)
    for z in np.exp(rng.uniform(0, 20, 500)):
        assert elementary.log_gamma(z) == pytest.approx(lgamma(z), rel=2e-14, abs=2e-13)
    for x, mean, shape in zip(rng.integers(0, 40, 200), rng.exponential(9, 200), rng.uniform(1, 99, 200), strict=True):
        expected = log(negative_binomial(int(x), mean, shape))
        assert elementary.log_mass(x, mean, shape) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("view", "public"), CASES)
def test_the_evidence_is_the_sum_over_all_vectors(view, public):
    """Differences of two priors, since a constant is left open, in windows that differ, too."""
    rng = np.random.default_rng(11)
    for law in LAWS[1:]:
        evidence = made(view, 4, 6, law, public, rng)
        first, second = rng.exponential(2.0, (2, 4)) + 0.05
        expected = _log_evidence(evidence, first) - _log_evidence(evidence, second)
        found = _marginals(evidence, first)
        half = np.full(4, 6.5 * float(law.variance_bound) ** 0.5 + 3)
        other = evidence.marginals(found.mean, half, second, np.full(4, SHAPE), 1e-9)
        assert found.log_evidence - other.log_evidence == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("view", View)
def test_fisher_and_louis(view):
    """The gradient (E x - mu) a and the information are those of the evidence, by differences of the exact sum."""
    rng, at = np.random.default_rng(12), np.array([0.8, 0.1, -0.4, 0.3])
    evidence = made(view, 4, 7, DoubleGeometric(Fraction(2)), True, rng)
    mu, step = np.exp(at), 1e-3
    a, units = SHAPE / (SHAPE + mu), np.eye(4) * step
    value = lambda f: _log_evidence(evidence, np.exp(f))  # noqa: E731
    x, covariance = _moments(evidence, mu)
    slope = [(value(at + u) - value(at - u)) / (2 * step) for u in units]
    assert (x - mu) * a == pytest.approx(slope, abs=1e-5)
    exact = -np.array(
        [[(value(at + u + v) - value(at + u - v) - value(at - u + v) + value(at - u - v)) / (4 * step**2)
          for u in units] for v in units]
    )  # fmt: skip
    missing = covariance * np.outer(a, a)
    assert exact == pytest.approx(np.diag(a * mu + a * (1 - a) * (x - mu)) - missing, abs=1e-4)
    found = _marginals(evidence, mu)
    assert np.diff(found.mean, prepend=0) == pytest.approx(x, abs=1e-8)
    chained = naive.covariances_of_counts(found.variance, found.step_variance)
    assert chained == pytest.approx(covariance, abs=0.1 * np.diag(covariance).max())


def test_derivatives_are_those_of_the_definition():
    rng = np.random.default_rng(13)
    for n_sizes in (2, 3, 5, 14, 15, 60):
        knots, total = Knots.of(n_sizes), 40
        beta, hats = rng.normal(0, 1, len(knots.at)), naive.hat_functions(knots.at, n_sizes)
        mu = np.empty(n_sizes)
        prior_means(beta, knots.left, knots.part, 3.0, mu)
        assert mu == pytest.approx(3 * np.exp(np.interp(np.arange(n_sizes), knots.at, beta)), rel=1e-12)
        evidence = made(View.CUMULATIVE, n_sizes, total, DoubleGeometric(Fraction(2)), True, rng)
        wide = np.full(n_sizes, total + 1.0)
        found = evidence.marginals(evidence.pilot().astype(float), wide, mu, np.full(n_sizes, SHAPE), 1e-9)
        weight = SHAPE / (SHAPE + mu) * (rng.random(n_sizes) < 0.8)
        slope, information = np.empty(len(beta)), np.empty((len(beta), len(beta)))
        of_region = found.mean, found.variance, found.step_variance, mu, weight
        derivatives(*of_region, knots.left, knots.part, slope, information)
        assert slope == pytest.approx(hats.T @ (weight * (np.diff(found.mean, prepend=0) - mu)), abs=1e-9)
        of_score = hats * weight[:, None]
        missing = of_score.T @ naive.covariances_of_counts(found.variance, found.step_variance) @ of_score
        assert information == pytest.approx(hats.T @ ((weight * mu)[:, None] * hats) - missing, abs=1e-3)


def test_elimination_solves_the_whole_system():
    """Three children and their parent: the parent's change is that of a solution for all unknowns at once."""
    rng = np.random.default_rng(14)
    knots = Knots.of(30)
    spread, n, m = knots.spread, *knots.spread.shape
    made_of = [rng.normal(size=(n, n)) for _ in range(3)]
    slopes, curvatures = rng.normal(size=(3, n)), [root @ root.T for root in made_of]
    deviations, penalty = rng.normal(size=(3, m)), sum(d.T @ d for d in knots.first) + 0.1 * np.eye(m)
    whole, right = np.eye(n + 3 * m), np.zeros(n + 3 * m)
    for child in range(3):
        here = np.zeros((n, n + 3 * m))
        here[:, :n], here[:, n + child * m : n + (child + 1) * m] = np.eye(n), spread
        own = slice(n + child * m, n + (child + 1) * m)
        whole += here.T @ curvatures[child] @ here
        whole[own, own] += penalty - np.eye(m)
        right += here.T @ slopes[child]
        right[own] -= penalty @ deviations[child]
    expected = np.linalg.solve(whole, right)
    gain, own, inverse = np.empty((3, m, n)), np.empty((3, m)), np.empty((m, m))
    for child in range(3):
        before = curvatures[child].copy()
        eliminated(
            slopes[child], curvatures[child], spread, penalty, deviations[child], gain[child], own[child], inverse
        )
        assert inverse == pytest.approx(np.linalg.inv(spread.T @ before @ spread + penalty), abs=1e-9)
    of_parent = np.empty((n, n))
    assert inverted(np.eye(n) + sum(curvatures), of_parent)
    change = of_parent @ slopes.sum(axis=0)
    assert change == pytest.approx(expected[:n], abs=1e-7)
    for child in range(3):
        moved = own[child] - gain[child] @ change
        assert moved == pytest.approx(expected[n + child * m : n + (child + 1) * m], abs=1e-7)
    assert not inverted(np.array([[1.0, 2.0], [2.0, 1.0]]), np.empty((2, 2)))


def test_the_optimum_is_that_of_a_direct_maximiser(monkeypatch):
    """With penalties and shapes held, steps lead to the maximum that scipy finds of the exact sum over all vectors."""
    truth = CountOfCounts(_tree([2]), [[1, 2, 1, 0, 0], [1, 1, 1, 0, 1]])
    noisy = Geometric(View.CUMULATIVE, epsilon=1, shares=(0, 1), totals="regions").measure(truth, Seeded("m"))
    monkeypatch.setattr(LearnedPrior, "_update_penalties", lambda *_: None)
    monkeypatch.setattr(Dispersion, "step", lambda _: None)
    rule = PooledPrior(shape=SHAPE)
    learned = _learned(noisy, 0, rule)
    learned.penalties[:], learned.own_penalties[:] = 0.5, 2.0
    for _ in range(30):
        learned.step(NO_LIMIT)
    hats, knots = naive.hat_functions(learned.knots.at, 5), learned.knots

    def loss(flat: np.ndarray) -> float:
        shape, *own = flat.reshape(3, 5)
        value = 0.25 * sum(((d @ shape) ** 2).sum() for d in knots.second)
        for region, deviation in zip((1, 2), own, strict=True):
            value += sum(((d @ deviation) ** 2).sum() for d in knots.first)
            mu = noisy.region_totals[region] * np.exp(hats @ (shape + knots.spread @ deviation))
            value -= _log_evidence(learned.given.evidence[region], mu)
        return value + 0.5e-6 * (flat**2).sum()

    found = np.concatenate([learned.shape, learned.deviations[1], learned.deviations[2]])
    best = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-6})
    assert loss(found) <= best.fun + 1e-5


def test_sums_over_leaves_are_not_biased():
    """At the optimum the posterior means of bands of sizes add up to the prior means, over all leaves.

    Where counts are far below the shape of the prior; the weights a of larger ones differ from leaf to leaf.
    """
    truth = _households(0)
    noisy = Geometric(View.CUMULATIVE, epsilon=1, shares=(0, 0, 1), totals="regions").measure(truth, Seeded("b"))
    learned = _learned(noisy, 15, PooledPrior())
    ahead, expected = np.zeros(41), np.zeros(41)
    for family, mu, kept in learned.given.families():
        for region in range(max(family.start, truth.hierarchy.n_inner), family.stop):
            found = learned.marginals(region, mu[region - family.start], kept[region - family.start], 1e-9)
            ahead += np.diff(found.mean, prepend=0) - found.prior_mean
            expected += found.prior_mean
    noise = (
        2 * 16 * float(learned.given.evidence[20].law.variance_bound)
    ) ** 0.5  # of the sum over the leaves of a difference
    for band in (slice(8, 12), slice(12, 20), slice(20, 40)):
        assert abs(ahead[band].sum()) < min(2 * noise, 0.1 * expected[band].sum())


def test_households_gain():
    """Sixteen leaves with geometric tails, at epsilon 1/10: smaller errors at every level, by a tenth at the root."""
    before, after = np.zeros(3), np.zeros(3)
    for seed in range(2):
        truth = _households(seed)
        noisy = Geometric(View.CUMULATIVE, epsilon="1/10", shares=(0, 0, 1), totals="regions")
        noisy = noisy.measure(truth, Seeded("h", seed))
        before += _errors(truth, Posterior(intervals=False, learning=0).apply(noisy))
        after += _errors(truth, Posterior(intervals=False, learning=6).apply(noisy))
    assert (after < before).all()
    assert after[0] < 0.9 * before[0]


def test_a_step_too_far_is_not_taken():
    """Between abrupt ends some last steps lose evidence: regions never have less than under the prior of the rounds."""
    counts = np.repeat([0, 80, 0], [100, 41, 60])
    truth = CountOfCounts(_tree([3]), np.tile(counts, (3, 1)))
    for seed in range(3):
        noisy = Geometric(View.CUMULATIVE, epsilon=1, totals="regions").measure(truth, Seeded("x", seed))
        before, after = (Posterior(learning=steps).marginals(noisy).log_evidence for steps in (0, 6))
        for family in (slice(0, 1), slice(1, 4)):
            assert after[family].sum() >= before[family].sum() - 1e-3


@pytest.mark.parametrize("view", View)
def test_releases_are_valid_and_lean_ones_equal(view):
    truth = _households(3)
    noisy = Geometric(view, epsilon=1, totals="regions").measure(truth, Seeded("v"))
    full, lean = Posterior(learning=2).apply(noisy), Posterior(learning=2, intervals=False).apply(noisy)
    assert full.status is lean.status is Status.FEASIBLE
    assert np.array_equal(full.estimate.counts().counts, lean.estimate.counts().counts)


def test_steps_that_are_none_are_refused():
    from pgsr.errors import MethodError

    for wrong in (-1, True, 2.0):
        with pytest.raises(MethodError, match="whole number of steps"):
            Posterior(learning=wrong)  # pyright: ignore[reportArgumentType]


def _log_evidence(evidence: Evidence, mu: np.ndarray) -> float:
    """The logarithm of P(y, public total), up to a constant, by adding up over all vectors of counts."""
    return log(sum(mass for _, mass in _vectors(evidence, mu)))


def _moments(evidence: Evidence, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E x and Cov x given y, in the same way."""
    counts, masses = (np.array(each) for each in zip(*_vectors(evidence, mu), strict=True))
    mean = masses @ counts / masses.sum()
    return mean, (counts - mean).T @ (masses[:, None] * (counts - mean)) / masses.sum()


def _vectors(evidence: Evidence, mu: np.ndarray) -> list[tuple[np.ndarray, float]]:
    found = []
    for groups in [evidence.total] if evidence.total is not None else range(evidence.most + 1):
        for inner in combinations_with_replacement(range(groups + 1), evidence.n_sizes - 1):
            counts = np.diff([*inner, groups], prepend=0)
            prior = [negative_binomial(int(x), mean, SHAPE) for x, mean in zip(counts, mu, strict=True)]
            found.append((counts, likelihood(evidence, counts) * float(np.prod(prior))))
    return found


def _marginals(evidence: Evidence, mu: np.ndarray) -> Marginals:
    wide = np.full(evidence.n_sizes, float(evidence.most + 1))
    return evidence.marginals(evidence.pilot().astype(float), wide, mu, np.full(len(mu), SHAPE), 1e-9)


def _learned(noisy: Measurement, steps: int, rule: PooledPrior) -> LearnedPrior:
    found = Posterior(prior=rule, learning=0).marginals(noisy)
    evidence = {r: Evidence.of(noisy, r) for r in np.flatnonzero(noisy.measured).tolist()}
    learned = LearnedPrior(Given(noisy, evidence, rule, found.mean, found.variance, noisy.region_totals))
    for _ in range(steps):
        learned.step(NO_LIMIT)
    return learned


def _households(seed: int) -> CountOfCounts:
    """Groups of 16 leaves, sizes 1 to 7 as households have them and a geometric tail, K = 40."""
    rng = np.random.default_rng(seed)
    shape = np.array([0, 0.26, 0.33, 0.16, 0.14, 0.06, 0.025, 0.012, *(0.012 * 0.8 ** np.arange(1, 34))])
    means = 5_000 * np.exp(rng.normal(0, 0.7, (16, 1))) * shape / shape.sum()
    return CountOfCounts(_tree([4, 4]), rng.poisson(rng.gamma(100, means / 100)))


def _tree(children: list[int]) -> Hierarchy:
    parents, level, n = [-1], [0], 1
    for each in children:
        parents += [parent for parent in level for _ in range(each)]
        level = list(range(n, len(parents)))
        n = len(parents)
    return Hierarchy.from_parents([f"R{i}" for i in range(n)], parents)


def _errors(truth: CountOfCounts, result) -> np.ndarray:
    off = np.abs(np.cumsum(result.estimate.counts().counts, axis=1) - np.cumsum(truth.counts, axis=1)).sum(axis=1)
    return np.array([off[truth.hierarchy.level(level)].mean() for level in range(truth.hierarchy.n_levels)])
