"""Leaves below one node in integers, exactly: cheapest flows by negative cycles, in integers throughout.

Cumulative counts are a flow. In a leaf, x[s] units go from cell s to cell s + 1, and the step x[s] - x[s - 1] >= 0
comes in between; the steps of all leaves leave the node's own chain, on which the sums X[s] go the other way:

    hub s + 1 -- X[s] --> hub s -- x[l, s] - x[l, s - 1] --> cell (l, s) -- x[l, s] --> cell (l, s + 1),

with the ground in place of hub n and of all cells n. So a change that keeps all conditions is a sum of cycles, and
integers are optimal where no cycle of single units lowers the cost.

**Leaves right below the root** are all of M_c. Then the lengths of shortest paths are integer potentials, and

    price[s] = potential of hub s + 1 - potential of hub s

are prices of consistency whose bound over integers is the objective itself: the proof that `certify` recomputes.

**Nodes below nodes.** There a step would have to go two ways at once, which no flow does. The leaves of one node alone
are still a flow while all others stay: a change d[s] of their sum costs every region above, w (off + d)^2, together

    weight d[s]^2 + 2 slope[s] d[s],    weight = sum of w above,    slope[s] = sum of w off[s] above.

So families take turns, each as good as it can be beside the others.
"""

import numpy as np

from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.methods.gate import Deadline

LARGEST = 100_000
"""The most cells of leaves that are looked at in one flow."""

VISITS = 500_000_000
"""About how many cells are visited at most, in all passes."""

LONGEST = 2.0**62
"""The longest path that 64 bits hold, with room for one more arc."""

_PASSES = 20
"""Passes between two looks at the clock."""


class Closing:
    """The closing of negative cycles while time is left; `visits` counts the vertices that may still be looked at."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline, self.visits = deadline, VISITS

    @property
    def done(self) -> bool:
        """Whether time is up, or no visit is left."""
        return self.visits <= 0 or self.deadline.passed

    def close(self, costs: tuple, x: np.ndarray, moved: np.ndarray, room: int, prices: np.ndarray) -> np.ndarray | None:
        """Change x and the sums by `moved` at best, see `cycles_kernel.cancel`; return the prices that prove it.

        Args:
            prices: from which potentials start, shape (cells,).
        """
        from pgsr.algorithms.m_c import cycles_kernel

        hubs = -np.append(np.cumsum(np.rint(prices[::-1]).astype(np.int64))[::-1], 0)
        pot, above = np.concatenate([hubs, np.tile(hubs[:-1], len(x))]), np.full(len(hubs) + x.size, -1, np.int64)
        while not self.done:
            self.visits -= _PASSES * len(pot)
            if cycles_kernel.cancel(costs, x, moved, room, pot, above, _PASSES):
                return np.diff(pot[: len(hubs)]).astype(float)
        return None


class LeafFlows:
    """The leaves below every node, as flows of their own."""

    def __init__(self, dual: SquaresDual, deadline: Deadline) -> None:
        self.dual, self.closing = dual, Closing(deadline)
        self.leaves_of = [np.flatnonzero(dual.leaf_node == node) for node in range(dual.shape[0])]
        self.lower, self.upper = _bounds(dual)
        self.weight = dual.weight.astype(np.int64)
        for node in range(1, dual.shape[0]):
            self.weight[node] += self.weight[dual.parent[node]]

    def close(
        self, node: int, x: np.ndarray, slope: np.ndarray, prices: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Change the node's leaves in x, shape (leaves, cells), at best; x stays feasible.

        Args:
            slope: int64, shape (cells,), see the top of this file.
            prices: from which potentials start, shape (cells,).

        Returns:
            By how much the sums of the node's leaves changed, and the prices that prove it best; None if time was up or
            the flow too large.
        """
        dual, rows, n = self.dual, self.leaves_of[node], self.dual.n
        moved = np.zeros(n, np.int64)
        if not 0 < rows.size * n <= LARGEST:
            return moved, None
        own = np.ascontiguousarray(x[rows, :n], np.int64)
        of_leaves = dual.y[rows, :n].astype(np.int64), dual.leaf_weight[rows].astype(np.int64)
        costs = *of_leaves, self.lower[rows], self.upper[rows], slope, int(self.weight[node])
        found = self.closing.close(costs, own, moved, -1 if dual.held else 2**62, prices)
        x[rows, :n] = own
        return moved, found


def is_flow(dual: SquaresDual) -> bool:
    """Say whether all leaves are right below one node."""
    return dual.shape[0] == 1


def cheapest(
    dual: SquaresDual, leaves: np.ndarray, prices: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray | None]:
    """Find better integers of all leaves, and prices that prove them where all are one flow and time suffices.

    Args:
        leaves: feasible integers, shape (leaves, K + 1); the nearer to the optimum the sooner it is found.
        prices: from which potentials start, shape (nodes, cells).
    """
    families, x = LeafFlows(dual, deadline), leaves.copy()
    off = sums_of(dual, x) - dual.node_y
    weight = dual.weight.astype(np.int64)
    if _exceed(families, off, x):
        return x, None
    while True:
        best = True
        for node in range(dual.shape[0]):
            path, slope = [node], weight[node] * off[node]
            while dual.parent[path[-1]] >= 0:
                path.append(int(dual.parent[path[-1]]))
                slope = slope + weight[path[-1]] * off[path[-1]]
            moved, proof = families.close(node, x, slope, prices[node])
            off[path] += moved
            best &= not moved.any()
            if is_flow(dual):
                return x, None if proof is None else proof[None]
        if best or families.closing.done:
            return x, None


def sums_of(dual: SquaresDual, x: np.ndarray) -> np.ndarray:
    """Add the leaves' counts up to those of every node; int64, shape (nodes, cells)."""
    sums = np.zeros(dual.shape, np.int64)
    np.add.at(sums, dual.leaf_node, x[:, : dual.n])
    for r in range(dual.shape[0] - 1, 0, -1):
        sums[dual.parent[r]] += sums[r]
    return sums


def _exceed(families: LeafFlows, off: np.ndarray, x: np.ndarray) -> bool:
    """Say whether lengths of paths might not stay within 64 bits."""
    dual, n = families.dual, families.dual.n
    steepest = float(families.weight.max()) * (1 + 2 * float(np.abs(off).max(initial=0)))
    steepest += float(dual.leaf_weight.max()) * (1 + 2 * float(np.abs(x[:, :n] - dual.y[:, :n]).max(initial=0)))
    return 2 * (n + 1) * steepest > LONGEST


def _bounds(dual: SquaresDual) -> tuple[np.ndarray, np.ndarray]:
    """Give the bounds of all cells of leaves; the number of groups, where it is public, is one of the last cell."""
    shape = len(dual.y), dual.n
    low, high = np.zeros(shape, np.int64), np.full(shape, 2**62)
    if dual.bounds is not None:
        low = np.maximum(low, np.ceil(dual.bounds[0]).astype(np.int64))
        high = np.where(np.isfinite(dual.bounds[1]), np.floor(dual.bounds[1]), 2.0**62).astype(np.int64)
    public = np.where(np.isfinite(dual.upper), dual.upper, 2.0**62).astype(np.int64)
    return low, np.minimum(high, public[:, None])
