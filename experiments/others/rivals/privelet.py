"""Privelet: noise on the Haar wavelet coefficients of the histogram of sizes.

Sizes 0..K, padded with zeros to m = 2^h, are the leaves of a binary tree. A node with n leaves below it has the
coefficient (mean of its left half - mean of its right half) / 2 = d / n, with d = left sum - right sum. Privelet gives
this coefficient noise of scale lambda / n, which is noise of scale lambda on the whole number d; so here double
geometric noise is added to every d. The sum at the root is public. Top down, a node with the sum t has the halves
(t + d') / 2 and (t - d') / 2.

**Privacy, for one entity more or less.** A group moves between two neighbouring sizes. In the nodes that have both in
one half nothing changes; in the one where they part d changes by 2; below it, in one node per level and size, by 1. At
most h levels are left, so the L1 sensitivity of all d is 2 + 2 (h - 1) = 2 h, and lambda = 2 h / epsilon. (The paper's
bound for arbitrary changes of one record, 2 (1 + h), counts the public sum as well.)

Its authors publish real numbers of either sign. Here their sums from size 0 up are made counts by isotonic regression
within 0 and the public total, as H_c's are: cutting negative counts off instead adds a positive error to every empty
size.

It assumes nothing of the counts. A range of sizes has an error of order h^1.5 / epsilon, however long it is.

Source: Xiao, Wang and Gehrke 2010, "Differential privacy via wavelet transforms", ICDE 2010, section IV (one ordinal
attribute). Its bound on the noise of a range, a variance of (2 + h) lambda^2 at most, is checked by
`test_experiments_others_rivals.py::test_privelet_keeps_the_variance_of_its_lemma`.
"""

from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, isotonic_counts, leaf_by_leaf, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric


def height(max_size: int) -> int:
    """Find the h of the smallest 2^h that sizes 0..K fit into.

    Example:
        >>> height(3), height(4), height(0)
        (2, 3, 0)
    """
    return max_size.bit_length()


def query(counts: np.ndarray) -> np.ndarray:
    """Compute the differences d of all nodes, the root's first, then level by level from left to right.

    Example:
        >>> query(np.array([5, 2, 1, 0]))
        array([6, 3, 1])
    """
    sums, found = padded(counts), []
    while len(sums) > 1:
        left, right = sums[0::2], sums[1::2]
        found.append(left - right)
        sums = left + right
    return np.concatenate([*found[::-1], np.empty(0, np.int64)])


def inverse(differences: np.ndarray, groups: int, max_size: int) -> np.ndarray:
    """Compute the counts of sizes 0..K whose differences these are.

    Example:
        >>> inverse(np.array([6, 3, 1]), 8, 3)
        array([5., 2., 1., 0.])
    """
    sums = np.array([float(groups)])
    while len(sums) < 2 ** height(max_size):
        d = differences[len(sums) - 1 : 2 * len(sums) - 1]
        sums = np.column_stack([(sums + d) / 2, (sums - d) / 2]).ravel()
    return sums[: max_size + 1]


def padded(counts: np.ndarray) -> np.ndarray:
    """Append zeros up to the next power of two."""
    return np.concatenate([counts, np.zeros(2 ** height(len(counts) - 1) - len(counts), np.int64)])


def _estimate(noisy: np.ndarray, groups: int, max_size: int, law: DoubleGeometric) -> np.ndarray:
    del law
    cumulative = np.cumsum(inverse(noisy, groups, max_size))[:-1]
    return isotonic_counts(cumulative[None], np.array([groups]))[0]


MECHANISM = Additive("Privelet", query, lambda max_size: max(1, 2 * height(max_size)), leaf_by_leaf(_estimate))

ARM = Competitor(
    "Privelet",
    release=partial(release_leaves, MECHANISM),
    made_by="Xiao, Wang and Gehrke 2010; isotonic regression added",
)
