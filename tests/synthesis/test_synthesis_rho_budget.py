"""The budget of an adaptive fit adds up exactly, and malformed budgets are refused."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from instances import privacy_amounts, rng_of, scale

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.zcdp import rho_of
from pgsr.synthesis import AdaptiveBudget
from pgsr.synthesis.queries.transcript import RhoLedger


@pytest.mark.parametrize(("alpha", "eps0"), [("0.5", "0.032515"), ("0.67", "0.030784")])
def test_printed_eps0(alpha: str, eps0: str) -> None:
    """Epsilon 1, delta 1e-8, 50 rounds."""
    budget = AdaptiveBudget(1, Fraction(1, 10**8), rounds=50, alpha=alpha)
    assert abs(float(budget.eps0_squared) ** 0.5 - float(eps0)) <= 5e-7


def test_rounds_cost_exactly_rho() -> None:
    rng = rng_of(73)
    for epsilon, delta in privacy_amounts(scale(40, 2_000)):
        rounds, alpha = int(rng.integers(1, 2_000)), Fraction(int(rng.integers(1, 100)), 100)
        budget = AdaptiveBudget(epsilon, delta, rounds, alpha)
        rho = rho_of(epsilon, delta)
        assert sum([budget.selection + budget.measurement] * rounds, Fraction(0)) == budget.rho == rho
        assert budget.eps0_squared == 2 * rho / (rounds * (alpha**2 + (1 - alpha) ** 2))
        assert budget.selection == alpha**2 * budget.eps0_squared / 2
        rate = budget.selection_rate
        assert rate**2 <= 2 * budget.selection < (rate * (1 + Fraction(1, 10**40))) ** 2


EPSILONS = (0, -1, "nan", "inf", True, None, "1e-320", "x")
DELTAS = (0, 1, "1e-101", -1e-9, math.nan, math.inf, True, None, "", "1/0", Decimal("1e-999999999"), Fraction(10**5000))
WRONG = {"rounds": (0, 2.0, True), "alpha": (1, 0, "3/2"), "conversion": ("x",), "epsilon": EPSILONS, "delta": DELTAS}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_malformed_budgets_are_refused(name: str, value: Any) -> None:
    with pytest.raises(BudgetError):
        AdaptiveBudget(**{"epsilon": 1, "delta": "1e-6", "rounds": 5, name: value})
    if name == "epsilon":
        for make in (lambda e: rho_of(e, "1e-6"), RhoLedger):
            with pytest.raises(BudgetError):
                make(value)


def test_numbers_are_read_exactly() -> None:
    for delta in (1e-12, "1e-12", Decimal("1e-12"), Fraction(1, 10**12), "1/1000000000000"):
        assert AdaptiveBudget(0.1, delta, 3, 0.7) == AdaptiveBudget("1/10", Fraction(1, 10**12), 3, "7/10")


def test_ledger_spends_all_and_no_more() -> None:
    ledger = RhoLedger(Fraction(1, 10**10))
    third = Fraction(1, 3 * 10**10)
    for i in range(3):
        ledger.charge(third, f"part {i}")
    assert ledger.left == 0
    for amount in (Fraction(1, 10**90), third):
        with pytest.raises(BudgetError):
            ledger.charge(amount, "too much")
    for amount in (Fraction(0), Fraction(-1, 3), Fraction(-1)):
        with pytest.raises(BudgetError):
            RhoLedger(1).charge(amount, "nothing")
    assert [what for _, what in ledger.spent] == ["part 0", "part 1", "part 2"]
