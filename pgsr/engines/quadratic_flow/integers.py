"""The cheapest integer flow of quadratic costs, with the prices that prove it."""

from dataclasses import dataclass

import numpy as np

from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.errors import ProblemError

_SHORT = 64
"""Visits after which a search of the first round gives up, so that pairs of vertices that are near each other find each
other before searches go far. It halves the visits of M_c^dp in a nation of 60,000 blocks."""

_FEW = 64
"""Units that a phase has to send to be worth its time: it visits every vertex a few times, and a search for one unit,
where these are rare, some hundredth of them."""

_POOR = 2
"""Phases in a row that may send fewer."""

_UNLIMITED = 2**62
_LEAST = -(2**62)
"""Less than any arc carries."""


@dataclass(frozen=True, eq=False)
class IntegerFlow:
    """A cheapest integer flow.

    Attributes:
        x: units by arc, int64; shape (arcs,).
        price: by vertex, int64; with x they satisfy the conditions of `cheapest_flow`; shape (vertices,).
        visits: number of vertices that the searches for shortest paths visited.
    """

    x: np.ndarray
    price: np.ndarray
    visits: int


def cheapest_flow(network: FlowNetwork, start: np.ndarray, near: np.ndarray | None = None) -> IntegerFlow:
    """Find the cheapest integer flow, and integer prices that prove it.

        minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
        subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,
                    x[a] integer,   x[a] >= 0 unless free[a].

    At prices p with p[0] = 0 a feasible flow is a cheapest one if every arc satisfies, with d = p[end] - p[start],

        w (2 (x - y) - 1)  <=  d  <=  w (2 (x - y) + 1),     the left one only where x > 0 or the arc is free,

    since then each arc alone could not do better at these prices. The prices of the relaxation, rounded, are nearly
    right: flows are chosen to satisfy the conditions, some vertices are then off by a few units, and every such unit
    goes along a shortest path to where it is missing, or to the ground, after which the conditions hold anew. Units go
    one by one where a path is near, then many at once (`phase_kernel`), and the last one by one again.

    Args:
        start: prices to start from. Any give a cheapest flow, those of `relaxed_prices` sooner.
        near: flows that begin as near to these as the prices permit, so that they change little where both nearly fit
            already; int64, shape (arcs,). If None those with the least that the prices permit.

    Raises:
        ProblemError: no flow satisfies all vertices.

    Example:
        >>> network = FlowNetwork.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2)
        >>> cheapest_flow(network, np.zeros(2)).x.tolist()
        [6, 0, 6]
    """
    from pgsr.engines.quadratic_flow import exchange_kernel

    price = np.rint(start).astype(np.int64)
    price[0] = 0
    excess = np.empty(network.n_vertices, np.int64)
    arcs = _arcs(network, near)
    exchange_kernel.take(network.start, network.end, arcs, price, network.supply, excess)
    state = network.around, arcs, price, excess
    visits = sum(_some(exchange_kernel.search(*state, sign, _SHORT)) for sign in (1, -1))
    for sign in (1, -1):
        visits += _many(state, sign) + _some(exchange_kernel.search(*state, sign, _UNLIMITED))
    return IntegerFlow(arcs[:, 0].copy(), price, visits)


def _many(state: tuple, sign: int) -> int:
    """Send excess (sign 1) or shortage (-1) in phases while these send enough; returns the vertices they visited."""
    from pgsr.engines.quadratic_flow import phase_kernel

    excess, visits, poor = state[-1], 0, 0
    left = _left(excess, sign)
    while left >= _FEW and poor < _POOR:
        visits += _some(phase_kernel.phase(*state, sign))
        before, left = left, _left(excess, sign)
        poor = poor + 1 if before - left < _FEW else 0
    return visits


def _left(excess: np.ndarray, sign: int) -> int:
    """Count the units of excess (sign 1) or shortage (-1)."""
    return int(np.maximum(sign * excess[1:], 0).sum())


def _arcs(network: FlowNetwork, near: np.ndarray | None) -> np.ndarray:
    """Put what belongs to an arc next to each other: its flow, y, w, and the least that it may carry."""
    arcs = np.empty((len(network.y), 4), np.int64)
    arcs[:, 0] = _LEAST if near is None else near
    arcs[:, 1] = network.y
    arcs[:, 2] = network.w
    arcs[:, 3] = np.where(network.free, _LEAST, 0)
    return arcs


def _some(visits: int) -> int:
    """Pass on the number of vertices that were visited, unless it says that a unit has no way at all."""
    if visits < 0:
        raise ProblemError("no flow satisfies all vertices: what comes in at some has no way out, or the reverse")
    return visits
