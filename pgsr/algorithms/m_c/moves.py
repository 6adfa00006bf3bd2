"""A linear program over moves of single groups and unit steps of nodes, around integers that are nearly best.

**Groups choose alone.** Cumulative counts of a leaf say the sizes of its groups: group k has the size s where
x[s - 1] <= k < x[s]. Its own part of the cost is the sum over cells from s on of w (2 (k - y) + 1), and order comes by
itself, since two groups that cross may exchange their sizes. So from integers x every other one is reached by moves of
single groups to other sizes, at most one move each, and by unit steps of nodes, the d-th of which costs
w (2 (d + |x - y|) + 1) where it leads away from y. Rows say that nodes are the sums of what is below them.

**Few columns.** At prices p every column has a reduced cost, and only those of at most `within` are columns here. What
is missing has a negative reduced cost at the program's own prices, whose bound is then below its value: a program
around these prices has it. Rows are differenced along sizes, so that a move has two entries, however far it goes.

**From p.** With the costs less what rows are worth at p, the dual simplex starts from the slack basis, at p.

With two levels the program is a network's, and whole. With more it nearly always is; else branch and bound looks for
integers. Nothing here proves anything: the caller proves prices by `lagrangian_bound` and looks at the integers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.algorithms.m_c.dual import SquaresDual
from pgsr.methods.gate import Deadline

_FRACTIONAL = 1e-6


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The optimum of the linear program: its value, leaves with every group at its most likely size, and prices.

    Attributes:
        value: the objective, less that of the integers around which the program lies.
        leaves: shape (leaves, cells).
        prices: shape (nodes, cells).
        whole: whether no group is shared among sizes.
    """

    value: float
    leaves: np.ndarray
    prices: np.ndarray
    whole: bool


class GroupMoves:
    """The program around integers of the leaves, shape (leaves, K + 1), at prices, shape (nodes, cells)."""

    def __init__(
        self, dual: SquaresDual, leaves: np.ndarray, off: np.ndarray, prices: np.ndarray, within: float
    ) -> None:
        from pgsr.algorithms.m_c import moves_kernel as kernels

        self.dual, self.leaves, self.shape = dual, leaves, prices.shape
        self.moves, cost = kernels.group_moves(dual.leaves, dual.leaf_node, prices, leaves, within)
        steps, step_cost, step_bounds = self._steps(off, prices, within)
        self.n_steps = len(step_cost)
        self.cost = np.append(step_cost, cost)
        self.equal: Any = sparse.hstack([self._step_matrix(*steps), self._move_matrix()], "csc")
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
            A_eq=self.equal,
            b_eq=np.zeros(self.equal.shape[0]),
            bounds=self.bounds,
            method="highs-ds",
            options={"presolve": False, "time_limit": deadline.left or np.inf},
        )
        if found.x is None or found.status != 0:
            return None
        sums = (found.eqlin.marginals + self.start).reshape(self.shape)
        prices = np.diff(sums, axis=1, append=0.0)
        moved = found.x[self.n_steps :]
        whole = bool((np.abs(moved - np.rint(moved)) <= _FRACTIONAL).all())
        return Relaxed(float(self.cost @ found.x), self._moved(moved), prices, whole)

    def integers(self, deadline: Deadline, nodes: int, gap: float) -> np.ndarray | None:
        """Search for integers of the leaves by branch and bound, within a relative gap or over so many nodes.

        The gap is relative to what moves change of the objective. None if no integers are found.
        """
        from scipy.optimize import LinearConstraint, milp

        found = milp(
            self.cost,
            integrality=np.arange(len(self.cost)) >= self.n_steps,  # nodes are whole with their leaves
            bounds=(self.bounds[:, 0], self.bounds[:, 1]),
            constraints=[
                LinearConstraint(self.equal, 0.0, 0.0),
                LinearConstraint(self.once, -np.inf, 1.0),
            ],
            options={"time_limit": deadline.left or np.inf, "node_limit": nodes, "mip_rel_gap": gap},
        )
        return None if found.x is None else self._moved(found.x[self.n_steps :])

    def _moved(self, taken: np.ndarray) -> np.ndarray:
        """Move groups, each at most once whatever a solver says, so that order and bounds hold."""
        moves = self.moves[taken > 0.5]
        x, (_, first) = self.leaves.copy(), np.unique(moves[:, :2], axis=0, return_index=True)
        for leaf, _, size, wanted in moves[first]:
            x[leaf, wanted:size] += 1
            x[leaf, size:wanted] -= 1
        return x

    def _steps(self, off: np.ndarray, prices: np.ndarray, within: float) -> tuple[Any, np.ndarray, np.ndarray]:
        """List the unit steps of nodes: their cells and signs, costs and bounds."""
        dual = self.dual
        above = np.where(dual.parent[:, None] >= 0, prices[dual.parent], 0.0)
        net, off, weight = (prices - above).ravel(), off.ravel(), np.repeat(dual.weight, dual.n)
        free = np.ones(len(off), bool)
        free[dual.n - 1] = not dual.held
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
        n, column = self.shape[1], np.arange(len(cell))
        above, inside = self.dual.parent[cell // n], cell % n < n - 1
        higher, both = above >= 0, (above >= 0) & inside
        up = above * n + cell % n
        values = np.concatenate([sign, -sign[inside], -sign[higher], sign[both]])
        rows = np.concatenate([cell, cell[inside] + 1, up[higher], up[both] + 1])
        columns = np.concatenate([column, column[inside], column[higher], column[both]])
        return sparse.csc_matrix((values, (rows, columns)), (self.shape[0] * n, len(cell)))

    def _move_matrix(self) -> sparse.csc_matrix:
        n, column, (leaf, _, size, wanted) = self.shape[1], np.arange(len(self.moves)), self.moves.T
        row, sign = self.dual.leaf_node[leaf] * n, np.where(wanted < size, 1.0, -1.0)
        low, high = np.minimum(size, wanted), np.maximum(size, wanted)
        inside = high < n
        values, rows = np.append(-sign, sign[inside]), np.append(row + low, (row + high)[inside])
        return sparse.csc_matrix((values, (rows, np.append(column, column[inside]))), (self.shape[0] * n, len(column)))

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
