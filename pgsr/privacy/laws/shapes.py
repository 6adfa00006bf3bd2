"""The laws in floating point, with any positive parameter: for tests and searches, never for drawing."""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1
from typing import Protocol

import numpy as np

from pgsr.privacy.laws import gaussian_integral

_SMOOTH = 2.0
"""From this sigma up, the variance is sigma^2 to within a rounding."""

_SUMMED = 2.0**10
"""Up to this sigma tails are added up; above it they are integrals."""


class Shape(Protocol):
    """A law in floating point."""

    @property
    def variance(self) -> float:
        """The variance of a draw."""
        ...

    def probability_beyond(self, m: np.ndarray) -> np.ndarray:
        """Compute P(|X| > m) for every integer m >= -1 of an array, with a relative error below 1e-11."""
        ...

    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Compute ln E exp(i t X), which is real, for every t of an array in [0, pi]."""
        ...


@dataclass(frozen=True)
class GeometricShape:
    """The double geometric law of this scale.

    Example:
        >>> GeometricShape(1.0).probability_beyond(np.array([0, 1]))
        array([0.53788284, 0.19787604])
    """

    scale: float

    @property
    def variance(self) -> float:
        """The variance 2 a / (1 - a)^2."""
        t = -1 / self.scale
        return 2 * exp(t) / expm1(t) ** 2

    def probability_beyond(self, m: np.ndarray) -> np.ndarray:
        """Compute P(|X| > m) = 2 a^(m + 1) / (1 + a)."""
        m, t = np.asarray(m, float), 1 / self.scale
        return np.where(m < 0, 1.0, 2 * np.exp(-(m + 1) * t) / (1 + exp(-t)))

    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Compute ln of (1 - a)^2 / (1 - 2 a cos t + a^2), whose denominator is (1 - a)^2 + 4 a sin(t / 2)^2."""
        return -np.log1p(2 * self.variance * np.sin(t / 2) ** 2)


@dataclass(frozen=True)
class GaussianShape:
    """The discrete Gaussian law of this sigma.

    Example:
        >>> GaussianShape(1.0).probability_beyond(np.array([0, 1]))
        array([0.60105772, 0.11711628])
    """

    sigma: float

    @property
    def variance(self) -> float:
        """The variance, which is below sigma^2 by less than a rounding from sigma = 2 up."""
        if self.sigma >= _SMOOTH:
            return self.sigma**2
        sizes, weights, total = _weights(self.sigma)
        return float((sizes**2 * weights).sum() / total)

    def probability_beyond(self, m: np.ndarray) -> np.ndarray:
        """Compute P(|X| > m) by adding up, or for wide laws by integrals."""
        m = np.asarray(m)
        if self.sigma > _SUMMED:
            return gaussian_integral.probability_beyond(1 / (2 * self.sigma**2), m)
        tails = _tails(self.sigma)
        return np.where(m < 0, 1.0, tails[np.clip(m, 0, len(tails) - 1)])

    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Compute the logarithm by Poisson's formula where sigma is 1 or more, else from the definition.

        E exp(i t X) is proportional to the sum of exp(-sigma^2 (t + 2 pi n)^2 / 2) over all integers n.
        """
        t = np.asarray(t, float)
        if self.sigma < 1:
            sizes, weights, total = _weights(self.sigma)
            return np.log1p(-2 * np.sin(sizes * t[..., None] / 2) ** 2 @ weights / total)
        turns = 2 * np.pi * np.arange(-3, 4)
        rest = -(self.sigma**2) * ((t[..., None] + turns) ** 2 - t[..., None] ** 2) / 2  # 0 at n = 0
        whole = np.exp(-((self.sigma * turns) ** 2) / 2).sum()
        return -(self.sigma**2) * t**2 / 2 + np.log(np.exp(rest).sum(axis=-1) / whole)


def _weights(sigma: float) -> tuple[np.ndarray, np.ndarray, float]:
    """List the sizes 1, 2, ... of a narrow law, their weights with both signs, and the total with that of 0."""
    sizes = np.arange(1.0, 40 * _SMOOTH)
    weights = 2 * np.exp(-(sizes**2) / (2 * sigma**2))
    return sizes, weights, 1 + float(weights.sum())


@lru_cache(maxsize=16)
def _tails(sigma: float) -> np.ndarray:
    """Compute P(|X| > 0), P(|X| > 1), ... up to the first that is 0 as a double."""
    sizes = np.arange(int(39 * sigma) + 2, 0, -1.0)  # exp(-39^2 / 2) is about the smallest double
    sums = np.cumsum(2 * np.exp(-(sizes**2) / (2 * sigma**2)))  # the smallest are added first
    tails = np.append(sums[::-1], 0.0) / (1 + sums[-1])
    tails.flags.writeable = False
    return tails
