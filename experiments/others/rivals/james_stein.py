"""Noisy cumulative counts, shrunk towards the shape that all leaves have in common, block by block of sizes.

Every leaf r has noisy cumulative counts y[r, s]. With G[r] groups and p[s] = sum over r of y[r, s] / sum over r of
G[r], all leaves alike would have t[r, s] = G[r] p[s]. In a block of b sizes the positive-part estimator takes

    t + max(0, 1 - (b - 2) sigma^2 / |y - t|^2) (y - t),

so it keeps a leaf's own values where they differ from the common shape by more than the noise, of variance sigma^2, and
follows the common shape where they do not. Isotonic regression by squares, within 0..G[r], then makes counts.

**Privacy.** One entity more changes one cumulative count by one (H_c of Kuo et al. 2018), so double geometric noise of
scale 1 / epsilon is epsilon-DP; all the rest is post-processing.

It assumes leaves of similar shape. The theorem that shrinkage has a smaller expected square error everywhere is for
normal noise and a fixed target; here the noise is double geometric and the target is made of the same values, so it is
an approximation, and errors are measured by the earth mover's distance, not by squares.

Source: James and Stein 1961; towards a common mean: Efron and Morris 1973; in blocks: Cai 1999. That it beats the noisy
values by squares where the theorem holds is what `test_shrinkage_gains_by_squares` of
`test_experiments_others_rivals.py` finds.
"""

from functools import partial

import numpy as np

from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals.leaves import Additive, isotonic_counts, release_leaves
from pgsr.privacy.laws.double_geometric import DoubleGeometric

BLOCK = 16


def query(counts: np.ndarray) -> np.ndarray:
    """Give the cumulative counts below K; the last is the public number of groups."""
    return np.cumsum(counts)[:-1]


def shrunk(noisy: np.ndarray, target: np.ndarray, variance: float) -> np.ndarray:
    """Shrink noisy vectors, shape (leaves, cells), towards targets of the same shape, by blocks of `BLOCK` cells.

    A last block of fewer than three cells is left as it is, as shrinkage gains nothing there.

    Example:
        >>> shrunk(np.array([[1.0, -1.0, 1.0, -1.0], [90.0, 90.0, 90.0, 90.0]]), np.zeros((2, 4)), 2.0).round(1)
        array([[ 0.,  0.,  0.,  0.],
               [90., 90., 90., 90.]])
    """
    out = noisy.astype(float)
    for start in range(0, noisy.shape[1], BLOCK):
        cells = slice(start, start + BLOCK)
        apart = noisy[:, cells] - target[:, cells]
        squares = (apart**2).sum(axis=1)
        freedom = max(0, apart.shape[1] - 2)
        factor = np.maximum(0.0, 1 - freedom * variance / np.maximum(squares, 1e-300))
        out[:, cells] = target[:, cells] + factor[:, None] * apart
    return out


def _estimate(noisy: list[np.ndarray], groups: np.ndarray, max_size: int, law: DoubleGeometric) -> np.ndarray:
    del max_size
    y = np.array(noisy, float)
    all_groups = groups.sum(keepdims=True)
    common = np.cumsum(isotonic_counts(y.sum(axis=0, keepdims=True), all_groups), axis=1)[:, :-1]
    target = groups[:, None] * (common / max(1, int(all_groups[0])))
    return isotonic_counts(shrunk(y, target, law.variance), groups)


MECHANISM = Additive("cumulative", query, lambda max_size: 1, _estimate)

ARM = Competitor(
    "James-Stein, Hc",
    release=partial(release_leaves, MECHANISM),
    made_by="James and Stein 1961; Cai 1999",
    assumes="leaves of similar shape",
)
