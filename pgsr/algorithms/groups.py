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
class GroupRuns:
    """A multiset of groups, `count[i]` of size `size[i]`; sizes increase, counts are positive; shape (runs,) each."""

    size: np.ndarray
    count: np.ndarray

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> "GroupRuns":
        """Make the runs of a vector of counts per size 0..K."""
        size = np.flatnonzero(counts)
        return cls(size, counts[size].astype(np.int64))

    @classmethod
    def pooled(cls, size: np.ndarray, count: np.ndarray) -> "GroupRuns":
        """Make the groups from runs in any order; counts of equal sizes are added up."""
        sizes, where = np.unique(size, return_inverse=True)
        counts = np.zeros(len(sizes), np.int64)
        np.add.at(counts, where, count)
        return cls(sizes.astype(np.int64), counts)

    @property
    def total(self) -> int:
        return int(self.count.sum())


def estimate_of_runs(
    hierarchy: Hierarchy,
    owner: np.ndarray,
    size: np.ndarray,
    count: np.ndarray,
    max_size: int,
    *,
    leaves_only: bool = True,
) -> Estimate:
    """Make an estimate from the runs of leaves, which are added upwards, or of all regions; sparse if dense were large.

    Args:
        owner: the leaf, from 0, or the region of every run.
        size, count: of every run.
    """
    n = hierarchy.n_regions - hierarchy.n_inner if leaves_only else hierarchy.n_regions
    table = sparse.csr_array((count, (owner, size)), shape=(n, max_size + 1), dtype=np.int64)
    if hierarchy.n_regions * (max_size + 1) <= DENSE_CELLS:
        dense = table.toarray()
        return Estimate(hierarchy, View.COUNTS, hierarchy.sum_up(dense) if leaves_only else dense)
    return Estimate(hierarchy, View.COUNTS, hierarchy.sum_up_sparse(table) if leaves_only else table)
