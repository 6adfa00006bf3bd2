"""The noisy numbers of groups of regions, consistent and in integers, where the table of groups is private."""

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.nearest_tree import nearest_integers
from pgsr.privacy.laws import Law
from pgsr.privacy.random import Source, StreamId


def noisy_totals(truth: CountOfCounts, law: Law, source: Source) -> np.ndarray:
    """Draw noisy, consistent, non-negative numbers of groups of every region; shape (regions,).

    One group more or less changes one region's total per level by one, and an entity that takes m groups along changes
    them by m (`pgsr.privacy.sensitivity.sensitivity_of_totals`); the law is made for what is hidden. See
    `noisy_numbers`.

    Example:
        >>> from fractions import Fraction
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.privacy.laws import DoubleGeometric
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> noisy_totals(CountOfCounts(tree, [[5, 9], [0, 20]]), DoubleGeometric(Fraction(2)), Seeded("totals"))
        array([29, 14, 15])

    Source: the extension to private groups in Kuo et al. 2018, section 3 (footnote), there in real numbers.
    """
    return nearest_consistent(truth.hierarchy, noisy_numbers(truth, law, source))


def noisy_numbers(truth: CountOfCounts, law: Law, source: Source) -> np.ndarray:
    """Draw one noisy number of groups per region: the noise step, which draws once.

    A level that may spend epsilon needs the law `DoubleGeometric(1 / epsilon)`.

    Returns:
        shape (regions,), int64; 0 where a region is a copy on a level above its own.

    Its law on one, two and three levels: `tests/assurance/law_checks.py::noisy_totals_lose_their_epsilon`.
    """
    tree = truth.hierarchy
    noisy = truth.totals.astype(np.int64, copy=True)
    for region in np.flatnonzero(~tree.padded):
        identity = StreamId(truth.name, "totals", int(tree.level_of[region]), tree.paths[region])
        law.add_to(noisy[region : region + 1], source.stream(identity))
    noisy[tree.padded] = 0
    return noisy


def nearest_consistent(tree: Hierarchy, noisy: np.ndarray) -> np.ndarray:
    """Find the consistent non-negative integers G nearest to noisy numbers: post-processing, which costs nothing.

        minimise sum_r (G[r] - noisy[r])^2   subject to   G[r] = sum over children of G,  G >= 0 integer,

    exactly, by `nearest_integers` with a single "size".

    Args:
        tree: the regions. Copies on levels above their own have no number and follow from the others.
        noisy: what `noisy_numbers` returned, shape (regions,).

    Returns:
        shape (regions,), int64.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> nearest_consistent(tree, np.array([28, 15, 17]))
        array([29, 14, 15])
    """
    weights = (~tree.padded).astype(np.int64)
    return nearest_integers(tree, noisy[:, None], weights, None)[:, 0].copy()
