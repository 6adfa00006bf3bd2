"""What every law of noise can say of itself: a symmetric distribution over all integers, drawn exactly."""

from abc import ABC, abstractmethod
from fractions import Fraction
from math import sqrt

import numpy as np

from pgsr.privacy.laws.shapes import Shape
from pgsr.privacy.random import ByteStream


class Law(ABC):
    """A law of noise X over all integers with P(X = k) = P(X = -k); a frozen, hashable value.

    Example:
        >>> from fractions import Fraction
        >>> from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
        >>> for law in (DoubleGeometric(Fraction(2)), DiscreteGaussian(Fraction(5, 2))):
        ...     print(law.spelling, round(law.deviation, 4), np.exp(law.log_pmf(np.array([-1, 0, 1]))).round(4))
        {'law': 'double_geometric', 'scale': '2'} 2.7992 [0.1486 0.2449 0.1486]
        {'law': 'discrete_gaussian', 'sigma_squared': '5/2'} 1.5811 [0.2066 0.2523 0.2066]
    """

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of a draw."""

    @property
    @abstractmethod
    def variance_bound(self) -> Fraction:
        """A simple fraction that the variance does not exceed, and all but equals where the noise is large."""

    @property
    def deviation(self) -> float:
        """The standard deviation of a draw."""
        return sqrt(self.variance)

    @property
    @abstractmethod
    def spelling(self) -> dict[str, str]:
        """The law as texts, which `law_of` reads back."""

    @abstractmethod
    def log_pmf(self, k: np.ndarray) -> np.ndarray:
        """Compute ln P(X = k) for every integer k of an array, to within a few roundings of the result."""

    @abstractmethod
    def shape(self, factor: float) -> Shape:
        """Give the law in floating point, if its scale or sigma were `factor` times as large; `factor` > 0."""

    def probability_beyond(self, m: np.ndarray) -> np.ndarray:
        """Compute P(|X| > m) for every integer m >= -1 of an array, with a relative error below 1e-11."""
        return self.shape(1.0).probability_beyond(m)

    @abstractmethod
    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        """Enclose 2^precision P(|X| <= m) by two integers, which differ by a few units."""

    @abstractmethod
    def add_to(self, values: np.ndarray, stream: ByteStream) -> None:
        """Add an independent draw to every entry of a contiguous int64 array, in place."""
