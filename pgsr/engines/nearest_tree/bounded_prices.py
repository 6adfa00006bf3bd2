"""The prices of trees whose cells have bounds.

Every cell has an interval lower <= x <= upper (`bounds.CellBounds`). A leaf at price p takes clip(y + p / 2w, lower,
upper), an inner region what its children take, clipped to its own interval. Costs of a region's units still rise, from
minus infinity below its lower bound to infinity from the upper one on, so this is a convex flow with capacities: all of
`pgsr.engines.nearest_tree` stays true but the argument of Newton's method. What a region takes is increasing in what it
is paid, no longer convex. So

- at one size the breakpoints of what regions take are merged from the leaves up: exact, in O(leaves log leaves) per
  level;
- at the root the price is bracketed: `_bracketed_root_price`;
- windows end at bounds, and the exchange test knows that a unit beyond one costs infinitely much.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.checks import what_to_lower
from pgsr.engines.nearest_tree.size_trees import RootDemand, SizeTrees
from pgsr.errors import TooLargeError
from pgsr.machine.parallel import share

MOST_QUESTIONS = 2_000
"""Prices of the root that a search may ask for; bisection alone needs some 130 from 2^60 down to the last digit."""

LARGEST_REACH = 2.0**100
"""How far a search looks for a price; within 64-bit arithmetic there is none beyond."""

LARGEST_LOWER = 2**50
"""Largest lower bound times weight times levels, as for counts: a lower bound moves a region as a count as large does.

Upper bounds need none: they move no region farther from its count than to 0.
"""


def bounded_prices(trees: SizeTrees, clipped: np.ndarray, total: int | None, slack: float) -> tuple[float, np.ndarray]:
    """Find the price that the root is paid, and those paid by inner regions, shape (inner regions, sizes).

    Args:
        trees: with bounds.
        clipped: as in `CellBounds`.
        total, slack: as in `integers.optimal_prices`.

    Raises:
        TooLargeError: lower bounds times weights beyond 64-bit arithmetic.
    """
    prices, root = BoundedPrices.of(trees, clipped), 0.0
    if total is None:
        prices.demand(root)
    else:
        root = _bracketed_root_price(prices.demand, total, slack)
    return root, prices.below.T.copy()


@dataclass(frozen=True, eq=False)
class BoundedPrices:
    """The prices of trees with bounds, as a function of the root's; arrays are sizes x regions.

    Attributes:
        trees: with bounds.
        cells: y, lower and upper of the trees.
        clipped: as in `CellBounds`.
        breakpoints: of what regions take (`bounded_kernel.merge_breakpoints`): at most two of every region at each
            level above it.
        below: what inner regions pay at the price asked last, shape (sizes, inner regions).
    """

    trees: SizeTrees
    cells: tuple[np.ndarray, ...]
    clipped: np.ndarray
    breakpoints: tuple[np.ndarray, ...]
    below: np.ndarray

    @classmethod
    def of(cls, trees: SizeTrees, clipped: np.ndarray) -> "BoundedPrices":
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        assert trees.lower is not None, "these trees have bounds"
        assert trees.upper is not None, "these trees have bounds"
        cells = tuple(np.ascontiguousarray(part.T) for part in (trees.y, trees.lower, trees.upper))
        depth, region = 0, len(trees.w) - 1
        while region > 0:
            depth, region = depth + 1, trees.parent[region]
        largest = float((trees.lower.max(axis=1).astype(float) * trees.w).max())
        if largest * (depth + 1) > LARGEST_LOWER:
            raise TooLargeError(
                f"lower bounds of counts times weights times levels exceed 2^50; {what_to_lower(trees.w)}"
            )
        begin = np.empty((trees.n_sizes, trees.n_inner + 1), np.int64)
        breakpoints = *np.empty((3, trees.n_sizes, 2 * depth * len(trees.w))), begin
        links = trees.w, trees.first_child, trees.n_inner
        share(kernels.merge_breakpoints, range(trees.n_sizes), len(trees.w), *cells, *links, *breakpoints)
        return cls(trees, cells, clipped, breakpoints, np.empty((trees.n_sizes, trees.n_inner)))

    def demand(self, root: float) -> RootDemand:
        """Find the prices at this price of the root, and what the roots then take."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        trees, (slope, intercept) = self.trees, np.empty((2, self.trees.n_sizes))
        fixed = trees.w, trees.parent, trees.n_inner, *self.breakpoints, float(root), self.below
        cells = *self.cells, self.clipped
        share(kernels.find_prices, range(trees.n_sizes), len(trees.w), *cells, *fixed, slope, intercept)
        return RootDemand(slope, intercept, int(trees.y[0].sum()))


def _bracketed_root_price(ask: Callable[[float], RootDemand], total: int, slack: float) -> float:
    """Find the price of the root at which all sizes take `total` groups; what they take only has to be increasing.

    Newton's method between the highest price known to be too low and the lowest one known to be too high; every third
    question halves that interval, so the search ends. The last price is one that was asked; with `slack` it is the
    first one from which the next step would move no root farther than this many groups.
    """
    too_low, too_high, root, reach = -np.inf, np.inf, 0.0, 1.0
    for question in range(MOST_QUESTIONS):
        demand = ask(root)
        missing = float(total - demand.count) - float(demand.slope.sum() * root + demand.intercept.sum())
        rise = float(demand.slope.sum())
        if missing == 0.0 or (rise == 0.0 and abs(missing) < 0.5):  # where all are at bounds, they take integers
            return root
        too_low, too_high = (root, too_high) if missing > 0.0 else (too_low, root)
        step = missing / rise if rise > 0.0 else np.copysign(np.inf, missing)
        near = (rise > 0.0 and abs(step) * demand.slope.max() <= slack) or abs(step) <= 4e-16 * abs(root)
        if near or np.nextafter(too_low, np.inf) >= too_high or reach > LARGEST_REACH:
            return root
        ahead = root + step
        if not (np.isfinite(too_low) and np.isfinite(too_high)):
            if not np.isfinite(ahead):
                ahead, reach = root + np.copysign(reach, missing), 8.0 * reach
        elif question % 3 == 2 or not too_low < ahead < too_high:
            ahead = 0.5 * (too_low + too_high)
        root = ahead
    return root
