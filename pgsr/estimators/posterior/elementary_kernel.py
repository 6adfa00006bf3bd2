"""Logarithm, exponential and log-gamma by basic operations alone, so that they have the same bits on every machine.

Those of the C library and of numpy differ in the last bit from one processor to the next, which a rounding after them
could make visible.
"""

import math

import numpy as np

from pgsr.machine.compilation import compiled

LOG_2 = 0.6931471805599453
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, of which whole multiples of the first up to 2^20 are exact."""

HALF_LOG_2_PI = 0.9189385332046727


@compiled
def log(x):
    """Compute the natural logarithm of a positive x, to a few units in the last place; minus infinity of 0."""
    if x <= 0.0:
        return -np.inf
    m, k = math.frexp(x)
    if m < 0.7071067811865476:
        m *= 2.0
        k -= 1
    # log m = 2 artanh t with t = (m - 1) / (m + 1), |t| < 0.172: t^25 is below a unit in the last place.
    t = (m - 1.0) / (m + 1.0)
    square = t * t
    series = 0.0
    for n in range(23, 0, -2):
        series = 1.0 / n + square * series
    return k * LOG_2 + 2.0 * t * series


@compiled
def exp(x):
    """Compute e^x, to a few units in the last place; 0 below -700, and infinity above 700."""
    if x < -700.0:
        return 0.0
    if x > 700.0:
        return np.inf
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    series = 1.0
    for n in range(15, 0, -1):
        series = 1.0 + r / n * series
    return math.ldexp(series, int(k))


@compiled
def log_gamma(z):
    """Compute log Gamma(z), z >= 1, by Stirling's series from 16 on and Gamma(z + 1) = z Gamma(z) below."""
    product = 1.0
    while z < 16.0:
        product *= z
        z += 1.0
    one = 1.0 / z
    square = one * one
    series = one * (1 / 12.0 - square * (1 / 360.0 - square * (1 / 1260.0 - square / 1680.0)))
    return (z - 0.5) * log(z) - z + HALF_LOG_2_PI + series - log(product)


@compiled
def log_mass(x, mu, shape):
    """Compute the logarithm of the negative binomial mass of x, of mean mu and this shape."""
    together = shape + mu
    none = shape * log(shape / together)
    if x == 0:
        return none
    return log_gamma(shape + x) - log_gamma(shape) - log_gamma(x + 1.0) + none + x * log(mu / together)
