"""The proof of M_H in integers where levels have sizes of their own: potentials of a flow, from the answer alone."""

from dataclasses import dataclass

import numpy as np

from pgsr.certificates.lagrangian import prices_of
from pgsr.certificates.multipliers import Multipliers
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

MOST_SWEEPS = 300
"""The number of sweeps after which an answer counts as not proved; proved ones take a few to some dozens."""

_NEVER = 2**61
_LARGEST_START = 2.0**55


def has_potentials_by_level(problem: Problem) -> bool:
    """Say whether `is_flow_optimal` may prove an optimum: M_H where levels have sizes of their own."""
    return (
        not problem.sizes.equal
        and problem.view is View.COUNTS
        and problem.norm == 2
        and problem.integer
        and problem.nonnegative
        and problem.consistent
        and not problem.monotone
    )


def is_flow_optimal(problem: Problem, estimate: Estimate, multipliers: Multipliers | None = None) -> bool:
    """Say whether a feasible integer answer to a problem with `has_potentials_by_level` is proved optimal.

    The problem is a flow of convex cost. Every sum is a vertex: of an inner region r and a size i of the level below,
    i = k standing for all sizes from k on. Every cell (r, s) is an arc to the vertex of r's parent and s, and comes
    from r's own vertex of min(s, k); the root's cells end at a vertex of their own, and a leaf's begin where its groups
    come from: at one vertex for each leaf with a public total, at one for all leaves if the root's total is public, and
    else at the root's end, as nothing fixes how many groups there are. A feasible flow x is optimal if there are
    integers P at the vertices such that every cell satisfies

        w (2 (x - y) - 1)  <=  P[above] - P[own]  <=  w (2 (x - y) + 1),     the left one only where x > 0.

    Sweeps up and down the hierarchy lower P until that holds (Bellman and Ford's method). Where it cannot hold they
    would never end, so that after `MOST_SWEEPS` the answer is False: not proved.

    Args:
        multipliers: where P starts; without them P starts from the differences x - y.

    Complexity: O(cells) per sweep. Memory: about 30 bytes per cell of a level.

    Extends `pgsr.certificates.potentials.is_potential_optimal`. Shown against exhaustive search by
    `tests/test_problems_sizes_per_level.py::test_flow_potentials_prove_the_best_point_and_no_other`.
    """
    if estimate.kind != "i":
        return False
    potentials = _Potentials.start(problem, estimate, multipliers)
    for _ in range(MOST_SWEEPS):
        before = potentials.total
        potentials.up()
        potentials.down()
        if potentials.total == before:
            return potentials.hold()
    return False


