"""The two ways from fractions to integers."""

import numpy as np


def nearest(values: np.ndarray) -> np.ndarray:
    """Round to the nearest integers, halves to even, as int64; shape kept.

    Example:
        >>> nearest(np.array([0.5, 1.5, -0.2]))
        array([0, 2, 0])
    """
    return np.rint(values).astype(np.int64)


def largest_remainder(values: np.ndarray, total: int) -> np.ndarray:
    """Round to integers with the given total: all down, then the largest remainders up; ties go to the first index.

    Args:
        values: shape (n,), finite, whose floors add up to at most `total` and to at least `total - n`.

    Raises:
        ValueError: no rounding of `values` up or down has this total.

    Example:
        >>> largest_remainder(np.array([1.6, 0.7, 0.7]), 3)
        array([1, 1, 1])

    Source: Kuo et al. 2018, section 4.1.
    """
    floors = np.floor(values)
    integers = floors.astype(np.int64)
    missing = int(total) - int(integers.sum())
    if not 0 <= missing <= len(values):
        raise ValueError(
            f"values that add up to {values.sum()} cannot be rounded to the total {total}; give a total from "
            f"{int(integers.sum())} to {int(integers.sum()) + len(values)}"
        )
    integers[np.argsort(floors - values, kind="stable")[:missing]] += 1
    return integers
