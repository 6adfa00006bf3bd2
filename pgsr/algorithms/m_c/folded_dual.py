"""The dual of the relaxed M_c with sizes per level in the prices of consistency, and Newton's method on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.engines.newton import conjugate_gradients, line_search
from pgsr.machine.compilation import read_only
from pgsr.machine.parallel import inner_product, share
from pgsr.methods.gate import NO_LIMIT, Deadline

_STEPS = 200
_CG_STEPS = 40
_RESIDUAL = 0.1
_TRIALS = 6
"""How many lengths of a step are tried before its direction is given up."""

_RIDGES = 1e-6, 1e-2, 1.0
"""The smallest ridge, the one to begin with, and the largest, relative to the largest rate; see `FoldedDual`."""

Prices = list[np.ndarray]
"""One table per level with children, shape (regions of the level, K of the level below)."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The values that consistent ones are to be near, and what is public; one table per level, root first.

    Attributes:
        hierarchy: the regions.
        y: float64, shape (regions of the level, K): the last cumulative count of a region is its total.
        totals: G, numbers of groups, which add up; int64, shape (regions of the level,).
        w: weights, positive, shape (1, K) where all regions of a level have the same, else (regions of the level, K).
    """

    hierarchy: Hierarchy
    y: tuple[np.ndarray, ...]
    totals: tuple[np.ndarray, ...]
    w: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        y: Sequence[np.ndarray],
        totals: Sequence[np.ndarray],
        weights: Sequence[np.ndarray | float],
    ) -> "Targets":
        """Give weights their shape, from a number or shape (K,), (1, K) or (regions, K) per level."""
        w = (_rows(weight, table.shape) for weight, table in zip(weights, y, strict=True))
        return cls(hierarchy, tuple(y), tuple(totals), tuple(w))

    @property
    def n_cells(self) -> tuple[int, ...]:
        """K of every level, root first."""
        return tuple(table.shape[1] for table in self.y)

    def sums(self, level: int, of_children: np.ndarray) -> np.ndarray:
        """Add up rows of the level below over the children of every region of a level."""
        tree = self.hierarchy
        return np.add.reduceat(of_children, tree.first_child[tree.level(level)] - tree.level(level).stop, axis=0)

    def objective(self, tables: Sequence[np.ndarray]) -> float:
        """Compute sum w (x - y)^2."""
        return float(sum((w * (x - y) ** 2).sum() for w, x, y in zip(self.w, tables, self.y, strict=True)))


def _rows(w: np.ndarray | float, shape: tuple[int, ...]) -> np.ndarray:
    """Give weights one row for all regions, or one for each."""
    given = np.asarray(w, float)
    return np.ascontiguousarray(
        np.broadcast_to(given, shape if len(given.shape) == 2 and len(given) > 1 else (1, shape[1]))
    )


@dataclass(frozen=True, eq=False)
class FoldedPoint:
    """Prices, the dual's value there, and its gradient: counts of regions less the counts of their children."""

    prices: Prices
    value: float
    gradient: Prices

    @property
    def missing(self) -> float:
        """The largest number of groups by which a sum is off."""
        return max((float(np.abs(part).max(initial=0)) for part in self.gradient), default=0.0)


