"""The Bayes risk of a number in a range: by brute force, and against all mechanisms by linear programming."""

import numpy as np
import pytest
from naive import bayes_risk_of_a_range, least_risk

from pgsr.bounds import lower_bound, range_risk
from pgsr.errors import PgsrError
from pgsr.privacy.accounting import PureEpsilon, Rho

EPSILONS = (0.001, 0.1, 0.7, 3, 10)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_equals_brute_force(epsilon):
    lengths = [*range(14), 29, 30, 61, 100]
    expected = [bayes_risk_of_a_range(m, epsilon) for m in lengths]
    np.testing.assert_allclose(range_risk(lengths, epsilon), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5])
@pytest.mark.parametrize("m", [1, 3, 8])
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


def test_keeps_the_shape():
    assert range_risk([[1, 2], [3, 1]], 1).shape == (2, 2)
    assert range_risk([[1, 2], [3, 1]], 1)[1, 1] == range_risk(1, 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        *((lambda m=m: range_risk(m, 1), "whole numbers from 0 up") for m in ([-1], [0.5], "many")),
        *((lambda b=b: range_risk(3, b), "give an amount above 0") for b in (Rho(0), PureEpsilon(0))),
        *(
            (lambda table=table: lower_bound(table, 1), "no table of groups by size")
            for table in ([[-1, 2]], [[0.5]], "counts", [], np.zeros((1, 2, 2), int))
        ),
        (lambda: lower_bound([2**62, 2**62], 1), "give smaller counts"),
    ],
)
def test_what_bounds_refuse(call, sentence):
    with pytest.raises(PgsrError, match=sentence):
        call()
