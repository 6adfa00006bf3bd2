"""Where columns and rows of a split view meet: how many groups are below the threshold, by both of them."""

import numpy as np

from pgsr.algorithms.groups import Groups


def groups_below(
    fitted: np.ndarray, noisy: np.ndarray, beyond: Groups, total: int, widths: tuple[int, ...] = ()
) -> int:
    """Choose how many of a region's groups are smaller than the threshold T, by its fitted columns and rows together.

    With u groups below T no cumulative count exceeds u, and of the measured ranks the total - u largest alone may have
    anything beyond T, so that the others are 0:

        minimise  sum_{s < T} (min(fitted[s], u) - noisy[s])^2  +  sum over the other ranks of beyond^2.

    The last column alone would decide it if only columns were asked, and an error of one there takes the largest group
    of all away. Rows forbid that: one group with hundreds of members beyond T weighs as much as its square.

    Args:
        fitted: non-decreasing cumulative counts of the sizes below T, shape (T,), T at least 1.
        noisy: what they were fitted to; with widths sums of so many of them, of which the squares are then.
        beyond: what the measured ranks have beyond T, fitted.
        total: the number of groups.
        widths: see `Split`.

    Returns:
        u, at most fitted[T - 1], and no less than spares every rank that has something; the largest of several best.

    Complexity: O(T + n), n the ranks with something beyond T.

    Example:
        >>> groups_below(np.array([3, 9, 10]), np.array([3, 9, 12]), Groups(np.array([0, 80]), np.array([9, 1])), 10)
        9
    """
    most, ends = int(fitted[-1]), np.concatenate([[0], np.cumsum(beyond.count)])
    positive = int(beyond.count[beyond.size > 0].sum())
    # Fewer groups below the threshold than this gain nothing in the rows.
    candidates = np.arange(min(most, max(0, total - positive)), most + 1)
    columns = _squares_of_columns(fitted, noisy.astype(float), candidates, np.array(widths or (1,) * len(noisy)))
    squares = np.concatenate([[0.0], np.cumsum(beyond.count * beyond.size.astype(float) ** 2)])
    rows = np.interp(np.maximum(0, ends[-1] - (total - candidates)), ends, squares)
    cost = columns + rows
    return int(candidates[len(cost) - 1 - np.argmin(cost[::-1])])


def _squares_of_columns(fitted: np.ndarray, sums: np.ndarray, u: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Compute sum_j (sum of min(fitted[s], u) over the n[j] cells s of sum j - sums[j])^2 for every u."""
    ends, upto = np.concatenate([[0], np.cumsum(n)]), np.concatenate([[0], np.cumsum(fitted)])
    cell = np.searchsorted(fitted, u, side="right")  # the first above u
    its = np.searchsorted(ends, cell, side="right") - 1  # the sum that has it; before it nothing changes
    kept = np.concatenate([[0.0], np.cumsum((np.diff(upto[ends]) - sums) ** 2)])
    # Where all cells are at most u a last sum of no cells changes nothing.
    ends, sums, n = np.append(ends, ends[-1]), np.append(sums, 0.0), np.append(n, 0)
    within = upto[cell] - upto[ends[its]] + u * (ends[its + 1] - cell) - sums[its]
    later = (_rest(part)[its + 1] for part in (n.astype(float) ** 2, n * sums, sums**2))
    of_widths, of_both, of_sums = later
    return kept[its] + within**2 + u.astype(float) ** 2 * of_widths - 2 * u * of_both + of_sums


def _rest(values: np.ndarray) -> np.ndarray:
    """Add up values from every place to the end; shape (n + 1,)."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