class FoldedDual:
    """The dual of the relaxed M_c with sizes per level; `pgsr.algorithms.m_c.folded` derives it.

    Where everything that a price moves is at its bounds the dual is flat, and a step would be infinitely long. So a
    ridge is added to the diagonal of minus the Hessian, as Levenberg and Marquardt do (Marquardt 1963). It is ten times
    as large after steps of less than a tenth of their length, a tenth as large after steps of more than half, and a
    hundred times as large where a direction leads nowhere. Where sums are off by less than a group it is the smallest
    one, so that the last steps are those of Newton's method itself. With a fixed ridge large states spent nine tenths
    of their time on directions that led nowhere.

    With d = c - y for what a region takes beyond its targets, the dual at prices p is

        sum over regions r of min (w[r] d^2 - (p[parent] - p[r]) . d)  +  sum over r of p[r] . residual[r],
        residual[r] = y[r] - sum over children j of y[j],

    in which no counts occur, only differences of them: with counts of 1e12 their digits would cancel.

    Attributes:
        taken: what regions take at the last prices that `at` was called with, per level.
        residual: see above; one table per level with children, as prices.
        ridge: what is added at present.
    """

    def __init__(self, targets: Targets) -> None:
        tree, n_levels = targets.hierarchy, targets.hierarchy.n_levels
        self.targets = targets
        self.k = (*targets.n_cells[1:], 0)
        """The number of cells that the regions of a level share with their children."""
        self.free = [k == n for k, n in zip(self.k, targets.n_cells, strict=True)]
        self.free[-1] = False
        levels = [tree.level(level) for level in range(n_levels)]
        self.rows = [range(here.stop - here.start) for here in levels]
        starts = [0, *(here.start for here in levels)]
        self.parent = [tree.parent[here] - starts[level] for level, here in enumerate(levels)]
        self.parent[0] = np.zeros(1, np.int64)
        self.from_child = [tree.first_child[here.start : here.stop + 1] - here.stop for here in levels[:-1]]
        self.taken = [np.empty(table.shape) for table in targets.y]
        self.stop_of = [
            np.empty((0, 0) if free else table.shape, np.int32)
            for table, free in zip(targets.y, self.free, strict=True)
        ]
        self.w = [read_only(w) for w in targets.w]
        y = targets.y
        self.residual = [y[level][:, :k] - targets.sums(level, y[level + 1]) for level, k in enumerate(self.k[:-1])]
        rate = max((0.5 / float(w.min()) for w in targets.w if w.size), default=1.0)
        self.least_ridge, self.ridge, self.largest_ridge = (part * rate for part in _RIDGES)

    def start(self) -> Prices:
        """Prices of 0."""
        return [np.zeros((len(self.rows[level]), k)) for level, k in enumerate(self.k[:-1])]

    def at(self, prices: Prices, softness: float = 1.0) -> FoldedPoint:
        """Evaluate the dual at these prices; softly rounded (`pgsr.algorithms.m_c.integers`) the gradient alone."""
        from pgsr.algorithms.m_c import folded_kernel as kernel

        targets, value = self.targets, _inner(prices, self.residual)
        for level, rows in enumerate(self.rows):
            own = self._own(prices, level)
            cost = np.empty(len(rows))
            about = targets.y[level], self.w[level], targets.totals[level], self.parent[level]
            given = self._above(prices, level), own, self.free[level], softness
            filled = self.taken[level], self.stop_of[level], cost
            share(kernel.fit, rows, targets.n_cells[level], *about, *given, *filled)
            value += float(cost.sum())
        gradient = [
            self.taken[level][:, :k] - targets.sums(level, self.taken[level + 1]) for level, k in enumerate(self.k[:-1])
        ]
        return FoldedPoint(prices, value, gradient)

    def better(self, point: FoldedPoint) -> FoldedPoint | None:
        """Find the next point of Newton's method; None if rounding leaves no ascent."""
        if point.missing < 1:
            self.ridge = self.least_ridge
        while True:
            direction = self._direction(point.gradient)
            slope = _inner(point.gradient, direction)
            if not slope > 0.0:
                return None
            found = self._along(point, direction, slope)
            if found is not None or self.ridge >= self.largest_ridge:
                return found
            self.ridge = min(100 * self.ridge, self.largest_ridge)
            self.at(point.prices)  # restores the blocks that the Hessian is made of, which are those of the last trial

    def _along(self, point: FoldedPoint, direction: Prices, slope: float) -> FoldedPoint | None:
        """Find a point in this direction where the dual is larger, or None; adapt the ridge to the step length."""
        reached = point

        def look(length: float) -> tuple[float, float]:
            nonlocal reached
            reached = self.at([p + length * d for p, d in zip(point.prices, direction, strict=True)])
            return reached.value, _inner(reached.gradient, direction)

        step = line_search(look, point.value, slope, _TRIALS)
        if not step.is_enough:
            return None
        if step.length > 0.5:
            self.ridge /= 10
        elif step.length < 0.1:
            self.ridge = min(self.ridge * 10, self.largest_ridge)
        self.ridge = max(self.ridge, self.least_ridge)
        return reached

    def metric(self) -> Callable[[np.ndarray], np.ndarray]:
        """Make the function that multiplies prices, as one vector, by about the inverse of minus the Hessian here."""
        return _TreeDiagonal(self).solved

    def product(self, prices: Prices) -> Prices:
        """Multiply minus the Hessian at the last point by prices."""
        out = self.start()
        self.multiply(prices, out)
        return out

    def multiply(self, prices: Prices, product: Prices) -> None:
        """Write the product of minus the Hessian at the last point and prices."""
        from pgsr.algorithms.m_c import folded_kernel as kernel

        for level, out in enumerate(product):
            here = self.w[level], self.parent[level], self._above(prices, level), prices[level]
            below = self.w[level + 1], self._own(prices, level + 1), self.free[level + 1], self.stop_of[level + 1]
            cells = self.targets.n_cells[level + 1] * len(self.rows[level + 1]) // len(self.rows[level])
            blocks = self.free[level], self.stop_of[level], self.from_child[level]
            share(kernel.product, self.rows[level], cells, *here, *blocks, *below, self.ridge, out)

    def _direction(self, gradient: Prices) -> Prices:
        """Compute an approximate Newton direction by preconditioned conjugate gradients."""
        return self.by_level(conjugate_gradients(_System(self), flat(gradient), _RESIDUAL, _CG_STEPS))

    def by_level(self, vector: np.ndarray) -> Prices:
        """Cut one vector into prices, which lie in its memory."""
        shapes = [(len(self.rows[level]), k) for level, k in enumerate(self.k[:-1])]
        ends = np.cumsum([rows * k for rows, k in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(vector, ends), shapes, strict=False)]

    def _above(self, prices: Prices, level: int) -> np.ndarray:
        return prices[level - 1] if level else np.zeros((1, self.targets.n_cells[0]))

    def _own(self, prices: Prices, level: int) -> np.ndarray:
        return prices[level] if level < len(prices) else np.empty((len(self.rows[level]), 0))


