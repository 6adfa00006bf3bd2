"""The integer M_c of leaves below one node, exactly: cheapest flows by negative cycles, in integers throughout.

Cumulative counts are a flow. In a leaf, x[s] units go from cell s to cell s + 1, and the step x[s] - x[s - 1] >= 0
comes in between; the steps of all leaves leave the node's own chain, on which the sums X[s] go the other way:

    hub s + 1 -- X[s] --> hub s -- x[l, s] - x[l, s - 1] --> cell (l, s) -- x[l, s] --> cell (l, s + 1),

with the ground in place of hub n and of all cells n. So a change that keeps all conditions is a sum of cycles, and
integers are optimal where no cycle of single units lowers the cost. Then the lengths of shortest paths are integer
potentials, and

    price[s] = potential of hub s + 1 - potential of hub s

are prices of consistency whose bound over integers is the objective itself: the proof that `certify` recomputes.

With nodes below nodes a step would have to go two ways at once, which no flow does.
"""

import numpy as np

from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.methods.gate import Deadline

LARGEST = 100_000
"""The most cells of leaves that are looked at."""

VISITS = 500_000_000
"""About how many cells are visited at most, in all passes."""

_PASSES = 20
"""Passes between two looks at the clock."""


def is_flow(dual: SquaresDual) -> bool:
    """Say whether all leaves are right below one node, and few enough."""
    return dual.shape[0] == 1 and dual.y.size <= LARGEST


def cheapest(
    dual: SquaresDual, leaves: np.ndarray, prices: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the optimal integers of all leaves and prices that prove them, or None if that takes too long.

    Args:
        leaves: feasible integers, shape (leaves, K + 1); the nearer to the optimum the sooner it is found.
        prices: from which potentials start, shape (1, cells).
    """
    from pgsr.algorithms.m_c import cycles_kernel

    n, n_leaves = dual.n, len(dual.y)
    x = np.ascontiguousarray(leaves[:, :n], np.int64)
    own = x.sum(axis=0)
    weights = dual.leaf_weight.astype(np.int64), int(dual.weight[0])
    lower, upper = _bounds(dual)
    costs = np.ascontiguousarray(dual.y[:, :n], np.int64), weights[0], lower, upper, dual.node_y[0], weights[1]
    hubs = -np.append(np.cumsum(np.rint(prices[0, ::-1]).astype(np.int64))[::-1], 0)
    pot, above = np.concatenate([hubs, np.tile(hubs[:-1], n_leaves)]), np.full(n + 1 + n * n_leaves, -1, np.int64)
    for _ in range(max(1, VISITS // (_PASSES * len(pot)))):
        if deadline.passed:
            return None
        if cycles_kernel.cancel(costs, x, own, bool(dual.held), pot, above, _PASSES):
            found = leaves.copy()
            found[:, :n] = x
            return found, np.diff(pot[: n + 1]).astype(float)[None]
    return None


def _bounds(dual: SquaresDual) -> tuple[np.ndarray, np.ndarray]:
    """Give the bounds of all cells of leaves; the number of groups, where it is public, is one of the last cell."""
    shape = len(dual.y), dual.n
    low, high = np.zeros(shape, np.int64), np.full(shape, 2**62)
    if dual.bounds is not None:
        low = np.maximum(low, np.ceil(dual.bounds[0]).astype(np.int64))
        high = np.where(np.isfinite(dual.bounds[1]), np.floor(dual.bounds[1]), 2.0**62).astype(np.int64)
    public = np.where(np.isfinite(dual.upper), dual.upper, 2.0**62).astype(np.int64)
    return low, np.minimum(high, public[:, None])
