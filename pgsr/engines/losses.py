"""The losses of differences, of which objectives consist: squares, norm 2, and magnitudes, norm 1."""

import numpy as np

from pgsr.errors import ProblemError


def checked_norm(norm: object) -> int:
    """Check a norm; return it.

    Raises:
        ProblemError: it is neither 1 nor 2.
    """
    if isinstance(norm, int | float | np.number) and not isinstance(norm, bool) and norm in (1, 2):
        return int(norm)
    raise ProblemError(f"norm {norm!r} is unknown; use 1 or 2")


def norm_text(norm: int) -> str:
    """Say what an objective of this norm is.

    Example:
        >>> norm_text(2)
        'sum of squares'
    """
    return "sum of magnitudes" if norm == 1 else "sum of squares"


def loss(difference: np.ndarray, norm: int) -> np.ndarray:
    """Compute the loss of every difference. Integers stay integers."""
    return np.abs(difference) if norm == 1 else difference * difference


def marginal_costs(w: np.ndarray, difference: np.ndarray, norm: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute what one unit more costs, and what one unit less saves; in integers.

    Example:
        >>> [part.tolist() for part in marginal_costs(np.array([1]), np.array([-1, 0, 3]), 2)]
        [[-1, 1, 7], [-3, -1, 5]]
    """
    if norm == 2:
        slope = 2 * w * difference
        return slope + w, slope - w
    here = loss(difference, norm)
    return w * (loss(difference + 1, norm) - here), w * (here - loss(difference - 1, norm))
