"""The dual of joint squares on cumulative counts in the prices of consistency, and Newton's method on it."""

from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np

from pgsr.algorithms.m_c.arrays import Blocks, Diagonal, LeafTerms, NodeTree, Takings
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal, added_up
from pgsr.certificates import Multipliers
from pgsr.certificates.certificate import objective
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.engines.newton import conjugate_gradients, line_search
from pgsr.machine.blocks import row_blocks
from pgsr.machine.compilation import read_only
from pgsr.machine.memory import unwritten
from pgsr.machine.parallel import inner_product, share, share_levels
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.problem import Problem

_LARGEST_VALUE = 2**45
_LEAVES_PER_CHUNK = 64
_CG_STEPS = 80
_RESIDUAL = 0.4
"""The residual, relative to the first and in the norm of M^-1, with which a direction is good enough: far from the
optimum exact Newton directions take longer and are no better."""

_TRIALS = 40
"""How many lengths of a step are tried at most."""

_STRAIGHT = 0.9
"""The share of the first slope from which the dual counts as straight along a step: every leaf is at a bound there, and
the public total alone has a price. Steps by the ridge would take hundreds."""


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A point of the dual: prices, shape (nodes, cells), with the dual's value and gradient, and the leaves' costs."""

    prices: np.ndarray
    value: float
    gradient: np.ndarray
    leaves: float


class SquaresDual:
    """The dual of joint squares on the tree without inner regions of weight 0.

    `pgsr.algorithms.m_c` states it. Its generalised Hessian is that of `pgsr.algorithms.m_c.tree_kernel`. Newton
    directions are found by conjugate gradients, loosely, see `pgsr.algorithms.m_c.preconditioner`.

    Nodes are the regions that have a price, m of them in level order, the root first (a lone region gets a root of
    weight 0 above it). An inner region of weight 0 has its parent's price. Cells are the n that are not fixed in every
    region: the last one is not among them where everybody's total is public; where the root's alone is, it is `held`
    at the root. `residual` is y of a node minus the sum of its children's y. Before cell `first_free` the root's price
    is 0 since its weight is. What the leaves and nodes are at the last prices that `at` was called with is kept in
    `blocks`, `own` and `rate`.
    """

    def __init__(self, problem: Problem) -> None:
        tree, w, y = problem.hierarchy, problem.w, problem.target
        lone = tree.n_levels == 1
        self.problem = problem
        self.everywhere = problem.totals is Totals.REGIONS or (lone and problem.totals is Totals.ROOT)
        self.held = problem.totals is Totals.ROOT and not lone
        self.n = y.shape[1] - self.everywhere
        self.kept, self.node_of, self.leaf_node = _contracted(tree, w)
        m = max(1, len(self.kept))
        self.shape = (m, self.n)
        self.weight = np.zeros(1) if lone else w[self.kept].astype(float)
        self.parent = np.append(-1, self.node_of[tree.parent[self.kept[1:]]])
        self.y = np.ascontiguousarray(y[tree.leaves])
        self.leaf_weight = w[tree.leaves].astype(float)
        self.upper = np.full(len(self.y), np.inf)
        self.bounds = _leaf_bounds(problem, self.n)
        own = np.zeros(self.shape, np.int64) if lone else y[self.kept, : self.n]
        if self.everywhere:
            self.upper[:] = problem.region_totals[tree.leaves]
        elif self.held:
            own[0, -1] = problem.root_total
        self.node_y = own
        self.first_free = 0 if self.weight[0] > 0 else self.n - self.held

        starts = [tree.level(level).start for level in range(tree.n_levels - 1)]
        bounds = [0, 1] if lone else [int(first) for first in np.searchsorted(self.kept, [*starts, tree.n_inner])]
        self.levels = [range(*pair) for pair in pairwise(bounds)]
        child = 1 + np.argsort(self.parent[1:], kind="stable")
        child_from = np.searchsorted(self.parent[child], np.arange(m + 1))
        start = _chunk_starts(self.leaf_node)
        order = np.argsort(self.leaf_node[start], kind="stable")
        chunk_node = self.leaf_node[start][order]
        chunks = (chunk_node, start[order], np.append(start[1:], len(self.y))[order])
        chunk_from = np.searchsorted(chunk_node, np.arange(m + 1))
        self.tree = NodeTree(self.parent, child_from, child, chunk_from, *chunks, self.first_free, self.held)
        self.residual = own.copy()
        np.subtract.at(self.residual, self.parent[1:], own[1:])
        np.subtract.at(self.residual, self.leaf_node[start], np.add.reduceat(self.y[:, : self.n], start, axis=0))

        # Most cells are no block of their own. A leaf begins as one block, which the first fit takes apart.
        edges = unwritten((len(self.y), self.n + 1), np.int32)
        edges[:, 0], edges[:, -1:], edges[:, 1:2] = 0, self.n, self.n
        inside = np.tile(np.array([0, *[min(1, self.n)] * 2], np.int32), (len(self.y), 1))
        self.blocks = Blocks(edges, inside, *unwritten((2, len(self.y), self.n), np.float64))
        self.change = np.empty((len(start), self.n))
        self.own = np.zeros(self.shape)
        self.node_weight = np.zeros(self.shape)
        if not lone:
            self.node_weight[:] = w[self.kept, None]
        self.rate = np.divide(0.5, self.node_weight, out=np.zeros(self.shape), where=self.node_weight > 0)
        self.largest = 0.5 * float((1.0 / self.leaf_weight).sum())
        self.constant = 0.0
        if self.everywhere:
            self.constant = float((w * (problem.region_totals - y[:, -1]).astype(float) ** 2).sum())
        elif self.held:
            self.constant = float(w[0]) * float(problem.root_total - int(y[0, -1])) ** 2
        self._last: DualPoint | None = None

    def fit(self, prices: np.ndarray) -> tuple[float, float]:
        """Minimise over leaves and nodes at these prices; return both costs. Sets the arrays above and `change`."""
        from pgsr.algorithms.m_c import squares_kernel as kernels

        cost, spent = np.zeros(len(self.tree.chunk_node)), np.zeros(self.shape[0])
        fit_leaves = kernels.fit_leaves if self.bounds is None else kernels.fit_bounded_leaves
        share(fit_leaves, *self.chunk_rows, self.leaves, self.tree, prices, self.blocks, self.change, cost)
        share(kernels.fit_nodes, *self.node_rows, self.rate, self.parent, self.held, prices, self.own, spent)
        return float(cost.sum()), float(spent.sum()) + self.constant

    def at(self, prices: np.ndarray) -> DualPoint:
        """Evaluate the dual at these prices."""
        from pgsr.algorithms.m_c import tree_kernel as kernels

        leaves, nodes = self.fit(prices)
        value, gradient = np.zeros(self.shape[0]), np.empty(self.shape)
        takings = Takings(self.residual, self.own, self.change)
        share(kernels.gradient, *self.node_rows, self.tree, takings, prices, gradient, value)
        self._last = DualPoint(prices, leaves + nodes + float(value.sum()), gradient, leaves)
        return self._last

    def beyond(self, point: DualPoint) -> np.ndarray:
        """Compute by how much the sums of the leaves exceed c; shape (nodes, cells)."""
        from pgsr.algorithms.m_c import tree_kernel as kernels

        beyond, children = np.empty(self.shape), (self.tree.child_from, self.tree.child)
        share_levels(kernels.sums_beyond, self.levels[::-1], self.n, *children, point.gradient, beyond)
        return beyond

    def feasible(self, point: DualPoint, out: np.ndarray | None = None) -> np.ndarray:
        """Bring the leaves at these prices to the public total, and add them upwards; shape (regions, K + 1).

        Args:
            point: the prices.
            out: where to; a new array if None. It may lie in the memory of the problem's values, which are gone then.
        """
        if point is not self._last:
            self.at(point.prices)
        tree = self.problem.hierarchy
        x = np.empty(self.problem.target.shape) if out is None else out
        self._write_leaves(slice(0, len(self.y)), x[tree.leaves], self._last_cells())
        for level in range(tree.n_levels - 2, -1, -1):
            x[tree.level(level)] = tree.sum_children(x, level)
        return x

    def _last_cells(self) -> np.ndarray | None:
        """Bring the leaves' last cells, their numbers of groups, to the root's public total; None if it is not held."""
        if not self.held:
            return None
        last = np.empty(len(self.y))
        for rows in row_blocks(slice(0, len(self.y)), self.y.shape[1]):
            last[rows] = self._expanded(rows, np.empty(self.y[rows].shape))[:, -1]
        have = float(last.sum())
        missing = self.problem.root_total - have
        if self.bounds is not None:
            least, most = self.bounds
            return shared_within(last, missing, least[:, -1], most[:, -1], self.leaf_weight)
        if missing >= 0:
            return last + missing / self.leaf_weight / (1.0 / self.leaf_weight).sum()
        return last * (self.problem.root_total / have)

    def _expanded(self, rows: slice, out: np.ndarray) -> np.ndarray:
        from pgsr.algorithms.m_c import tree_kernel as kernels

        blocks = Blocks(*(array[rows] for array in self.blocks))
        share(kernels.expand, range(len(out)), self.n, blocks, self.upper[rows], out)
        return out

    def _write_leaves(self, rows: slice, out: np.ndarray, last: np.ndarray | None) -> None:
        """Write the feasible values of these leaves; `last` is what `_last_cells` found for all of them."""
        self._expanded(rows, out)
        if self.everywhere:
            # The last cells are constants, so the kernel leaves them out.
            out[:, -1] = self.problem.region_totals[self.problem.hierarchy.leaves][rows]
        if last is not None:
            np.minimum(out, last[rows, None], out=out)
            out[:, -1] = last[rows]

    def better(self, point: DualPoint) -> DualPoint | None:
        """Find the next point of Newton's method; None if rounding leaves no ascent."""
        direction = self.direction(point.gradient)
        slope = inner_product(point.gradient, direction)
        if not slope > 0.0:
            return None
        reached = point

        def look(length: float) -> tuple[float, float]:
            nonlocal reached
            reached = self.at(point.prices + length * direction)
            return reached.value, inner_product(reached.gradient, direction)

        return reached if line_search(look, point.value, slope, _TRIALS, straight=_STRAIGHT).is_enough else None

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Compute an approximate Newton direction by preconditioned conjugate gradients."""
        return conjugate_gradients(_System(self), gradient, _RESIDUAL, _CG_STEPS)

    @property
    def leaves(self) -> LeafTerms:
        """The leaves' costs, in squares, and bounds."""
        least, most = (np.zeros((0, 0)),) * 2 if self.bounds is None else self.bounds
        return LeafTerms(read_only(self.y), self.upper, least, most, self.leaf_weight)

    @property
    def node_rows(self) -> tuple[range, int]:
        """The rows that loops over nodes share, and the cells of one."""
        return range(self.shape[0]), self.n

    @property
    def chunk_rows(self) -> tuple[range, int]:
        """The chunks that loops over leaves share, and about the cells of one."""
        n_chunks = len(self.tree.chunk_node)
        return range(n_chunks), self.y.size // n_chunks

    def multipliers(self, point: DualPoint) -> Multipliers:
        """Collect the prices of all inner regions; a region that was taken out has its parent's."""
        n_inner, totals = self.problem.hierarchy.n_inner, self.problem.stated_totals
        prices = np.zeros((n_inner, self.problem.target.shape[1]))
        prices[:, : self.n] = point.prices[self.node_of]
        return Multipliers(prices, np.zeros(0 if totals is None else len(totals)))

    def prices_of(self, multipliers: Multipliers) -> np.ndarray | None:
        """Read the prices of all nodes from multipliers, as `multipliers` writes them; None where shapes differ."""
        prices = multipliers.consistency
        wanted = self.problem.hierarchy.n_inner, self.problem.target.shape[1]
        if isinstance(prices, tuple) or prices.shape != wanted or not len(self.kept):
            return None
        prices = np.ascontiguousarray(prices[self.kept, : self.n], float)
        prices[0, : self.first_free] = 0.0  # as at every root without weight
        return prices

    def estimated_gap(self, point: DualPoint) -> float:
        """Estimate the relative gap of `feasible` without forming it; only the step to the public total is ignored."""
        from pgsr.algorithms.m_c import squares_kernel as kernels

        cost, beyond = np.zeros(self.shape[0]), self.beyond(point)
        share(kernels.node_costs, *self.node_rows, self.node_weight, self.held, self.own, beyond, cost)
        gap = abs(point.leaves + float(cost.sum()) + self.constant - point.value)
        if self.held:
            gap += abs(float(point.prices[0, -1] * beyond[0, -1]))
        return gap / max(1.0, point.value)

    def objective(self, x: np.ndarray) -> float:
        return float(objective(self.problem, Estimate(self.problem.hierarchy, View.CUMULATIVE, x)))

    def objective_at(self, point: DualPoint) -> float:
        """Compute the objective of `feasible` with no more than one family of leaves in memory."""
        if point is not self._last:
            self.at(point.prices)
        tree, terms, last = self.problem.hierarchy, [], self._last_cells()
        inner = np.empty((tree.n_inner, self.y.shape[1]))
        parents = range(tree.n_inner)[tree.level(tree.n_levels - 2)] if tree.n_inner else range(0)
        families = [slice(*tree.first_child[parent : parent + 2].tolist()) for parent in parents] or [tree.leaves]
        for number, family in enumerate(families):
            x = np.empty((family.stop - family.start, self.y.shape[1]))
            self._write_leaves(slice(family.start - tree.n_inner, family.stop - tree.n_inner), x, last)
            terms += self._squares(family, x)
            if parents:
                inner[parents[number]] = np.add.reduceat(x, [0], axis=0)
        for level in range(tree.n_levels - 3, -1, -1):
            inner[tree.level(level)] = tree.sum_children(inner, level)
        return fsum(terms + self._squares(slice(0, tree.n_inner), inner))

    def _squares(self, regions: slice, x: np.ndarray) -> list[float]:
        y, w, terms = self.problem.target[regions], self.problem.w[regions], []
        for rows in row_blocks(slice(0, len(x)), x.shape[1]):
            terms += list(w[rows] * np.sum((x[rows] - y[rows]) ** 2, axis=1))
        return terms


