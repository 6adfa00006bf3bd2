"""Integers from the real optimum of the joint L1 problem on cumulative counts, with hardly any loss.

Between an integer and the next one every |x - y| is a straight line, because y is integer. So within the box of floors
and ceilings of a real optimum the objective is linear, and moving about in this box until all is integer costs nothing
whenever a direction and its opposite are both possible: one of them does not make it worse.

**Cycles.** Below one region let a run [i, j) of equal fractional values of a child be an edge from size i to size j,
and a fractional cell s of the region itself an edge from s to s + 1. Moving a run by t adds t at i and takes t away at
j. So a cycle of edges, moved around by t, leaves every sum over the children equal to the region's own value. Around
it t grows until some value is integer, or two neighbouring runs of a child are equal and become one: an edge less.
Once there are no cycles, what is left is a forest, and its outermost edge would be the only fractional part at its
node, where all parts add up to an integer. So nothing is left, and all is integer.

Below a root alone that is the whole problem: its linear program has integer optima, and this finds one. With more
levels the cells of a lowest inner region move those of all regions above it, too, whose absolute values have kinks.
First only cycles that cost nothing are cancelled, then the others, each in the cheaper direction. Then, as long as it
helps, the children of one region after the other get their real values back and are made integer once more, now that
all others are integer.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.data.rounding import nearest
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_FREE = 1e-7
"""The cost of a move, in units of the objective, that counts as none."""

_PASSES = 3
_SWEEPS = 20


def absolute_integers(problem: Problem, real: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Find integers within the floors and ceilings of a real optimum, consistent, monotone, with the public totals.

    Args:
        problem: M_c in absolute values.
        real: near its relaxed optimum, consistent, monotone, with the public totals; shape (regions, K + 1).
        deadline: when it has passed, no further sweep begins.

    Returns:
        int64, shape (regions, K + 1). With three levels and more and the root's total alone, a leaf's last cells may
        leave their floors and ceilings, see `_meet_total`.

    Complexity: about O(cells), and O(sizes) per fractional run.
    """
    tree = problem.hierarchy
    if tree.n_levels == 1:
        return nearest(real)
    rounding = _Rounding(problem, real)
    for _ in range(_PASSES):
        if not sum(rounding.cancel(family, _FREE, finish=False) for family in rounding.families):
            break
    start = rounding.x.copy()
    for family in rounding.families:
        rounding.cancel(family, np.inf, finish=True)
    if tree.n_levels > 2:
        for _ in range(_SWEEPS):
            gained = [rounding.again(family, start) for family in rounding.families]
            if not any(gained) or deadline.passed:
                break
    return rounding.integers(real)


@dataclass(frozen=True)
class _Family:
    """The lowest regions below one inner region, as rows of all lowest ones, and the path from it to the root."""

    rows: slice
    path: np.ndarray


