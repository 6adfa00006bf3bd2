"""A linear program over moves of single groups and unit steps of nodes, around integers that are nearly best.

**Groups choose alone.** Cumulative counts of a leaf say the sizes of its groups: group k has the size s where
x[s - 1] <= k < x[s]. Its own part of the cost is the sum over cells from s on of w (2 (k - y) + 1), and order comes by
itself, since two groups that cross may exchange their sizes. So from integers x every other one is reached by moves of
single groups to other sizes, at most one move each, and by unit steps of nodes, the d-th of which costs
w (2 (d + |x - y|) + 1) where it leads away from y. Rows say that nodes are the sums of what is below them.

**Few columns.** At prices p every column has a reduced cost, and only those of at most `within` are columns here. What
is missing has a negative reduced cost at the program's own prices, whose bound is then below its value: a program
around these prices has it. Cells of nodes that no move passes are left out. Rows are differenced along sizes, so that a
move has two entries, however far it goes.

**From p.** With the costs less what rows are worth at p, the simplex method and branch and bound start at p.

With two levels the program is a network's, and whole. With more it nearly always is; else a few shares at a time are
rounded, and branch and bound looks for more. Nothing here proves anything: the caller proves prices by
`lagrangian_bound` and looks at the integers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.methods.gate import Deadline

_FRACTIONAL, _SURE = 1e-6, 0.7
"""From which share on a move is taken at all, and from which on it is made in rounding."""

_STEPS_WITHIN = 3.0
"""The reduced cost up to which rounding has steps of nodes, by a unit or two to either side."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum of the linear program.

    Attributes:
        value: the objective, less that of the integers around which the program lies.
        taken: the share of every move that is made.
        prices: shape (nodes, cells).
    """

    value: float
    taken: np.ndarray
    prices: np.ndarray


class GroupMoves:
    """The program around integers of the leaves, shape (leaves, K + 1), at prices, shape (nodes, cells).

    Args:
        around: the leaves, and their sums less y in nodes, shape (nodes, cells).
        listed: moves and their costs; None for all whose reduced cost is at most `within`.
    """

    def __init__(self, dual: SquaresDual, around: Any, prices: np.ndarray, within: float, listed: Any) -> None:
        from pgsr.algorithms.m_c import moves_kernel as kernels

        self.dual, self.prices, (self.leaves, self.off) = dual, prices, around
        self.moves, cost = listed or kernels.group_moves(dual.leaves, dual.leaf_node, prices, self.leaves, within)
        self.passed = self._passed()
        steps, step_cost, step_bounds = self._steps(within)
        self.n_steps = len(step_cost)
        self.cost = np.append(step_cost, cost)
        self.equal: Any = sparse.hstack([self._step_matrix(*steps), self._move_matrix()], "csr")
        self.rows = np.flatnonzero(np.diff(self.equal.indptr))
        self.bounds = np.concatenate([step_bounds, np.tile([0.0, 1.0], (len(cost), 1))])
        self.once: Any = self._once()
        # The price of a differenced row is the sum of those of all cells from its own on.
        self.start = -np.cumsum(prices[:, ::-1], axis=1)[:, ::-1].ravel()

    def relaxed(self, deadline: Deadline) -> Relaxed | None:
        """Solve the linear program; None if time is up or the solver gives up."""
        from scipy.optimize import linprog

        if not len(self.cost):
            return None
        found = linprog(
            self.cost - self.equal.T @ self.start,
            A_ub=self.once,
            b_ub=np.ones(self.once.shape[0]),
            A_eq=self.equal[self.rows],
            b_eq=np.zeros(len(self.rows)),
            bounds=self.bounds,
            method="highs-ds",
            options={"presolve": False, "time_limit": deadline.left or np.inf},
        )
        if found.x is None or found.status != 0:
            return None
        sums = np.zeros(self.prices.size)
        sums[self.rows] = found.eqlin.marginals
        change = np.diff(sums.reshape(self.prices.shape), axis=1, append=0.0) * self.passed
        for r in range(1, len(change)):  # what no move passes goes with the node above, so that the node itself stays
            change[r] = np.where(self.passed[r], change[r], change[self.dual.parent[r]])
        return Relaxed(float(self.cost @ found.x), found.x[self.n_steps :], self.prices + change)

    def rounded(self, taken: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Make moves that are taken for the greater part, and a few more; solve the program of the rest, and so on.

        The rest are the other moves of groups that are shared among sizes, and unit steps of the nodes that they pass.

        Returns:
            Integers of the leaves.
        """
        made = taken > _SURE
        shared = np.flatnonzero((taken > _FRACTIONAL) & ~made)
        made[shared[np.argsort(-taken[shared], kind="stable")[: len(shared) // 20 + 1]]] = True
        around = self.moved(made)
        group = self.moves[:, 0] << 40 | self.moves[:, 1]
        rest = np.isin(group, np.setdiff1d(group[shared], group[made]))
        if not rest.any() or deadline.passed:
            return around[0]
        listed = self.moves[rest], self.cost[self.n_steps :][rest]
        program = GroupMoves(self.dual, around, self.prices, _STEPS_WITHIN, listed)
        found = program.relaxed(deadline)
        return around[0] if found is None else program.rounded(found.taken, deadline)

    def integers(self, deadline: Deadline, nodes: int, gap: float) -> np.ndarray | None:
        """Search for integers of the leaves by branch and bound, within a relative gap or over so many nodes.

        The gap is relative to what moves change of the objective. None if no integers are found.
        """
        from scipy.optimize import LinearConstraint, milp

        found = milp(
            self.cost - self.equal.T @ self.start,
            integrality=np.arange(len(self.cost)) >= self.n_steps,  # nodes are whole with their leaves
            bounds=(self.bounds[:, 0], self.bounds[:, 1]),
            constraints=[
                LinearConstraint(self.equal[self.rows], 0.0, 0.0),
                LinearConstraint(self.once, -np.inf, 1.0),
            ],
            options={"time_limit": deadline.left or np.inf, "node_limit": nodes, "mip_rel_gap": gap},
        )
        return None if found.x is None else self.moved(found.x[self.n_steps :] > 0.5)[0]

    def moved(self, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Move groups, each at most once whatever a solver says, so that order and bounds hold; leaves, and `off`."""
        moves = self.moves[made]
        x, off, (_, first) = self.leaves.copy(), self.off.copy(), np.unique(moves[:, :2], axis=0, return_index=True)
        for leaf, _, size, wanted in moves[first]:
            low, high, sign = min(size, wanted), max(size, wanted), 1 if wanted < size else -1
            x[leaf, low:high] += sign
            node = self.dual.leaf_node[leaf]
            while node >= 0:
                off[node, low:high] += sign
                node = self.dual.parent[node]
        return x, off

    def _passed(self) -> np.ndarray:
        """Say which cells of nodes moves pass; shape (nodes, cells)."""
        rises, (leaf, _, size, wanted) = np.zeros((len(self.off), self.dual.n + 1), np.int64), self.moves.T
        node = self.dual.leaf_node[leaf]
        np.add.at(rises, (node, np.minimum(size, wanted)), 1)
        np.add.at(rises, (node, np.maximum(size, wanted)), -1)
        passed = np.cumsum(rises, axis=1)[:, :-1] > 0
        for r in range(len(passed) - 1, 0, -1):
            passed[self.dual.parent[r]] |= passed[r]
        return passed

    def _steps(self, within: float) -> tuple[Any, np.ndarray, np.ndarray]:
        """List the unit steps of nodes in cells that moves pass: their cells and signs, costs and bounds."""
        dual, prices = self.dual, self.prices
        above = np.where(dual.parent[:, None] >= 0, prices[dual.parent], 0.0)
        net, off, weight = (prices - above).ravel(), self.off.ravel(), np.repeat(dual.weight, dual.n)
        free = self.passed.flatten()
        free[dual.n - 1] &= not dual.held
        costless = free & (weight == 0)
        cells, signs, costs = [np.flatnonzero(costless)], [np.ones(costless.sum())], [np.zeros(costless.sum())]
        for sign in (1.0, -1.0):
            number, at = 0, np.flatnonzero(free & ~costless)
            while len(at):
                cost = weight[at] * (2.0 * (sign * off[at] + number) + 1.0)
                at = at[cost + sign * net[at] <= within]
                cells.append(at)
                signs.append(np.full(len(at), sign))
                costs.append(weight[at] * (2.0 * (sign * off[at] + number) + 1.0))
                number += 1
        bounds = np.tile([0.0, 1.0], (sum(map(len, cells)), 1))
        bounds[: costless.sum()] = -np.inf, np.inf
        return (np.concatenate(cells), np.concatenate(signs)), np.concatenate(costs), bounds

    def _step_matrix(self, cell: np.ndarray, sign: np.ndarray) -> sparse.csc_matrix:
        n, column = self.dual.n, np.arange(len(cell))
        above, inside = self.dual.parent[cell // n], cell % n < n - 1
        higher, both = above >= 0, (above >= 0) & inside
        up = above * n + cell % n
        values = np.concatenate([sign, -sign[inside], -sign[higher], sign[both]])
        rows = np.concatenate([cell, cell[inside] + 1, up[higher], up[both] + 1])
        columns = np.concatenate([column, column[inside], column[higher], column[both]])
        return sparse.csc_matrix((values, (rows, columns)), (len(self.off) * n, len(cell)))

    def _move_matrix(self) -> sparse.csc_matrix:
        n, column, (leaf, _, size, wanted) = self.dual.n, np.arange(len(self.moves)), self.moves.T
        row, sign = self.dual.leaf_node[leaf] * n, np.where(wanted < size, 1.0, -1.0)
        low, high = np.minimum(size, wanted), np.maximum(size, wanted)
        inside = high < n
        values, rows = np.append(-sign, sign[inside]), np.append(row + low, (row + high)[inside])
        return sparse.csc_matrix((values, (rows, np.append(column, column[inside]))), (len(self.off) * n, len(column)))

    def _once(self) -> sparse.csc_matrix:
        """Say of groups with several moves that they make at most one."""
        new = np.lexsort((self.moves[:, 1], self.moves[:, 0]))
        ordered = self.moves[new, :2]
        number = np.cumsum(np.any(np.diff(ordered, axis=0, prepend=-1) != 0, axis=1)) - 1
        several = np.bincount(number, minlength=1) > 1
        many = several[number]
        rows = (np.cumsum(several) - 1)[number[many]]
        shape = int(several.sum()), len(self.cost)
        return sparse.csc_matrix((np.ones(many.sum()), (rows, self.n_steps + new[many])), shape)
