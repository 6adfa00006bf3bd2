"""A part of a hierarchy, or all of it, as the flow sees it: arrays, and where the groups of its leaves come from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.certificates.fixed_totals import FixedTotals
from pgsr.data.hierarchy import Hierarchy

UNKNOWN = -1
"""Stands among the numbers of groups of regions for one that is not public."""


@dataclass(frozen=True, eq=False)
class FlowPart:
    """The regions of a part, the counts that theirs are to be near, and what is public.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x adds up as `pgsr.data.sizes.Sizes` says,   x >= 0 integer,
                    sum over s of x[r, s] = known[r], where it is public.

    Attributes:
        hierarchy: the regions.
        tables: y, one table per level, root first; integers, shape (regions of the level, K + 1).
        w: weights, int64, 1 or more and below 2^31; shape (regions,).
        known: public numbers of groups of regions, which do not contradict each other, `UNKNOWN` where one is not
            public; int64, shape (regions,). That of the root alone is told to the solution (`solution`) instead.
    """

    hierarchy: Hierarchy
    tables: tuple[np.ndarray, ...]
    w: np.ndarray
    known: np.ndarray

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        tables: tuple[np.ndarray, ...],
        w: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> "FlowPart":
        """Make a part of weights 1 and with nothing public where these are None."""
        n = hierarchy.n_regions
        weights = np.ones(n, np.int64) if w is None else w
        return cls(hierarchy, tables, weights, np.full(n, UNKNOWN, np.int64) if known is None else known)

    @property
    def max_sizes(self) -> tuple[int, ...]:
        """The largest size of every level, root first."""
        return tuple(table.shape[1] - 1 for table in self.tables)

    def first_tail(self, level: int) -> int:
        """Give the first size of a level whose cell is of a tail, or of a leaf, and no sum of children's cells."""
        sizes = self.max_sizes
        if level == len(sizes) - 1:
            return 0
        return sizes[level + 1] if sizes[level] > sizes[level + 1] else sizes[level] + 1

    @cached_property
    def fixed(self) -> FixedTotals:
        """The sets of leaves, whose groups come from one place each, by the public totals."""
        return FixedTotals.of_known(self.hierarchy, self.known)


@dataclass(frozen=True, eq=False)
class PartPrices:
    """Prices of the sums of a part, which prove an answer optimal once they are integers.

    Attributes:
        top: where the root's cells end: of the root's total, the same for all sizes, and 0 where none is public; shape
            (K of the root + 1,).
        inner: by level with children, of what region r holds less than its children; shape (regions of the level, K of
            the level below + 1) each.
        leaves: where the cells of leaves start: of the total of the smallest region around a leaf whose total is
            public, the same for all leaves for which this is the same region, and 0 where there is none; shape
            (leaves,).
    """

    top: np.ndarray
    inner: tuple[np.ndarray, ...]
    leaves: np.ndarray
