"""The prior means of all regions, level by level, where every level has sizes of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior.window_means import (
    CELLS_AT_ONCE,
    ROOT_WIDTH,
    SHAPE_WIDTH,
    deviating,
    infinite_from,
    positive,
    smooth,
)

Tables = Sequence[np.ndarray]
"""One per level, shape (regions of the level, K + 1)."""


@dataclass(frozen=True, eq=False)
class LevelFacts:
    """The facts about every level that prior means follow from.

    Attributes:
        hierarchy: the regions.
        totals: numbers of groups per level, shape (regions of the level,).
        precision: 2 / variance of the noise of every level.
        own_variance: of the noise in a region's counts, one per level.
        up_to: of every region the size from which on its counts are known by ranks, so that their own variance counts
            as infinite, K + 1 or more where there is none; shape (regions of the level,) per level. None for no ranks.
    """

    hierarchy: Hierarchy
    totals: Sequence[np.ndarray]
    precision: Sequence[float]
    own_variance: Sequence[float]
    up_to: Sequence[np.ndarray] | None = None

    def own_variances(self, level: int, rows: slice, n_sizes: int) -> np.ndarray:
        """Give the variances of the noise in the own counts of regions; shape (regions, 1 or n_sizes)."""
        same = np.full(rows.stop - rows.start, self.own_variance[level])
        return same[:, None] if self.up_to is None else infinite_from(same, self.up_to[level][rows], n_sizes)

    def shapes(self, cumulative: Tables) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Join the counts of regions with those of the regions below them, from the leaves up; of all levels above.

        The variances that are returned as well, shape (regions, 1 or K + 1), are those of the noise at sizes that its
        children have, too. In its tail, which is spread as its own counts say, there may be more noise, up to that of
        its own counts. To them the squares of counts known by ranks are added, so that they hide no spike of other
        regions and are none by themselves; they are infinite where ranks alone were measured.
        """
        tree = self.hierarchy
        below, precise = np.diff(cumulative[-1], prepend=0.0), np.full(len(cumulative[-1]), self.precision[-1])
        noise = np.full(len(below), self.own_variance[-1])
        if tree.n_levels == 1:
            return [below], [self.own_variances(0, slice(0, 1), below.shape[1])]
        doubts = np.zeros((len(below), 1)) if self.up_to is None else _squares(below, self.up_to[-1])
        shapes: list[np.ndarray] = []
        variances: list[np.ndarray] = []
        for level in range(tree.n_levels - 2, -1, -1):
            here = tree.level(level)
            starts = tree.first_child[here] - here.stop
            children = np.add.reduceat(below, starts, axis=0)
            theirs = 1.0 / np.add.reduceat(1.0 / precise, starts)
            own, k = np.diff(cumulative[level], prepend=0.0), children.shape[1] - 1
            part = theirs / (theirs + self.precision[level])
            noise = (1 - part) ** 2 * self.own_variance[level] + part**2 * np.add.reduceat(noise, starts)
            part = part[:, None]
            below = (1 - part) * own
            below[:, :k] += part * children[:, :k]
            # The tail: as large as both say, spread as its own counts say.
            tail, n_tail = own[:, k:].sum(axis=1, keepdims=True), own.shape[1] - k
            spread = np.where(tail > 0, own[:, k:] / np.where(tail > 0, tail, 1.0), 1 / n_tail)
            below[:, k:] += part * children[:, k:] * spread
            if self.up_to is not None:
                theirs_in_doubt = np.add.reduceat(doubts, starts, axis=0)
                doubts = (1 - part) ** 2 * _squares(own, self.up_to[level])
                doubts[:, :k] += part**2 * theirs_in_doubt[:, :k]
                tail_in_doubt = theirs_in_doubt[:, k:]
                as_spread = np.where(np.isinf(tail_in_doubt), np.inf, (children[:, k:] * spread) ** 2)
                doubts[:, k:] += np.where(tail_in_doubt > 0, part**2 * as_spread, 0.0)
            precise = theirs + self.precision[level]
            shapes.insert(0, below)
            variances.insert(0, noise[:, None] if self.up_to is None else noise[:, None] + doubts)
        return shapes, variances


def prior_means(levels: LevelFacts, cumulative: Tables) -> Iterator[tuple[int, slice, np.ndarray]]:
    """Yield levels, rows and prior means of their counts (`window_means`): the root first, families of siblings whole.

    A parent's shape folds to its children's sizes.

    Args:
        levels: what is known of them.
        cumulative: posterior means of the cumulative counts of the round before. Rows may change once they were
            yielded.
    """
    tree, (shapes, variances) = levels.hierarchy, levels.shapes(cumulative)
    root, _ = smooth(shapes[0], ROOT_WIDTH, variances[0])
    yield 0, slice(0, 1), positive(root, levels.totals[0])
    for level in range(1, tree.n_levels):
        above, here, n_sizes = tree.level(level - 1), tree.level(level), cumulative[level].shape[1]
        first = tree.first_child[above.start : above.stop + 1] - here.start
        start = 0
        while start < len(first) - 1:  # parents whose families are looked at together
            stop = int(np.searchsorted(first, first[start] + max(1, CELLS_AT_ONCE // n_sizes), side="right")) - 1
            stop = max(stop, start + 1)
            families = first[start : stop + 1]
            rows = slice(int(families[0]), int(families[-1]))
            about = shapes[level - 1][start:stop], SHAPE_WIDTH, variances[level - 1][start:stop]
            shape, apart = smooth(*about)
            shape = np.append(shape[:, : n_sizes - 1], shape[:, n_sizes - 1 :].sum(axis=1, keepdims=True), axis=1)
            if apart is not None:
                apart = np.append(apart[:, : n_sizes - 1], np.zeros((len(apart), 1), bool), axis=1)
            own = np.diff(cumulative[level][rows], prepend=0.0)
            mu = _of_families(levels, shape, apart, families - rows.start, own, level, rows)
            yield level, rows, positive(mu, levels.totals[level][rows])
            start = stop


def _of_families(
    levels: LevelFacts,
    shape: np.ndarray,
    apart: np.ndarray | None,
    first: np.ndarray,
    counts: np.ndarray,
    level: int,
    rows: slice,
) -> np.ndarray:
    """Compute the prior means of whole families from their parents' shapes and their own counts."""
    together = shape.sum(axis=1, keepdims=True)
    shape = np.where(together > 0, shape / np.where(together > 0, together, 1.0), 1 / shape.shape[1])
    sizes = np.diff(first)
    expected = np.repeat(shape, sizes, axis=0) * levels.totals[level][rows, None]
    if apart is not None:
        apart = np.repeat(apart, sizes, axis=0)
    mu, own = deviating(counts, expected, apart, levels.own_variances(level, rows, counts.shape[1]))
    wanted, found = (np.add.reduceat(np.where(own, 0.0, each), first[:-1]) for each in (expected, mu))
    scale = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
    return np.where(own, mu, mu * np.repeat(scale, sizes, axis=0))


def _squares(counts: np.ndarray, up_to: np.ndarray) -> np.ndarray:
    """Give the squares of counts known by ranks, infinite where ranks alone are known, and 0 of all others."""
    squares = np.where(np.arange(counts.shape[1]) < up_to[:, None], 0.0, counts * counts)
    squares[up_to == 0] = np.inf
    return squares
