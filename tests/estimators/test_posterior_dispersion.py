"""The learned shapes of prior counts, and the sizes whose values are free: slopes, optima, and differences."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from instances import rng_of
from scipy.optimize import minimize_scalar
from scipy.special import polygamma
from test_posterior_chain import log_evidence, made, marginals

from pgsr import View
from pgsr.estimators.posterior import dispersion
from pgsr.estimators.posterior.dispersion import penalty, stepped
from pgsr.estimators.posterior.dispersion_kernel import derivatives, digamma, tetragamma
from pgsr.estimators.posterior.evidence import Evidence
from pgsr.estimators.posterior.knots import Knots
from pgsr.privacy.laws import DoubleGeometric

MEANS = np.array([2.0, 9.0, 4.0, 3.0])


def test_special_functions():
    for z in np.exp(rng_of(1).uniform(0, 12, 300)):
        assert digamma(z) == pytest.approx(polygamma(0, z), rel=1e-12, abs=1e-13)
        assert tetragamma(z) == pytest.approx(polygamma(2, z), rel=1e-10)


@pytest.mark.parametrize("view", View)
def test_the_slope_is_that_of_the_evidence(view):
    """By differences of the exact sum over all vectors; the expectation is to second order, so to a tenth."""
    rng = rng_of(2)
    evidence = made(view, 4, 14, DoubleGeometric(Fraction(2)), True, rng)
    for shape in (4.0, 10.0, 40.0):
        ahead, behind = (log_evidence(evidence, MEANS, shape * np.exp(step)) for step in (1e-3, -1e-3))
        slopes, information = _derivatives(evidence, shape)
        expected = (ahead - behind) / 2e-3
        assert slopes.sum() == pytest.approx(expected, rel=0.1, abs=2e-3)
        assert (information > 0).all()


@pytest.mark.slow
def test_steps_lead_to_the_optimum_of_a_direct_maximiser(monkeypatch):
    """Of two leaves with counts far from their prior means, which shapes below the largest explain."""
    law, rng = DoubleGeometric(Fraction(1)), rng_of(9)
    leaves = [made(View.CUMULATIVE, 4, total, law, True, rng) for total in (22, 12)]
    monkeypatch.setattr(dispersion, "MOST", 50.0)
    shapes = np.array([[50.0], [50.0]])  # of a level of which nothing is seen, and of the leaves
    for _ in range(40):
        slopes, information = np.zeros((2, 2, 1))
        for evidence in leaves:
            seen = _derivatives(evidence, shapes[1, 0])
            slopes[1], information[1] = slopes[1] + seen[0].sum(), information[1] + seen[1].sum()
        shapes = stepped(shapes, slopes, information)

    def loss(of_log: float) -> float:
        return 0.5 * (of_log - log(50)) ** 2 - sum(log_evidence(evidence, MEANS, np.exp(of_log)) for evidence in leaves)

    best = minimize_scalar(loss, bounds=(0.0, log(50)), method="bounded", options={"xatol": 1e-6})
    found = float(np.log(shapes[1, 0]))
    assert 1.0 < np.exp(best.x) < 40, "the case has an optimum inside the bounds"
    assert loss(found) <= best.fun + 2e-3
    assert shapes[0, 0] == 50
    assert penalty(shapes) == pytest.approx(0.5 * (found - log(50)) ** 2)


def test_sizes_0_and_k_and_spikes_are_free():
    """Penalised differences vanish for straight lines, whatever the values at free sizes."""
    spikes = np.array([5, 20, 21])
    knots, plain = Knots.of(61, spikes), Knots.of(61)
    values = 3.0 - 0.2 * knots.at
    free = [0, 5, 20, 21, 60]
    assert knots.at[knots.free].tolist() == free
    values[knots.free] += [9.0, 4.0, -3.0, 7.0, -20.0]
    assert knots.second @ values == pytest.approx(0, abs=1e-12)
    between = (1 - knots.part) * values[knots.left] + knots.part * values[np.minimum(knots.left + 1, len(values) - 1)]
    straight = 3.0 - 0.2 * np.arange(61)
    straight[free] += [9.0, 4.0, -3.0, 7.0, -20.0]
    assert between == pytest.approx(straight)
    assert (knots.own == plain.own).all()
    assert len(knots.second) == len(knots.at) - len(free) - 2
    assert (knots.steep == (knots.at[np.flatnonzero(~np.isin(knots.at, free))][1:-1] > 12)).all()
    assert knots.at[knots.beside].tolist() == [1, 4, 19, 20, 59]
    deviation = rng_of(1).normal(size=len(knots.own))
    assert knots.spread(deviation) == pytest.approx(np.interp(knots.at, knots.own, deviation))


def _derivatives(evidence: Evidence, shape: float) -> tuple[np.ndarray, np.ndarray]:
    found = marginals(evidence, MEANS, shape)
    slopes, information = np.zeros((2, 2))
    band = np.array([0, 0, 1, 1])
    derivatives(found.mean, found.step_variance, MEANS, found.shape, band, slopes, information)
    return slopes, information
