"""The enclosure of logarithms and roots of fractions by two fractions, in integer arithmetic alone."""

from fractions import Fraction
from math import isqrt

_BITS = 200
_KEPT_BITS = 80


def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose ln x, x > 0, to 2^-180, by ln(2^k m) = 2 k atanh(1/3) + 2 atanh((m - 1) / (m + 1)).

    Example:
        >>> low, high = log_bounds(Fraction(10))
        >>> float(low), high - low < Fraction(1, 2**180)
        (2.302585092994046, True)
    """
    if x < 1:
        low, high = log_bounds(1 / x)
        return -high, -low
    doublings = (x.numerator // x.denominator).bit_length() - 1
    rest = x / 2**doublings
    low, high = _atanh_bounds((rest - 1) / (rest + 1))
    low_2, high_2 = _atanh_bounds(Fraction(1, 3))
    return 2 * (low + doublings * low_2), 2 * (high + doublings * high_2)


def root_above(x: Fraction) -> Fraction:
    """Compute a number above sqrt(x), x >= 0, by at most 2^-199."""
    return Fraction(isqrt((x.numerator << 2 * _BITS) // x.denominator) + 1, 1 << _BITS)


def root_below(x: Fraction) -> Fraction:
    """Compute a number of at most sqrt(x), x >= 0, by less than 2^-199."""
    return Fraction(isqrt((x.numerator << 2 * _BITS) // x.denominator), 1 << _BITS)


def rounded_down(x: Fraction) -> Fraction:
    """Find the largest number of at most x with 80 or 81 leading bits, which is short enough to print."""
    shift = _KEPT_BITS - abs(x.numerator).bit_length() + x.denominator.bit_length()
    unit = Fraction(2) ** -shift
    return (x / unit).__floor__() * unit


def _atanh_bounds(y: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose atanh y = y + y^3/3 + y^5/5 + ..., 0 <= y <= 1/3, by its series in fixed point numbers."""
    below = (y.numerator << _BITS) // y.denominator
    above, low, high, odd = below + 1, 0, 0, 1
    power_low, power_high = below, above
    while power_high > 1:
        low, high = low + power_low // odd, high - -power_high // odd
        power_low = power_low * below**2 >> 2 * _BITS
        power_high = -(-power_high * above**2 >> 2 * _BITS)
        odd += 2
    return Fraction(low, 1 << _BITS), Fraction(high + 2, 1 << _BITS)  # the rest is below 9/8 of the last power
