"""The largest decimal number that passes a certified test."""

from collections.abc import Callable
from fractions import Fraction

from pgsr.errors import BudgetError

_SMALLEST = Fraction(1, 10**100)


def largest(fits: Callable[[Fraction], bool], start: Fraction, digits: int) -> Fraction:
    """Find the largest number of so many decimal digits that fits, by bisection.

    `fits` decides with certainty, so whatever is returned fits. Where it fits below some number and not above it, the
    number that comes next, one unit of the last digit above, does not fit.

    Args:
        fits: of positive numbers.
        start: a number that is likely to fit.
        digits: kept.

    Raises:
        BudgetError: nothing above 1e-100 fits.

    Example:
        >>> float(largest(lambda x: x * x <= 2, Fraction(1), digits=6))
        1.41421
    """
    low = decimal_down(start, digits)
    while not fits(low):
        low = decimal_down(low / 2, digits)
        if low < _SMALLEST:
            raise BudgetError("no noise of this kind, however large, keeps so small a budget; give more of it")
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    low = decimal_down(low, digits)
    while True:
        middle = decimal_down((low + high) / 2, digits)
        if middle <= low:
            return low
        low, high = (middle, high) if fits(middle) else (low, middle)


def decimal_down(x: Fraction, digits: int) -> Fraction:
    """Round a positive number down to so many decimal digits.

    Example:
        >>> decimal_down(Fraction(2, 3), 3)
        Fraction(333, 500)
    """
    power = len(str(x.numerator)) - len(str(x.denominator)) - digits  # 10^power has at most one digit too few or many
    unit = Fraction(10) ** power
    while x / unit >= 10**digits:
        unit *= 10
    return (x / unit).__floor__() * unit
