"""The trees of some sizes, one per size, and the passes over them; see the docstring of this package."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.nearest_tree.bounds import CellBounds
from pgsr.machine.parallel import Threads, spans_for_threads


@dataclass(frozen=True, eq=False)
class RootDemand:
    """The demand of the roots of some sizes near the price that was asked: count + slope * price + intercept.

    Attributes:
        slope, intercept: per size, shape (sizes,).
        count: sum of the root's noisy counts, exact.
    """

    slope: np.ndarray
    intercept: np.ndarray
    count: int


def root_price(ask: Callable[[float], RootDemand], total: int, slack: float) -> float:
    """Find the price of the root at which all sizes take `total` >= 1 groups, by Newton's method on one number.

    What they take is convex, increasing and piecewise linear in the price, so after the first step the prices fall
    monotonically, and after finitely many the answer is exact. The last price is one that was asked; with `slack` it is
    the first one at which no root is farther than this many groups from its optimum.
    """
    root, first = 0.0, True
    while True:
        demand = ask(root)
        if not demand.slope.any():  # nobody takes anything at this price; look from the side where everybody does
            demand = ask(np.inf)
        ahead = float((total - demand.count - demand.intercept.sum()) / demand.slope.sum())
        fall = root - ahead
        if 0.0 <= fall * demand.slope.max() <= slack or (fall < 0.0 and not first):
            return root
        root, first = ahead, False


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows low[s] .. low[s] + length[s] of the root; charges[s, k] is the cost of one more than low[s] + k."""

    low: np.ndarray
    length: np.ndarray
    charges: np.ndarray

    def cheapest(self, total: int | None) -> np.ndarray | None:
        """Choose the root's counts per size: the cheapest groups over all sizes, up to the total or all that pay.

        None if the windows do not reach the total, or one of them is empty, of negative length. Of equal costs the
        smaller size is served first.
        """
        if (self.length < 0).any():
            return None
        size, step = np.nonzero(np.arange(self.charges.shape[1]) < self.length[:, None])
        costs = self.charges[size, step]
        if total is None:
            return self.low + np.bincount(size[costs < 0], minlength=len(self.low))
        missing = total - int(self.low.sum())
        if not 0 <= missing <= len(costs):
            return None
        taken = size[np.argsort(costs, kind="stable")[:missing]]
        return self.low + np.bincount(taken, minlength=len(self.low))


