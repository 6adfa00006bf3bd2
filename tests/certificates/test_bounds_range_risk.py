"""The Bayes risk of a number in a range: by brute force, and against all mechanisms by linear programming."""

from itertools import product

import numpy as np
import pytest
from naive import bayes_risk_of_a_range, least_risk

from pgsr.bounds import lower_bound, range_risk
from pgsr.errors import PgsrError
from pgsr.privacy.accounting import PureEpsilon, Rho

EPSILONS = (0.001, 0.1, 0.7, 3, 10)
SHOWN = {(1, 1): (0.453, 0.538, 1.003), (1, 2): (0.595, 0.849, 1.534), ("1/10", 2): (0.889, 1.333, 2.222)}
"""(epsilon, m) -> the least error of the root, of the leaves, and of both together; rows of the page's table."""


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


@pytest.mark.parametrize(("epsilon", "m"), SHOWN)
def test_both_levels_together_err_at_least_as_much_as_each_alone(epsilon, m):
    """One release answers all three numbers; each leaf is uniform on 0..m, and an entity is in one of them."""
    truth = np.array(list(product(range(m + 1), repeat=2)))
    answers = np.array(list(product(range(2 * m + 1), range(m + 1), range(m + 1))))
    at_root = np.abs(truth.sum(axis=1)[:, None] - answers[:, 0])
    at_leaves = np.abs(truth[:, None] - answers[:, 1:]).sum(axis=2)
    distance = np.abs(truth[:, None] - truth).sum(axis=2)
    neighbours = np.where(distance == 1, 1.0, np.inf)
    prior = np.full(len(truth), 1 / len(truth))
    pure = 0.1 if epsilon == "1/10" else epsilon
    root, leaves, both = (
        least_risk(loss, neighbours, prior, pure) for loss in (at_root, at_leaves, at_root + at_leaves)
    )
    assert leaves == pytest.approx(2 * range_risk(m, epsilon), rel=1e-6)
    assert root >= range_risk(m, epsilon) - 1e-6  # one leaf may vary alone, the other is known
    assert both >= root + leaves - 1e-6
    np.testing.assert_allclose((root, leaves, both), SHOWN[epsilon, m], atol=6e-4)


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
