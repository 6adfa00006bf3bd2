"""The learned shapes of prior counts, and sizes that stand out everywhere: slopes, optima, and what they gain."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import polygamma
from test_posterior_chain import likelihood, made, negative_binomial

from pgsr import Hierarchy, View
from pgsr.datasets.worlds import world
from pgsr.estimators import Posterior
from pgsr.estimators.posterior import Evidence
from pgsr.estimators.posterior.dispersion import Dispersion
from pgsr.estimators.posterior.dispersion_kernel import derivatives, digamma, tetragamma
from pgsr.estimators.posterior.knots import Knots
from pgsr.methods import metrics
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric

MEANS = np.array([2.0, 9.0, 4.0, 3.0])


def test_special_functions():
    for z in np.exp(np.random.default_rng(1).uniform(0, 12, 300)):
        assert digamma(z) == pytest.approx(polygamma(0, z), rel=1e-12, abs=1e-13)
        assert tetragamma(z) == pytest.approx(polygamma(2, z), rel=1e-10)


@pytest.mark.parametrize("view", View)
def test_the_slope_is_that_of_the_evidence(view):
    """By differences of the exact sum over all vectors; the expectation is to second order, so to a tenth."""
    rng = np.random.default_rng(2)
    evidence = made(view, 4, 18, DoubleGeometric(Fraction(2)), True, rng)
    for shape in (4.0, 10.0, 40.0):
        ahead, behind = (_log_evidence(evidence, shape * np.exp(step)) for step in (1e-3, -1e-3))
        slopes, information = _derivatives(evidence, shape)
        expected = (ahead - behind) / 2e-3
        assert slopes.sum() == pytest.approx(expected, rel=0.1, abs=2e-3)
        assert (information > 0).all()


def test_steps_lead_to_the_optimum_of_a_direct_maximiser():
    """Of two leaves with counts far from their prior means, which shapes below the rule's explain."""
    tree, knots = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0]), Knots.of(4)
    law, rng = DoubleGeometric(Fraction(1)), np.random.default_rng(9)
    leaves = [made(View.CUMULATIVE, 4, total, law, True, rng) for total in (22, 12)]
    follows, shapes = np.ones(4, bool), Dispersion(tree, knots, 50.0)
    for _ in range(40):
        for region, evidence in enumerate(leaves, 1):
            shapes.see(region, _marginals(evidence, shapes.shapes(region)[0]), follows)
        shapes.step()

    def loss(of_log: float) -> float:
        return 0.5 * (of_log - log(50)) ** 2 - sum(_log_evidence(evidence, np.exp(of_log)) for evidence in leaves)

    best = minimize_scalar(loss, bounds=(0.0, log(50)), method="bounded", options={"xatol": 1e-6})
    found = float(np.log(shapes.shapes(1)[0]))
    assert 1.0 < np.exp(best.x) < 40, "the case has an optimum inside the bounds"
    assert loss(found) <= best.fun + 2e-3
    assert (shapes.shapes(0) == 50).all(), "nothing was seen of this level"


def test_spikes_are_free():
    """Penalised differences vanish for straight lines, whatever the values at spikes; hats still add up to 1."""
    spikes = np.array([5, 20, 21])
    knots, plain = Knots.of(61, spikes), Knots.of(61)
    values = 3.0 - 0.2 * knots.at
    values[np.isin(knots.at, spikes)] += [4.0, -3.0, 7.0]
    assert all(difference @ values == pytest.approx(0, abs=1e-12) for difference in knots.second)
    between = (1 - knots.part) * values[knots.left] + knots.part * values[np.minimum(knots.left + 1, len(values) - 1)]
    straight = 3.0 - 0.2 * np.arange(61)
    straight[spikes] += [4.0, -3.0, 7.0]
    assert between == pytest.approx(straight)
    assert (knots.at[knots.own] == plain.at[plain.own]).all()
    assert sum(map(len, knots.second)) == len(knots.at) - len(spikes) - 3


@pytest.mark.parametrize(("kind", "epsilon", "shares", "part"), [
    ("spikes", "1/10", None, 0.9), ("abrupt ends", "1", (0, 0, 1), 0.9)
])  # fmt: skip
def test_worlds_gain(kind, epsilon, shares, part):
    """Where all regions have spikes, and where counts deviate far from any smooth shape."""
    known, errors = world(kind), []
    truth = known.draw(100)
    noisy = Geometric(View.CUMULATIVE, epsilon=epsilon, shares=shares, totals="regions").measure(truth, Seeded("gain"))
    for steps in (0, 6):
        found = Posterior(intervals=False, learning=steps).apply(noisy).estimate
        errors.append(np.array(metrics.level_means(truth, metrics.emd(truth, found))))
    assert (errors[1] < part * errors[0]).all()


def _derivatives(evidence: Evidence, shape: float) -> tuple[np.ndarray, np.ndarray]:
    found, follows = _marginals(evidence, shape), np.ones(4, bool)
    slopes, information = np.zeros((2, 2))
    band = np.array([0, 0, 1, 1])
    derivatives(found.mean, found.step_variance, MEANS, found.shape, follows, band, slopes, information)
    return slopes, information


def _marginals(evidence: Evidence, shape: float):
    wide = np.full(4, float(evidence.most + 1))
    return evidence.marginals(evidence.pilot().astype(float), wide, MEANS, np.full(4, float(shape)), 1e-9)


def _log_evidence(evidence: Evidence, shape: float) -> float:
    """The logarithm of P(y, public total), up to a constant, by adding up over all vectors of counts."""
    total, assigned = 0.0, evidence.total or 0
    for inner in combinations_with_replacement(range(assigned + 1), 3):
        counts = np.diff([*inner, assigned], prepend=0)
        prior = [negative_binomial(int(x), mean, shape) for x, mean in zip(counts, MEANS, strict=True)]
        total += likelihood(evidence, counts) * float(np.prod(prior))
    return log(total)