class _System:
    """The system of Newton's directions at the blocks that a dual has now: its Hessian, and the preconditioner."""

    def __init__(self, dual: SquaresDual) -> None:
        self.dual, self.inverse, self.dots = dual, TreeDiagonal(dual, lumped=True), np.empty(dual.shape[0])

    def multiply(self, p: np.ndarray, product: np.ndarray) -> float:
        from pgsr.algorithms.m_c import tree_kernel as kernels

        dual = self.dual
        diagonal = Diagonal(dual.rate, self.inverse.ridge)
        share(kernels.multiply, *dual.node_rows, dual.tree, dual.blocks, diagonal, p, product, self.dots)
        return added_up(self.dots)

    def advance(self, step: float, p: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray) -> float:
        return self.inverse.advance(step, p, product, x, rest)


def refused_bounds_above(problem: Problem) -> str | None:
    """Say that a stated bound of an inner region's cell does not follow from those of the leaves, or return None."""
    tree, stated = problem.hierarchy, problem.conditions
    if stated is None or tree.n_levels == 1:
        return None
    low, high = _ordered_bounds(problem)
    implied = tree.sum_up(low[tree.leaves]), tree.sum_up(high[tree.leaves])
    stated_high = np.where(stated.upper < UNBOUNDED, stated.upper, np.inf).reshape(low.shape)
    below, above = stated.lower.reshape(low.shape) > implied[0], stated_high < implied[1]
    if problem.totals is not None:  # the last cells that are public; what contradicts them was found before
        n = len(problem.stated_totals if problem.stated_totals is not None else ())
        below[:n, -1], above[:n, -1] = False, False
    for which, outside in enumerate((below, above)):
        outside[tree.leaves] = False
        if outside.any():
            number = -1 if stated.sources is None else int(stated.sources[which][outside.ravel()][0])
            name = stated.stated[number] if number >= 0 else "a bound of a cell"
            return (
                f"this method takes bounds of cells of the lowest regions, and {name} is of one above them; take a "
                "solver model such as Cvxpy, Gurobi or MathOpt from pgsr.models, or state it of the regions below"
            )
    return None


