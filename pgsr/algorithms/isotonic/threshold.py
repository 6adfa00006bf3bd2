"""Where columns and rows of a split view meet: how many groups are below the threshold, by both of them."""

import numpy as np

from pgsr.algorithms.groups import GroupRuns


def groups_below(fitted: np.ndarray, noisy: np.ndarray, beyond: GroupRuns, total: int) -> int:
    """Choose how many of a region's groups are smaller than the threshold T, by its fitted columns and rows together.

    With u groups below T no cumulative count exceeds u, and of the measured ranks the total - u largest alone may have
    anything beyond T, so that the others are 0:

        minimise  sum_{s < T} (min(fitted[s], u) - noisy[s])^2  +  sum over the other ranks of beyond^2.

    The last column alone would decide it if only columns were asked, and an error of one there takes the largest group
    of all away. Rows forbid that: one group with hundreds of members beyond T weighs as much as its square.

    Args:
        fitted: non-decreasing cumulative counts of the sizes below T, shape (T,), T at least 1.
        noisy: what they were fitted to.
        beyond: what the measured ranks have beyond T, fitted.
        total: the number of groups.

    Returns:
        u, at most fitted[T - 1], and no less than spares every rank that has something; the largest of several best.

    Complexity: O(T + n), n the ranks with something beyond T.

    Example:
        >>> groups_below(np.array([3, 9, 10]), np.array([3, 9, 12]), GroupRuns(np.array([0, 80]), np.array([9, 1])), 10)
        9
    """
    most, ends = int(fitted[-1]), np.concatenate([[0], np.cumsum(beyond.count)])
    positive = int(beyond.count[beyond.size > 0].sum())
    # Fewer groups below the threshold than this gain nothing in the rows.
    candidates = np.arange(min(most, max(0, total - positive)), most + 1)
    from_here = np.searchsorted(fitted, candidates, side="right")
    values = noisy.astype(float)
    columns = (
        _rest((fitted - values) ** 2)[0]
        - _rest((fitted - values) ** 2)[from_here]
        + _rest(values**2)[from_here]
        - 2 * candidates * _rest(values)[from_here]
        + candidates.astype(float) ** 2 * (len(values) - from_here)
    )
    squares = np.concatenate([[0.0], np.cumsum(beyond.count * beyond.size.astype(float) ** 2)])
    rows = np.interp(np.maximum(0, ends[-1] - (total - candidates)), ends, squares)
    cost = columns + rows
    return int(candidates[len(cost) - 1 - np.argmin(cost[::-1])])


def _rest(values: np.ndarray) -> np.ndarray:
    """Add up values from every place to the end; shape (n + 1,)."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
