"""The prior means of all regions where every level has sizes of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.posterior.prior import CELLS_AT_ONCE, SMALLEST_MEAN, PooledPrior, smoothed, window_sums
from pgsr.counts_by_level import folded_real
from pgsr.hierarchy import Hierarchy

Tables = Sequence[np.ndarray]
"""One per level, shape (regions of the level, K + 1)."""


@dataclass(frozen=True, eq=False)
class LevelPrior:
    """The rule of `PooledPrior` on a hierarchy with sizes per level.

    Attributes:
        rule: its numbers.
        hierarchy: the regions.
        totals: numbers of groups per level, shape (regions of the level,).
        precision: 2 / variance of the noise of every level.
    """

    rule: PooledPrior
    hierarchy: Hierarchy
    totals: Sequence[np.ndarray]
    precision: Sequence[float]

    def means(self, cumulative: Tables) -> Iterator[tuple[int, slice, np.ndarray]]:
        """Yield levels, rows and prior means of their counts: the root first, families of siblings whole.

        Args:
            cumulative: posterior means of the cumulative counts of the round before. Rows may change once they were
                yielded.
        """
        tree, shapes = self.hierarchy, self._shapes(cumulative)
        yield 0, slice(0, 1), self._positive(smoothed(shapes[0], self.rule.root_width), 0, slice(0, 1))
        for level in range(1, tree.n_levels):
            above, here, n_sizes = tree.level(level - 1), tree.level(level), cumulative[level].shape[1]
            first = tree.first_child[above.start : above.stop + 1] - here.start
            start = 0
            while start < len(first) - 1:  # parents whose families are looked at together
                stop = int(np.searchsorted(first, first[start] + max(1, CELLS_AT_ONCE // n_sizes), side="right")) - 1
                stop = max(stop, start + 1)
                families = first[start : stop + 1]
                rows = slice(int(families[0]), int(families[-1]))
                shape = folded_real(smoothed(shapes[level - 1][start:stop], self.rule.shape_width), n_sizes - 1)
                own = np.diff(cumulative[level][rows], prepend=0.0)
                mu = self._of_families(shape, families - rows.start, own, level, rows)
                yield level, rows, self._positive(mu, level, rows)
                start = stop

    def _of_families(
        self, shape: np.ndarray, first: np.ndarray, own: np.ndarray, level: int, rows: slice
    ) -> np.ndarray:
        """Compute the prior means of whole families from their parents' shapes and their own counts."""
        together = shape.sum(axis=1, keepdims=True)
        shape = np.where(together > 0, shape / np.where(together > 0, together, 1.0), 1 / shape.shape[1])
        expected = np.repeat(shape, np.diff(first), axis=0) * self.totals[level][rows, None]
        width, shrinkage = self.rule.own_width, self.rule.shrinkage
        mu = expected * (shrinkage + window_sums(own, width)) / (shrinkage + window_sums(expected, width))
        wanted, found = np.add.reduceat(expected, first[:-1]), np.add.reduceat(mu, first[:-1])
        scale = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
        return mu * np.repeat(scale, np.diff(first), axis=0)

    def _positive(self, mu: np.ndarray, level: int, rows: slice) -> np.ndarray:
        least = 1e-9 * self.totals[level][rows, None] / mu.shape[1] + SMALLEST_MEAN
        return np.ascontiguousarray(np.maximum(mu, least))

    def _shapes(self, cumulative: Tables) -> list[np.ndarray]:
        """Join the counts of regions with those of what is below them, from the leaves up; of all levels above them."""
        tree = self.hierarchy
        if tree.n_levels == 1:
            return [np.diff(cumulative[0], prepend=0.0)]
        below, precise = np.diff(cumulative[-1], prepend=0.0), np.full(len(cumulative[-1]), self.precision[-1])
        shapes: list[np.ndarray] = []
        for level in range(tree.n_levels - 2, -1, -1):
            here = tree.level(level)
            starts = tree.first_child[here] - here.stop
            children = np.add.reduceat(below, starts, axis=0)
            theirs = 1.0 / np.add.reduceat(1.0 / precise, starts)
            own, k = np.diff(cumulative[level], prepend=0.0), children.shape[1] - 1
            part = (theirs / (theirs + self.precision[level]))[:, None]
            below = (1 - part) * own
            below[:, :k] += part * children[:, :k]
            # The tail: as large as both say, spread as its own counts say.
            tail, n_tail = own[:, k:].sum(axis=1, keepdims=True), own.shape[1] - k
            spread = np.where(tail > 0, own[:, k:] / np.where(tail > 0, tail, 1.0), 1 / n_tail)
            below[:, k:] += part * children[:, k:] * spread
            precise = theirs + self.precision[level]
            shapes.insert(0, below)
        return shapes
