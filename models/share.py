"""The sharing of one region's integer cumulative counts among its children, by a min-cost flow."""

from typing import Any

import numpy as np

from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status

LARGEST = 20_000_000
"""Most arcs of one region's network, about 3 GB; far more than values that nearly add up ever need."""

_NEAR = 1e-7
"""A value this close to an integer counts as that integer; values this close are equal."""

_DIGITS = 1_000
"""Costs of fractional targets are rounded to a thousandth of the smallest weight."""

_COST_RANGE = 2.0**60
"""OR-tools multiplies costs by the number of nodes; the product stays within 64 bits."""


class Share:
    """The problem of one region: its integers, shared among m children in n columns; see `pgsr.models.top_down`.

    A column is a run of sizes over which the region's integers do not grow. `length` is its number of sizes; `parent`
    are the region's integers, shape (n,). `least` and `most` are the conditions that hold without windows, shape
    (m, n). `aims` are the targets. `changes` says where a child may grow at first: in columns in which its values do,
    and `reach` columns before and after.
    """

    def __init__(
        self,
        parent: np.ndarray,
        values: np.ndarray,
        aims: np.ndarray,
        v: np.ndarray,
        last: np.ndarray | None,
        reach: int,
    ) -> None:
        grows = np.diff(parent, prepend=0)
        if (last is not None and last.sum() != parent[-1]) or (grows < 0).any():
            reason = "public totals of siblings do not add up to their parent's last value, or the root decreases"
            raise Stopped(Status.INFEASIBLE, reason)
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
        at_start, at_end = values[:, self.start], values[:, self.start + self.length - 1]
        self.around = np.floor(at_start + _NEAR), np.ceil(at_end - _NEAR)
        # Growth inside a column shows between its end and the last one's, and between its start and the next one's.
        self.changes = (np.diff(at_start, prepend=0) > _NEAR) | (np.diff(at_end, prepend=0) > _NEAR)
        for _ in range(reach):
            before, after = self.changes[:, 1:].copy(), self.changes[:, :-1].copy()
            self.changes[:, :-1] |= before
            self.changes[:, 1:] |= after

    def solve(self, solver: Any, exact: bool) -> np.ndarray:
        """The cheapest share; shape (m, K + 1)."""
        if not len(self.start):
            return np.zeros((len(self.v), *self.size), np.int64)
        if len(self.v) == 1:
            return self._on_sizes(self.parent[None])
        anywhere = np.ones(self.least.shape, bool)
        grow, width, step = anywhere if exact else self.changes, int(exact), 1
        low, high = self._window(width)
        while True:
            c = self._cheapest(solver, low, high, grow)
            if c is None:
                if grow is anywhere:
                    width = 2 * width + 1
                    low, high = self._window(width)
                grow = anywhere
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

    def _cheapest(self, solver: Any, low: np.ndarray, high: np.ndarray, grow: np.ndarray) -> np.ndarray | None:
        """The cheapest share within the windows that grows only there, or None if there is none.

        A block is a run of columns over which a child cannot grow and its windows are the same: one arc for every unit
        of the windows. It begins at the node of its first column if the child grows there whatever the answer (flow
        from the column is then positive, so the two nodes are one); or else at a node of its own.
        """
        m, n = low.shape
        own = np.zeros((m, n), bool)
        own[:, 1:] = low[:, 1:] < high[:, :-1]
        begins = grow | ~own
        begins[:, 1:] |= (low[:, 1:] != low[:, :-1]) | (high[:, 1:] != high[:, :-1])
        block = np.flatnonzero(begins)
        knots = np.flatnonzero(own.ravel()[block])
        node, sink = block % n, n + len(knots)
        column = node[knots]
        node[knots] = n + np.arange(len(knots))
        network = solver.SimpleMinCostFlow()
        network.add_arcs_with_capacity_and_unit_cost(
            column, node[knots], self.grows[column], np.zeros(len(knots), np.int64)
        )
        of, costs = self._unit_arcs(low, high, block, sink + 1)
        ahead = np.where(np.append(block[1:], 0) % n == 0, sink, np.append(node[1:], sink))
        arcs = network.add_arcs_with_capacity_and_unit_cost(node[of], ahead[of], np.ones(len(of), np.int64), costs)
        # What flows below the windows anyway is taken out of the network.
        supply = np.zeros(sink + 1, np.int64)
        supply[:n] = self.grows
        np.subtract.at(supply, node, np.diff(low, axis=1, prepend=0).ravel()[block])
        supply[sink] = low[:, -1].sum() - self.parent[-1]
        network.set_nodes_supplies(np.arange(sink + 1), supply)
        status = network.solve()
        if status == network.INFEASIBLE:
            return None
        if status != network.OPTIMAL:
            raise Stopped(Status.FAILED, f"OR-tools' min-cost flow ended as {status.name}")
        above = np.bincount(of, network.flows(arcs), minlength=len(block)).astype(np.int64)
        return low + np.repeat(above, np.diff(np.append(block, m * n))).reshape(m, n)

    def _unit_arcs(
        self, low: np.ndarray, high: np.ndarray, block: np.ndarray, n_nodes: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The block of every arc that takes it from `low + u` to `low + u + 1`, and the cost as an integer."""
        offered = (high - low).ravel()[block]
        if float(offered.sum(dtype=float)) > LARGEST:
            reason = f"a region's children need more than {LARGEST:,} arcs; its values are far from adding up"
            raise Stopped(Status.TOO_LARGE, reason)
        of = np.repeat(np.arange(len(block)), offered)
        u = np.arange(len(of)) - np.repeat(np.cumsum(offered) - offered, offered)
        # v sum over the block of (low + u + 1 - t)^2 - (low + u - t)^2: differences first, so that no digit is lost.
        rest = np.add.reduceat(self.aims[:, self.start[0] :], self.start - self.start[0], axis=1) - self.length * low
        rest = np.add.reduceat(rest.ravel(), block)[of]
        length = np.add.reduceat(np.tile(self.length, len(low)), block)[of]
        weight = self.v[block // low.shape[1]][of]
        if self.aims.dtype.kind == "i":
            weight /= np.gcd.reduce(self.v.astype(np.int64))
        else:
            weight *= _DIGITS / self.v.min()
        costs = weight * (length * (2 * u + 1) - 2 * rest)
        largest = max(1.0, float(np.abs(costs).max(initial=0.0))) * n_nodes
        if largest > _COST_RANGE:
            costs *= _COST_RANGE / largest
        return of, np.rint(costs).astype(np.int64)

    def _on_sizes(self, c: np.ndarray) -> np.ndarray:
        """Spread the columns over their sizes; before the first one all counts are 0."""
        out = np.zeros((len(c), *self.size), np.int64)
        out[:, self.start[0] :] = np.repeat(c, self.length, axis=1)
        return out
