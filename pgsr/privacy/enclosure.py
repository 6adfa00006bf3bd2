"""The enclosure of logarithms, roots and exponentials of fractions, in integer arithmetic alone."""

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


def exp_minus(t: Fraction, precision: int) -> tuple[int, int]:
    """Enclose 2^precision * exp(-t), t > 0, by two integers: the alternating series, then repeated squaring.

    Example:
        >>> exp_minus(Fraction(1), 30), round(2**30 * 0.3678794411714423, 3)
        ((395007542, 395007543), 395007542.176)
    """
    squarings = max(0, (t.numerator // t.denominator).bit_length() + 1)
    working = precision + 2 * squarings + 16
    one = 1 << working
    y_low = (t.numerator << working) // (t.denominator << squarings)
    y_high = y_low + 1
    low, high = one, one
    term_low, term_high, n = one, one, 0
    while term_high > 1:
        n += 1
        term_low = (term_low * y_low >> working) // n
        term_high = divided_up(shifted_up(term_high * y_high, working), n)
        low, high = (low - term_high, high - term_low) if n % 2 else (low + term_low, high + term_high)
    low, high = low - term_high - 1, high + term_high + 1  # the rest of an alternating series is below its last term
    for _ in range(squarings):
        low, high = max(low, 0) ** 2 >> working, shifted_up(high**2, working)
    shift = working - precision
    return low >> shift, shifted_up(high, shift)


def divided_up(a: int, b: int) -> int:
    """Compute a / b, b > 0, rounded up."""
    return -(-a // b)


def shifted_up(a: int, bits: int) -> int:
    """Compute a / 2^bits, rounded up."""
    return -(-a >> bits)


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
