"""The algorithms of isotonic regression, which find the nearest non-decreasing vector."""

from enum import StrEnum

import numpy as np

from pgsr.data.counts import checked_counts
from pgsr.errors import ProblemError, TooLargeError
from pgsr.machine.compilation import read_only
from pgsr.machine.parallel import share


class Optimum(StrEnum):
    """The choice among the many L1 optima. All have the same distance to the noisy values, and different errors."""

    SMALLEST = "smallest"
    LARGEST = "largest"
    MIDPOINT = "midpoint"


def isotonic_l1(y: np.ndarray, lower: int, upper: int, optimum: Optimum = Optimum.SMALLEST) -> np.ndarray:
    """Find the nearest non-decreasing vector in absolute values, within bounds.

        minimise    sum_i |x[i] - y[i]|
        subject to  lower <= x[0] <= x[1] <= ... <= upper.

    The slope trick gives the smallest optimum as integers; negating and reversing y gives the largest. The midpoint of
    the two is an optimum as well; it may be half-integer. Clipping keeps an optimum optimal.

    Args:
        y: int64, shape (cells,).
        optimum: which one.

    Returns:
        Shape (cells,), int64, or float64 for the midpoint.

    Complexity: O(cells log cells).

    Example:
        >>> y = np.array([3, 1, 2, 5, 4])
        >>> isotonic_l1(y, 0, 9), isotonic_l1(y, 0, 9, Optimum.LARGEST), isotonic_l1(y, 0, 9, Optimum.MIDPOINT)
        (array([1, 1, 2, 4, 4]), array([2, 2, 2, 5, 5]), array([1.5, 1.5, 2. , 4.5, 4.5]))

    Source: Kuo et al. 2018, section 4.3; the slope trick is folklore of isotonic median regression. Shown by
    `test_isotonic.py::test_l1_equals_brute_force`.
    """
    from pgsr.engines.isotonic_kernel import l1_smallest

    y = _vector(y, lower, upper)
    optimum = Optimum(optimum)
    if optimum is Optimum.MIDPOINT:
        return (isotonic_l1(y, lower, upper) + isotonic_l1(y, lower, upper, Optimum.LARGEST)) / 2
    out = np.empty_like(y)
    if optimum is Optimum.SMALLEST:
        l1_smallest(y, out)
    else:
        l1_smallest(-y[::-1], out)
        out = -out[::-1]
    return np.clip(out, lower, upper)


