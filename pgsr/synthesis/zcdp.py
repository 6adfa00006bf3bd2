"""Concentrated differential privacy in exact fractions: what (epsilon, delta) buys, and how rounds share it.

Logarithms and roots are enclosed by integer arithmetic and rounded to the safe side, so rho is never too large and
epsilon never too small, whatever a floating point library does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import exp, log1p

from pgsr.budget import LARGEST, Number, exact
from pgsr.errors import BudgetError
from pgsr.synthesis.enclosure import log_bounds, root_above, root_below, rounded_down

SMALLEST = Fraction(1, 10**100)


class Conversion(StrEnum):
    """How rho-zCDP and (epsilon, delta) are converted into each other.

    CLOSED: epsilon = rho + 2 sqrt(rho ln(1/delta)). Source: Bun & Steinke 2016, proposition 1.3; Liu & Wu 2022.
    TIGHT: delta = inf_{a > 1} exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), at least as much rho. Any rational a
        gives a valid bound, so a floating point search may propose it. Source: Canonne, Kamath & Steinke 2020,
        corollary 13.
    """

    CLOSED = "closed"
    TIGHT = "tight"


def rho_of(epsilon: Number, delta: Number, conversion: Conversion = Conversion.CLOSED) -> Fraction:
    """A rho such that rho-zCDP implies (epsilon, delta)-differential privacy, from below.

    CLOSED: (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2, to 20 digits. TIGHT: the largest, to 13 digits.

    Raises:
        BudgetError: epsilon or delta is malformed.

    Example:
        >>> [round(float(rho_of(1, "1e-8", conversion)), 6) for conversion in Conversion]
        [0.013215, 0.017205]
    """
    epsilon, delta = exact(epsilon), _delta(delta)
    log_delta = log_bounds(1 / delta)[1]
    if Conversion(conversion) is Conversion.CLOSED:
        return rounded_down((epsilon / (root_above(log_delta + epsilon) + root_above(log_delta))) ** 2)

    def minus_rho(x: float) -> float:
        return ((float(log_delta) - _gain(x)) / exp(x) - float(epsilon)) / (1 + exp(x))

    order = _order(minus_rho)
    return rounded_down((epsilon - (log_delta - _gain_below(order)) / (order - 1)) / order)


def epsilon_of(rho: Number, delta: Number, conversion: Conversion = Conversion.CLOSED) -> Fraction:
    """An epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy, from above.

    CLOSED: rho + 2 sqrt(rho ln(1/delta)), to 20 digits. TIGHT: the least, to 13 digits.

    Raises:
        BudgetError: rho or delta is malformed.

    Example:
        >>> round(float(epsilon_of("0.0132153628528", "1e-8")), 10)
        1.0
    """
    rho, delta = exact_small(rho, "rho"), _delta(delta)
    log_delta = log_bounds(1 / delta)[1]
    if Conversion(conversion) is Conversion.CLOSED:
        return -rounded_down(-(rho + 2 * root_above(rho * log_delta)))

    def epsilon(x: float) -> float:
        return (1 + exp(x)) * float(rho) + (float(log_delta) - _gain(x)) / exp(x)

    order = _order(epsilon)
    return -rounded_down(-max(order * rho + (log_delta - _gain_below(order)) / (order - 1), Fraction(0)))


@dataclass(frozen=True)
class AdaptiveBudget:
    """(epsilon, delta) over `rounds` rounds that select one query and measure it.

    With eps0^2 = 2 rho / (T (alpha^2 + (1 - alpha)^2)), a round's selection costs (alpha eps0)^2 / 2 and its
    measurement ((1 - alpha) eps0)^2 / 2; T rounds cost exactly rho.

    Attributes:
        delta: far below 1 / N_I, for it is the chance of no guarantee at all; 1 / N_I^2 is customary.
        rounds: T.
        alpha: weight of selection, strictly between 0 and 1.

    Raises:
        BudgetError: a number is malformed.

    Example:
        >>> budget = AdaptiveBudget(1, "1e-8", rounds=50)
        >>> round(float(budget.eps0_squared) ** 0.5, 6), 50 * (budget.selection + budget.measurement) == budget.rho
        (0.032515, True)

    Source: Liu & Wu 2022, algorithm 3; Cesar & Rogers 2021 for the selection's cost.
    """

    epsilon: Number
    delta: Number
    rounds: int
    alpha: Number = Fraction(1, 2)
    conversion: Conversion = Conversion.CLOSED

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "delta", _delta(self.delta))
        object.__setattr__(self, "alpha", exact(self.alpha, "alpha"))
        if self.conversion not in set(Conversion):
            raise BudgetError(f"conversion={self.conversion!r} is unknown; use Conversion.CLOSED or Conversion.TIGHT")
        object.__setattr__(self, "conversion", Conversion(self.conversion))
        if exact(self.alpha) >= 1:
            raise BudgetError(f"alpha is {self.alpha}, which leaves nothing to measure with; keep it below 1")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise BudgetError(f"rounds is {self.rounds!r}; give a whole number of at least 1")

    @cached_property
    def rho(self) -> Fraction:
        """All rounds together."""
        return rho_of(self.epsilon, self.delta, self.conversion)

    @property
    def eps0_squared(self) -> Fraction:
        alpha = exact(self.alpha)
        return 2 * self.rho / (self.rounds * (alpha**2 + (1 - alpha) ** 2))

    @property
    def selection(self) -> Fraction:
        """rho of one selection."""
        return exact(self.alpha) ** 2 * self.eps0_squared / 2

    @property
    def measurement(self) -> Fraction:
        """rho of one measurement."""
        return (1 - exact(self.alpha)) ** 2 * self.eps0_squared / 2

    @property
    def selection_rate(self) -> Fraction:
        """alpha eps0 from below: an exponential mechanism with this rate costs no more than it is charged."""
        return root_below(2 * self.selection)


@dataclass
class RhoLedger:
    """What may be spent on one data set in zCDP, and what was. It is charged before any noise is drawn.

    Example:
        >>> ledger = RhoLedger("1/100")
        >>> ledger.charge(Fraction(1, 400), "round 1")
        >>> ledger.left
        Fraction(3, 400)
    """

    rho: Number
    spent: list[tuple[Fraction, str]] = field(default_factory=list, init=False)
    left: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self.rho = self.left = exact_small(self.rho, "rho")

    def charge(self, amount: Fraction, what: str) -> None:
        """Spend `amount` on `what`.

        Raises:
            BudgetError: less than `amount` is left, or it is no positive number; nothing is spent then.
        """
        amount = exact_small(amount, f"the charge for {what}")
        self.require(amount, what)
        self.left -= amount
        self.spent.append((amount, what))

    def require(self, amount: Fraction, what: str) -> None:
        """Raise `BudgetError` unless `amount` is left."""
        if amount > self.left:
            raise BudgetError(
                f"{what} would spend rho = {float(amount):.6g}, and {float(self.left):.6g} of {float(self.rho):.6g} "
                f"is left; lower its epsilon"
            )


def _order(objective: Callable[[float], float]) -> Fraction:
    """The a that a floating point search over x = ln(a - 1) finds best; any other would be valid too."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(objective, bounds=(-20, 60), method="bounded", options={"xatol": 1e-10, "maxiter": 500})
    return 1 + Fraction(exp(found.x))  # pyright: ignore[reportAttributeAccessIssue]


def _gain(x: float) -> float:
    """a ln a - (a - 1) ln(a - 1) at a = 1 + exp(x)."""
    return log1p(exp(x)) + exp(x) * log1p(exp(-x))


def _gain_below(order: Fraction) -> Fraction:
    return order * log_bounds(order)[0] - (order - 1) * log_bounds(order - 1)[1]


def _delta(value: Number) -> Fraction:
    delta = exact_small(value, "delta")
    if delta >= 1:
        raise BudgetError("delta is 1 or more; give a small probability such as '1e-8'")
    return delta


def exact_small(value: Number, what: str) -> Fraction:
    """`value` as an exact positive fraction; unlike `pgsr.budget.exact` it may be as small as 1e-100."""
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal | float):
        raise BudgetError(f"{what} is {value!r}; give a number or text such as '1e-8' or '1/3'")
    try:
        number = _fraction(value)
    except (ArithmeticError, ValueError):
        raise BudgetError(f"{what} is not a finite number of sensible length; write '1e-8' or '1/3'") from None
    if not SMALLEST <= number <= LARGEST:
        raise BudgetError(f"{what} is out of range; it must be at least 1e-100 and at most 1e9")
    return number


def _fraction(value: Number) -> Fraction:
    if isinstance(value, int | Fraction):
        return Fraction(value)
    text = repr(float(value)) if isinstance(value, float) else str(value)
    if "/" in text:
        return Fraction(text)
    decimal = Decimal(text)
    if decimal.is_finite() and decimal and abs(decimal.adjusted()) > 200:
        raise ValueError("far outside the limits, and as a fraction it would have that many digits")
    return Fraction(decimal)
