"""The dual of the integer M_c, smoothed, and integers from its prices."""

import math
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c.arrays import PrefixSums, Tails, Takings, Wishes
from pgsr.algorithms.m_c.dual import DualPoint, SquaresDual
from pgsr.certificates import Multipliers
from pgsr.machine.parallel import share

_SOFT_SWEEPS = np.geomspace(0.03, 1.0, 10)
"""How stiffly nodes hold their values while leaves settle, relative to the leaves' mean weight, sweep by sweep."""

_SWEEPS = 4
"""How often leaves settle at the true costs."""


@dataclass(frozen=True, eq=False)
class LeafValues:
    """The values of all leaves at given prices, shape (leaves, cells), and what nodes take, less y; (nodes, cells)."""

    x: np.ndarray
    own: np.ndarray


class RoundedDual:
    """The gradient of the smoothed dual over integers, in the arrays of `dual`.

    With a share t, the softness, of the square and 1 - t of the straight lines between integers as the costs, a value v
    is rounded to floor(v) + clip((frac(v) - 1/2) / t + 1/2, 0, 1): t = 1 is the relaxed dual, t = 0 that over integers.
    Fits start from the blocks that `dual` has, so it should have been evaluated near the relaxed optimum.
    """

    def __init__(self, dual: SquaresDual) -> None:
        self.dual = dual
        n_leaves, n = len(dual.y), dual.n
        self.sums = np.zeros((n_leaves, n + 1))
        np.cumsum(dual.y[:, :n], axis=1, out=self.sums[:, 1:])
        chunks = zip(dual.tree.chunk_start, dual.tree.chunk_stop, strict=True)
        self.y_of_chunk = np.array([dual.y[i:j, :n].sum(axis=0) for i, j in chunks], float)
        self.order = np.argsort(dual.leaf_node, kind="stable")
        self.first = np.searchsorted(dual.leaf_node[self.order], np.arange(dual.shape[0] + 1))

    def gradient(self, prices: np.ndarray, softness: float) -> np.ndarray:
        """Compute the counts of nodes minus the counts of the nodes below, all softly rounded; shape (nodes, cells)."""
        from pgsr.algorithms.m_c import integers_kernel as kernels
        from pgsr.algorithms.m_c import tree_kernel

        dual = self.dual
        price_sums = np.zeros((dual.shape[0], dual.n + 1))
        np.cumsum(prices, axis=1, out=price_sums[:, 1:])
        fit = kernels.fit_leaves if dual.bounds is None else kernels.fit_bounded_leaves
        sums = PrefixSums(self.sums, price_sums)
        share(fit, *dual.chunk_rows, dual.leaves, dual.tree, sums, softness, dual.blocks, dual.change)
        np.subtract(dual.change, self.y_of_chunk, out=dual.change)
        nodes = (dual.rate, dual.parent, dual.held, prices, softness, dual.own)
        share(kernels.fit_nodes, *dual.node_rows, *nodes)
        out, value = np.empty(dual.shape), np.empty(dual.shape[0])
        takings = Takings(dual.residual, dual.own, dual.change)
        share(tree_kernel.gradient, *dual.node_rows, dual.tree, takings, prices, out, value)
        return out

    def multipliers(self, prices: np.ndarray) -> Multipliers:
        """Collect the prices of all inner regions."""
        return self.dual.multipliers(DualPoint(prices, 0.0, prices, 0.0))

    def leaves(self, prices: np.ndarray, softness: float) -> LeafValues:
        """Compute the counts that all leaves and nodes take at given prices."""
        from pgsr.algorithms.m_c import tree_kernel

        dual = self.dual
        self.gradient(prices, softness)
        x = np.empty((len(dual.y), dual.n))
        share(tree_kernel.expand, range(len(x)), dual.n, dual.blocks, dual.upper, x)
        return LeafValues(x, dual.own.copy())

    def integers(self, prices: np.ndarray, softness: float) -> np.ndarray:
        """Find integers of all regions that satisfy all conditions, near the optimum if prices are; (regions, K + 1).

        1. Leaves take what is best at these prices, in integers. Nodes would take `own`, and their leaves miss that.
        2. Leaves settle, one after the other, while nodes hold what they would take, softly at first, then stiffer.
        3. Where the root's total is public, the cheapest tails of leaves are moved until it is met.
        4. Leaves settle at the true costs.
        """
        dual, problem = self.dual, self.dual.problem
        wanted = self.leaves(prices, softness).own + dual.node_y
        x = np.empty(dual.y.shape, np.int64)
        x[:, : dual.n] = self.leaves(prices, 0.0).x
        if dual.everywhere:
            x[:, -1] = problem.region_totals[problem.hierarchy.leaves]
        excess = -wanted
        np.add.at(excess, dual.parent[1:], wanted[1:])  # where branches end early, a node has leaves and nodes below it
        np.add.at(excess, dual.leaf_node, x[:, : dual.n])
        has_leaves = np.diff(self.first) > 0
        for number, stiffness in enumerate(_SOFT_SWEEPS * float(dual.leaf_weight.mean())):
            pull = 0.5 * prices - stiffness * excess
            self._settle(x, stiffness * has_leaves, pull, False, number)
            excess = (0.5 * prices - pull) / stiffness
        return self.settled(x)

    def settled(self, x: np.ndarray) -> np.ndarray:
        """Bring integers of the leaves to the public total, let them settle at the true costs, and add them up."""
        dual, off = self.dual, self.sums_off(x)
        if dual.held:
            self._meet_total(x, off)
        pull = -dual.weight[:, None] * off
        for number in range(_SWEEPS):
            self._settle(x, dual.weight, pull, True, number)
        return dual.problem.hierarchy.sum_up(x)

    def _settle(self, x: np.ndarray, stiff: np.ndarray, pull: np.ndarray, jointly: bool, number: int) -> None:
        from pgsr.algorithms.m_c import integers_kernel as kernels

        dual, moved = self.dual, np.empty(self.dual.shape[0], np.int64)
        # Softly, leaves move their own node alone, so nodes are independent; jointly, all nodes up to the root.
        parent = dual.parent if jointly else np.full(len(dual.parent), -1)
        wishes = Wishes(parent, self.order, self.first, stiff, pull)
        about = (dual.leaves, wishes, jointly and dual.held, number % 2 == 1, x, moved)
        if jointly:
            kernels.settle(0, dual.shape[0], *about)
        else:
            share(kernels.settle, range(dual.shape[0]), dual.y.size // dual.shape[0], *about)

    def _meet_total(self, x: np.ndarray, off: np.ndarray) -> None:
        """Move the cheapest tails of leaves up or down until the root's last cell is its public total; keeps `off`.

        One by one at the end, and an eighth of what is missing at once where that is much.
        """
        from pgsr.algorithms.m_c import integers_kernel as kernels

        dual, n_leaves = self.dual, len(self.dual.y)
        tails = Tails(np.empty(n_leaves), np.zeros(n_leaves, np.int64))
        while True:  # tried even where nothing is missing, so that no later solve compiles
            sign = 1.0 if off[0, -1] < 0 else -1.0
            path = dual.weight[:, None] * (1.0 + 2.0 * sign * off)
            path[0, -1] = 0.0
            for r in range(1, len(path)):
                path[r] += path[dual.parent[r]]
            share(kernels.tail_costs, range(n_leaves), dual.n, dual.leaves, dual.leaf_node, path, sign, x, tails)
            if off[0, -1] == 0:
                return
            possible = math.isfinite(tails.cost.min())
            assert possible, "bounds that leave the total out of reach contradict it, and are found"
            missing = int(abs(off[0, -1]))
            step, batch = max(1, missing // (8 * n_leaves)), max(1, missing // 8)
            for leaf in np.argsort(tails.cost, kind="stable")[:batch]:
                if not math.isfinite(tails.cost[leaf]):
                    break
                start, amount = tails.where[leaf], step
                if sign < 0:
                    amount = min(step, int(x[leaf, start] - (x[leaf, start - 1] if start else 0)))
                if dual.bounds is not None:
                    least, most = (part[leaf, start:] for part in dual.bounds)
                    room = most - x[leaf, start:] if sign > 0 else x[leaf, start:] - least
                    amount = int(min(amount, room.min()))
                x[leaf, start:] += int(sign) * amount
                node = dual.leaf_node[leaf]
                while node >= 0:
                    off[node, start:] += int(sign) * amount
                    node = dual.parent[node]

    def sums_off(self, x: np.ndarray) -> np.ndarray:
        """Add up the leaves below every node, less its y; shape (nodes, cells)."""
        dual = self.dual
        sums = np.zeros(dual.shape, np.int64)
        np.add.at(sums, dual.leaf_node, x[:, : dual.n])
        for r in range(dual.shape[0] - 1, 0, -1):
            sums[dual.parent[r]] += sums[r]
        return sums - dual.node_y
