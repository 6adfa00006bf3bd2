"""The isotonic fit of noisy sums: each of some neighbouring values of a non-decreasing vector, whose cells it gives."""

import numpy as np


def fit_sums(sums: np.ndarray, widths: np.ndarray, most: int) -> np.ndarray:
    """Fit a non-decreasing vector within 0..most to noisy sums of its cells, whose noise is alike; float.

    With a[j] the average of the n[j] cells of sum j,

        minimise  sum over j of (n[j] a[j] - sums[j])^2   over   0 <= a[0] <= a[1] <= ... <= most.

    Inside of a sum the cells lie on two straight lines, which begin and end half-way to the averages beside it and have
    the average in their middle as far as they do not fall. A sum of one cell is this cell.

    Args:
        sums: noisy, shape (number of sums,).
        widths: n, how many cells each has, 1 or more.
        most: the largest value of a cell.

    Complexity: O(cells).

    Example:
        >>> fit_sums(np.array([2, 30, 60]), np.array([1, 3, 3]), most=50).round(2).tolist()
        [2.0, 6.17, 10.5, 13.5, 16.67, 20.0, 20.0]
    """
    from scipy.optimize import isotonic_regression

    n = np.asarray(widths, float)
    if not len(n):
        return np.zeros(0)
    average = np.clip(isotonic_regression(sums / n, weights=n**2).x, 0, most)
    ends = np.concatenate([[0.0], np.cumsum(n)])
    middle = (ends[:-1] + ends[1:]) / 2
    between = np.interp(ends[1:-1], middle, average)
    left, right = np.append(average[0], between), np.append(between, average[-1])
    bend = np.clip(2 * average - (left + right) / 2, left, right)
    knots, values = np.empty((2, 2 * len(n) + 1))
    knots[0::2], knots[1::2] = ends, middle
    values[0::2], values[1::2] = np.append(left, right[-1]), bend
    cells = np.interp(np.arange(int(ends[-1])) + 0.5, knots, values)
    single = n == 1
    cells[ends[:-1][single].astype(int)] = average[single]
    return cells
