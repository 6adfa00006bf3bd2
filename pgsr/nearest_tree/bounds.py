"""Bounds of the cells of a tree: what they imply for one another, and whether any numbers satisfy them.

A region is the sum of its children, so its bounds and theirs restrict each other. With children c of r, first upwards,

    lower[r] = max(lower[r], sum of lower[c]),        upper[r] = min(upper[r], sum of upper[c]),

and, once this is done everywhere, downwards, where "others" are the other children of the region above c,

    lower[c] = max(lower[c], lower[parent] - sum of upper[others]),
    upper[c] = min(upper[c], upper[parent] - sum of lower[others]).

On a tree this is complete: the numbers that a cell takes in all solutions are exactly its interval, and there is no
solution if and only if an interval is empty on the way up, or the total of the root over all sizes is out of reach.
Shown against exhaustive search by `tests/test_nearest_tree_bounds.py::test_intervals_equal_brute_force`.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.errors import TooLargeError
from pgsr.hierarchy import Hierarchy
from pgsr.region_ids import region_id

NO_BOUND = 2**62
"""Stands for no upper bound."""

LARGEST_BOUND = 2**50
"""Upper bounds from here on count as none: no answer within 64-bit arithmetic reaches them."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals lower..upper that signs and bounds of cells imply at the sizes that have some.

    Attributes:
        sizes: those with a stated bound other than 0 <= x, increasing, shape (n,).
        lower, upper: int64, shape (regions, n); NO_BOUND where there is no upper one.
        conflict: the first region whose interval is empty, and the position of its size in `sizes`; or None.
    """

    sizes: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    conflict: tuple[int, int] | None

    @classmethod
    def of(cls, tree: Hierarchy, lower: np.ndarray, upper: np.ndarray, downwards: bool = True) -> "Intervals":
        """Find the intervals of all cells x >= 0 with lower <= x <= upper.

        Args:
            lower, upper: int64, shape (regions, sizes); values that bind nothing where there is no bound.
            downwards: whether to pass downwards, too. Prices of the stated bounds alone, which a Lagrangian bound
                needs, are those of intervals without it.

        Raises:
            TooLargeError: bounds whose sums could leave 64 bits.
        """
        sizes = np.flatnonzero((lower > 0).any(axis=0) | (upper < LARGEST_BOUND).any(axis=0))
        low, high = np.maximum(lower[:, sizes], 0), upper[:, sizes].copy()
        high[high >= LARGEST_BOUND] = NO_BOUND
        _require_small_sums(low, high)
        for level in range(tree.n_levels - 2, -1, -1):
            here, totals = tree.level(level), _Sums.of_children(tree, low, high, level)
            np.maximum(low[here], totals.low, out=low[here])
            np.minimum(high[here], np.where(totals.unbounded > 0, NO_BOUND, totals.high), out=high[here])
        empty = low > high
        if empty.any():
            region = int(np.argmax(np.where(empty.any(axis=1), np.arange(len(low)), -1)))  # the lowest one
            return cls(sizes, low, high, (region, int(np.argmax(empty[region]))))
        for level in range(1, tree.n_levels if downwards else 1):
            here, totals = tree.level(level), _Sums.of_children(tree, low, high, level - 1)
            above = tree.parent[here]
            group = above - tree.level(level - 1).start
            others_low = totals.low[group] - low[here]
            free = high[here] == NO_BOUND
            others_high = totals.high[group] - np.where(free, 0, high[here])
            bounded = totals.unbounded[group] == free
            rest = np.where(high[above] == NO_BOUND, NO_BOUND, high[above] - others_low)
            least = np.where(bounded, low[above] - others_high, 0)
            np.minimum(high[here], rest, out=high[here])
            np.maximum(low[here], least, out=low[here])
        return cls(sizes, low, high, None)

    def reachable_totals(self, n_sizes: int) -> tuple[int, int]:
        """Compute the least and the largest total of the root over all sizes; `NO_BOUND` where there is none."""
        least = int(self.lower[0].sum())
        if n_sizes > len(self.sizes) or (self.upper[0] == NO_BOUND).any():
            return least, NO_BOUND
        return least, int(self.upper[0].sum())

    def contradiction(
        self, tree: Hierarchy, n_sizes: int, total: int | None, lower: np.ndarray, upper: np.ndarray
    ) -> str | None:
        """Say which region and size no numbers satisfy, or that the root's total is out of reach; None if some do."""
        if self.conflict is not None:
            return _conflict_text(tree, self, lower, upper)
        if total is None:
            return None
        least, most = self.reachable_totals(n_sizes)
        root = region_id(tree.paths[0])
        if total < least:
            return f"the bounds ask for at least {least:,} groups in {root}, whose public total is {total:,}"
        if total > most:
            return f"the bounds allow at most {most:,} groups in {root}, whose public total is {total:,}"
        return None


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the children of every region of one level: of lower bounds, of upper ones, and how many have none."""

    low: np.ndarray
    high: np.ndarray
    unbounded: np.ndarray

    @classmethod
    def of_children(cls, tree: Hierarchy, low: np.ndarray, high: np.ndarray, level: int) -> "_Sums":
        free = high == NO_BOUND
        finite = np.where(free, 0, high)
        return cls(*(tree.sum_children(values, level) for values in (low, finite, free.astype(np.int64))))


def _require_small_sums(low: np.ndarray, high: np.ndarray) -> None:
    if low.size and max(float(low.sum(axis=0, dtype=float).max()), _finite_sum(high)) > 2.0**60:
        raise TooLargeError("bounds of cells add up to more than 2^60; give smaller ones")


def _finite_sum(high: np.ndarray) -> float:
    return float(np.where(high == NO_BOUND, 0.0, high.astype(float)).sum(axis=0).max())


def _conflict_text(tree: Hierarchy, intervals: Intervals, lower: np.ndarray, upper: np.ndarray) -> str:
    assert intervals.conflict is not None
    region, position = intervals.conflict
    size = int(intervals.sizes[position])
    name = f"region {region_id(tree.paths[region])}, size {size:,}"
    own_low, own_high = max(0, int(lower[region, size])), int(upper[region, size])
    if own_low > own_high:
        return f"{name}: at least {own_low:,} and at most {own_high:,} are stated, which no count satisfies"
    low, high = int(intervals.lower[region, position]), int(intervals.upper[region, position])
    if low > own_low:
        return f"{name}: the bounds of the regions below it add up to at least {low:,}, its own are at most {high:,}"
    return f"{name}: the bounds of the regions below it add up to at most {high:,}, its own are at least {low:,}"
