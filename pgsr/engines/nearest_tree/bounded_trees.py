"""The trees of sizes whose cells have bounds, beside those of sizes that have none.

Every cell has an interval lower <= x <= upper (`bounds.CellBounds`). A leaf at price p takes clip(y + p / 2w, lower,
upper), an inner region what its children take, clipped to its own interval. Costs of a region's units still rise, from
minus infinity below its lower bound to infinity from the upper one on, so this is a convex flow with capacities: all of
`pgsr.engines.nearest_tree` stays true but the argument of Newton's method. What a region takes is increasing in what it
is paid, no longer convex. So

- at one size the breakpoints of what regions take are merged from the leaves up: exact, in O(leaves log leaves) per
  level;
- at the root the price is bracketed: `bracketed_root_price`;
- windows end at bounds, and the exchange test knows that a unit beyond one costs infinitely much.

Sizes without bounds are solved as if there were no others, by the loops of `kernel`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.checks import what_to_lower
from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.nearest_tree.bounds import CellBounds
from pgsr.engines.nearest_tree.size_trees import MergedTrees, RootDemand, SizeTrees, Windows
from pgsr.errors import TooLargeError
from pgsr.machine.parallel import Threads, spans_for_threads

MOST_QUESTIONS = 2_000
"""Prices of the root that a search may ask for; bisection alone needs some 130 from 2^60 down to the last digit."""

LARGEST_REACH = 2.0**100
"""How far a search looks for a price; within 64-bit arithmetic there is none beyond."""

LARGEST_LOWER = 2**50
"""Largest lower bound times weight times levels, as for counts: a lower bound moves a region as a count as large does.

