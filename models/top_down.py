"""Integers for a whole hierarchy of cumulative counts, from the root down, one min-cost flow per inner region."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models.adapter import Refused
from models.optional import load, not_installed
from pgsr.hierarchy import Hierarchy
from pgsr.method import Status

LARGEST = 20_000_000
"""Most arcs of one region's network, about 3 GB; far more than values that nearly add up ever need."""

_NEAR = 1e-7
"""A value this close to an integer counts as that integer."""

_DIGITS = 1_000
"""Costs of fractional targets are rounded to a thousandth of the smallest weight."""

_COST_RANGE = 2.0**60
"""OR-tools multiplies costs by the number of nodes; the product stays within 64 bits."""


def integers_top_down(
    tree: Hierarchy,
    values: np.ndarray,
    root: np.ndarray,
    weights: np.ndarray,
    target: np.ndarray | None = None,
    totals: np.ndarray | None = None,
    deadline: "Deadline | None" = None,
    exact: bool = False,
) -> np.ndarray:
    """Integer cumulative counts close to real ones, consistent and monotone, below a given integer root.

    From the root down every inner region, whose integers C are settled by then, shares them among its children j:

        minimise    sum over j, sizes s of  v[j] (c[j, s] - t[j, s])^2
        subject to  sum over j of c[j, s] = C[s],   0 <= c[j, 0] <= ... <= c[j, K],   c integer,
                    c[j, K] = G[j] where it is public.

    Leaves have t = `target` and v = `weights`. An inner child has t = `values` and v = its own weight plus that of its
    children in series, 1 / sum(1 / v): what it costs at least to move it together with all that is below.

    Each of these problems is a min-cost flow: C's increments flow into children, c[j, s] is the flow of child j from s
    to s + 1, and a convex cost becomes parallel unit arcs. Two things make it small. Where C does not grow no child
    can, so a run of such sizes is one column. And children stay between the floor and the ceiling of `values`; if no
    flow exists the windows grow, at last to everything. Around a relaxed optimum that costs about 1e-5 of the
    objective. With `exact`, windows begin one step wider; where an answer touches its window, and not a condition, the
    window is moved outwards and the flow solved again. An answer that touches none is optimal without windows, since
    the problem is convex.

    Every region gets a feasible share of any non-decreasing root, so the answer is consistent, monotone and
    non-negative by construction. It is the best answer below each region alone, not of the whole tree.

    Args:
        values: real, shape (regions, K + 1); should be nearly consistent and monotone (windows get wide otherwise).
        root: non-negative, non-decreasing integers, shape (K + 1,).
        weights: non-negative, shape (regions,), positive at leaves.
        target: integers, of which the rows of leaves are used; default `values`.
        totals: every region's public total, shape (regions,), or None; must add up, and agree with `root`.
        deadline: asked between regions.
        exact: whether windows are moved until they do not matter. Costs that are not integers are rounded anyway.

    Returns:
        int64, shape (regions, K + 1).

    Complexity: one flow per inner region, with (children + 1) x columns nodes and about twice as many arcs, four times
    with `exact`. Regions are solved one after the other: OR-tools keeps Python's lock, so threads gain nothing.

    Raises:
        Refused: out of time, OR-tools missing, a network beyond `LARGEST`, totals that contradict each other; its
            status and reason say which.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values = np.array([[1.0, 4.2, 7.0], [0.4, 2.1, 3.5], [0.6, 2.1, 3.5]])
        >>> integers_top_down(tree, values, np.array([1, 4, 7]), np.ones(3))
        array([[1, 4, 7],
               [0, 2, 3],
               [1, 2, 4]])

    Source: the scheme is new here; convex costs as parallel arcs, Ahuja, Magnanti and Orlin 1993, section 14.3. Shown
    by `tests/test_cumulative_flow.py`.
    """
    solver = load("ortools.graph.python.min_cost_flow")
    if solver is None:
        missing = not_installed("ortools")
        raise Refused(missing.status, missing.reason)
    deadline = deadline or Deadline(None)
    out = np.zeros((tree.n_regions, len(root)), np.int64)
    out[0] = root
    v = _moving_weights(tree, weights)
    for region in range(tree.n_inner):
        deadline.check(f"region {region:,} of {tree.n_inner:,} inner ones")
        below = slice(tree.children(region).start, tree.children(region).stop)
        last = None if totals is None else totals[below]
        leaves = tree.level_of[region] == tree.n_levels - 2
        aims = target if leaves and target is not None else values
        out[below] = _Share(out[region], values[below], aims[below], v[below], last).solve(solver, exact)
    return out


@dataclass(frozen=True)
class Deadline:
    """A time limit that counts from `start`.

    Example:
        >>> Deadline(None).left is None
        True
    """

    limit: float | None
    start: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.start

    @property
    def left(self) -> float | None:
        return None if self.limit is None else self.limit - self.spent

    def check(self, reached: str) -> None:
        """Raise `Refused` if time is up."""
        left = self.left
        if left is not None and left <= 0:
            raise Refused(Status.TIMED_OUT, f"{reached} reached after {self.limit:g} s")


