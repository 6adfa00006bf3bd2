"""The numbers of groups that are fixed in a problem of counts, of some regions or all, as totals of sets of leaves.

A fixed total of a region is one of all leaves below it. Where a region within it has a fixed total, too, what is left
is a fixed total of the other leaves: every leaf belongs to the lowest such region that contains it, and the set of a
region holds its total less those of the next ones below. So any choice of regions gives totals of disjoint sets; with
every region's total each leaf is a set of its own, with the root's alone all leaves are one.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.checks import what_to_lower
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.data.sizes import Sizes
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.problem import Problem

LARGEST = 2**50
"""Largest total times weight times levels."""


@dataclass(frozen=True, eq=False)
class FixedTotals:
    """The regions whose number of groups is fixed, and the sets of leaves that they make; set k is that of region k.

    Attributes:
        regions: with a fixed total, increasing, shape (n,).
        totals: what the leaves of each set hold together; int64, shape (n,).
        above: position in `regions` of the next one that contains this one, -1 where there is none; shape (n,).
        rows: the row of the problem's conditions that states it, -1 where it is one of its public totals; shape (n,).
        within: position in `regions` of the lowest one that contains a region, itself maybe, or -1, for all regions.
        set_of: the same of the leaves alone: the set that each belongs to, or -1; shape (leaves,).
        contradicting: a region whose total no non-negative counts have beside the others, or -1.
    """

    regions: np.ndarray
    totals: np.ndarray
    above: np.ndarray
    rows: np.ndarray
    within: np.ndarray
    set_of: np.ndarray
    contradicting: int

    @classmethod
    def of(cls, problem: Problem) -> "FixedTotals | None":
        """Find the fixed totals of a problem; None where other conditions than totals of regions were stated.

        Example:
            >>> from pgsr.problems.conditions import total
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> problem = Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], tree, groups=5, label="M_H")
            >>> fixed = FixedTotals.of(problem.where(total(region=("US", "MI")) == 2))
            >>> fixed.regions, fixed.totals, fixed.set_of
            (array([0, 2]), array([3, 2]), array([0, 1]))
            >>> FixedTotals.of(problem.where(total(region=("US", "MI")) >= 2)) is None
            True
        """
        tree, public = problem.hierarchy, problem.stated_totals
        regions, totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
        if problem.conditions is not None:
            regions, totals = stated_totals(problem.conditions, problem.sizes)
            if problem.conditions.n_bounds or problem.conditions.choices is not None or (regions < 0).any():
                return None
        rows = np.arange(len(regions))
        if public is not None:  # first, so that a total that is public and stated counts as public
            regions = np.concatenate([np.arange(len(public)), regions])
            totals = np.concatenate([public, totals])
            rows = np.concatenate([np.full(len(public), -1), rows])
        distinct, first, place = np.unique(regions, return_index=True, return_inverse=True)
        twice = regions[totals != totals[first][place]]
        return cls._nested(tree, distinct, totals[first], rows[first], twice)

    @classmethod
    def of_known(cls, tree: Hierarchy, known: np.ndarray) -> "FixedTotals":
        """Take the totals of regions, below 0 where one is not known; shape (regions,)."""
        regions = np.flatnonzero(known >= 0)
        return cls._nested(tree, regions, known[regions], np.full(len(regions), -1), np.zeros(0, np.int64))

    @classmethod
    def _nested(
        cls, tree: Hierarchy, regions: np.ndarray, totals: np.ndarray, rows: np.ndarray, twice: np.ndarray
    ) -> "FixedTotals":
        own = np.full(tree.n_regions, -1)
        own[regions] = np.arange(len(regions))
        above, within = np.full(tree.n_regions, -1), own.copy()
        for level in range(1, tree.n_levels):
            here = tree.level(level)
            above[here] = within[tree.parent[here]]
            within[here] = np.where(own[here] >= 0, own[here], above[here])
        above = above[regions]
        left = totals.astype(np.int64)
        np.subtract.at(left, above[above >= 0], totals[above >= 0])
        set_of = within[tree.leaves]
        empty = ~np.isin(np.arange(len(regions)), set_of)
        wrong = np.concatenate([twice, regions[(left < 0) | (empty & (left != 0))], [-1]])
        return cls(regions, left, above, rows, within, set_of, int(wrong[0]))

    def contradiction(self, tree: Hierarchy) -> str | None:
        """Say which region's total no non-negative counts have beside the others, or return None."""
        if self.contradicting < 0:
            return None
        name = region_id(tree.paths[self.contradicting])
        return f"no counts have the fixed total of {name} and those of the regions within it together"

    def summed(self, of_leaves: np.ndarray) -> np.ndarray:
        """Add up numbers of leaves by sets; shape (n,)."""
        sums = np.zeros(len(self.regions) + 1, of_leaves.dtype)
        np.add.at(sums, self.set_of, of_leaves)  # leaves of no set add to the last one
        return sums[:-1]

    def highest(self, of_leaves: np.ndarray) -> np.ndarray:
        """Find the largest number among the leaves of each set, -infinity where it has none; shape (n,)."""
        largest = np.full(len(self.regions) + 1, -np.inf)
        np.maximum.at(largest, self.set_of, of_leaves)
        return largest[:-1]

    def at_leaves(self, of_sets: np.ndarray) -> np.ndarray:
        """Give every leaf the number of its set, 0 where it has none; shape (leaves,)."""
        return np.append(of_sets, 0)[self.set_of]


def totals_exceeding_arithmetic(problem: Problem) -> str | None:
    """Say why sums of fixed totals times weights leave exact arithmetic, or return None."""
    fixed = FixedTotals.of(problem)
    if fixed is None:
        return None
    largest = int(np.abs(fixed.totals).max(initial=0))
    assert problem.weights is not None, "problems have weights"
    if largest * int(problem.weights.max()) * problem.hierarchy.n_levels > LARGEST:
        return f"fixed totals times weights times levels exceed 2^50; {what_to_lower(problem.weights)}"
    return None


def stated_totals(conditions: Conditions, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Find the regions and totals of stated rows that fix totals, all sizes of one region at one number.

    Both have one entry per row, shape (rows,); the region is -1 where a row is something else.
    """
    rows = conditions.rows.sorted_indices()
    regions, totals = np.full(len(conditions.row_lower), -1), np.zeros(len(conditions.row_lower), np.int64)
    starts, widths = rows.indptr[:-1], np.diff(rows.indptr)
    region = np.searchsorted(sizes.first_cell, rows.indices[starts], "right") - 1
    # The places of so many cells of one region are its own, and from its first to its last they are all of them.
    last = rows.indices[starts + widths - 1]
    whole = (rows.indices[starts] == sizes.first_cell[region]) & (last == sizes.last_cell[region])
    whole &= (widths == np.diff(sizes.first_cell)[region]) & (conditions.row_lower == conditions.row_upper)
    weight = rows.data[starts]
    same = np.logical_and.reduceat(rows.data == np.repeat(weight, widths), starts) if len(starts) else whole
    whole &= same & (conditions.row_lower % weight == 0)
    regions[whole], totals[whole] = region[whole], (conditions.row_lower // weight)[whole]
    return regions, totals