def shared_within(
    last: np.ndarray, missing: float, lower: np.ndarray, upper: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Spread a missing amount over numbers, by 1 / weight, as far as their bounds leave room.

    Example:
        >>> shared_within(np.array([1.0, 2.0]), 3.0, np.zeros(2), np.array([1.5, 9.0]), np.ones(2))
        array([1.5, 4.5])
    """
    last = last.copy()
    for _ in range(len(last) + 1):
        room = upper - last if missing > 0 else last - lower
        share_of = np.where(room > 0, 1.0 / weight, 0.0)
        if missing == 0 or not share_of.any():
            break
        step = np.minimum(abs(missing) * share_of / share_of.sum(), room) * np.sign(missing)
        last += step
        full = (np.abs(step) >= room).any()
        missing = missing - float(step.sum()) if full else 0.0
    return last


def _leaf_bounds(problem: Problem, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Compute what order makes of signs, public totals and stated bounds of the leaves' first n cells, if any are."""
    if problem.conditions is None:
        return None
    low, high = _ordered_bounds(problem)
    leaves = problem.hierarchy.leaves
    return np.ascontiguousarray(low[leaves, :n]), np.ascontiguousarray(high[leaves, :n])


def _ordered_bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Compute the bounds of all cells that signs, order, public totals and stated bounds imply within a region."""
    stated, totals = problem.conditions, problem.stated_totals
    assert stated is not None, "only asked where conditions are stated"
    low = np.maximum(stated.lower, 0).astype(float).reshape(problem.target.shape)
    high = np.where(stated.upper < UNBOUNDED, stated.upper, np.inf).reshape(low.shape)
    if totals is not None:
        high[: len(totals), -1] = np.minimum(high[: len(totals), -1], totals)
    return np.maximum.accumulate(low, axis=1), np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1]


def cumulative_counts_exceed(problem: Problem) -> str | None:
    """Say why cumulative counts this large cannot be worked on in floating point, or return None."""
    totals = problem.stated_totals
    largest = max(int(np.abs(problem.target).max()), 0 if totals is None else int(totals.max()))
    if largest > _LARGEST_VALUE:
        return "cumulative counts exceed 2^45, so their fractions have too few digits"
    return None


def _contracted(tree: Hierarchy, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the inner regions that are nodes, the node of every inner region, and the node above every leaf."""
    if tree.n_levels == 1:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64)
    is_node = w[: tree.n_inner] > 0
    is_node[0] = True
    node_of = np.cumsum(is_node) - 1
    for level in range(1, tree.n_levels - 1):
        here = tree.level(level)
        node_of[here] = np.where(is_node[here], node_of[here], node_of[tree.parent[here]])
    return np.flatnonzero(is_node), node_of, node_of[tree.parent[tree.leaves]]


def _chunk_starts(leaf_node: np.ndarray) -> np.ndarray:
    """Find where chunks of leaves begin: at every new node, and after so many leaves of one."""
    new = np.append(True, leaf_node[1:] != leaf_node[:-1])
    runs = np.flatnonzero(new)
    position = np.arange(len(leaf_node)) - np.repeat(runs, np.diff(np.append(runs, len(leaf_node))))
    return np.flatnonzero(position % _LEAVES_PER_CHUNK == 0)
