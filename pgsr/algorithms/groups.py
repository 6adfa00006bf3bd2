"""The groups of one region in run-length encoding, because hundreds of millions of groups have few different sizes."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View

DENSE_CELLS = 20_000_000
"""Cells up to which an estimate is handed out as a dense array."""


@dataclass(frozen=True, eq=False)
class Groups:
    """A multiset of groups, `count[i]` of size `size[i]`; sizes increase, counts are positive; shape (runs,) each."""

    size: np.ndarray
    count: np.ndarray

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> "Groups":
        """Make the runs of a vector of counts per size 0..K."""
        size = np.flatnonzero(counts)
        return cls(size, counts[size].astype(np.int64))

    @classmethod
    def pooled(cls, size: np.ndarray, count: np.ndarray) -> "Groups":
        """Make the groups from runs in any order; counts of equal sizes are added up."""
        sizes, where = np.unique(size, return_inverse=True)
        counts = np.zeros(len(sizes), np.int64)
        np.add.at(counts, where, count)
        return cls(sizes.astype(np.int64), counts)

    @property
    def total(self) -> int:
        return int(self.count.sum())


def estimate_of_groups(hierarchy: Hierarchy, groups: list[Groups], max_size: int) -> Estimate:
    """Make an estimate from the runs of all regions, or of leaves to be added upwards; sparse if dense were large."""
    first = hierarchy.n_regions - len(groups)
    region = np.repeat(np.arange(len(groups)), [len(g.size) for g in groups])
    size = np.concatenate([g.size for g in groups])
    count = np.concatenate([g.count for g in groups])
    table = sparse.csr_array((count, (region, size)), shape=(len(groups), max_size + 1), dtype=np.int64)
    if hierarchy.n_regions * (max_size + 1) <= DENSE_CELLS:
        dense = table.toarray()
        return Estimate(hierarchy, View.COUNTS, dense if first == 0 else hierarchy.sum_up(dense))
    return Estimate(hierarchy, View.COUNTS, table if first == 0 else hierarchy.sum_up_sparse(table))
