"""The weights of levels by what is known of their noise: 1 / variance, as whole numbers or as real ones."""

from fractions import Fraction
from math import lcm

import numpy as np

from pgsr.errors import ProblemError
from pgsr.noise.measurement import Measurement
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.fields import LARGEST_WEIGHT


def precision_weights(measurement: Measurement) -> np.ndarray:
    """Compute integers in the ratio of 1 / variance of the levels' noise, 0 where nothing was measured; (regions,).

    Where all noise is double geometric the ratio is that of epsilon_level^2, as in the papers: 1 / variance is
    epsilon^2 / (2 sensitivity^2) but for a constant 1/6 in the variance. Other noise weighs by its exact variance, to
    2^-30 of the largest weight.
    """
    squares = _precisions(measurement)
    if not all(level is None or isinstance(level, GeometricNoise) for level in measurement.noise):
        squares = [Fraction(round(2**30 * square / max(squares)), 2**30) for square in squares]
    scale = lcm(*(square.denominator for square in squares))
    integers = [int(square * scale) for square in squares]
    common = int(np.gcd.reduce([i for i in integers if i], dtype=object)) if any(integers) else 1
    weights = [Fraction(i, common).numerator for i in integers]
    if max(weights) > LARGEST_WEIGHT:
        raise ProblemError("the shares need integer weights beyond 2^50; use shares with smaller denominators")
    return np.array(weights, np.int64)[measurement.hierarchy.level_of]


def real_precisions(measurement: Measurement) -> np.ndarray:
    """Compute real numbers in the ratio of 1 / variance of the levels' noise, whole ones where the ratio is whole."""
    precisions = [float(precision) for precision in _precisions(measurement)]
    least = min((precision for precision in precisions if precision), default=1.0)
    ratios = np.array(precisions) / least
    whole = (ratios == np.rint(ratios)).all() and ratios.max() <= LARGEST_WEIGHT
    return (ratios.astype(np.int64) if whole else ratios)[measurement.hierarchy.level_of]


def _precisions(measurement: Measurement) -> list[Fraction]:
    """Give 1 / variance of every level's noise up to a common factor, root first; see `precision_weights`."""
    if all(level is None or isinstance(level, GeometricNoise) for level in measurement.noise):
        return [epsilon**2 for epsilon in measurement.epsilon]
    laws = [measurement.law(start) for start in measurement.hierarchy.level_start[:-1].tolist()]
    return [1 / Fraction(law.variance) if law else Fraction(0) for law in laws]


def refused_weights(measurement: Measurement) -> str | None:
    """Give the reason why `precision_weights` are too large for these shares, or None."""
    try:
        precision_weights(measurement)
    except ProblemError as error:
        return str(error)
    return None