class _Share:
    """The problem of one region: its integers, shared among m children in n columns.

    A column is a run of sizes over which the region's integers do not grow. `length` is its number of sizes; `parent`
    are the region's integers, shape (n,). `low` and `high` are the windows, `least` and `most` the conditions that hold
    without them, shape (m, n). `aim` is the sum of the targets over a run.
    """

    def __init__(
        self, parent: np.ndarray, values: np.ndarray, aims: np.ndarray, v: np.ndarray, last: np.ndarray | None
    ) -> None:
        if (last is not None and last.sum() != parent[-1]) or (np.diff(parent, prepend=0) < 0).any():
            reason = "public totals of siblings do not add up to their parent's last value, or the root decreases"
            raise Refused(Status.INFEASIBLE, reason)
        grows = np.diff(parent, prepend=0)
        self.start = np.flatnonzero(grows)
        self.size = parent.shape
        self.length = np.diff(np.append(self.start, len(parent)))
        self.grows, self.parent = grows[self.start], parent[self.start]
        self.v, self.aims = v, aims
        self.least = np.zeros((len(v), len(self.start)), np.int64)
        self.most = np.tile(self.parent, (len(v), 1))
        if last is not None:
            np.minimum(self.most, last[:, None], out=self.most)
            self.least[:, -1:] = last[:, None]
        ends = np.append(self.start[1:], len(parent)) - 1
        self.around = np.floor(values[:, self.start] + _NEAR), np.ceil(values[:, ends] - _NEAR)

    def solve(self, solver: Any, exact: bool) -> np.ndarray:
        """The cheapest share; shape (m, K + 1)."""
        if not len(self.start):
            return np.zeros((len(self.v), *self.size), np.int64)
        if len(self.v) == 1:
            return self._on_sizes(self.parent[None])
        width, step = int(exact), 1
        low, high = self._window(width)
        while True:
            c = self._cheapest(solver, low, high)
            if c is None:
                width = 2 * width + 1
                low, high = self._window(width)
                continue
            tight_low, tight_high = (c == low) & (c > self.least), (c == high) & (c < self.most)
            if not exact or not (tight_low.any() or tight_high.any()):
                return self._on_sizes(c)
            low = np.where(tight_low, np.maximum(low - step, self.least), low)
            high = np.where(tight_high, np.minimum(high + step, self.most), high)
            step *= 2

    def _window(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        floor, ceiling = self.around
        low = np.clip(floor - width, self.least, self.most).astype(np.int64)
        return low, np.clip(ceiling + width, low, self.most).astype(np.int64)

    def _cheapest(self, solver: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
        """The cheapest share within the windows, or None if there is none."""
        m, n = low.shape
        if float((high - low).sum(dtype=float)) > LARGEST:
            reason = f"a region's children need more than {LARGEST:,} arcs; its values are far from adding up"
            raise Refused(Status.TOO_LARGE, reason)
        # Nodes: one per column, one per child and column, a sink.
        columns, cells, sink = np.arange(n), n + np.arange(m * n), n + m * n
        network = solver.SimpleMinCostFlow()
        network.add_arcs_with_capacity_and_unit_cost(
            np.tile(columns, m), cells, np.tile(self.grows, m), np.zeros(m * n, np.int64)
        )
        ahead = np.where(np.arange(m * n) % n == n - 1, sink, cells + 1)
        cell, costs = self._unit_arcs(low, high, sink + 1)
        arcs = network.add_arcs_with_capacity_and_unit_cost(
            cells[cell], ahead[cell], np.ones(len(cell), np.int64), costs
        )
        # What flows below the windows anyway is taken out of the network.
        supply = np.concatenate([self.grows, -np.diff(low, axis=1, prepend=0).ravel(), [0]])
        supply[sink] = low[:, -1].sum() - self.parent[-1]
        network.set_nodes_supplies(np.arange(sink + 1), supply)
        status = network.solve()
        if status == network.INFEASIBLE:
            return None
        if status != network.OPTIMAL:
            raise Refused(Status.FAILED, f"OR-tools' min-cost flow ended as {status.name}")
        return low + np.bincount(cell, network.flows(arcs), minlength=m * n).astype(np.int64).reshape(m, n)

    def _unit_arcs(self, low: np.ndarray, high: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """The cell of every arc that takes it from `low + u` to `low + u + 1`, and the cost as an integer."""
        offered = (high - low).ravel()
        cell = np.repeat(np.arange(low.size), offered)
        u = np.arange(len(cell)) - np.repeat(np.cumsum(offered) - offered, offered)
        # v sum over the run of (low + u + 1 - t)^2 - (low + u - t)^2: differences first, so that no digit is lost.
        rest = np.add.reduceat(self.aims[:, self.start[0] :], self.start - self.start[0], axis=1) - self.length * low
        length = np.tile(self.length, len(low))[cell]
        weight = np.repeat(self.v, low.shape[1])[cell]
        if self.aims.dtype.kind == "i":
            weight /= np.gcd.reduce(self.v.astype(np.int64))
        else:
            weight *= _DIGITS / self.v.min()
        costs = weight * (length * (2 * u + 1) - 2 * rest.ravel()[cell])
        largest = max(1.0, float(np.abs(costs).max(initial=0.0))) * n_nodes
        if largest > _COST_RANGE:
            costs *= _COST_RANGE / largest
        return cell, np.rint(costs).astype(np.int64)

    def _on_sizes(self, c: np.ndarray) -> np.ndarray:
        """The columns spread over their sizes; nobody has a group before the first."""
        out = np.zeros((len(c), *self.size), np.int64)
        out[:, self.start[0] :] = np.repeat(c, self.length, axis=1)
        return out


def _moving_weights(tree: Hierarchy, weights: np.ndarray) -> np.ndarray:
    """What it costs to move a region with all that is below it; shape (regions,), positive."""
    v = np.asarray(weights, float).copy()
    for level in range(tree.n_levels - 2, -1, -1):
        resistance = np.zeros(tree.n_regions)
        resistance[tree.level(level + 1)] = 1.0 / v[tree.level(level + 1)]
        v[tree.level(level)] += 1.0 / tree.sum_children(resistance, level)
    return v
