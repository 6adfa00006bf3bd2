"""Budgets are exact fractions, malformed ones are refused, and the ledger charges before noise is drawn."""

import math
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import scale
from waiting import MINUTES

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.errors import BudgetError, MemoryNeededError
from pgsr.noise import Geometric
from pgsr.privacy import Ledger, Seeded
from pgsr.privacy.budget import Budget, Number, exact
from pgsr.privacy.random import ByteStream, StreamId


def truth() -> CountOfCounts:
    return CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])


class Untouchable:
    """A source of bytes that must not be asked for any."""

    secure = False

    def stream(self, identity: StreamId) -> ByteStream:
        raise AssertionError(f"noise was drawn for {identity}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Fraction(1)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(3, 7), Fraction(3, 7)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
    ],
)
def test_exact(value: Number, expected: Fraction) -> None:
    assert exact(value) == expected
    assert type(exact(value)) is Fraction


NO_NUMBER, NO_TYPE = "not a finite number", "give a number or text"
MALFORMED = [
    *((value, "greater than 0") for value in (0, "0", -1, -0.5, "-1/3")),
    *((value, NO_NUMBER) for value in (math.nan, math.inf, -math.inf, "nan", "inf", "1/0", "abc", "")),
    *((Decimal(text), NO_NUMBER) for text in ("NaN", "sNaN", "Infinity")),
    *((value, NO_TYPE) for value in (True, False, None, 1j, [1], b"1", np.bool_(True))),
    *((value, "below 1e-9") for value in (1e-320, "1e-320", Fraction(1, 10**9 + 1))),
]


@pytest.mark.parametrize(("value", "fault"), MALFORMED, ids=lambda item: repr(item)[:24])
def test_malformed_epsilon_is_refused_everywhere(value: Number, fault: str) -> None:
    """The message names what is wrong with which number, and the noise and the ledger refuse it as `exact` does."""
    for make in (exact, Ledger, lambda value: Budget.split(value, 2), lambda value: Geometric(View.COUNTS, value)):
        with pytest.raises(BudgetError, match=f"^epsilon is .*{fault}"):
            make(value)
    if fault != "greater than 0" or "-" in repr(value):  # a share may be 0
        with pytest.raises(BudgetError, match=f"^share is .*{fault.replace('greater than', 'at least')}"):
            Budget.split(1, 2, shares=(1, value))


@pytest.mark.parametrize("value", [10**5000, -(10**5000), Fraction(1, 10**5000), "1.1e9", 1e300], ids=range(5))
def test_huge_numbers_are_refused(value: Number) -> None:
    """Python refuses to print integers of more than 4,300 digits; the refusal must still be ours."""
    with pytest.raises(BudgetError):
        exact(value)


def test_a_huge_epsilon_adds_no_noise() -> None:
    """The law has almost no tail then; its thresholds must still be found at once."""
    tree = Hierarchy.from_parents(["a"], [-1])
    truth = CountOfCounts(tree, np.arange(1000)[None])
    noisy = Geometric(View.COUNTS, epsilon=10**9).measure(truth, Seeded(0))
    assert (noisy.matrix == truth.counts).all()


@pytest.mark.slow
@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999"])
def test_exponents_are_not_written_out(value: str) -> None:
    """A fraction of this text has a billion digits. Nothing stops it once it runs, so a process of its own does it."""
    code = "from pgsr.privacy.budget import exact, BudgetError\n"
    code += f"try: exact({value!r})\nexcept BudgetError: print('refused')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=MINUTES, check=False)
    assert done.stdout.strip() == "refused", done.stderr[-300:]


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=100),
    st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any),
)
@settings(max_examples=scale(200, 5_000), derandomize=True, deadline=None)
def test_shares_add_up_exactly(epsilon: Fraction, weights: list[int]) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    budget = Budget.split(epsilon, len(shares), shares)
    assert budget.total == epsilon
    assert budget.levels == tuple(epsilon * share for share in shares)


