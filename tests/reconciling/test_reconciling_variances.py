"""Best linear unbiased estimates on a tree, their variances and intervals."""

import numpy as np
import pandas as pd
import pytest
from instances import rng_of, scale

from pgsr import Hierarchy, reconcile
from pgsr.reconciling.variances import estimates_and_variances

TREE = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c"), ("US", "MI", "d")])


def dense(y: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by matrices: leaves b minimise sum precision (A b - y)^2, so they have covariance (A' P A)^-1."""
    sums = np.array([TREE.sum_up(np.eye(4)[:, [leaf]])[:, 0] for leaf in range(4)]).T
    covariance = np.linalg.inv(sums.T @ (precision[:, None] * sums))
    estimate = sums @ covariance @ sums.T @ (precision * y)
    return estimate, np.diag(sums @ covariance @ sums.T)


@pytest.mark.parametrize("without", [(), (0,), (0, 2), (3,), (0, 4)])
def test_equal_dense_least_squares(without):
    """Regions without a value among them: the nation, a state, a leaf whose sibling and state have one."""
    rng = rng_of(7)
    y, precision = rng.normal(10, 4, (7, 2)), rng.uniform(0.1, 3, (7, 2))
    precision[list(without)] = 0
    estimate, variance = estimates_and_variances(TREE, y, precision)
    for size in range(2):
        expected = dense(y[:, size], precision[:, size])
        assert estimate[:, size] == pytest.approx(expected[0])
        assert variance[:, size] == pytest.approx(expected[1])


def test_two_unknown_siblings_have_no_variance():
    precision = np.ones((7, 1))
    precision[[3, 4]] = 0
    _, variance = estimates_and_variances(TREE, np.ones((7, 1)), precision)
    assert np.isinf(variance[:, 0]).tolist() == [False, False, False, True, True, False, False]


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Tables of Gaussian noise, 7 cells each: at the level of 0.8 within three and a half standard errors."""
    n_tables = scale(60, 400)
    rng = rng_of(11)
    truth = TREE.sum_up(np.array([[40], [3], [15], [0]]))[:, 0]
    frame = pd.DataFrame([(*path, None, None)[:3] for path in TREE.paths], columns=["nation", "state", "county"])
    frame["variance"] = [4.0, 9, 2, 5, 5, 1, 3]
    inside = np.zeros(len(truth))
    for _ in range(n_tables):
        noisy = frame.assign(n=truth + rng.normal(0, np.sqrt(frame.variance)))
        table = reconcile(noisy, ["nation", "state", "county"], "n", variance="variance", level=0.8).table
        assert ((table.lower <= table.reconciled) & (table.reconciled <= table.upper)).all()
        inside += (table.lower <= truth) & (truth <= table.upper)
    assert (inside / n_tables > 0.8 - 3.5 * (0.8 * 0.2 / n_tables) ** 0.5).all(), inside
