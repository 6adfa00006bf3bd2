"""Prices that come nearer to balance every vertex by moving sets of vertices, one set after another."""

import numpy as np

from pgsr.engines.quadratic_flow.network import FlowNetwork

_SHARE = 0.5
"""Of the way from one integer to the next, in which an arc carries some of the next unit."""

_TURNS = 5
"""A turn takes about as long as a few of Newton's steps."""


def nearly_whole(network: FlowNetwork, start: np.ndarray) -> np.ndarray:
    """Find prices for integers near those for real numbers.

    An arc that must carry an integer carries the one nearest to f = y + d / 2w, so it goes from k to k + 1 where
    f = k + 1/2, that is, at d = w (2 (k - y) + 1). If one unit is wanted from a hundred equal arcs, each carries 1/100
    in real numbers, and prices move by 2w/100; in integers one of them carries it all, and prices move by w. So prices
    of real numbers can be wrong by about w at every vertex. Here an arc carries

        x = k + min(1, max(0, 1/2 + (f - k - 1/2) / share)),     k = floor(f),   share = 1/2,

    or 0 if that is negative and the arc is not free: f itself for share = 1, the nearest integer for share -> 0. It
    grows with d, so it is the derivative of a convex dual, whose derivative by a vertex's price is what that vertex has
    left over. Newton's method would have to take one bend of it after another; moving one set at a time is exact
    (`Balance`).

    Args:
        start: prices to start from, those of `relaxed_prices`.

    Example:
        >>> network = FlowNetwork.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2)
        >>> float(nearly_whole(network, np.array([0, 14 / 3]))[1].round(1))  # nearer to 5, where 4 + 2 come in
        4.8
    """
    price, balance = np.array(start, float), Balance(network, _SHARE)
    for _ in range(_TURNS):
        balance.turn(price)
    return price


class Balance:
    """A coordinate descent on the dual in three kinds of directions.

    Newton's method needs a common length for the steps of all vertices, and a few that come to a bend of the dual make
    it short for all. A single vertex can be moved to where it is balanced, exactly and in little time. But free arcs,
    such as those between the sums of a size over regions, tie vertices so firmly that none of them can move alone. So a
    turn moves, each to where its vertices taken together are balanced: every tree of free arcs; every vertex, leaves
    first; all vertices as one. No move raises the dual. A turn visits every arc a few times.
    """

    def __init__(self, network: FlowNetwork, share: float) -> None:
        n = network.n_vertices
        self.terms = network.around, network.y, network.w, network.free, network.supply, share
        vertices, one = np.arange(n, dtype=np.int32), np.ones(n, np.int32)
        one[0] = 0
        all_of_it = one, vertices[1:], np.array([0, n - 1])
        each = vertices, np.ascontiguousarray(vertices[:0:-1]), np.arange(n)
        self.sets = _trees(network), each, all_of_it

    def turn(self, price: np.ndarray) -> None:
        """Move all sets once, in place."""
        from pgsr.engines.quadratic_flow import balance_kernel

        for group, members, firsts in self.sets:
            balance_kernel.balance(*self.terms, group, members, firsts, price)


def _trees(network: FlowNetwork) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the trees that free arcs make: number of each vertex's, and vertices by tree, those alone left out."""
    group = np.arange(network.n_vertices, dtype=np.int32)
    ties = network.free & (network.start > 0) & (network.end > 0)
    group[network.start[ties]] = network.end[ties]
    while True:
        further = group[group]
        if (further == group).all():
            break
        group = further
    several = np.bincount(group, minlength=len(group)) > 1
    members = np.flatnonzero(several[group]).astype(np.int32)
    members = members[np.argsort(group[members], kind="stable")]
    sizes = np.bincount(group[members], minlength=len(group))[several]
    return group, members, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