class _System:
    """The system of Newton's directions at the last point; vectors are the prices of all levels in turn."""

    def __init__(self, dual: FoldedDual) -> None:
        self.dual, self.inverse = dual, _TreeDiagonal(dual)

    def multiply(self, p: np.ndarray, product: np.ndarray) -> float:
        prices, out = self.dual.by_level(p), self.dual.by_level(product)
        self.dual.multiply(prices, out)
        return _inner(prices, out)

    def advance(self, step: float, p: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray) -> float:
        x += step * p
        rest -= step * product
        product[:] = rest
        z = self.dual.by_level(product)
        self.inverse.solve(z)
        return _inner(self.dual.by_level(rest), z)


class _TreeDiagonal:
    """The inverse of minus the Hessian with every block's averaging replaced by its diagonal: a tree per size."""

    def __init__(self, dual: FoldedDual) -> None:
        from pgsr.algorithms.m_c import folded_kernel as kernel

        self.dual = dual
        n = len(dual.k) - 1
        self.edge: Prices = [np.empty((len(dual.rows[level]), dual.k[level])) for level in range(n)]
        self.pivot: Prices = [np.empty(edge.shape) for edge in self.edge]
        for level in range(n - 1, -1, -1):
            here = dual.w[level], dual.free[level], dual.stop_of[level], dual.from_child[level]
            below = dual.w[level + 1], dual.free[level + 1], dual.stop_of[level + 1]
            inner = self.pivot[level + 1] if level + 1 < n else np.empty((len(dual.rows[level + 1]), 0))
            cells = dual.k[level] * len(dual.rows[level + 1]) // len(dual.rows[level])
            filled = dual.ridge, self.edge[level], self.pivot[level]
            share(kernel.eliminate, dual.rows[level], cells, *here, *below, inner, *filled)

    def solved(self, rest: np.ndarray) -> np.ndarray:
        """Multiply prices, as one vector, by the inverse."""
        out = rest.copy()
        self.solve(self.dual.by_level(out))
        return out

    def solve(self, z: Prices) -> None:
        """Multiply prices by the inverse, in place."""
        from pgsr.algorithms.m_c import folded_kernel as kernel

        rows = self.dual.rows
        for level in range(len(z) - 2, -1, -1):
            below = self.edge[level + 1], self.pivot[level + 1], z[level + 1]
            cells = below[0].shape[1] * len(rows[level + 1]) // len(rows[level])
            share(kernel.carry_up, rows[level], cells, self.dual.from_child[level], *below, z[level])
        for level, part in enumerate(z):
            above = z[level - 1] if level else np.zeros((1, part.shape[1]))
            about = self.dual.parent[level], above, self.edge[level], self.pivot[level]
            share(kernel.carry_down, rows[level], part.shape[1], *about, part)


def ascend(dual: FoldedDual, tolerance: float, deadline: Deadline = NO_LIMIT) -> tuple[FoldedPoint, int]:
    """Ascend from prices of 0 until no sum is off by more than `tolerance` groups, or time is up; count the steps."""
    point = dual.at(dual.start())
    for step in range(_STEPS):
        if point.missing <= tolerance or deadline.passed:
            return point, step
        further = dual.better(point)
        if further is None:
            return dual.at(point.prices), step
        point = further
    return point, _STEPS


def flat(prices: Prices) -> np.ndarray:
    """Copy prices into one vector, which `FoldedDual.by_level` cuts."""
    return np.concatenate([np.zeros(0), *(part.ravel() for part in prices)])


def _inner(a: Prices, b: Prices) -> float:
    return sum(inner_product(x, y) for x, y in zip(a, b, strict=True))
