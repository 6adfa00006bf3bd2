"""The node potentials, which prove integer counts optimal under consistency, whatever totals and sizes of levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.certificates.fixed_totals import FixedTotals
from pgsr.certificates.lagrangian import prices_of
from pgsr.certificates.multipliers import Multipliers
from pgsr.certificates.regions_alone import is_region_exchange_optimal
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.nearest_tree.exchange import require_small_slopes
from pgsr.errors import TooLargeError
from pgsr.machine.blocks import row_blocks
from pgsr.machine.compilation import read_only
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_LARGEST_START = 2.0**58


def has_potentials(problem: Problem) -> bool:
    """Say whether `is_potential_optimal` decides optimality: M_H with more than the root's total.

    That is every region's total, stated ones, or sizes per level. For all else `pgsr.certificates.exchange` is faster.
    """
    plain = problem.view is View.COUNTS and problem.norm == 2 and problem.is_plain
    if not (plain and problem.integer and problem.nonnegative and problem.consistent and not problem.monotone):
        return False
    if problem.sizes.equal and problem.totals is not Totals.REGIONS and problem.conditions is None:
        return False
    fixed = FixedTotals.of(problem)  # nor with other rows
    # With equal sizes and no fixed total a lone region may have any number of groups.
    return fixed is not None and (not problem.sizes.equal or len(fixed.regions) > 0)


def is_potential_optimal(problem: Problem, estimate: Estimate, multipliers: Multipliers | None = None) -> bool:
    """Say whether a feasible integer answer to a problem with `has_potentials` is optimal.

    The problem is a flow of convex cost. A vertex is a sum of children: an inner region r and a size i of the level
    below, its largest size k standing for all sizes of r from k on. A cell (r, s) is an arc from r's own vertex of
    min(s, k) to the vertex of r's parent and s; the root's cells end at a common vertex at the top. Every set of leaves
    with a fixed total (`FixedTotals`) sends its groups from a vertex of its own, and leaves of no set start at the top.
    (With every region's total each leaf is a set.) A feasible flow is optimal if and only if its residual network has
    no negative cycle, that is, if there are potentials P of the vertices such that every cell satisfies

        w (2 (x - y) - 1)  <=  P[above] - P[own]  <=  w (2 (x - y) + 1),     the left one only where x > 0.

    They are found by sweeps of a shortest-path method, which also finds the cycle if there is one, and then checked
    once more, in 64-bit integers.

    Args:
        multipliers: where the potentials start; without them they start from the differences x - y. Any start gives the
            same verdict, a good one saves sweeps.

    Complexity: O(cells) per sweep, usually a few sweeps, never more than 2 sets + 4. Memory: about 24 bytes per cell of
    an inner region.

    Raises:
        TooLargeError: weights times differences exceed 64-bit arithmetic.

    Shown against exhaustive search by `test_certificates_lagrangian.py::test_potentials_equal_brute_force` and
    `test_problems_sizes_per_level.py::test_flow_potentials_prove_the_best_point_and_no_other`.
    """
    if estimate.kind != "i":
        return False
    if problem.hierarchy.n_levels == 1:
        return is_region_exchange_optimal(problem, estimate)
    potentials = Potentials.start(problem, estimate.tables, multipliers)
    settled, _ = potentials.settle()
    return settled and potentials.hold()


@dataclass(frozen=True, eq=False)
class Potentials:
    """The integer potentials at the vertices of the flow of an answer.

    Attributes:
        problem: the one that is answered.
        tables: the answer x, one table per level.
        inner: potentials of sums, one table per level with children, shape (regions of the level, k + 1).
        ends: of the sets of leaves, and last of the top, where leaves of no set end; shape (sets + 1,).
        set_of: the vertex of every leaf among `ends`, shape (leaves,).
    """

    problem: Problem
    tables: Sequence[np.ndarray]
    inner: list[np.ndarray]
    ends: np.ndarray
    set_of: np.ndarray

    @classmethod
    def start(
        cls, problem: Problem, tables: Sequence[np.ndarray], multipliers: Multipliers | None = None
    ) -> "Potentials":
        """Choose where to start: rounded multipliers, or values that satisfy the inner cells. Sets of leaves follow."""
        from pgsr.certificates.potentials_kernel import NEVER

        tree, fixed = problem.hierarchy, FixedTotals.of(problem)
        assert fixed is not None, "only problems with `has_potentials` come here"
        for level, (x, y) in enumerate(zip(tables, problem.tables, strict=True)):
            require_small_slopes(tree, problem.w[tree.level(level)], x, y)
        n = len(fixed.regions)
        ends, set_of = np.append(np.full(n, NEVER), 0), np.where(fixed.set_of < 0, n, fixed.set_of)
        inner = None if multipliers is None else _offered(problem, fixed, multipliers)
        if inner is None:
            inner = []
            for level in range(tree.n_levels - 1):
                here = tree.level(level)
                above = 0 if not level else inner[-1][tree.parent[here] - tree.level(level - 1).start]
                off = 2 * problem.w[here, None] * (problem.tables[level] - tables[level])
                inner.append(problem.sizes.folded(above + off, level, View.CUMULATIVE))
        return cls(problem, tables, inner, ends, set_of)

    @property
    def top(self) -> int:
        """The potential above the root."""
        return int(self.ends[-1])

    def settle(self) -> tuple[bool, int]:
        """Lower the potentials until all conditions hold; return False if that cannot be, and the number of sweeps."""
        from pgsr.certificates import potentials_kernel as kernels

        # Copies, because compiled loops tell read-only arrays from others and would be compiled twice.
        problem, tree = self.problem, self.problem.hierarchy
        flat = np.concatenate([table.ravel() for table in self.inner])
        widths = np.repeat([table.shape[1] for table in self.inner], tree.regions_per_level[:-1])
        first = problem.sizes.first_cell.copy(), np.append(0, np.cumsum(widths))
        x = np.concatenate([table.ravel() for table in self.tables], dtype=np.int64)
        arrays = x, read_only(problem.cells), problem.w.copy(), tree.parent.copy()
        state, sweeps = kernels.settle(*arrays, *first, self.set_of, flat, self.ends)
        if state == kernels.TOO_LARGE:
            raise TooLargeError("weights times differences exceed 64-bit arithmetic; scale the weights down")
        start = 0
        for table in self.inner:
            table[:] = flat[start : start + table.size].reshape(table.shape)
            start += table.size
        return state == kernels.SETTLED, sweeps

    def hold(self) -> bool:
        """Say whether the potentials satisfy the conditions of `is_potential_optimal`."""
        problem, tree = self.problem, self.problem.hierarchy
        for level, (x, y) in enumerate(zip(self.tables, problem.tables, strict=True)):
            first, last = tree.level(level).start, level == tree.n_levels - 1
            for block in row_blocks(slice(0, len(y)), y.shape[1]):
                here = slice(first + block.start, first + block.stop)
                above = self.inner[level - 1][tree.parent[here] - tree.level(level - 1).start] if level else self.top
                own = (
                    self.ends[self.set_of[block], None]
                    if last
                    else problem.sizes.spread(self.inner[level][block], level)
                )
                w = problem.w[here, None]
                excess = above - own - 2 * w * (x[block] - y[block])
                if (excess > w).any() or ((excess < -w) & (x[block] > 0)).any():
                    return False
        return True


def _offered(problem: Problem, fixed: FixedTotals, multipliers: Multipliers) -> list[np.ndarray] | None:
    """Round the prices of inner cells, totals' prices moved to the leaves; None if they are no usable numbers."""
    tree = problem.hierarchy
    inner, totals = prices_of(problem, multipliers)
    stated = fixed.rows >= 0
    if multipliers.conditions is not None:
        totals[fixed.regions[stated]] += np.asarray(multipliers.conditions, float)[fixed.rows[stated]]
    moved = -totals[: tree.n_inner]
    for level in range(1, tree.n_levels - 1):
        here = tree.level(level)
        moved[here] += moved[tree.parent[here]]
    tables = [table + moved[tree.level(level), None] for level, table in enumerate(inner)]
    if any(not np.abs(table).max(initial=0.0) <= _LARGEST_START for table in tables):
        return None
    return [np.rint(table).astype(np.int64) for table in tables]
