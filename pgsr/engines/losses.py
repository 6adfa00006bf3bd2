"""The losses of differences, of which objectives consist: squares, magnitudes, Huber's, and the largest magnitude."""

import math
from dataclasses import dataclass

import numpy as np

from pgsr.errors import ProblemError

MOST_KNEE = 2**20
"""Largest knee, so that losses of counts stay within 64 bits."""


@dataclass(frozen=True)
class Huber:
    """The loss of Huber: a square as far as the knee, and straight on from there.

        |d|^2 where |d| <= knee,     knee (2 |d| - knee) beyond,

    so that a few values that are far off weigh less than in a sum of squares. It is an integer where d is.

    Attributes:
        knee: a whole number from 1 on.

    Raises:
        ProblemError: the knee is none, or above 2^20.

    Example:
        >>> loss(np.array([-1, 0, 3, 5]), Huber(2)).tolist()
        [1, 0, 8, 16]
    """

    knee: int

    def __post_init__(self) -> None:
        whole = isinstance(self.knee, int | np.integer) and not isinstance(self.knee, bool)
        if not whole or not 1 <= self.knee <= MOST_KNEE:
            raise ProblemError(f"Huber({self.knee!r}): give a whole number from 1 to 2^20, in units of the values")
        object.__setattr__(self, "knee", int(self.knee))


Norm = int | float | Huber
"""1 or 2, a sum of magnitudes or squares; `math.inf`, the largest magnitude; or `Huber(knee)`."""


def checked_norm(norm: object) -> Norm:
    """Check a norm; return it, the largest magnitude as `math.inf`.

    Raises:
        ProblemError: it is unknown.
    """
    if isinstance(norm, Huber):
        return norm
    if isinstance(norm, int | float | np.number) and not isinstance(norm, bool) and norm in (1, 2, math.inf):
        return math.inf if norm == math.inf else int(norm)
    raise ProblemError(f"norm {norm!r} is unknown; use 1 or 2, math.inf for the largest deviation, or Huber(knee)")


def norm_text(norm: Norm) -> str:
    """Say what an objective of this norm is.

    Example:
        >>> norm_text(2), norm_text(Huber(3))
        ('sum of squares', 'sum of squares, straight on from 3 (Huber)')
    """
    if isinstance(norm, Huber):
        return f"sum of squares, straight on from {norm.knee:,} (Huber)"
    return {1: "sum of magnitudes", 2: "sum of squares"}.get(norm, "largest deviation")  # pyright: ignore


def loss(difference: np.ndarray, norm: Norm) -> np.ndarray:
    """Compute the loss of every difference; for the largest deviation its magnitude. Integers stay integers."""
    if norm == 2:
        return difference * difference
    size = np.abs(difference)
    if not isinstance(norm, Huber):
        return size
    near = np.minimum(size, norm.knee)
    return near * near + 2 * norm.knee * (size - near)


def marginal_costs(w: np.ndarray, difference: np.ndarray, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    """Compute what one unit more costs, and what one unit less saves, of a loss that is added up; in integers.

    Example:
        >>> [part.tolist() for part in marginal_costs(np.array([1]), np.array([-1, 0, 3]), 2)]
        [[-1, 1, 7], [-3, -1, 5]]
    """
    if norm == 2:
        slope = 2 * w * difference
        return slope + w, slope - w
    here = loss(difference, norm)
    return w * (loss(difference + 1, norm) - here), w * (here - loss(difference - 1, norm))


def steepest(norm: Norm) -> float:
    """Give the largest slope of the loss, infinity of squares."""
    return 2.0 * norm.knee if isinstance(norm, Huber) else math.inf if norm == 2 else 1.0


def farthest(most: np.ndarray, norm: Norm) -> np.ndarray:
    """Compute how far a difference goes whose loss is at most so much."""
    if norm == 2:
        return np.sqrt(most)
    if isinstance(norm, Huber):
        return np.where(most <= norm.knee**2, np.sqrt(most), (most / norm.knee + norm.knee) / 2)
    return np.asarray(most, float)
