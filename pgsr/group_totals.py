"""Numbers of groups where the table of groups is private, and the noise that other numbers of regions share."""

from fractions import Fraction

import numpy as np

from pgsr.double_geometric import DoubleGeometric
from pgsr.histogram import CountOfCounts
from pgsr.nearest_tree import nearest_integers
from pgsr.random import Source, StreamId


def noisy_totals(truth: CountOfCounts, epsilon: Fraction, source: Source) -> np.ndarray:
    """Noisy, consistent, non-negative numbers of groups of every region; shape (regions,).

    One group more or less changes one region's total per level by one, see `noisy_consistent`.

    Source: the extension to private groups in Kuo et al. 2018, section 3 (footnote), there in real numbers.
    """
    return noisy_consistent(truth, truth.totals, "totals", epsilon, source)


def noisy_consistent(
    truth: CountOfCounts, numbers: np.ndarray, what: str, epsilon: Fraction, source: Source, total: int | None = None
) -> np.ndarray:
    """Noisy, consistent, non-negative integers of every region, from numbers of sensitivity 1 per level.

    Each level gets epsilon / levels, so the noise is double geometric of scale levels / epsilon. The numbers G nearest
    to the noisy ones,

        minimise sum_r (G[r] - noisy[r])^2   subject to   G[r] = sum over children of G,  G >= 0 integer,

    are found exactly by `nearest_integers`, with a single "size".

    Args:
        truth: whose regions these are.
        numbers: exact, shape (regions,).
        what: name of the stream of noise; the same name and source give the same noise.
        epsilon: of all numbers together.
        source: of the noise.
        total: what the root's number has to be, or None.

    Returns:
        shape (regions,), int64.
    """
    tree = truth.hierarchy
    law = DoubleGeometric(tree.n_levels / epsilon)
    noisy = numbers.astype(np.int64, copy=True).reshape(-1, 1)
    for region in np.flatnonzero(~tree.padded):
        identity = StreamId(truth.name, what, int(tree.level_of[region]), tree.paths[region])
        law.add_to(noisy[region], source.stream(identity))
    noisy[tree.padded] = 0
    return nearest_integers(tree, noisy, (~tree.padded).astype(np.int64), total)[:, 0].copy()
