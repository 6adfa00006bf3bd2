"""The Bayes risk of a number in a range under (epsilon, delta) and rho: below all mechanisms, and near good ones."""

import naive
import numpy as np
import pytest
from scipy.optimize import brentq

from pgsr.bounds import range_risk
from pgsr.bounds.range_risk import as_budget, least_mistakes, strength
from pgsr.privacy.accounting import Approximate, Rho
from pgsr.privacy.accounting.noise_rho import rho_of_pure

AMOUNTS = ((0.1, 1e-3), (0.1, 0.05), (1, 1e-6), (1, 0.01), (1, 0.2), (3, 0.01))


@pytest.mark.parametrize(("epsilon", "delta"), AMOUNTS)
def test_no_pair_is_told_apart_better(epsilon, delta):
    """The least mistakes are those of a linear program over all answers."""
    expected = [naive.least_mistake_of_a_pair(2 * j + 1, epsilon, delta) for j in range(12)]
    np.testing.assert_allclose(least_mistakes(Approximate(epsilon, delta), 12), expected, atol=1e-9)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 2, 30])
def test_under_rho_a_pair_is_as_randomised_response(rho):
    for j, found in enumerate(least_mistakes(Rho(rho), 6)):
        divergence = rho * (2 * j + 1) ** 2
        epsilon = brentq(
            lambda h, divergence=divergence: h * np.tanh(h / 2) - divergence, 0, divergence + 3, xtol=1e-14
        )
        assert found == pytest.approx(np.exp(-np.logaddexp(0, epsilon)), rel=1e-9)
        if epsilon < 30:  # so noise with this epsilon between the two attains it
            assert float(rho_of_pure(as_budget(epsilon).parts[0])) == pytest.approx(divergence, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), AMOUNTS)
@pytest.mark.parametrize("m", [1, 9])
def test_no_mechanism_has_a_smaller_risk(m, epsilon, delta):
    k = np.arange(m + 1)
    loss = np.abs(k[:, None] - k)
    neighbours = np.where(loss == 1, 1.0, np.inf)
    least = naive.least_risk(loss, neighbours, np.full(m + 1, 1 / (m + 1)), epsilon, delta)
    bound = range_risk(m, Approximate(epsilon, delta))
    assert bound <= least + 1e-7
    assert bound >= (0.84 if epsilon < 1 else 1 - 1e-6) * least


@pytest.mark.parametrize(("epsilon", "delta"), AMOUNTS)
def test_a_private_noise_attains_the_limit(epsilon, delta):
    """Noise with the tail u_j is (epsilon, delta)-DP, and its mean error is the bound for a very large m."""
    tail = least_mistakes(Approximate(epsilon, delta), 2_000)
    upper = np.append(-np.diff(tail), 0)  # P(noise = 1), P(noise = 2), ...
    law = np.concatenate([[0], upper[::-1], [1 - 2 * tail[0]], upper, [0]])
    assert (law > -1e-15).all()
    for one, other in ((law[1:], law[:-1]), (law[:-1], law[1:])):
        assert np.maximum(one - np.exp(epsilon) * other, 0).sum() == pytest.approx(delta, rel=1e-9)
    error = (np.abs(np.arange(len(law)) - len(law) // 2) * law).sum()
    assert range_risk(10**9, Approximate(epsilon, delta)) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("rho", [0.02, 0.5, 2])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_no_mechanism_of_this_rho_has_a_smaller_risk(m, rho):
    """A convex program over all mechanisms with answers 0..m, under the divergences alone, which allows more."""
    cp = pytest.importorskip("cvxpy")
    k = np.arange(m + 1)
    law = cp.Variable((m + 1, m + 1), nonneg=True)
    private = [
        cp.sum(cp.rel_entr(law[one], law[other])) <= rho * (one - other) ** 2
        for one in k
        for other in k
        if one != other
    ]
    error = cp.sum(cp.multiply(np.abs(k[:, None] - k), law)) / (m + 1)
    program = cp.Problem(cp.Minimize(error), [cp.sum(law, axis=1) == 1, *private])
    program.solve(solver=cp.CLARABEL)
    assert program.status == cp.OPTIMAL
    bound = range_risk(m, Rho(rho))
    assert bound <= program.value + 1e-5
    assert bound >= 0.75 * program.value


def test_far_below_the_noise_and_far_above_it():
    assert range_risk(10**9, Rho("1e-4")) == pytest.approx(0.7308 * (2 / np.pi * 5_000) ** 0.5, rel=1e-3)
    for budget in (Rho("1/3"), Approximate("1/3", "1e-5")):
        risks = range_risk(np.arange(400), budget)
        assert (np.diff(risks) >= -1e-12).all()
        assert risks[0] == 0
        assert range_risk([[3, 2**62]], budget)[0, 1] >= risks[-1]
    assert range_risk(5, Approximate(10**9, "1e-5")) == range_risk(5, Rho(10**9)) == 0
    assert range_risk(1, Approximate(1, "1e-100")) == pytest.approx(range_risk(1, 1))


def test_budgets():
    assert strength(as_budget("1/3")) == as_budget("1/3").parts[0]
    assert as_budget(Rho("1/2")) == Rho("1/2")