@dataclass(eq=False)
class _Potentials:
    """Potentials P at the vertices, and what every cell allows: low <= P[above] - P[own] <= high.

    Attributes:
        inner: P of the sums of every level with children, shape (regions of the level, k + 1).
        ends: P of the vertices at which leaves begin, and last of the vertex at which the root's cells end.
        end_of: the vertex of every leaf among `ends`, shape (leaves,).
        low, high: by level, shape (regions of the level, K + 1); low is -2^61 where x = 0.
    """

    problem: Problem
    inner: list[np.ndarray]
    ends: np.ndarray
    end_of: np.ndarray
    low: list[np.ndarray]
    high: list[np.ndarray]

    @classmethod
    def start(cls, problem: Problem, estimate: Estimate, multipliers: Multipliers | None) -> "_Potentials":
        tree, sizes = problem.hierarchy, problem.sizes
        n_leaves, off = tree.n_regions - tree.n_inner, []
        for level, (x, y) in enumerate(zip(estimate.tables, problem.tables, strict=True)):
            off.append(2 * problem.w[tree.level(level), None] * (x - y))
        end_of = np.arange(n_leaves) if problem.totals is Totals.REGIONS else np.zeros(n_leaves, np.int64)
        n_ends = 0 if problem.totals is None else int(end_of[-1]) + 1
        weights = [problem.w[tree.level(level), None] for level in range(tree.n_levels)]
        low = [np.where(x > 0, slope - w, -_NEVER) for x, slope, w in zip(estimate.tables, off, weights, strict=True)]
        high = [slope + w for slope, w in zip(off, weights, strict=True)]
        inner = _offered(problem, multipliers)
        if inner is None:
            inner = []
            for level in range(tree.n_levels - 1):
                above = 0 if not level else inner[-1][tree.parent[tree.level(level)] - tree.level(level - 1).start]
                inner.append(sizes.folded(above - off[level], level, View.CUMULATIVE))
        ends = np.append(np.full(n_ends, _NEVER), 0)
        return cls(problem, inner, ends, end_of if n_ends else np.zeros(n_leaves, np.int64), low, high)

    @property
    def total(self) -> int:
        """A number that falls with every potential that falls."""
        return sum(map(_sum, (*self.inner, self.ends)))

    def own(self, level: int) -> np.ndarray:
        """P where the cells of a level begin; shape (regions of the level, K + 1), or (leaves, 1)."""
        if level == self.problem.hierarchy.n_levels - 1:
            return self.ends[self.end_of, None]
        return self.problem.sizes.spread(self.inner[level], level, View.COUNTS)

    def above(self, level: int) -> np.ndarray:
        """P where the cells of a level end; shape (regions of the level, K + 1), or a single number."""
        if not level:
            return self.ends[-1:, None]
        tree = self.problem.hierarchy
        return self.inner[level - 1][tree.parent[tree.level(level)] - tree.level(level - 1).start]

    def up(self) -> None:
        """Lower P[above] to P[own] + high, from the leaves to the root."""
        tree = self.problem.hierarchy
        for level in range(tree.n_levels - 1, -1, -1):
            most = self.own(level) + self.high[level]
            if not level:
                self.ends[-1] = min(int(self.ends[-1]), int(most.min()))
                continue
            starts = tree.first_child[tree.level(level - 1)] - tree.level(level).start
            np.minimum(self.inner[level - 1], np.minimum.reduceat(most, starts, axis=0), out=self.inner[level - 1])

    def down(self) -> None:
        """Lower P[own] to P[above] - low, from the root to the leaves."""
        tree, sizes = self.problem.hierarchy, self.problem.sizes
        for level in range(tree.n_levels):
            most = self.above(level) - self.low[level]
            if level == tree.n_levels - 1:
                np.minimum.at(self.ends, self.end_of, most.min(axis=1))
                continue
            k = sizes.max_sizes[level + 1]
            own = self.inner[level]
            np.minimum(own[:, :k], most[:, :k], out=own[:, :k])
            np.minimum(own[:, k], most[:, k:].min(axis=1), out=own[:, k])

    def hold(self) -> bool:
        """Say whether every cell satisfies its two inequalities."""
        for level in range(self.problem.hierarchy.n_levels):
            difference = self.above(level) - self.own(level)
            if (difference > self.high[level]).any() or (difference < self.low[level]).any():
                return False
        return True


def _sum(table: np.ndarray) -> int:
    """Add up integers of up to 2^61 without wrapping."""
    return (int((table >> 32).sum()) << 32) + int((table & (2**32 - 1)).sum())


def _offered(problem: Problem, multipliers: Multipliers | None) -> list[np.ndarray] | None:
    """Round prices of consistency, less that of the root's total; None if there are none or they are not usable."""
    if multipliers is None:
        return None
    inner, totals = prices_of(problem, multipliers)
    if problem.totals is Totals.REGIONS and totals[: problem.hierarchy.n_inner].any():
        return None  # totals of inner regions have prices of their own: start from the differences
    top = totals[0] if problem.totals is Totals.ROOT else 0.0  # the root's cells end at a potential of 0 here
    tables = [np.rint(table - top) for table in inner]
    if any(not np.abs(table).max(initial=0.0) <= _LARGEST_START for table in tables):
        return None
    return [table.astype(np.int64) for table in tables]
