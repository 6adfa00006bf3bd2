"""The hand-over form between problems and solvers."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Program:
    """A diagonal quadratic program around a point, x = origin + z:

        minimise    sum_j weight[j] z[j]^2
        subject to  matrix z = right,   z >= lower   (z integer).

    `origin` is the noisy vector, so unknowns and right-hand sides are of the size of the noise, not of counts of 1e8:
    that is what keeps solvers with absolute tolerances accurate.

    Attributes:
        weight: shape (n,), non-negative integers.
        matrix: sparse, shape (m, n).
        right: shape (m,), integers.
        lower: shape (n,), integers, or None for free signs.
        integer: whether z is integer.
        origin: shape (n,), integers.
    """

    weight: np.ndarray
    matrix: sparse.csr_array
    right: np.ndarray
    lower: np.ndarray | None
    integer: bool
    origin: np.ndarray

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def m(self) -> int:
        return len(self.right)
