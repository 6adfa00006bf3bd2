"""A falling shape of a population's sizes, and how many sizes of a region are worth a column of a split view.

Rows are worth their noise where there is less than one group per size, whatever epsilon is
(docs/derivations/split_view.md). On taxi pick-ups, flights, made households and people of a race by block group, at
epsilon 1 and 1/10, the limit of 1/2 gave the posterior release errors within 3 % of those of the best of 1/4, 1/2, 1, 2
and 4, but for taxi pick-ups at 1/10 (5 %).

Sizes of a population seldom fall from the first on, and noisy ones never do. The nearest falling shape is the mean over
stretches of sizes: it rests on many groups, and takes no last class, "K or more", or single spike for a long tail.
"""

import numpy as np


def falling_shape(groups: np.ndarray) -> np.ndarray:
    """Fit non-increasing shares of sizes to numbers of groups, noisy ones too; float, shape (K + 1,), adding up to 1.

        minimise sum_s (p[s] - groups[s] / sum groups)^2   over   p[0] >= p[1] >= ... >= p[K] >= 0.

    Shares of 0 everywhere stand for groups that are none in all.

    Args:
        groups: of every size, shape (K + 1,).

    Complexity: O(K).

    Example:
        >>> falling_shape(np.array([0, 6, 2, 3, 0, 1])).round(3).tolist()
        [0.25, 0.25, 0.208, 0.208, 0.042, 0.042]
    """
    from scipy.optimize import isotonic_regression

    fitted = np.maximum(isotonic_regression(groups.astype(float), increasing=False).x, 0)
    total = fitted.sum()
    return fitted / total if total else fitted


def shape_of_noisy(cumulative_counts: np.ndarray, groups: int) -> np.ndarray:
    """Fit non-increasing shares of sizes to noisy cumulative counts; float, shape (K + 1,).

    The nearest non-decreasing counts within 0..groups come first, then `falling_shape` of their steps.

    Args:
        cumulative_counts: noisy numbers of groups of at most s members, shape (K + 1,).
        groups: the number of groups.

    Complexity: O(K).

    Example:
        >>> shape_of_noisy(np.array([1, 5, 9, 8, 10, 9]), groups=10).round(3).tolist()
        [0.298, 0.298, 0.298, 0.053, 0.053, 0.0]
    """
    from scipy.optimize import isotonic_regression

    fitted = np.clip(isotonic_regression(cumulative_counts.astype(float)).x, 0, groups)
    return falling_shape(np.diff(fitted, prepend=0))


def columns_worth(shape: np.ndarray, groups: int, factor: float) -> int:
    """Count the sizes s with groups shape[s] > factor, where the shape does not increase.

    Complexity: O(log K).

    Example:
        >>> columns_worth(np.array([0.6, 0.3, 0.1]), groups=5, factor=1)
        2
    """
    return int(np.searchsorted(-groups * shape, -factor, side="left"))
