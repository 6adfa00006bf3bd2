"""How far a posterior release with sizes per level may be from the truth, cell by cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.estimators.posterior.propagation import FoldedPropagation

Tables = Sequence[np.ndarray]
"""One per level, root first; shape (regions of the level, K + 1)."""


def cells_of(tables: Tables) -> np.ndarray:
    """Put the cells of all levels one after the other; shape (cells,)."""
    return np.concatenate([table.ravel() for table in tables])


@dataclass(frozen=True, eq=False)
class FoldedErrors:
    """The errors of a release with sizes per level, by the posterior of every region alone and the joint projection.

    As `pgsr.estimators.posterior.uncertainty` says, whose assumptions these are, but for two things. The noise alone
    has no part here. And sums are of different depth: the cumulative count c[s] is shared by the levels with K > s, so
    its errors are carried through the projection on these levels (`FoldedPropagation`). A count
    x[s] = c[s] - c[s - 1] whose two ends are shared by the same levels is carried as a whole. At s = k, the first size
    of a region's tail, where a child has only a last class, they are not: with M and M' the projections on the levels
    that share c[k] and c[k - 1],

        Var x[k] = Var(M c[k]) + Var(M' c[k - 1]) - 2 Cov(M c[k], M' c[k - 1]),

    from the covariance of every region alone, (Var c[k] + Var c[k - 1] - Var x[k]) / 2. The last class is the public
    total less c[K - 1].

    Attributes:
        propagation: of the joint projection.
        variances, steps: of cumulative counts and of counts of regions alone, under the prior.
        of_prior: variances of the answer's errors that come from the prior, by view (`prior_error`).
    """

    propagation: FoldedPropagation
    variances: Tables
    steps: Tables
    of_prior: Mapping[View, Tables]

    def deviations(self, view: View) -> list[np.ndarray]:
        """Give the standard deviation of every cell's error; shape (regions of the level, K + 1) per level.

        Raises:
            ArgumentError: the view is neither `View.COUNTS` nor `View.CUMULATIVE`.
        """
        if view not in (View.COUNTS, View.CUMULATIVE):
            raise ArgumentError(f"intervals of {view!r}; give View.COUNTS or View.CUMULATIVE")
        found = self._counts(self._at_border) if view is View.COUNTS else self._cumulative
        both = zip(found, self.of_prior[view], strict=True)
        return [np.sqrt(np.maximum(table, 0.0) + of_prior) for table, of_prior in both]

    def terms(self) -> list[np.ndarray]:
        """Give the sum of the terms, without their signs, that make up the variance of every count's error.

        A relative error of all variances of regions alone changes the variance of a count by at most as large a part of
        this sum. It is the variance itself, but for the first size of a tail. There the covariance is subtracted, of
        which a bound by squares is added here: |2 m m' v| <= (m^2 + m'^2) |v|, with |v| at most half the sum of the
        three variances that it is made of.

        Returns:
            shape (regions of the level, K + 1) per level; no less than the squares of `deviations`.
        """
        both = zip(self._counts(self._terms_at_border), self.of_prior[View.COUNTS], strict=True)
        return [table + of_prior for table, of_prior in both]

    @cached_property
    def _cumulative(self) -> list[np.ndarray]:
        """The variances of errors of cumulative counts; 0 of the totals."""
        out = [np.zeros(table.shape) for table in self.variances]
        for depth, cells in self.propagation.ranges:
            self._fill(out, depth, cells, self._carried(depth, [table[:, cells] for table in self.variances]))
        return out

    def _counts(self, at_border: Callable[[int, int], np.ndarray]) -> list[np.ndarray]:
        """The variances of errors of counts, those of the first sizes of tails by `at_border`."""
        out: list[np.ndarray] = [np.zeros(table.shape) for table in self.steps]
        for depth, cells in self.propagation.ranges:
            first, last = cells.start, cells.stop
            inner = slice(first + (first > 0), last)
            if inner.start < inner.stop:
                self._fill(out, depth, inner, self._carried(depth, [table[:, inner] for table in self.steps]))
            if first:
                self._fill(out, depth, slice(first, first + 1), at_border(depth, first))
            own = [
                steps[:, last:] if steps.shape[1] == last + 1 else variances[:, last - 1 : last]
                for steps, variances in zip(self.steps[: depth + 1], self.variances, strict=False)
            ]
            for level, part in enumerate(self.propagation.split(depth, self._carried(depth, own))):
                if out[level].shape[1] == last + 1:
                    out[level][:, last:] = part
        return out

    def _at_border(self, depth: int, size: int) -> np.ndarray:
        """The variances of counts of a size that fewer levels share than the size below it, as the class says."""
        at, below, steps = self._own_at_border(depth, size)
        deeper = self.propagation.projection(self._deepest(size))
        shared = self.propagation.projection(depth).covariances((at + below - steps) / 2, deeper)
        return self._ends_of_border(depth, size) - 2 * shared

    def _terms_at_border(self, depth: int, size: int) -> np.ndarray:
        """The sum of the terms of `_at_border` without their signs, as `terms` says."""
        at, below, steps = self._own_at_border(depth, size)
        own = (at + below + steps) / 2
        deeper = self.propagation.projection(self._deepest(size))
        padded = np.append(own, np.zeros((deeper.tree.n_regions - len(own), 1)), axis=0)
        shared = self.propagation.projection(depth).variances(own) + deeper.variances(padded)[: len(own)]
        return self._ends_of_border(depth, size) + shared

    def _own_at_border(self, depth: int, size: int) -> list[np.ndarray]:
        """The variances of c[size], c[size - 1] and x[size] of the regions down to `depth` alone."""
        cells = (self.variances, size), (self.variances, size - 1), (self.steps, size)
        return [
            np.concatenate([table[:, s : s + 1] for table in tables[: depth + 1]]).astype(float) for tables, s in cells
        ]

    def _ends_of_border(self, depth: int, size: int) -> np.ndarray:
        """The sum of the variances of the errors of c[size] and c[size - 1], down to `depth`."""
        both = [table[:, size - 1 : size + 1].sum(axis=1, keepdims=True) for table in self._cumulative[: depth + 1]]
        return np.concatenate(both)

    def _deepest(self, size: int) -> int:
        """The deepest level that has a tail from this size on."""
        return max(level for level, k in enumerate(self.propagation.max_sizes) if k == size)

    def _carried(self, depth: int, own: Tables) -> np.ndarray:
        """Carry variances of the levels down to `depth` through the projection; shape (their regions, cells)."""
        return self.propagation.projection(depth).variances(np.concatenate(own[: depth + 1]).astype(float))

    def _fill(self, out: list[np.ndarray], depth: int, cells: slice, rows: np.ndarray) -> None:
        for level, part in enumerate(self.propagation.split(depth, rows)):
            out[level][:, cells] = part
