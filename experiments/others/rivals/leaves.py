"""The release that mechanisms for one histogram make of a hierarchy: every leaf alone, and sums above.

One entity lies in one leaf, so an epsilon-DP mechanism on every leaf, with draws of its own, is epsilon-DP as a whole
(parallel composition), and sums cost nothing. The authors of these mechanisms release one histogram, or one tree over
its cells, and say nothing of regions whose numbers of groups are public, so all of epsilon goes to the leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from pgsr import Result, View
from pgsr.algorithms.isotonic.regression import isotonic_l2
from pgsr.data import Estimate
from pgsr.data.rounding import largest_remainder
from pgsr.experiments.engine.experiment import Trial
from pgsr.methods.gate import Deadline, judged_release
from pgsr.methods.method import Seconds
from pgsr.noise import Geometric
from pgsr.privacy.laws.double_geometric import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId


class LeafMechanism(Protocol):
    """A mechanism that releases the groups of leaves, each from its own draws."""

    @property
    def name(self) -> str: ...

    def release(self, counts: np.ndarray, epsilon: Fraction, streams: Sequence[ByteStream]) -> np.ndarray:
        """Release counts of shape (leaves, K + 1) with a stream per leaf; whole numbers with the same sums by leaf."""
        ...


@dataclass(frozen=True)
class Drawn:
    """A mechanism that draws the counts of a leaf from the true ones, epsilon and the leaf's stream."""

    name: str
    draw: Callable[[np.ndarray, Fraction, ByteStream], np.ndarray]

    def release(self, counts: np.ndarray, epsilon: Fraction, streams: Sequence[ByteStream]) -> np.ndarray:
        drawn = [self.draw(row, epsilon, stream) for row, stream in zip(counts, streams, strict=True)]
        return np.array(drawn, np.int64)


Estimator = Callable[[list[np.ndarray], np.ndarray, int, DoubleGeometric], np.ndarray]
"""The estimate of all leaves' counts, real numbers of shape (leaves, K + 1): from the noisy vectors, the public numbers
of groups, K, and the law of the noise."""


@dataclass(frozen=True)
class Additive:
    """A mechanism that adds double geometric noise to a vector of whole numbers of every leaf, then estimates.

    If one entity more or less changes the vector by `sensitivity(K)` at most in L1, noise of scale sensitivity /
    epsilon on every entry is epsilon-DP (Dwork et al. 2006; whole numbers: Ghosh et al. 2009). The estimate sees the
    noisy vectors and public facts alone.

    Attributes:
        name: keys the noise.
        query: the vector of a leaf, from its counts of shape (K + 1,).
        sensitivity: of the vector, from K.
        estimate: an `Estimator`; what it returns is cut off at 0, scaled to the number of groups, and rounded.

    Shown by `test_experiments_others_rivals.py::test_sensitivities_by_enumeration`.
    """

    name: str
    query: Callable[[np.ndarray], np.ndarray]
    sensitivity: Callable[[int], int]
    estimate: Estimator

    def law(self, epsilon: Fraction, max_size: int) -> DoubleGeometric:
        """Give the law of the noise on every entry."""
        return DoubleGeometric(self.sensitivity(max_size) / epsilon)

    def release(self, counts: np.ndarray, epsilon: Fraction, streams: Sequence[ByteStream]) -> np.ndarray:
        max_size = counts.shape[1] - 1
        law, noisy = self.law(epsilon, max_size), []
        for row, stream in zip(counts, streams, strict=True):
            vector = self.query(row).astype(np.int64)
            law.add_to(vector, stream)
            noisy.append(vector)
        groups = counts.sum(axis=1)
        return whole(self.estimate(noisy, groups, max_size, law), groups)


def leaf_by_leaf(one: Callable[[np.ndarray, int, int, DoubleGeometric], np.ndarray]) -> Estimator:
    """Make the estimate of all leaves from that of one: noisy vector, number of groups, K and law to K + 1 counts."""

    def estimate(noisy: list[np.ndarray], groups: np.ndarray, max_size: int, law: DoubleGeometric) -> np.ndarray:
        return np.array([one(y, int(n), max_size, law) for y, n in zip(noisy, groups, strict=True)], float)

    return estimate


def isotonic_counts(cumulative: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Make counts of noisy cumulative counts: rounded, then nearest by squares among those that never fall.

    Squares, where H_c has absolute values: the errors of these sums have no double geometric law, and of noise that was
    taken out again the median is far from the truth.

    Args:
        cumulative: of the sizes 0..K - 1, real numbers, shape (leaves, K).
        groups: public numbers of groups, which are the cumulative counts of size K; shape (leaves,).

    Returns:
        Whole numbers from 0 up with these sums, shape (leaves, K + 1).

    Example:
        >>> isotonic_counts(np.array([[0.2, 4.0, 3.2, 9.0]]), np.array([7]))
        array([[0, 4, 0, 3, 0]])

    Source: Hay et al. 2010, section 3, for isotonic regression of noisy counts.
    """
    fitted = isotonic_l2(np.rint(cumulative).astype(np.int64), np.zeros_like(groups), groups)
    return np.diff(np.column_stack([fitted, groups]), axis=1, prepend=0)


def whole(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Cut rows off at 0, scale them to the public numbers of groups, and round by largest remainders.

    A row without any positive value says nothing, so its groups are spread evenly over all sizes.

    Example:
        >>> whole(np.array([[-1.0, 3.0, 1.0], [0.0, -2.0, 0.0]]), np.array([8, 3]))
        array([[0, 6, 2],
               [1, 1, 1]])
    """
    kept = np.maximum(values, 0.0)
    kept[~kept.any(axis=1)] = 1.0
    kept *= (groups / kept.sum(axis=1))[:, None]
    return np.array([_rounded(row, int(total)) for row, total in zip(kept, groups, strict=True)], np.int64)


def release_leaves(mechanism: LeafMechanism, trial: Trial) -> Result:
    """Release every leaf of a trial's truth by a mechanism, add up, and count what keeps it from being a release."""
    clock, truth, epsilon = Deadline(), trial.truth, trial.cell.epsilon
    assert epsilon is not None, "every cell has an epsilon"
    tree = truth.hierarchy
    leaves = range(*tree.leaves.indices(tree.n_regions))
    streams = [
        trial.source.stream(StreamId(truth.name, mechanism.name, tree.n_levels - 1, tree.paths[r])) for r in leaves
    ]
    released = mechanism.release(truth.rows(leaves.start, leaves.stop), epsilon, streams)
    public = Geometric(View.COUNTS, epsilon).blank(truth)
    estimate = Estimate(tree, View.COUNTS, tree.sum_up(released))
    return judged_release(public, estimate, Seconds(solve=clock.spent, compile=clock.compiling))


def _rounded(row: np.ndarray, total: int) -> np.ndarray:
    """Round by largest remainders; the last bits of a sum of floats may move its floors past the total."""
    excess = int(np.floor(row).sum()) - total
    return largest_remainder(row * (1 - 1e-12) if excess > 0 else row, total)