def test_shares() -> None:
    assert Budget.split("0.1", 2, shares=("1/4", "3/4")).levels == (Fraction(1, 40), Fraction(3, 40))
    assert Budget.split(1, 3, shares=(0, 0.9, "0.1")).levels == (0, Fraction(9, 10), Fraction(1, 10))
    assert Budget.split(1, 10, shares=[0.1] * 10).total == 1  # 0.1 as written, not the float next to it


@pytest.mark.parametrize(
    ("shares", "fault"),
    [
        (("1/2", "1/3"), "add up to 5/6, not 1; write them as fractions"),
        (("1/2", "2/3"), "add up to 7/6, not 1"),
        ((0, 0), "add up to 0, not 1"),
        ((1 / 3, 2 / 3), "not 1; write them as fractions"),  # 0.3333333333333333 + 0.6666666666666666
        (("1",), "1 shares for 2 levels; give one share per level"),
        (("1/2", "1/4", "1/4"), "3 shares for 2 levels"),
        ((), "0 shares for 2 levels"),
        (("3/2", "-1/2"), "share is -1/2; it must be at least 0"),
    ],
    ids=str,
)
def test_shares_that_do_not_fit_are_refused(shares: Sequence[Number], fault: str) -> None:
    with pytest.raises(BudgetError, match=fault):
        Budget.split(1, 2, shares)
    ledger = Ledger(10)
    with pytest.raises(BudgetError, match=fault):
        Geometric(View.COUNTS, epsilon=1, shares=shares).measure(truth(), Untouchable(), ledger)
    assert ledger.left == 10
    for n_levels in (0, -1):
        with pytest.raises(BudgetError):
            Budget.split(1, n_levels)


def test_ledger() -> None:
    ledger = Ledger("1")
    ledger.charge(Fraction(1, 3), "first")
    ledger.charge(Fraction(2, 3), "second")
    assert ledger.left == 0
    assert ledger.spent == [(Fraction(1, 3), "first"), (Fraction(2, 3), "second")]
    with pytest.raises(BudgetError, match="third would spend epsilon 1/1000000, and 0 of 1 is left; lower its epsilon"):
        ledger.charge(Fraction(1, 10**6), "third")
    assert len(ledger.spent) == 2


@pytest.mark.parametrize("amount", [Fraction(-1), math.nan, None, True], ids=repr)
def test_ledger_refuses_malformed_charges(amount: Fraction) -> None:
    """A negative charge would buy budget back, and NaN would disarm every later comparison."""
    ledger = Ledger(1)
    with pytest.raises(BudgetError):
        ledger.charge(amount, "a release")
    assert ledger.spent == []
    assert ledger.left == 1


def test_budget_cannot_be_spent_twice() -> None:
    """The second measurement is refused before a byte is drawn, and the ledger stays as it was."""
    noise, ledger = Geometric(View.COUNTS, epsilon="0.6"), Ledger(1)
    noise.measure(truth(), Seeded("key"), ledger)
    spent = list(ledger.spent)
    assert spent == [(Fraction(3, 5), "measuring counts")]
    with pytest.raises(BudgetError, match="would spend epsilon 3/5, and 2/5 of 1 is left"):
        noise.measure(truth(), Untouchable(), ledger)
    assert ledger.spent == spent


def test_refusals_come_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise beyond the table, and a measurement beyond memory: nothing drawn, nothing charged."""
    ledger = Ledger(1)
    with pytest.raises(BudgetError, match="give the level a larger epsilon"):
        Geometric(View.COUNTS, epsilon="1e-6").measure(truth(), Untouchable(), ledger)

    def refuse(n_bytes: int, what: str) -> None:
        raise MemoryNeededError(f"{what} needs {n_bytes}")

    table = truth()
    monkeypatch.setattr("pgsr.machine.memory.require", refuse)
    with pytest.raises(MemoryNeededError, match="a measurement of 12 values needs 96"):
        Geometric(View.COUNTS, epsilon="1").measure(table, Untouchable(), ledger)
    assert ledger.left == 1
    assert ledger.spent == []
