"""The laws of noise with real parameters, so that they can be stretched a little, and of sums of their draws."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.laws import DiscreteGaussian, DoubleGeometric, Law

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

_LARGE = 3.0
"""The sigma from which the discrete Gaussian has the variance sigma^2 to 16 digits."""


class Shape(ABC):
    """A symmetric law over all integers."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of one draw."""

    @abstractmethod
    def stretched(self, factor: float) -> "Shape":
        """Give the law of this kind with a parameter `factor` times as wide."""

    @abstractmethod
    def beyond(self, sizes: np.ndarray) -> np.ndarray:
        """Compute P(|X| > m) of one draw."""

    @abstractmethod
    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Compute ln E cos(t X), for t from 0 to pi."""


@dataclass(frozen=True)
class Geometric(Shape):
    """The double geometric law."""

    scale: float

    @property
    def deviation(self) -> float:
        a = np.exp(-1 / self.scale)
        return float(np.sqrt(2 * a) / (1 - a))

    def stretched(self, factor: float) -> "Geometric":
        return Geometric(self.scale * factor)

    def beyond(self, sizes: np.ndarray) -> np.ndarray:
        """Compute 2 a^(m + 1) / (1 + a), a = exp(-1 / scale)."""
        a = np.exp(-1 / self.scale)
        return 2 * a ** (sizes + 1.0) / (1 + a)

    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Compute the log of (1 - a)^2 / (1 - 2 a cos t + a^2), whose lower part is (1 - a)^2 + 4 a sin(t / 2)^2."""
        a = np.exp(-1 / self.scale)
        return -np.log1p(4 * a * np.sin(t / 2) ** 2 / (1 - a) ** 2)


@dataclass(frozen=True)
class Gaussian(Shape):
    """The discrete Gaussian law."""

    sigma: float

    @property
    def deviation(self) -> float:
        if self.sigma >= _LARGE:
            return self.sigma
        k, masses = self._masses(40)
        return float(np.sqrt(2 * (k**2 * masses).sum()))

    def stretched(self, factor: float) -> "Gaussian":
        return Gaussian(self.sigma * factor)

    def beyond(self, sizes: np.ndarray) -> np.ndarray:
        """Add up the masses from the far end, where they are smallest."""
        k, masses = self._masses(max(int(40 * self.sigma), int(np.max(sizes))) + 2)
        tails = 2 * np.append(np.cumsum(masses[::-1])[::-1], 0.0)  # of |X| >= 1, 2, ...
        return tails[np.minimum(np.asarray(sizes, np.int64), len(k))]

    def log_characteristic(self, t: np.ndarray) -> np.ndarray:
        """Add up masses times cosines where sigma is small; else, by Poisson's summation formula, the log of

        sum over j of exp(-sigma^2 (t + 2 pi j)^2 / 2), divided by the same sum at t = 0.
        """
        if self.sigma < _LARGE:
            k, masses = self._masses(40)
            whole = 1 - 2 * masses.sum() + 2 * (np.cos(np.outer(t, k)) @ masses)
            return np.log(np.maximum(whole, 1e-300))
        shifts = 2 * np.pi * np.arange(-2, 3)
        at = np.logaddexp.reduce(-((self.sigma * (t[:, None] + shifts)) ** 2) / 2, axis=1)
        return at - np.logaddexp.reduce(-((self.sigma * shifts) ** 2) / 2)

    def _masses(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute P(X = k) for k = 1..most, with the whole sum as the normaliser."""
        k = np.arange(1, max(most, int(40 * self.sigma) + 2) + 1)
        masses = np.exp(-(k**2) / (2 * self.sigma**2))
        return k, masses / (1 + 2 * masses.sum())


def shape_of(law: Law) -> Shape:
    """Give the shape of an exact law."""
    if isinstance(law, DoubleGeometric):
        return Geometric(float(law.scale))
    assert isinstance(law, DiscreteGaussian), "there are two laws"
    return Gaussian(float(law.sigma_squared) ** 0.5)


Part = tuple[Shape, int, int]
"""The law of one draw, how many draws of it a sum has, and the level that they are of."""


def probability_beyond(sizes: np.ndarray, parts: Sequence[Part]) -> np.ndarray:
    """Compute P(|R| > m), R a sum of independent draws, n of each shape.

    With the product f of the characteristic functions to the power n,

        P(|R| <= m) = (1 / pi) integral from 0 to pi of f(t) sin((m + 1/2) t) / sin(t / 2) dt

    by summing exp(i k t) over |k| <= m. One draw has a closed form or a sum. Otherwise the integral is taken by
    Gauss-Legendre in panels of at most two oscillations, up to where f is below 1e-13; the error is some 1e-12, so bins
    end where less than 1e-10 would be left.
    """
    if sum(n for _, n, _ in parts) == 1:
        return parts[0][0].beyond(sizes)
    end = np.pi
    while _characteristic(np.array([end / 2]), parts)[0] < 1e-13:
        end /= 2
    # Between the halvings of the range f changes little; within each, panels are short enough for the sine.
    width = min(4 * np.pi / (float(sizes.max()) + 1), end)
    breaks = [0.0]
    for high in end / 2.0 ** np.arange(24, -1, -1):
        breaks.extend(np.linspace(breaks[-1], high, 1 + max(1, int(np.ceil((high - breaks[-1]) / width))))[1:])
    low, high = np.array(breaks[:-1]), np.array(breaks[1:])
    t = ((high + low)[:, None] / 2 + (high - low)[:, None] / 2 * _NODES).ravel()
    weight = ((high - low)[:, None] / 2 * _WEIGHTS).ravel() * _characteristic(t, parts) / np.sin(t / 2) / np.pi
    return 1 - np.array([np.sin((size + 0.5) * t) @ weight for size in sizes])


def _characteristic(t: np.ndarray, parts: Sequence[Part]) -> np.ndarray:
    return np.exp(sum((n * shape.log_characteristic(t) for shape, n, _ in parts), np.zeros(len(t))))
