"""What charges come to together, against randomised responses whose answers are enumerated in exact fractions."""

from fractions import Fraction
from itertools import product
from math import exp

import pytest
from instances import FULL

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.odometer import Odometer
from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of
from tests.release.test_ledger_adding import ANSWERS, epsilon_above, excess, jointly, renyi_above, response

DELTAS = [Fraction(1, 5), Fraction(1, 50), Fraction(1, 1000)]


def below_exp(epsilon: Fraction) -> Fraction:
    """A number just below e^epsilon, of which less is asked."""
    return Fraction(exp(epsilon)) * (1 - Fraction(1, 10**9))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, *[4] * FULL])
def test_pure_charges_by_all_answers(n) -> None:
    """The least epsilon at a delta, and hardly less would do: the bound is that of the responses themselves."""
    for ratios in product(ANSWERS[:3], repeat=n):
        odometer = Odometer(tuple(PureEpsilon(epsilon_above(r)) for r in ratios))
        p, q = (jointly([response(r, truth) for r in ratios]) for truth in (0, 1))
        assert odometer.pure is not None
        assert odometer.rho is not None
        assert odometer.pure.epsilon == sum(epsilon_above(r) for r in ratios)
        for order in (2, 5):
            assert renyi_above(order, p, q) <= order * odometer.rho.rho
        for delta in DELTAS:
            found = odometer.approximate(delta)
            assert found is not None
            assert found.delta == delta
            assert excess(below_exp(found.epsilon), p, q) <= delta * (1 + Fraction(1, 10**6))
            if found.epsilon > 0:
                assert excess(below_exp(found.epsilon * Fraction(99, 100)), p, q) > delta


def test_charges_with_a_delta_by_all_answers() -> None:
    for (r, d), s in product(product(ANSWERS[:3], (Fraction(1, 100), Fraction(1, 2000))), ANSWERS[:3]):
        odometer = Odometer((Approximate(epsilon_above(r), d), PureEpsilon(epsilon_above(s))))
        p, q = (jointly([response(r, truth, d), response(s, truth)]) for truth in (0, 1))
        assert odometer.pure is odometer.rho is None
        for delta in DELTAS:
            found = odometer.approximate(delta)
            if delta < d:
                assert found is None
            else:
                assert found is not None
                assert excess(below_exp(found.epsilon), p, q) <= delta
                assert found.epsilon <= epsilon_above(r) + epsilon_above(s)


def test_rho_is_converted_once_and_pure_charges_are_rho_where_that_is_less() -> None:
    many = (PureEpsilon("1/100"),) * 1_000
    alone = Odometer((Rho("1/10"),)).approximate("1e-8")
    assert alone == Approximate(epsilon_of("1/10", "1e-8", Conversion.TIGHT), "1e-8")
    mixed = Odometer((*many, Rho("1/10"))).approximate("1e-8")
    assert mixed is not None
    assert mixed.epsilon <= epsilon_of(Fraction("0.15") + Fraction(1, 10**9), "1e-8", Conversion.TIGHT)
    assert Odometer((*many, Rho("1/10"))).rho == Odometer((Rho("1/10"), *many)).rho


def test_nothing_and_almost_nothing() -> None:
    nothing = Odometer(())
    assert (nothing.pure, nothing.rho) == (PureEpsilon(0), Rho(0))
    assert nothing.approximate("1e-8") == Approximate(0, "1e-8")
    assert Odometer((PureEpsilon("1e-9"),)).approximate("1e-8") is not None
    assert Odometer((Approximate(1, "1e-8"),)).approximate("1e-8") == Approximate(1, "1e-8")
    assert Odometer((Approximate(1, "1e-8"), Rho("1/10"))).approximate("1e-8") is None
    many_kinds = Odometer(tuple(PureEpsilon(Fraction(1, n)) for n in range(1, 101)))
    found = many_kinds.approximate("1e-8")
    assert found is not None
    assert many_kinds.pure is not None
    assert found.epsilon <= many_kinds.pure.epsilon
