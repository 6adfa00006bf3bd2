"""Amounts of privacy: what is refused, and that every amount is written and read back exactly."""

from fractions import Fraction
from itertools import product

import pytest

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.zcdp import rho_of

AMOUNTS = [PureEpsilon(0), PureEpsilon("0.1"), PureEpsilon(Fraction(1, 3)), Rho(1), Rho(rho_of("1/3", "1e-9")),
           Approximate(1, "1e-9"), Approximate("1/3", Fraction(1, 3**90)), Approximate(0, "1/2")]  # fmt: skip


@pytest.mark.parametrize("loss", AMOUNTS, ids=str)
def test_every_amount_is_written_and_read_back_exactly(loss):
    assert Loss.of(loss.texts()) == loss == Loss.parse(loss.spelled)
    assert type(Loss.parse(loss.spelled)) is type(loss)
    epsilon, delta, rho = loss.parts
    assert loss.texts() == {name: str(part) for name, part in (("epsilon", epsilon), ("delta", delta), ("rho", rho))
                            if hasattr(loss, name)}  # fmt: skip
    assert loss.positive == (epsilon + rho > 0)


def test_amounts_are_different_unless_they_are_the_same():
    for (i, a), (j, b) in product(enumerate(AMOUNTS), repeat=2):
        assert (a == b) == (i == j)
        assert (hash(a) == hash(b)) or i != j
    assert PureEpsilon(1) != Rho(1)


def test_amounts_are_rounded_for_people_alone():
    long = rho_of("1/3", "1e-9")
    assert str(Rho(long)) == f"rho {float(long):.9g} (rounded)"
    assert [str(PureEpsilon(e)) for e in ("0", "0.1")] == ["epsilon 0", "epsilon 1/10"]
    assert str(Approximate("1/2", "1e-8")) == "epsilon 1/2, delta 1/100000000"
