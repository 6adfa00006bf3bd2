"""Two levels that share epsilon: the least errors of two leaves and their sum, over all mechanisms."""

from itertools import product

import naive
import numpy as np
import pytest

from pgsr.bounds import range_risk

SHOWN = {(1, 1): (0.453, 0.538, 1.003), (1, 2): (0.595, 0.849, 1.534), ("1/10", 2): (0.889, 1.333, 2.222)}
"""(epsilon, m) -> the least error of the root, of the leaves, and of both together; rows of the page's table."""


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
        naive.least_risk(loss, neighbours, prior, pure) for loss in (at_root, at_leaves, at_root + at_leaves)
    )
    assert leaves == pytest.approx(2 * range_risk(m, epsilon), rel=1e-6)
    assert root >= range_risk(m, epsilon) - 1e-6  # one leaf may vary alone, the other is known
    assert both >= root + leaves - 1e-6
    np.testing.assert_allclose((root, leaves, both), SHOWN[epsilon, m], atol=6e-4)
