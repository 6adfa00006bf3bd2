"""The exchange test on arrays, which decides in one pass over integers whether they are the nearest ones on a tree."""

from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.losses import marginal_costs
from pgsr.errors import TooLargeError
from pgsr.machine.blocks import row_blocks

NEVER = -(2**61)
"""Stands for minus infinity: the saving of one unit less where there is none to take away. Infinity is -NEVER."""

LARGEST_SLOPE = 2**58
"""Largest slope of a cell times the number of levels, so that sums along a branch stay within 64 bits."""


def passes_exchange_test(
    tree: Hierarchy,
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    has_total: bool,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    norm: int = 2,
) -> bool:
    """Say whether no exchange of units lowers sum w (x - y)^2, so that x is optimal.

    For every region r and size let

        R = w (2 (x - y) + 1) + min over children of R     cheapest cost of one more unit at r,
        L = w (2 (x - y) - 1) + max over children of L     largest saving of one less (minus infinity at a leaf with 0).

    x is optimal if and only if at every inner region max L(children) <= min R(children), and across sizes max L(root)
    <= min R(root), or without a total max L(root) <= 0 <= min R(root); docs/derivations/m_h.md proves it. So it is of
    every convex loss (`pgsr.engines.losses.marginal_costs`), and with bounds, at which one more unit costs infinity and
    one less saves minus infinity. Shown against exhaustive search by
    `test_certificates_certificate.py::test_exchange_test_equals_brute_force` and by that of the same name in
    `test_nearest_tree_bounds.py`.

    Args:
        w: weights, shape (regions,), or of cells, (regions, sizes).
        x, y: integers, shape (regions, sizes); x consistent, non-negative, and with the total if there is one.
        has_total: whether the root's sum over all sizes is fixed.
        lower, upper: bounds that x satisfies, of the shape of y, besides 0 <= x; None where there are none.
        norm: of the losses, 1 or 2.
    """
    at_bounds = AtBounds.find(x, lower, upper)
    dearest, cheapest = [], []
    for block in row_blocks(slice(0, y.shape[1]), tree.n_regions):
        weights = w if w.ndim == 1 else w[:, block]
        ends = exchange_prices(tree, weights, x[:, block], y[:, block], at_bounds.of(block), norm)
        if ends is None:
            return False
        dearest.append(ends[0])
        cheapest.append(ends[1])
    if not has_total:
        return max(dearest) <= 0 <= min(cheapest)
    return max(dearest) <= min(cheapest)


def exchange_prices(
    tree: Hierarchy,
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    at_bounds: "AtBounds | None" = None,
    norm: int = 2,
) -> tuple[int, int] | None:
    """Compute over some sizes the largest L and the smallest R of the root; None if an exchange below it pays."""
    require_small_slopes(tree, w, x, y)
    more, less = marginal_costs(w if w.ndim == 2 else w[:, None], x - y, norm)
    less[tree.leaves][x[tree.leaves] == 0] = NEVER
    if at_bounds is not None:
        at_bounds.mark(tree.leaves, less, more)
    for level in range(tree.n_levels - 2, -1, -1):
        here, below = tree.level(level), tree.level(level + 1)
        starts = tree.first_child[here] - below.start
        cheapest = np.minimum.reduceat(more[below], starts, axis=0)
        dearest = np.maximum.reduceat(less[below], starts, axis=0)
        if (dearest > cheapest).any():
            return None
        more[here] += cheapest
        less[here] += dearest
        if at_bounds is not None:
            at_bounds.mark(here, less, more)
    return int(less[0].max()), int(more[0].min())


@dataclass(frozen=True, eq=False)
class AtBounds:
    """The sizes that have bounds, and which of their cells are at one.

    Attributes:
        sizes: increasing, shape (n,).
        lowest, highest: whether a cell is at its lower and at its upper bound, bool; shape (regions, n).
    """

    sizes: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def find(cls, x: np.ndarray, lower: np.ndarray | None, upper: np.ndarray | None) -> "AtBounds":
        if lower is None or upper is None:
            nowhere = np.zeros((len(x), 0), bool)
            return cls(np.zeros(0, np.int64), nowhere, nowhere)
        sizes = np.flatnonzero((lower.max(axis=0) > 0) | (upper.min(axis=0) < -NEVER))
        here, low, high = (np.take(part, sizes, axis=1) for part in (x, lower, upper))
        return cls(sizes, here <= low, here >= high)

    def of(self, block: slice) -> "AtBounds | None":
        """Give the cells at their bounds in a block of sizes, counted from its start; None if there are none."""
        inside = slice(*np.searchsorted(self.sizes, [block.start, block.stop]))
        if inside.start == inside.stop:
            return None
        return AtBounds(self.sizes[inside] - block.start, self.lowest[:, inside], self.highest[:, inside])

    def mark(self, regions: slice, less: np.ndarray, more: np.ndarray) -> None:
        """Make one unit less save minus infinity, and one more cost infinity, where cells of regions are at a bound."""
        for prices, at_bound, infinite in ((less, self.lowest, NEVER), (more, self.highest, -NEVER)):
            region, position = np.nonzero(at_bound[regions])
            prices[regions][region, self.sizes[position]] = infinite


def require_small_slopes(tree: Hierarchy, w: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Raise unless 2 w |x - y| times the number of levels is at most `LARGEST_SLOPE`; the check cannot overflow."""
    largest = float((np.abs(x - y).max(axis=1).astype(float) * (w if w.ndim == 1 else w.max(axis=1))).max())
    if 2 * largest * tree.n_levels > LARGEST_SLOPE:
        raise TooLargeError("weights times differences exceed 64-bit arithmetic; scale the weights down")
