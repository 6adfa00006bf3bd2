"""Top-down counts over a tree of dyadic ranges of sizes, in the way of InfTDA.

Sizes 0..K, padded to 2^h, are the leaves of a binary tree; every node below the root is measured, and the root's count
is public. Top down, the counts of two halves with noisy values a and b below a node with the count t are the whole
numbers x + x' = t, x, x' >= 0, that minimise max(|x - a|, |x' - b|), the Chebyshev distance:

    x = a + (t - a - b) / 2, rounded down, then brought into 0..t.

**Privacy, for one entity more or less.** A group moves between two neighbouring sizes, and on every level below the
node where they part two counts change by 1: at most 2 h in L1 together, so double geometric noise of scale 2 h /
epsilon on every count is epsilon-DP.

Its authors use discrete Gaussian noise and zCDP, of another privacy guarantee, and a tree of regions or features; the
dyadic ranges, the pure epsilon and equal shares of all levels are choices made here. It assumes nothing of the counts.

Source: Boninsegna and Silvestri 2025, "InfTDA: a simple TopDown mechanism for hierarchical differentially private
counting queries", arXiv 2505.05347, and their PoPETs 2025 paper, arXiv 2412.09256. That a half is nearest in Chebyshev
distance is checked against all by `test_experiments_others_rivals.py::test_halves_are_nearest`.
"""

from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, leaf_by_leaf, release_leaves
from pgsr.experiments.others.rivals.privelet import height, padded
from pgsr.privacy.laws.double_geometric import DoubleGeometric


def query(counts: np.ndarray) -> np.ndarray:
    """Compute the counts of all ranges below the root, from the halves down to single sizes.

    Example:
        >>> query(np.array([5, 2, 1, 0]))
        array([7, 1, 5, 2, 1, 0])
    """
    sums, found = padded(counts), []
    while len(sums) > 1:
        found.append(sums)
        sums = sums[0::2] + sums[1::2]
    return np.concatenate([*found[::-1], np.empty(0, np.int64)])


def halves(totals: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute the left halves' counts, nearest to their noisy values, of nodes with these totals.

    Example:
        >>> halves(np.array([10, 10]), np.array([8, -5]), np.array([4, 6]))
        array([7, 0])
    """
    return np.clip(left + (totals - left - right) // 2, 0, totals)


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    del law
    sums, start = np.array([groups]), 0
    while len(sums) < 2 ** height(max_size):
        below = noisy[start : start + 2 * len(sums)]
        start += len(below)
        left = halves(sums, below[0::2], below[1::2])
        sums = np.column_stack([left, sums - left]).ravel()
    return folded(sums, max_size)


def folded(sums: np.ndarray, max_size: int) -> np.ndarray:
    """Count what lies at sizes beyond K, which no group has, as K."""
    kept = sums[: max_size + 1].astype(float)
    kept[-1] += sums[max_size + 1 :].sum()
    return kept


MECHANISM = Additive("dyadic ranges", query, lambda max_size: max(1, 2 * height(max_size)), leaf_by_leaf(_estimate))

ARM = Competitor(
    "dyadic ranges (InfTDA)",
    release=partial(release_leaves, MECHANISM),
    made_by="Boninsegna and Silvestri 2025, with pure epsilon on ranges of sizes",
)
