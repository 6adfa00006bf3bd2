"""Probabilities of wide discrete Gaussian laws by their integrals, between integers, without adding up every size.

With f(x) = exp(-rate x^2), rate = 1 / (2 sigma^2), a = m + 1/2 and numbers c_j = B_2j(1/2) / (2j)! of Bernoulli, the
formula of Euler and Maclaurin for midpoints is

    sum of f(k) over |k| <= m = 2 (integral of f from 0 to a + c_1 f'(a) + c_2 f'''(a) + ... + c_p f^(2p-1)(a)) + R,

    |R| <= |B_2p| / (2p)! integral of |f^(2p)| <= 16 sigma sqrt((2p)!) / (2 pi sigma)^(2p),

the last by |B_2p| / (2p)! <= 4 / (2 pi)^(2p) and Cramer's bound of Hermite's functions, |f^(n)(x)| <= 1.09 sqrt(n!)
sigma^-n exp(-x^2 / (4 sigma^2)). The sum over all integers is sigma sqrt(2 pi), up to exp(-2 pi^2 sigma^2) of itself,
which for sigma >= 512 and less than a million bits nobody sees. The integral is
a exp(-y) (1 + 2y / 3 + (2y)^2 / (3 5) + (2y)^3 / (3 5 7) + ...), y = rate a^2.

Source: NIST Digital Library of Mathematical Functions, 2.10.1 (Euler and Maclaurin), 7.6.2 (the integral), 18.14.9.
"""

from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, comb, factorial, floor, isqrt

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.privacy.enclosure import divided_up, exp_minus, shifted_up

_MOST_BITS = 1_000_000


def probability_at_most(rate: Fraction, m: int, precision: int) -> tuple[int, int]:
    """Enclose 2^precision P(|X| <= m), X discrete Gaussian with sigma >= 512, by two integers a few units apart.

    Example:
        >>> low, high = probability_at_most(Fraction(1, 2 * 1000**2), 1959, 40)
        >>> low / 2**40, high - low
        (0.9499457496667674, 3)
    """
    assert rate <= Fraction(1, 2 * 512**2), "sigma is too small for the formula"
    assert precision <= _MOST_BITS, "more bits than the sum over all integers is known to"
    one = 1 << precision
    if (m + 1) ** 2 * rate >= precision + 2:
        return one - 1, one  # P(|X| > m) <= 2 exp(-(m + 1)^2 rate) for every discrete Gaussian law
    a = m + Fraction(1, 2)
    y = rate * a**2
    working = precision + 64 + 3 * int(y) // 2  # exp(y) has fewer bits than 3 y / 2
    series_low, series_high = _series(2 * y, working)
    more = _derivatives(rate, a, working)
    unit = Fraction(1, 1 << working)
    low, high = a * series_low * unit + more, a * series_high * unit + more
    decay_low, decay_high = exp_minus(y, working)
    root_low, root_high = _root_of_pi_over(rate, working)
    # All of these are scaled by 2^working, but `low` and `high`.
    p_low = floor(2 * low * decay_low / root_high * one) - 1  # 1 is more than the remainder
    p_high = ceil(2 * high * decay_high / root_low * one) + 1
    return max(p_low, 0), min(p_high, one)


def probability_beyond(rate: float, m: np.ndarray) -> np.ndarray:
    """Compute P(|X| > m), m >= -1, by the complementary error function and three derivatives; sigma >= 512."""
    a = np.asarray(m, float) + 0.5
    h1 = -2 * rate * a
    h2 = -2 * rate * (a * h1 + 1)
    h3 = -2 * rate * (a * h2 + 2 * h1)
    h4 = -2 * rate * (a * h3 + 3 * h2)
    h5 = -2 * rate * (a * h4 + 4 * h3)
    corrections = np.exp(-rate * a * a) * (-h1 / 24 + 7 * h3 / 5760 - 31 * h5 / 967680)
    return np.where(a < 0, 1.0, scipy.special.erfc(np.sqrt(rate) * a) - 2 * np.sqrt(rate / np.pi) * corrections)


def _series(x: Fraction, working: int) -> tuple[int, int]:
    """Enclose 2^working (1 + x / 3 + x^2 / (3 5) + x^3 / (3 5 7) + ...)."""
    low = high = term_low = term_high = 1 << working
    odd = 3
    while term_high > 1 or odd < 2 * x:
        term_low = term_low * x.numerator // (x.denominator * odd)
        term_high = divided_up(term_high * x.numerator, x.denominator * odd)
        low, high, odd = low + term_low, high + term_high, odd + 2
    return low, high + 2  # the terms halve from here on, or fall faster


def _derivatives(rate: Fraction, a: Fraction, working: int) -> Fraction:
    """Sum c_j f^(2j-1)(a) / f(a), up to the j = p behind which no more than 2^-working of the total is left."""
    before, h, found, p = Fraction(1), -2 * rate * a, Fraction(0), 1
    while True:
        found += _midpoint_number(p) * h
        if 64 * factorial(2 * p) * (rate / 19) ** (2 * p) <= Fraction(
            1, 1 << 2 * working
        ):  # (2 pi sigma)^2 > 19 / rate
            return found
        n = 2 * p - 1
        for order in (n, n + 1):
            before, h = h, -2 * rate * (a * h + order * before)
        p += 1


@cache
def _bernoulli(n: int) -> Fraction:
    return Fraction(1) if n == 0 else -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)


def _midpoint_number(j: int) -> Fraction:
    """Compute c_j = B_2j(1/2) / (2j)!, B_n(1/2) = (2^(1 - n) - 1) B_n."""
    return (Fraction(2, 4**j) - 1) * _bernoulli(2 * j) / factorial(2 * j)


@lru_cache(maxsize=64)
def _root_of_pi_over(rate: Fraction, working: int) -> tuple[int, int]:
    """Enclose 2^working sqrt(pi / rate), by Machin's pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    bits = 2 * working + 8
    fifth, other = _arctan(5, bits), _arctan(239, bits)
    pi_low, pi_high = 16 * fifth[0] - 4 * other[1], 16 * fifth[1] - 4 * other[0]
    low = pi_low * rate.denominator // rate.numerator >> 8
    high = shifted_up(divided_up(pi_high * rate.denominator, rate.numerator), 8)
    return isqrt(low), isqrt(high) + 1


def _arctan(n: int, bits: int) -> tuple[int, int]:
    """Enclose 2^bits arctan(1 / n), by the alternating series 1 / n - 1 / (3 n^3) + 1 / (5 n^5) - ..."""
    power, total, odd = (1 << bits) // n, 0, 1
    while power:
        total += power // odd if odd % 4 == 1 else -(power // odd)
        power, odd = power // n**2, odd + 2
    return total - odd, total + odd  # every term is rounded by at most 2 units, and there are odd / 2 of them
