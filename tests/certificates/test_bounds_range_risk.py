"""The Bayes risk of a number in a range: by brute force, and against all mechanisms by linear programming."""

import numpy as np
import pytest
from naive import bayes_risk_of_a_range, least_risk

from pgsr.bounds import range_risk
from pgsr.errors import ArgumentError

EPSILONS = (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 1, 1.5, 3, 10)


@pytest.mark.few(4)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_equals_brute_force(epsilon):
    lengths = [*range(14), 29, 30, 61, 100]
    expected = [bayes_risk_of_a_range(m, epsilon) for m in lengths]
    np.testing.assert_allclose(range_risk(lengths, epsilon), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2.5])
@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_no_mechanism_has_a_smaller_risk(m, epsilon):
    """All mechanisms with answers 0..m: medians of a posterior are among them, so no other answer would help."""
    k = np.arange(m + 1)
    loss = np.abs(k[:, None] - k)
    least = least_risk(loss, loss, np.full(m + 1, 1 / (m + 1)), epsilon)
    assert range_risk(m, epsilon) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_grows_with_the_range_up_to_the_error_of_the_noise(epsilon):
    risks = range_risk(np.arange(3_000), epsilon)
    assert (np.diff(risks) > 0).sum() > 20
    assert (np.diff(risks) > -1e-12).all()
    limit = 1 / np.sinh(epsilon)  # 2 a / (1 - a^2), the mean absolute value of the noise
    assert risks[-1] < limit
    assert range_risk(10**15, epsilon) == pytest.approx(limit, rel=1e-6)


def test_keeps_the_shape_and_refuses_what_is_no_length():
    assert range_risk([[1, 2], [3, 1]], 1).shape == (2, 2)
    assert range_risk([[1, 2], [3, 1]], 1)[1, 1] == range_risk(1, 1)
    for wrong in ([-1], [0.5], "many"):
        with pytest.raises(ArgumentError, match="whole numbers from 0 up"):
            range_risk(wrong, 1)
