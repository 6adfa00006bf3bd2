"""Numbers of groups where the table of groups is private."""

from fractions import Fraction

import numpy as np

from pgsr.double_geometric import DoubleGeometric
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Measurement, Totals
from pgsr.random import Source, StreamId
from pgsr.views import View


def noisy_totals(truth: CountOfCounts, epsilon: Fraction, source: Source) -> np.ndarray:
    """Noisy, consistent, non-negative numbers of groups of every region; shape (regions,).

    Each level gets epsilon / levels; one group more or less changes one region's total per level by one, so the noise
    is double geometric of scale levels / epsilon. The totals nearest to the noisy ones,

        minimise sum_r (G[r] - noisy[r])^2   subject to   G[r] = sum over children of G,  G >= 0 integer,

    are found exactly by `TreeProjection` with a single "size".

    Source: the extension to private groups in Kuo et al. 2018, section 3 (footnote), there in real numbers.
    """
    from pgsr.algorithms.tree_projection import TreeProjection
    from pgsr.problem import Problem

    tree = truth.hierarchy
    law = DoubleGeometric(tree.n_levels / epsilon)
    noisy = truth.totals.astype(np.int64, copy=True).reshape(-1, 1)
    for region in np.flatnonzero(~tree.padded):
        identity = StreamId(truth.name, "totals", int(tree.level_of[region]), tree.paths[region])
        law.add_to(noisy[region], source.stream(identity))
    noisy[tree.padded] = 0
    levels = (epsilon / tree.n_levels,) * tree.n_levels
    measured = Measurement(tree, View.COUNTS, noisy, 0, levels, Totals.ROOT, noisy[:1, 0], source.secure, truth.name)
    result = TreeProjection().solve(Problem("group totals", measured, totals=None))
    return result.estimate.values[:, 0].copy()
