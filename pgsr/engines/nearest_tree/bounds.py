"""Bounds of the cells of a tree: what they imply for one another, and whether any numbers satisfy them.

A region is the sum of its children, so its bounds and theirs restrict each other. With children c of r, first upwards,

    lower[r] = max(lower[r], sum of lower[c]),        upper[r] = min(upper[r], sum of upper[c]),

and, once this is done everywhere, downwards, where "others" are the other children of the region above c,

    lower[c] = max(lower[c], lower[parent] - sum of upper[others]),
    upper[c] = min(upper[c], upper[parent] - sum of lower[others]).

On a tree this is complete: the numbers that a cell takes in all solutions are exactly its interval, and there is no
solution if and only if an interval is empty on the way up, or the total of the root over all sizes is out of reach.
Shown against exhaustive search by `test_nearest_tree_bounds.py::test_intervals_equal_brute_force`.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.errors import TooLargeError
from pgsr.machine.parallel import share

NO_BOUND = 2**62
"""Stands for no upper bound."""

LARGEST_BOUND = 2**50
"""Upper bounds from here on count as none: no answer within 64-bit arithmetic reaches them."""


@dataclass(frozen=True, eq=False)
class CellBounds:
    """The intervals lower..upper that signs and bounds of cells imply.

    Attributes:
        lower, upper: int64, shape (sizes, regions); NO_BOUND where there is no upper one.
        empty: the last region whose interval is empty, as far as it was looked for, or -1; shape (sizes,).
        clipped: which bounds of inner regions their children do not keep by themselves, shape (sizes, inner regions).
    """

    lower: np.ndarray
    upper: np.ndarray
    empty: np.ndarray
    clipped: np.ndarray

    @classmethod
    def of(cls, tree: Hierarchy, lower: np.ndarray, upper: np.ndarray, downwards: bool = True) -> "CellBounds":
        """Find the intervals of all cells x >= 0 with lower <= x <= upper.

        Args:
            lower, upper: int64, shape (regions, sizes); values that bind nothing where there is no bound.
            downwards: whether to pass downwards, too. Prices of the stated bounds alone, which a Lagrangian bound
                needs, are those of intervals without it.

        Raises:
            TooLargeError: bounds whose sums could leave 64 bits.
        """
        from pgsr.engines.nearest_tree.bounded_kernel import tighten

        low, high = np.maximum(lower.T, 0, order="C"), upper.T.copy(order="C")
        unbounded = high >= LARGEST_BOUND
        sums = low.sum(axis=1, dtype=float), high.sum(axis=1, dtype=float, where=~unbounded)
        if max(part.max(initial=0.0) for part in sums) > 2.0**60:
            raise TooLargeError("bounds of cells add up to more than 2^60; give smaller ones")
        high[unbounded] = NO_BOUND
        empty, clipped = np.empty(len(low), np.int64), np.zeros((len(low), max(1, tree.n_inner)), np.int64)
        links = tree.first_child.copy(), tree.n_inner
        share(tighten, range(len(low)), tree.n_regions, low, high, *links, downwards, empty, clipped)
        return cls(low, high, empty, clipped)

    @property
    def conflict(self) -> tuple[int, int] | None:
        """The size and the region of the first empty interval, or None."""
        size = int(np.argmax(self.empty >= 0))
        return (size, int(self.empty[size])) if (self.empty >= 0).any() else None

    def contradiction(self, tree: Hierarchy, total: int | None, lower: np.ndarray, upper: np.ndarray) -> str | None:
        """Say which region and size no numbers satisfy, or that the root's total is out of reach; None if some do."""
        if self.conflict is not None:
            return _conflict_text(tree, self, lower, upper)
        if total is None:
            return None
        root, least, most = region_id(tree.paths[0]), int(self.lower[:, 0].sum()), NO_BOUND
        if not (self.upper[:, 0] == NO_BOUND).any():
            most = int(self.upper[:, 0].sum())
        if total < least:
            return f"the bounds ask for at least {least:,} groups in {root}, whose public total is {total:,}"
        if total > most:
            return f"the bounds allow at most {most:,} groups in {root}, whose public total is {total:,}"
        return None


def _conflict_text(tree: Hierarchy, intervals: CellBounds, lower: np.ndarray, upper: np.ndarray) -> str:
    assert intervals.conflict is not None
    size, region = intervals.conflict
    name = f"region {region_id(tree.paths[region])}, size {size:,}"
    own_low, own_high = max(0, int(lower[region, size])), int(upper[region, size])
    if own_low > own_high:
        return f"{name}: at least {own_low:,} and at most {own_high:,} are stated, which no count satisfies"
    low, high = int(intervals.lower[size, region]), int(intervals.upper[size, region])
    if low > own_low:
        return f"{name}: the bounds of the regions below it add up to at least {low:,}, its own are at most {high:,}"
    return f"{name}: the bounds of the regions below it add up to at most {high:,}, its own are at least {low:,}"