@dataclass(frozen=True, eq=False)
class SizeTrees:
    """The trees of some sizes, one per size, and passes over them; threads share the sizes among them.

    Prices `below[r, s]` are what inner region r pays its children at size s, shape (inner regions, sizes).

    Attributes:
        y: noisy counts, shape (regions, sizes); a lone region stands below an added one without weight.
        w, parent, first_child: as in problem and hierarchy; w is whole where integers are asked for.
        n_inner: regions with children; they come first.
        n_regions: regions without the added one.
        lower, upper: the intervals of cells, of the shape of y, as `bounds.CellBounds` finds them; None without bounds.
    """

    y: np.ndarray
    w: np.ndarray
    parent: np.ndarray
    first_child: np.ndarray
    n_inner: int
    n_regions: int
    lower: np.ndarray | None
    upper: np.ndarray | None

    @classmethod
    def of(cls, tree: Hierarchy, y: np.ndarray, w: np.ndarray, bounds: CellBounds | None) -> "SizeTrees":
        # Compiled loops tell read-only and strided arrays from others and would be compiled twice.
        intervals = (None, None) if bounds is None else (bounds.lower.T.copy(), bounds.upper.T.copy())
        if tree.n_levels > 1:
            y = np.require(y, np.int64, ["C", "W"])
            links = w.copy(), tree.parent.copy(), tree.first_child.copy(), tree.n_inner
            return cls(y, *links, tree.n_regions, *intervals)
        # A lone region becomes the only child of a region without weight, so that every tree has an inner region.
        links = np.array([0, w[0]]), np.array([-1, 0]), np.array([1, 2, 2]), 1
        intervals = (None if part is None else np.repeat(part, 2, axis=0) for part in intervals)
        return cls(np.stack([np.zeros_like(y[0]), y[0]]), *links, 1, *intervals)

    @property
    def n_sizes(self) -> int:
        return self.y.shape[1]

    def highest_prices(self) -> np.ndarray:
        """Give prices above all others, from which Newton's method may start."""
        return np.full((self.n_inner, self.n_sizes), np.inf)

    def find_prices(self, root: float, below: np.ndarray) -> RootDemand:
        """Find the prices below this root price in place by Newton's method; return what the roots then take.

        Args:
            root: what the root is paid; with infinity the demand is that of all leaves positive, and prices stay.
            below: prices to start from, none of them below the solution; `highest_prices()` are always right.
        """
        from pgsr.engines.nearest_tree import kernel as kernels

        slope, intercept = np.empty((2, self.n_sizes))
        active = np.empty(self.n_sizes, np.int64)
        w = self.w.astype(float)  # of one kind, lest the loops be compiled for whole weights and for real ones
        fixed = w, self.parent, self.first_child, self.n_inner, root, below, slope, intercept, active
        self._each(lambda span: kernels.find_prices(self.y, *span, *fixed))
        return RootDemand(slope, intercept, int(self.y[0].sum()))

    def asked(self, below: np.ndarray) -> Callable[[float], RootDemand]:
        """Make `find_prices` a function of the root's price, whatever it was asked before."""
        last = np.inf

        def ask(root: float) -> RootDemand:
            nonlocal last
            if root > last:  # prices so far are those of a lower root price; start again from above
                below.fill(np.inf)
            last = root
            return self.find_prices(root, below)

        return ask

    def lowest_prices(self) -> tuple[float, np.ndarray]:
        """Give a root price so low that nobody takes anything, and the prices below it then."""
        root = -2.0 * float(np.abs(self.y).max(axis=1) @ self.w.astype(float)) - 1.0
        below = np.empty((self.n_inner, self.n_sizes))
        for r in range(self.n_inner):
            below[r] = (below[self.parent[r]] if r else root) + 2.0 * self.w[r] * self.y[r]
        return root, below

    def continuous(self, below: np.ndarray) -> np.ndarray:
        """Compute the relaxed answer at these prices; shape (regions, sizes)."""
        from pgsr.engines.nearest_tree import kernel as kernels

        x = np.empty(self.y.shape)
        w = self.w.astype(float)
        self._each(lambda span: kernels.continuous_point(*self._cells, *span, w, *self._links, below, x))
        return x[-self.n_regions :]

    def merge(self, below: np.ndarray, width: int) -> "MergedTrees":
        """Compute what regions may take in windows of `width` around the relaxed answer, and what they charge."""
        from pgsr.engines.nearest_tree import kernel as kernels

        shape = self.n_inner, self.n_sizes
        low, length = np.empty((2, *shape), np.int64)
        steps = np.empty((*shape, 2 * width + 1), np.int64)
        charges = np.zeros(steps.shape[1:], np.int64)
        fixed = self.w, *self._links, below, width, low, length, steps, charges
        self._each(lambda span: kernels.merge_steps(*self._cells, *span, *fixed))
        return MergedTrees(self, low, length, steps, Windows(low[0].copy(), length[0].copy(), charges))

    @property
    def _cells(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        return self.y, self.lower, self.upper

    @property
    def _links(self) -> tuple[np.ndarray, int]:
        return self.first_child, self.n_inner

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        from pgsr.engines.nearest_tree.kernel import CHUNK

        return spans_for_threads(self.n_sizes, self.y.size, CHUNK)

    def _each(self, work: Callable[[tuple[int, int]], None]) -> None:
        for _ in Threads()(work, self._spans):
            pass


@dataclass(frozen=True, eq=False)
class MergedTrees:
    """The trees after the upward pass in integers: windows low .. low + length and steps of all inner regions."""

    trees: SizeTrees
    low: np.ndarray
    length: np.ndarray
    steps: np.ndarray
    root: Windows

    def distribute(self, roots: np.ndarray) -> np.ndarray:
        """Find the cheapest integers in which the root takes roots[s] groups at size s; shape (regions, sizes)."""
        from pgsr.engines.nearest_tree import kernel as kernels

        trees = self.trees
        x = np.empty(trees.y.shape, np.int64)
        x[0] = roots
        fixed = trees.w, trees.first_child, trees.n_inner, self.low, self.length, self.steps, x
        trees._each(lambda span: kernels.distribute(*trees._cells, *span, *fixed))
        return x[-trees.n_regions :]
