"""Forecasts that add up, by the interface that hierarchicalforecast calls."""

import numpy as np
import pytest
from instances import rng_of

from pgsr.errors import ArgumentError, TableError
from pgsr.reconciling import Nearest

SUMS = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4, dtype=int)])


@pytest.mark.parametrize("method", ["ols", "wls_struct"])
def test_real_forecasts_are_those_of_bounded_least_squares(method):
    from scipy.optimize import lsq_linear

    rng = rng_of(4)
    forecasts = SUMS @ rng.poisson(2, (4, 3)) + rng.normal(0, 4, (7, 3))
    found = Nearest(method, integer=False).fit_predict(S=SUMS, y_hat=forecasts)["mean"]
    root = np.ones(7) if method == "ols" else SUMS.sum(axis=1) ** -0.5
    for time in range(3):
        peer = lsq_linear(root[:, None] * SUMS, root * forecasts[:, time], (0, np.inf), tol=1e-12)
        assert SUMS @ peer.x == pytest.approx(found[:, time], abs=1e-4)


def test_whole_forecasts_add_up_and_are_proved():
    rng = rng_of(5)
    nearest = Nearest()
    found = nearest.fit_predict(SUMS, rng.normal(3, 4, (7, 5)))["mean"]
    assert (SUMS @ found[3:] == found).all()
    assert (found >= 0).all()
    assert (found == np.rint(found)).all()
    assert nearest.reconciled is not None
    assert nearest.reconciled.certificate.optimal


def test_what_it_does_not_do_is_said():
    crossed = np.array([[1, 1, 0], [0, 1, 1], *np.eye(3, dtype=int)])
    with pytest.raises(TableError, match=r"series [01] and [01] overlap and none contains the other"):
        Nearest().fit(crossed, np.ones((5, 1)))
    with pytest.raises(ArgumentError, match="gives no intervals"):
        Nearest().fit_predict(SUMS, np.ones((7, 1)), level=[90])
    with pytest.raises(ArgumentError, match="'ols' or 'wls_struct'"):
        Nearest("mint_shrink")
    with pytest.raises(TableError, match="give a row for each of 7 series"):
        Nearest().fit(SUMS, np.ones((6, 1)))


def test_whole_forecasts_of_any_sign_are_refused_when_it_is_built():
    with pytest.raises(ArgumentError, match="give integer=False, or nonnegative=True"):
        Nearest(nonnegative=False)
    assert Nearest(nonnegative=False, integer=False).fit_predict(np.ones((1, 1)), np.array([[-1.5]]))["mean"] == -1.5
