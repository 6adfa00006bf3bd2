"""The cheapest integer flow of quadratic costs, with the prices that prove it."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from pgsr.errors import ProblemError
from pgsr.quadratic_flow.network import Network
from pgsr.quadratic_flow.relaxed import relaxed_prices

_ENOUGH = 0.1
"""Units by which vertices may be off before prices are rounded."""

_SHORT = 64
"""Visits after which a search of the first round gives up, so that pairs of vertices that are near each other find each
other before searches go far. It halves the visits of M_c^dp in a nation of 60,000 blocks."""

_UNLIMITED = 2**62
_LEAST = -(2**62)
"""Less than any arc carries."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A cheapest integer flow.

    Attributes:
        x: units by arc, int64; shape (arcs,).
        price: by vertex, int64; with x they satisfy the conditions of `cheapest_flow`; shape (vertices,).
        visits: number of vertices that the searches for shortest paths visited.
    """

    x: np.ndarray
    price: np.ndarray
    visits: int


def cheapest_flow(network: Network, start: np.ndarray | None = None, near: np.ndarray | None = None) -> Flow:
    """Find the cheapest integer flow, and integer prices that prove it.

        minimise    sum over arcs a  of  w[a] (x[a] - y[a])^2
        subject to  inflow - outflow + supply[v] = 0  at every vertex v but the ground,
                    x[a] integer,   x[a] >= 0 unless free[a].

    At prices p with p[0] = 0 a feasible flow is a cheapest one if every arc satisfies, with d = p[end] - p[start],

        w (2 (x - y) - 1)  <=  d  <=  w (2 (x - y) + 1),     the left one only where x > 0 or the arc is free,

    since then each arc alone could not do better at these prices. The prices of the relaxation, rounded, are nearly
    right: flows are chosen to satisfy the conditions, some vertices are then off by a few units, and every such unit
    goes along a shortest path to where it is missing, or to the ground, after which the conditions hold anew.

    Args:
        start: prices to start from; those of `relaxed_prices` if None. Any give a cheapest flow, good ones sooner.
        near: flows that begin as near to these as the prices permit, so that they change little where both nearly fit
            already; int64, shape (arcs,). If None those with the least that the prices permit.

    Raises:
        ProblemError: no flow satisfies all vertices.

    Example:
        >>> network = Network.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2)
        >>> cheapest_flow(network).x.tolist()
        [6, 0, 6]
    """
    from pgsr.quadratic_flow import exchange_kernel as kernels

    price = np.rint(relaxed_prices(network, tolerance=_ENOUGH) if start is None else start).astype(np.int64)
    price[0] = 0
    x = np.full(len(network.y), _LEAST) if near is None else near.copy()
    excess = np.empty(network.n_vertices, np.int64)
    numbers = network.y, network.w, network.free, price
    kernels.take(network.start, network.end, *numbers, network.supply, x, excess)
    visits = 0
    arcs = network.first, network.end, network.start, *network.ends
    for most, sign in product((_SHORT, _UNLIMITED), (1, -1)):
        found = kernels.balance(*arcs, *numbers, x, excess, sign, most)
        if found < 0:
            raise ProblemError("no flow satisfies all vertices: what comes in at some has no way out, or the reverse")
        visits += found
    return Flow(x, price, visits)
