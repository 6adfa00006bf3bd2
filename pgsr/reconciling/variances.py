"""The variances of the best linear unbiased estimates on a tree, and the intervals that they give."""

import numpy as np
from scipy.special import ndtri

from pgsr.data.hierarchy import Hierarchy


def estimates_and_variances(tree: Hierarchy, y: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the best linear unbiased estimates of numbers that add up, and their variances; shape of y.

        minimise  sum over regions r, sizes s of  precision[r, s] (x[r, s] - y[r, s])^2   where children add up,

    for independent errors of variance 1 / precision. Upwards every region combines its value with the sum of its
    children's estimates z, whose variances v are inverse precisions that add up. Downwards, where a region has the
    variance V and its children together S = sum of v, child c has

        x[c] = z[c] + v[c] / S (x - sum of z),      V[c] = v[c] - v[c]^2 / S + (v[c] / S)^2 V.

    Args:
        tree: the regions.
        y: values, shape (regions, sizes).
        precision: 0 where there is no value, and then the variance may be infinite; shape (regions, sizes).

    Complexity: O(regions x sizes).

    Shown equal to dense least squares by `test_reconciling_variances.py::test_equal_dense_least_squares`.
    """
    z, v = np.where(precision > 0, y, 0.0), np.empty(y.shape)
    with np.errstate(divide="ignore"):
        v[:] = np.where(precision > 0, 1.0 / precision, np.inf)
    sums = np.zeros((tree.n_inner, y.shape[1]))
    for level in range(tree.n_levels - 2, -1, -1):
        here = tree.level(level)
        below, total = tree.sum_children(v, level), tree.sum_children(z, level)
        sums[here] = below
        own = precision[here]
        known = np.isfinite(below)
        joint = own + np.where(known, 1.0 / np.where(known, below, 1.0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            combined = (own * np.where(own > 0, y[here], 0.0) + np.where(known, total / below, 0.0)) / joint
        z[here] = np.where(joint > 0, combined, 0.0)
        v[here] = np.where(joint > 0, 1.0 / np.where(joint > 0, joint, 1.0), np.inf)
    return _downwards(tree, z, v, sums)


def _downwards(tree: Hierarchy, z: np.ndarray, v: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pass what is known above down to children; a child of infinite variance takes the rest if it is the only one."""
    x, variance = z.copy(), v.copy()
    infinite, finite, unknown = np.isinf(v), np.where(np.isinf(v), 0.0, v), np.isinf(v).astype(float)
    for level in range(tree.n_levels - 1):
        here, below = tree.level(level), tree.level(level + 1)
        up = tree.parent[below]
        at = up - here.start
        alone = infinite[below] & (tree.sum_children(unknown, level) == 1)[at]
        total = sums[up]
        part = np.where(np.isfinite(total), finite[below] / np.where(np.isfinite(total), total, 1.0), 0.0)
        missing = (x[here] - tree.sum_children(z, level))[at]
        x[below] += (part + alone) * missing
        from_above = part**2 * np.where(part > 0, variance[up], 0.0)
        rest = variance[up] + tree.sum_children(finite, level)[at]
        known = finite[below] - part * finite[below] + from_above
        variance[below] = np.where(alone, rest, np.where(infinite[below], np.inf, known))
    return x, variance


def intervals(
    estimate: np.ndarray, variance: np.ndarray, answer: np.ndarray, level: float, nonnegative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Give intervals around unbiased estimates that hold the truth with the chance `level` where errors are Gaussian.

    Each is by itself. It is cut at 0 where numbers are not negative, and widened to the answer, which can only raise
    the chance.
    """
    reach = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)
    low, high = estimate - reach, estimate + reach
    if nonnegative:
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    return np.minimum(low, answer), np.maximum(high, answer)