class _Rounding:
    """The lowest regions' values on their way to integers, and the sums of them in all inner regions."""

    def __init__(self, problem: Problem, real: np.ndarray) -> None:
        tree = problem.hierarchy
        self.problem, self.tree = problem, tree
        self.held = problem.totals is Totals.ROOT
        n = real.shape[1] - (problem.totals is Totals.REGIONS)
        self.y, self.w = problem.target[:, :n], problem.w.astype(float)
        self.x = _snapped(real[tree.leaves, :n])
        self.sums = self._sums()
        self.families = [self._family(region) for region in range(tree.n_inner)[tree.level(tree.n_levels - 2)]]
        self.families.sort(key=lambda family: family.rows.start - family.rows.stop)

    def _family(self, region: int) -> _Family:
        below = self.tree.children(region)
        path = [region]
        while path[-1]:
            path.append(int(self.tree.parent[path[-1]]))
        return _Family(slice(below.start - self.tree.n_inner, below.stop - self.tree.n_inner), np.array(path))

    def cancel(self, family: _Family, allowed: float, *, finish: bool) -> int:
        """Cancel cycles below one region; see `cancel_cycles`."""
        from pgsr.algorithms.m_c.cycles_kernel import cancel_cycles

        leaves, first = self.x[family.rows], self.tree.n_inner
        rows = slice(family.rows.start + first, family.rows.stop + first)
        above = self.sums[family.path]
        nodes = (above.copy(), self.y[family.path], self.w[family.path], self.held)
        moves = cancel_cycles(leaves, self.y[rows], self.w[rows], *nodes, allowed, finish)
        self.sums[family.path] = above + (leaves.sum(axis=0) - above[0])
        return moves

    def again(self, family: _Family, start: np.ndarray) -> bool:
        """Make the values below one region integer once more, from their values at the start; keep what is better."""
        x, sums, cost = self.x[family.rows].copy(), self.sums[family.path].copy(), self._cost(family)
        self.x[family.rows] = start[family.rows]
        self.sums[family.path] += start[family.rows].sum(axis=0) - sums[0]
        self.cancel(family, np.inf, finish=True)
        if self._cost(family) < cost:
            return True
        self.x[family.rows], self.sums[family.path] = x, sums
        return False

    def _cost(self, family: _Family) -> float:
        """Compute what the regions of a family and those above cost, with the root's public total before all else."""
        first = self.tree.n_inner
        rows = slice(family.rows.start + first, family.rows.stop + first)
        cost = float((self.w[rows] * np.abs(self.x[family.rows] - self.y[rows]).sum(axis=1)).sum())
        cost += float((self.w[family.path] * np.abs(self.sums[family.path] - self.y[family.path]).sum(axis=1)).sum())
        return cost + (1e12 * abs(float(self.sums[0, -1]) - self.problem.root_total) if self.held else 0.0)

    def _sums(self) -> np.ndarray:
        tree = self.tree
        x = np.empty((tree.n_regions, self.x.shape[1]))
        x[tree.leaves] = self.x
        for level in range(tree.n_levels - 2, -1, -1):
            x[tree.level(level)] = tree.sum_children(x, level)
        return x[: tree.n_inner]

    def integers(self, real: np.ndarray) -> np.ndarray:
        """Collect the integers of all regions, at the public totals."""
        tree = self.tree
        leaves = nearest(self.x)
        if self.held:
            self._meet_total(leaves)
        x = np.empty(real.shape, np.int64)
        x[tree.leaves, : leaves.shape[1]] = leaves
        if self.problem.totals is Totals.REGIONS:
            x[tree.leaves, -1] = self.problem.region_totals[tree.leaves]
        for level in range(tree.n_levels - 2, -1, -1):
            x[tree.level(level)] = tree.sum_children(x, level)
        return x

    def _meet_total(self, leaves: np.ndarray) -> None:
        """Move the cheapest tails of leaves by one until the root has its public total; mostly none."""
        tree, n_inner = self.tree, self.tree.n_inner
        while missing := self.problem.root_total - int(leaves[:, -1].sum()):
            sign = 1 if missing > 0 else -1
            self.x = leaves.astype(float)
            off = np.concatenate([self._sums(), self.x]) - self.y
            cost = self.w[:, None] * (np.abs(off + sign) - np.abs(off))
            cost[0, -1] = 0.0  # the public total costs what it costs
            for level in range(1, tree.n_levels):
                cost[tree.level(level)] += cost[tree.parent[tree.level(level)]]
            tails = np.cumsum(cost[n_inner:, ::-1], axis=1)[:, ::-1]
            if sign < 0:
                tails[np.diff(leaves, axis=1, prepend=0) <= 0] = np.inf
            leaf, start = np.unravel_index(np.argmin(tails), tails.shape)
            leaves[leaf, start:] += sign


def _snapped(real: np.ndarray) -> np.ndarray:
    """Make what is all but an integer one, and what is all but equal to the cell before it equal; non-decreasing."""
    from pgsr.algorithms.m_c.cycles_kernel import NEAR

    x = np.where(np.abs(real - np.rint(real)) < NEAR, np.rint(real), real)
    x = np.maximum.accumulate(x, axis=1)
    for i in range(1, x.shape[1]):
        x[:, i] = np.where(x[:, i] - x[:, i - 1] < NEAR, x[:, i - 1], x[:, i])
    return x
