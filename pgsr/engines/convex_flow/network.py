"""A network with convex costs, its cheapest flows between bounds, and what proves them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.engines.losses import loss

FREE = 2**60
"""The bound that stands for none."""

_STRAIGHT = 2**62


@dataclass(frozen=True, eq=False)
class ConvexFlow:
    """A cheapest flow: x by arc and price by vertex, int64."""

    x: np.ndarray
    price: np.ndarray


@dataclass(frozen=True, eq=False)
class Cut:
    """A set of vertices into which more has to flow than can flow out; bool, shape (vertices,)."""

    inside: np.ndarray


@dataclass(frozen=True)
class FarFlow:
    """Prices might leave 64 bits, so nothing was computed."""


@dataclass(frozen=True, eq=False)
class ConvexNetwork:
    """A network whose arc a carries x[a] units from start[a] to end[a], at a cost of w[a] f(x[a] - y[a]).

    Attributes:
        start, end: vertices, int64; shape (arcs,).
        y, w: int64; shape (arcs,). Arcs of weight 0 cost nothing.
        norm: which loss f is: 1 or 2.
        n_vertices: the number of vertices.

    Example:
        >>> network = ConvexNetwork(*np.array([[0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1]]), 2, 2)
        >>> lower, upper = np.zeros(3, np.int64), np.array([5, FREE, FREE])
        >>> flow = network.cheapest(lower, upper)
        >>> flow.x.tolist(), network.cost(flow.x), network.is_proved(lower, upper, flow)
        ([5, 1, 6], 19, True)
        >>> network.cheapest(np.array([0, 0, 7]), np.array([5, 1, 9]))
        Cut(inside=array([ True, False]))
    """

    start: np.ndarray
    end: np.ndarray
    y: np.ndarray
    w: np.ndarray
    norm: int
    n_vertices: int

    def cheapest(
        self, lower: np.ndarray, upper: np.ndarray, near: ConvexFlow | None = None
    ) -> ConvexFlow | Cut | FarFlow:
        """Find a cheapest flow between bounds; where there is none, a cut that proves it.

        Args:
            lower, upper: int64, shape (arcs,), -FREE or FREE where nothing is stated.
            near: a cheapest flow for bounds around these ones, to start from.

        Complexity: steps of 2^k units for k from about the logarithm of what is wrong somewhere down to 0; in each some
        searches for a shortest path, O(arcs log arcs) each.
        """
        from pgsr.engines.convex_flow import kernel

        if (lower > upper).any():
            return Cut(np.zeros(self.n_vertices, bool))
        x = np.clip(self.y if near is None else near.x, lower, upper)
        if self._largest_slope(x) > 2.0 * kernel.FARTHEST:
            return FarFlow()
        arcs = np.stack([x, self.y, self.w, self._bend, lower, upper], axis=1)
        price = np.zeros(self.n_vertices, np.int64) if near is None else near.price.copy()
        excess, reached = np.zeros(self.n_vertices, np.int64), np.zeros(self.n_vertices, np.uint8)
        status = kernel.balance(self._around, arcs, price, excess, reached)
        if status == kernel.BALANCED:
            return ConvexFlow(arcs[:, 0].copy(), price - price[0])
        return Cut(reached > 0) if status == kernel.CUT else FarFlow()

    def is_proved(self, lower: np.ndarray, upper: np.ndarray, answer: ConvexFlow | Cut) -> bool:
        """Check in integers that a flow is a cheapest one, or that there is none because of a cut.

        A flow that balances every vertex is, if at some prices each arc alone could do no better: one unit more costs
        at least what it is paid, where its bound allows one, and one unit less saves at most that.
        """
        if isinstance(answer, Cut):
            if (lower > upper).any():
                return True
            into, out_of = answer.inside[self.end], answer.inside[self.start]
            enters, leaves = into & ~out_of, out_of & ~into
            bounded = (lower[enters] > -FREE).all() and (upper[leaves] < FREE).all()
            return bool(bounded) and sum(lower[enters].tolist()) > sum(upper[leaves].tolist())
        x, paid = answer.x, answer.price[self.end] - answer.price[self.start]
        inflow = np.zeros(self.n_vertices, np.int64)
        np.add.at(inflow, self.end, x)
        np.subtract.at(inflow, self.start, x)
        off, bend = 2 * (x - self.y), self._bend
        more, less = self.w * np.clip(off + 1, -bend, bend), self.w * np.clip(off - 1, -bend, bend)
        within = (lower <= x) & (x <= upper)
        best = ((paid <= more) | (x >= upper)) & ((paid >= less) | (x <= lower))
        return bool(within.all() and best.all() and not inflow.any())

    def cost(self, x: np.ndarray) -> int:
        """Compute the sum of w f(x - y), exactly."""
        measured = self.w > 0
        off, w = np.abs(x - self.y)[measured], self.w[measured]
        if float((loss(off.astype(float), self.norm) * w).sum()) < 2.0**62:
            return int((loss(off, self.norm) * w).sum())
        return int((loss(off.astype(object), self.norm) * w.astype(object)).sum())

    @cached_property
    def _bend(self) -> np.ndarray:
        """The largest slope of the loss, per arc."""
        bend = 1 if self.norm == 1 else _STRAIGHT
        return np.full(len(self.y), bend)

    @cached_property
    def _around(self) -> tuple[np.ndarray, ...]:
        n = len(self.start)
        ends, arcs = np.append(self.start, self.end), np.arange(1, n + 1)
        order = np.argsort(ends, kind="stable")
        first = np.searchsorted(ends[order], np.arange(self.n_vertices + 1)).astype(np.int64)
        return self.start, self.end, first, np.append(arcs, -arcs)[order]

    def _largest_slope(self, x: np.ndarray) -> float:
        """Bound the slopes of all arcs, wherever the units of a flow go."""
        most = 8.0 * (float(np.abs(x.astype(float)).sum()) + float(np.abs(self.y).max(initial=0)))
        return float(self.w.max(initial=0)) * min(float(self._bend.max(initial=1)), most)
