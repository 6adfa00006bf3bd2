"""Isotonic regression: the nearest non-decreasing vector."""

import numpy as np

from pgsr.errors import ProblemError
from pgsr.kernels import threads_for


def isotonic_l2(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Row by row, the nearest non-decreasing integers within bounds.

        minimise    sum_i (x[i] - y[i])^2
        subject to  lower <= x[0] <= x[1] <= ... <= upper,  x integer.

    Pool-adjacent-violators with integer sums and counts gives the real optimum of the unbounded problem as exact
    fractions; clipping it, and rounding it to the nearest integer (halves to even), keeps it optimal.

    Args:
        rows: y, int64, shape (n, cells).
        lower, upper: bounds per row, int64, shape (n,).

    Complexity: O(cells) per row, rows in parallel.

    Raises:
        ProblemError: values so large that a comparison of means could leave 64 bits.

    Example:
        >>> isotonic_l2(np.array([[0, 3, -1, 2, 2, 7, 5, 9]]), np.array([0]), np.array([9]))
        array([[0, 1, 1, 2, 2, 6, 6, 9]])

    Source: Kuo et al. 2018, sections 4.2 and 4.3; pool-adjacent-violators after Barlow et al. 1972. Shown by
    `tests/test_isotonic.py::test_equals_brute_force`.
    """
    from pgsr.kernels.isotonic import isotonic_l2_rows

    rows = np.ascontiguousarray(rows, np.int64)
    if rows.size and int(np.abs(rows).max()) * rows.shape[1] ** 2 >= 2**62:
        raise ProblemError(
            "values times cells squared exceed 2^62, so means cannot be compared in 64 bits; use fewer sizes"
        )
    out = np.empty_like(rows)
    with threads_for(rows.size):
        isotonic_l2_rows(rows, np.asarray(lower, np.int64), np.asarray(upper, np.int64), out)
    return out