Upper bounds need none: they move no region farther from its count than to 0.
"""

Prices = tuple[np.ndarray, np.ndarray]
"""What inner regions pay: at sizes without bounds, (inner regions, sizes), and at those with some, the other way."""


def bracketed_root_price(ask: Callable[[float], RootDemand], total: int, slack: float) -> float:
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


@dataclass(frozen=True, eq=False)
class BoundedTrees:
    """The trees of the sizes with bounds, and passes over them; arrays are sizes x regions.

    Attributes:
        y, lower, upper: int64, shape (sizes, regions); a lone region stands below an added one without weight.
        clipped: which bounds of inner regions clip, shape (sizes, inner regions).
        w, parent, first_child, n_inner, n_regions, map: as in `SizeTrees`.
    """

    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    clipped: np.ndarray
    w: np.ndarray
    parent: np.ndarray
    first_child: np.ndarray
    n_inner: int
    n_regions: int

    @classmethod
    def of(cls, tree: Hierarchy, y: np.ndarray, w: np.ndarray, intervals: CellBounds) -> "BoundedTrees":
        """Take the sizes with bounds apart from the others.

        Raises:
            TooLargeError: lower bounds times weights beyond 64-bit arithmetic.
        """
        largest = float((intervals.lower.max(axis=0, initial=0).astype(float) * w).max())
        if largest * tree.n_levels > LARGEST_LOWER:
            raise TooLargeError(f"lower bounds of counts times weights times levels exceed 2^50; {what_to_lower(w)}")
        y = np.ascontiguousarray(np.take(y, intervals.sizes, axis=1).T)
        lower, upper = intervals.lower, intervals.upper
        if tree.n_levels > 1:
            links = w.copy(), tree.parent.copy(), tree.first_child.copy(), tree.n_inner
            return cls(y, lower, upper, intervals.clipped, *links, tree.n_regions)
        y, lower, upper = (np.repeat(part, 2, axis=1) for part in (y, lower, upper))
        links = np.array([0, w[0]]), np.array([-1, 0]), np.array([1, 2, 2]), 1
        return cls(y, lower, upper, intervals.clipped, *links, 1)

    def breakpoints(self) -> tuple[np.ndarray, ...]:
        """Merge the breakpoints of what regions take: at most two of every region at each level above it."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        depth, r = 0, len(self.w) - 1
        while r > 0:
            depth, r = depth + 1, self.parent[r]
        begin = np.empty((len(self.y), self.n_inner + 1), np.int64)
        found = *np.empty((3, len(begin), 2 * depth * len(self.w))), begin
        self._each(lambda span: kernels.merge_breakpoints(*span, *self._cells, self.w, *self._links, *found))
        return found

    def find_prices(self, root: float, breakpoints: tuple[np.ndarray, ...], below: np.ndarray) -> RootDemand:
        """Find the prices below this root price in place; return what the roots then take."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        slope, intercept = np.empty((2, len(self.y)))
        fixed = self.clipped, self.w, self.parent, self.n_inner, *breakpoints, float(root), below, slope, intercept
        self._each(lambda span: kernels.find_prices(*span, *self._cells, *fixed))
        return RootDemand(slope, intercept, int(self.y[:, 0].sum()))

    def continuous(self, below: np.ndarray) -> np.ndarray:
        """Compute the relaxed answer at these prices; shape (regions, sizes)."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        x = np.empty(self.y.shape)
        self._each(lambda span: kernels.continuous_point(*span, *self._cells, self.w, *self._links, below, x))
        return x[:, -self.n_regions :].T

    def merge(self, below: np.ndarray, width: int) -> "MergedBoundedTrees":
        """Compute what regions may take in windows of `width` around the relaxed answer, and what they charge."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        shape = len(self.y), self.n_inner
        low, length = np.empty((2, *shape), np.int64)
        steps = np.empty((*shape, 2 * width + 2), np.int64)
        charges = np.zeros((len(self.y), 2 * width + 1), np.int64)
        fixed = self.w, *self._links, below, width, low, length, steps, charges
        self._each(lambda span: kernels.merge_steps(*span, *self._cells, *fixed))
        return MergedBoundedTrees(self, low, length, steps, Windows(low[:, 0].copy(), length[:, 0].copy(), charges))

    @property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.y, self.lower, self.upper

    @property
    def _links(self) -> tuple[np.ndarray, int]:
        return self.first_child, self.n_inner

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return spans_for_threads(len(self.y), self.y.size, 1)

    def _each(self, work: Callable[[tuple[int, int]], object]) -> None:
        for _ in Threads()(work, self._spans):
            pass


@dataclass(frozen=True, eq=False)
class MergedBoundedTrees:
    """The trees after the upward pass in integers; as `MergedTrees`, sizes x regions."""

    trees: BoundedTrees
    low: np.ndarray
    length: np.ndarray
    steps: np.ndarray
    root: Windows

    def distribute(self, roots: np.ndarray) -> np.ndarray:
        """Find the cheapest integers in which the root takes roots[s] groups at size s; shape (regions, sizes)."""
        from pgsr.engines.nearest_tree import bounded_kernel as kernels

        trees = self.trees
        x = np.empty(trees.y.shape, np.int64)
        x[:, 0] = roots
        fixed = trees.w, *trees._links, self.low, self.length, self.steps, x
        trees._each(lambda span: kernels.distribute(*span, *trees._cells, *fixed))
        return x[:, -trees.n_regions :].T


@dataclass(frozen=True, eq=False)
class MixedTrees:
    """The trees of all sizes, some of them with bounds.

    Attributes:
        free: those without, in the order of their sizes.
        bounded: those with some.
        sizes: the sizes without bounds, then those with some, increasing each, shape (sizes,).
        n_regions: as in the hierarchy.
    """

    free: SizeTrees
    bounded: BoundedTrees
    sizes: np.ndarray
    n_regions: int

    @classmethod
    def of(cls, tree: Hierarchy, y: np.ndarray, w: np.ndarray, intervals: CellBounds) -> "MixedTrees":
        without = np.setdiff1d(np.arange(y.shape[1]), intervals.sizes)
        free = SizeTrees.of(tree, np.take(y, without, axis=1), w)
        sizes = np.concatenate([without, intervals.sizes])
        return cls(free, BoundedTrees.of(tree, y, w, intervals), sizes, tree.n_regions)

    def optimal_prices(self, total: int | None, slack: float) -> tuple[float, Prices]:
        """Find the price that the root is paid, and those paid by inner regions; arguments as `integers` has them."""
        free = self.free.highest_prices()
        ask_free = self.free.asked(free)
        breakpoints, bounded = self.bounded.breakpoints(), np.empty((len(self.bounded.y), self.bounded.n_inner))

        def ask(root: float) -> RootDemand:
            return RootDemand.joined([ask_free(root), self.bounded.find_prices(root, breakpoints, bounded)])

        if total is None:
            ask(0.0)
            return 0.0, (free, bounded)
        return bracketed_root_price(ask, total, slack), (free, bounded)

    def continuous(self, below: Prices) -> np.ndarray:
        """Compute the relaxed answer at these prices; shape (regions, sizes)."""
        return self._joined(self.free.continuous(below[0]), self.bounded.continuous(below[1]))

    def consistency_prices(self, below: Prices) -> np.ndarray:
        """Put the prices of all sizes side by side; shape (inner regions, sizes)."""
        return self._joined(below[0], below[1].T)

    def merge(self, below: Prices, width: int) -> "MergedMixedTrees":
        """Compute what regions may take in windows of `width` around the relaxed answer, and what they charge."""
        free, bounded = self.free.merge(below[0], width), self.bounded.merge(below[1], width)
        windows = Windows.joined([free.root, bounded.root])
        order = np.argsort(self.sizes)
        root = Windows(windows.low[order], windows.length[order], windows.charges[order])
        return MergedMixedTrees(self, free, bounded, root)

    def _joined(self, free: np.ndarray, bounded: np.ndarray) -> np.ndarray:
        out = np.empty((len(free), len(self.sizes)), free.dtype)
        n = free.shape[1]
        out[:, self.sizes[:n]], out[:, self.sizes[n:]] = free, bounded
        return out


@dataclass(frozen=True, eq=False)
class MergedMixedTrees:
    """The trees of all sizes after the upward pass in integers."""

    trees: MixedTrees
    free: MergedTrees
    bounded: MergedBoundedTrees
    root: Windows

    def distribute(self, roots: np.ndarray) -> np.ndarray:
        """Find the cheapest integers in which the root takes roots[s] groups at size s; shape (regions, sizes)."""
        roots, n = roots[self.trees.sizes], self.trees.free.n_sizes
        return self.trees._joined(self.free.distribute(roots[:n]), self.bounded.distribute(roots[n:]))
