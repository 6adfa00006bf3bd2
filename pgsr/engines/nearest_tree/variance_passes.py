"""The relaxed answer once more, from the cells that are not 0, by passes in which no large numbers cancel.

Prices of a tree are sums of slopes 2 w (x - y) along a branch. Where weights are far apart, a slope of a heavy region
is large, and what its price still says of light cells below is lost in its last digits. With the set of positive leaves
given the answer is one of least squares under consistency alone, and two passes find it from variances 1 / w, which
only add up (`pgsr.algorithms.mean_consistency` has all cells positive): a leaf at 0 has the variance 0.
"""

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.machine.blocks import row_blocks

FAR_APART = 2.0**20
"""The ratio of weights from which on it is worth two more passes."""

_ROUNDS = 20


def are_far_apart(w: np.ndarray) -> bool:
    """Say whether some weight is more than `FAR_APART` times another."""
    return bool(w.max() > FAR_APART * float(w[w > 0].min()))


def settled(tree: Hierarchy, y: np.ndarray, w: np.ndarray, x: np.ndarray, root: float) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest numbers from 0 on that add up, near an answer x, and the prices that inner regions pay.

    Args:
        tree: the regions.
        y: noisy numbers, shape (regions, sizes).
        w: weights, 0 or more, shape (regions,), positive at leaves.
        x: an answer up to last digits of prices, whose positive leaves are a start; shape of y.
        root: the price that the root is paid.

    Shown equal to exact fractions by `test_reconciling_weights.py::test_heavy_rows_that_contradict_each_other`.
    """
    found, prices = np.empty(y.shape), np.empty((tree.n_inner, y.shape[1]))
    for block in row_blocks(slice(0, y.shape[1]), tree.n_regions):
        found[:, block], prices[:, block] = _settled(tree, y[:, block], w, x[tree.leaves, block] > 0, root)
    return found, prices


def passes(
    tree: Hierarchy, y: np.ndarray, w: np.ndarray, positive: np.ndarray, root: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compute x - y and the prices that inner regions pay, where these leaves are positive and the others are 0."""
    variance, change = np.zeros(y.shape), np.zeros(y.shape)
    children, prices = np.empty((2, tree.n_inner, y.shape[1]))
    variance[tree.leaves] = positive / w[tree.leaves, None]
    change[tree.leaves] = np.where(positive, 0.0, -y[tree.leaves])
    for level in range(tree.n_levels - 2, -1, -1):
        here = tree.level(level)
        children[here] = tree.sum_children(variance, level)
        prices[here] = y[here] - tree.sum_children(y, level) - tree.sum_children(change, level)  # what is missing
        scale = 1.0 + w[here, None] * children[here]
        change[here] = -prices[here] / scale
        variance[here] = children[here] / scale
    change[0] += 0.5 * variance[0] * root
    for level in range(tree.n_levels - 1):
        here, below = tree.level(level), tree.level(level + 1)
        free = children[here] > 0
        paid = prices[tree.parent[here]] if level else np.full((1, y.shape[1]), root)
        shared = 2.0 * (prices[here] + change[here]) / np.where(free, children[here], 1.0)
        prices[here] = np.where(free, shared, paid - 2.0 * w[here, None] * change[here])
        up = tree.parent[below]
        change[below] += 0.5 * variance[below] * np.where(free, prices[here], 0.0)[up - here.start]
    return change, prices


def _settled(
    tree: Hierarchy, y: np.ndarray, w: np.ndarray, positive: np.ndarray, root: float
) -> tuple[np.ndarray, np.ndarray]:
    leaves, rate = tree.leaves, 0.5 / w[tree.leaves, None]
    for _ in range(_ROUNDS):
        change, prices = passes(tree, y, w, positive, root)
        wanted = y[leaves] + rate * prices[tree.parent[leaves]] > 0
        if (wanted == positive).all():
            break
        positive = wanted
    while True:  # ends, for the set shrinks
        change, prices = passes(tree, y, w, positive, root)
        below_0 = positive & (y[leaves] + change[leaves] < 0)
        if not below_0.any():
            break
        positive = positive & ~below_0
    x = y + change
    x[leaves] = np.where(positive, x[leaves], 0.0)
    return x, prices
