"""The conversion of zero-concentrated differential privacy (zCDP), rho, into epsilon and delta, in exact fractions.

Logarithms and roots are enclosed by integer arithmetic and rounded to the safe side, so rho is never too large and
epsilon never too small, whatever a floating point library does.
"""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import exp, log1p

from pgsr.checks import plain
from pgsr.errors import BudgetError
from pgsr.privacy.budget import LARGEST, Number, exact, fraction_of
from pgsr.privacy.enclosure import log_bounds, root_above, rounded_down

SMALLEST = Fraction(1, 10**100)


class Conversion(StrEnum):
    """The formula by which rho-zCDP and (epsilon, delta) are converted into each other.

    CLOSED: epsilon = rho + 2 sqrt(rho ln(1/delta)). Source: Bun & Steinke 2016, proposition 1.3; Liu & Wu 2022.
    TIGHT: delta = inf_{a > 1} exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), at least as much rho. Any rational a
        gives a valid bound, so a floating point search may propose it. Source: Canonne, Kamath & Steinke 2020,
        corollary 13.
    """

    CLOSED = "closed"
    TIGHT = "tight"


def rho_of(epsilon: Number, delta: Number, conversion: Conversion = Conversion.CLOSED) -> Fraction:
    """Compute a rho such that rho-zCDP implies (epsilon, delta)-differential privacy, from below.

    CLOSED: (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2, to 20 digits. TIGHT: the largest, to 13 digits.

    Raises:
        BudgetError: epsilon or delta is malformed.

    Example:
        >>> [round(float(rho_of(1, "1e-8", conversion)), 6) for conversion in Conversion]
        [0.013215, 0.017205]
    """
    epsilon, delta = exact(epsilon), exact_delta(delta)
    log_delta = log_bounds(1 / delta)[1]
    if Conversion(conversion) is Conversion.CLOSED:
        return rounded_down((epsilon / (root_above(log_delta + epsilon) + root_above(log_delta))) ** 2)

    def minus_rho(x: float) -> float:
        return ((float(log_delta) - _gain(x)) / exp(x) - float(epsilon)) / (1 + exp(x))

    order = _order(minus_rho)
    return rounded_down((epsilon - (log_delta - _gain_below(order)) / (order - 1)) / order)


def epsilon_of(rho: Number, delta: Number, conversion: Conversion = Conversion.CLOSED) -> Fraction:
    """Compute an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy, from above.

    CLOSED: rho + 2 sqrt(rho ln(1/delta)), to 20 digits. TIGHT: the least, to 13 digits.

    Raises:
        BudgetError: rho or delta is malformed.

    Example:
        >>> round(float(epsilon_of("0.0132153628528", "1e-8")), 10)
        1.0
    """
    rho, delta = exact_small(rho, "rho"), exact_delta(delta)
    log_delta = log_bounds(1 / delta)[1]
    if Conversion(conversion) is Conversion.CLOSED:
        return -rounded_down(-(rho + 2 * root_above(rho * log_delta)))

    def epsilon(x: float) -> float:
        return (1 + exp(x)) * float(rho) + (float(log_delta) - _gain(x)) / exp(x)

    order = _order(epsilon)
    return -rounded_down(-max(order * rho + (log_delta - _gain_below(order)) / (order - 1), Fraction(0)))


def _order(objective: Callable[[float], float]) -> Fraction:
    """Find the best order a by a floating point search over x = ln(a - 1); any other order would be valid, too."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(objective, bounds=(-20, 60), method="bounded", options={"xatol": 1e-10, "maxiter": 500})
    return 1 + Fraction(exp(found.x))  # pyright: ignore[reportAttributeAccessIssue]


def _gain(x: float) -> float:
    """Compute a ln a - (a - 1) ln(a - 1) at a = 1 + exp(x)."""
    return log1p(exp(x)) + exp(x) * log1p(exp(-x))


def _gain_below(order: Fraction) -> Fraction:
    return order * log_bounds(order)[0] - (order - 1) * log_bounds(order - 1)[1]


def exact_delta(value: Number) -> Fraction:
    """Read `value` as an exact delta, between 0 and 1.

    Raises:
        BudgetError: it is malformed, or no small probability.
    """
    delta = exact_small(value, "delta")
    if delta >= 1:
        raise BudgetError("delta is 1 or more; give a small probability such as '1e-8'")
    return delta


def exact_small(value: Number, what: str) -> Fraction:
    """Read `value` as an exact positive fraction; unlike `pgsr.privacy.budget.exact` it may be as small as 1e-100."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal | float):
        raise BudgetError(f"{what} is {value!r}; give a number or text such as '1e-8' or '1/3'")
    try:
        number = fraction_of(value)
    except (ArithmeticError, ValueError):
        raise BudgetError(f"{what} is not a finite number; write '1e-8' or '1/3'") from None
    if not SMALLEST <= number <= LARGEST:
        raise BudgetError(f"{what} is out of range; it must be at least 1e-100 and at most 1e9")
    return number