def isotonic_l1_middles(rows: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Compute, row by row, the middle of the smallest and the largest L1 isotonic regression within 0..upper.

    Args:
        rows: y, int64 or int32, shape (n, cells).
        upper: per row, int64, shape (n,).

    Returns:
        float64, shape (n, cells): whole and half numbers.

    Example:
        >>> isotonic_l1_middles(np.array([[3, 1, 2, 5, 4]]), np.array([9]))
        array([[1.5, 1.5, 2. , 4.5, 4.5]])

    Shown by `test_isotonic.py::test_middles_of_rows_are_those_of_vectors`.
    """
    from pgsr.engines.isotonic_kernel import l1_middle_rows

    out = np.empty(rows.shape)
    if rows.size:
        y = read_only(np.ascontiguousarray(rows, np.int64))
        share(l1_middle_rows, range(len(rows)), rows.shape[1], y, upper, out)
    return out


def isotonic_within(y: np.ndarray, lower: np.ndarray, upper: np.ndarray, norm: int) -> np.ndarray:
    """Find the nearest non-decreasing integers where every cell has bounds of its own.

        minimise    sum_i |x[i] - y[i]|^norm
        subject to  x[0] <= x[1] <= ...,    lower[i] <= x[i] <= upper[i],    x integer.

    Args:
        y, lower, upper: integers, shape (cells,).
        norm: 1 or 2. The L1 optimum is the smallest.

    Returns:
        Shape (cells,), int64.

    Raises:
        ProblemError: no non-decreasing vector keeps the bounds.
        TooLargeError: sums times counts beyond 64 bits.

    Complexity: O(cells), with norm 1 O(cells log cells).

    Example:
        >>> isotonic_within(np.array([10, 0]), np.array([0, 0]), np.array([2, 99]), 2)
        array([2, 2])

    Shown equal to exhaustive search by `test_isotonic.py::test_bounds_of_cells_equal_brute_force`.
    """
    from pgsr.engines.isotonic_kernel import l2_blocks_within

    y, lower, upper = (np.ascontiguousarray(checked_counts(part, "y and bounds")) for part in (y, lower, upper))
    low, high = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    if (low > high).any():
        cell = int(np.argmax(low > high))
        raise ProblemError(
            f"cell {cell:,} is at least {int(low[cell]):,} by the lower bounds up to it and at most "
            f"{int(high[cell]):,} by the upper ones from it on; no non-decreasing vector keeps both"
        )
    if norm == 1:
        clipped = np.clip(y, low, high)
        return isotonic_l1(clipped, int(clipped.min(initial=0)), int(clipped.max(initial=0)))
    if not len(y):
        return y
    # No block exceeds all y and all bounds on that side, so bounds beyond them may be as large as these.
    high = np.minimum(high, max(int(y.max()), int(low.max())))
    low = np.maximum(low, min(int(y.min()), int(high.min())))
    for part in (y, low, high):
        _pooled(part)
    total, divisor, count = l2_blocks_within(y, low, high)
    return np.repeat(nearest_fractions(total, divisor), count)


def isotonic_l2_runs(y: np.ndarray, lower: int, upper: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute `isotonic_l2` of one long vector as runs: the integers, and how many cells have each; shapes (runs,).

    Memory beyond y grows with the number of blocks only.
    """
    from pgsr.engines.isotonic_kernel import l2_blocks

    total, count = l2_blocks(_pooled(y))
    return np.clip(nearest_fractions(total, count), lower, upper), count


def isotonic_l2_means(y: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Compute the real isotonic regression of one vector in squares, within bounds; shape (cells,), float64."""
    from pgsr.engines.isotonic_kernel import l2_blocks

    total, count = l2_blocks(_pooled(y))
    return np.repeat(np.clip(total / count, lower, upper), count)


def isotonic_l2_counts(y: np.ndarray, upper: int) -> np.ndarray:
    """Count the values 0..upper of the nearest non-decreasing integers in squares, within these bounds.

    Example:
        >>> isotonic_l2_counts(np.array([0, 3, -1, 2, 2, 7, 5, 9]), 9)
        array([1, 2, 2, 0, 0, 0, 2, 0, 0, 1])
    """
    values, count = isotonic_l2_runs(y, 0, upper)
    return np.bincount(values, count, minlength=upper + 1).astype(np.int64)


def isotonic_min_max(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the real isotonic regression of one vector in squares by its min-max formula.

        x[i] = max over a <= i of  min over b >= i of  mean of y[a], ..., y[b].

    Returns:
        x as fractions, sums over counts of cells; int64, shapes (cells,).

    Complexity: O(cells^2).

    Raises:
        TooLargeError: sums times counts beyond 64 bits.

    Example:
        >>> isotonic_min_max(np.array([3, 1, 2, 5, 4]))
        (array([6, 6, 6, 9, 9]), array([3, 3, 3, 2, 2]))

    Source: Barlow et al. 1972.
    """
    from pgsr.engines.isotonic_kernel import l2_min_max

    return l2_min_max(_pooled(y))


def nearest_fractions(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Round fractions to the nearest integers, halves to even."""
    value, rest = np.divmod(total, count)
    return value + ((2 * rest > count) | ((2 * rest == count) & (value % 2 == 1)))


def _vector(y: np.ndarray, lower: float, upper: float) -> np.ndarray:
    array = np.ascontiguousarray(checked_counts(y, "y"))
    if array.ndim != 1 or lower > upper:
        raise ProblemError(f"give one vector and bounds in order, not shape {array.shape} and [{lower}, {upper}]")
    return array


def _pooled(y: np.ndarray) -> np.ndarray:
    """View a vector as loops want it; refuse one whose block sums times block counts could leave 64 bits."""
    y, step = read_only(np.ascontiguousarray(y, np.int64)), 1 << 20
    largest = sum(float(np.abs(y[start : start + step]).sum(dtype=np.float64)) for start in range(0, len(y), step))
    if largest * len(y) >= 2**62:
        raise TooLargeError("sums times counts exceed 2^62, so means cannot be compared in 64 bits; use fewer cells")
    return y


def isotonic_l2(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Find, row by row, the nearest non-decreasing integers within bounds.

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
    `test_isotonic.py::test_equals_brute_force`.
    """
    from pgsr.engines.isotonic_kernel import isotonic_l2_rows

    rows = read_only(np.ascontiguousarray(checked_counts(rows, "y")))
    lower, upper = (np.atleast_1d(checked_counts(bound, "bound")) for bound in (lower, upper))
    if rows.ndim != 2 or lower.shape != (len(rows),) or upper.shape != (len(rows),) or (lower > upper).any():
        raise ProblemError("give a matrix of rows, and per row one lower and one upper bound, lower <= upper")
    if rows.size and int(np.abs(rows).max()) * rows.shape[1] ** 2 >= 2**62:
        raise TooLargeError(
            "values times cells squared exceed 2^62, so means cannot be compared in 64 bits; use fewer sizes"
        )
    out = np.empty_like(rows)
    share(isotonic_l2_rows, range(len(rows)), rows.shape[1], rows, lower, upper, out)
    return out
