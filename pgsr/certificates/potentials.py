"""The node potentials, which prove integer counts optimal under consistency and fixed totals of regions."""

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
    """Say whether `is_potential_optimal` decides optimality: M_H with every region's total, or some stated."""
    return (
        problem.view is View.COUNTS
        and problem.norm == 2
        and problem.is_plain
        and problem.integer
        and problem.nonnegative
        and problem.consistent
        and not problem.monotone
        and problem.sizes.equal
        and (problem.totals is Totals.REGIONS or problem.conditions is not None)
        and (fixed := FixedTotals.of(problem)) is not None  # nor with other rows
        and len(fixed.regions) > 0  # without any a lone region may have any number of groups
    )


def is_potential_optimal(problem: Problem, estimate: Estimate, multipliers: Multipliers | None = None) -> bool:
    """Say whether a feasible integer answer to a problem with `has_potentials` is optimal.

    The problem is a flow of convex cost: every set of leaves with a fixed total (`FixedTotals`) sends its groups, split
    over leaves and sizes, up the trees of all sizes to one common vertex at the top, where leaves of no set start, too.
    (With every region's total each leaf is a set.) A feasible flow is optimal if and only if its residual network has
    no negative cycle, that is, if there are potentials P, one per set, one per inner region and size, one at the top,
    such that every cell, an arc from its own vertex to the one above it, satisfies

        w (2 (x - y) - 1)  <=  P[above] - P[own]  <=  w (2 (x - y) + 1),     the left one only where x > 0.

    They are found by sweeps of a shortest-path method, which also finds the cycle if there is one, and then checked
    once more, in 64-bit integers.

    Args:
        multipliers: where the potentials start; without them they start from the differences x - y. Any start gives the
            same verdict, a good one saves sweeps.

    Complexity: O(cells) per sweep, usually a few sweeps, never more than 2 sets + 4. Memory: about 20 bytes per cell of
    an inner region.

    Raises:
        TooLargeError: weights times differences exceed 64-bit arithmetic.

    Shown against exhaustive search by `tests/test_certificates_lagrangian.py::test_potentials_equal_brute_force`.
    """
    if estimate.values.dtype.kind != "i":
        return False
    if problem.hierarchy.n_levels == 1:
        return is_region_exchange_optimal(problem, estimate)
    potentials = Potentials.start(problem, estimate.values, multipliers)
    settled, _ = potentials.settle(problem, estimate.values)
    return settled and potentials.hold(problem, estimate.values)


@dataclass(frozen=True, eq=False)
class Potentials:
    """The integer potentials at the vertices of the flow.

    Attributes:
        inner: shape (inner regions, K + 1).
        ends: of the sets of leaves, and last of the top, where leaves of no set end; shape (sets + 1,).
        set_of: the vertex of every leaf among `ends`, shape (leaves,).
    """

    inner: np.ndarray
    ends: np.ndarray
    set_of: np.ndarray

    @classmethod
    def start(cls, problem: Problem, x: np.ndarray, multipliers: Multipliers | None) -> "Potentials":
        """Choose where to start: rounded multipliers, or values that satisfy the inner cells. Sets of leaves follow."""
        from pgsr.certificates.potentials_kernel import NEVER

        tree, y, fixed = problem.hierarchy, problem.target, FixedTotals.of(problem)
        assert fixed is not None, "only problems with `has_potentials` come here"
        require_small_slopes(tree, problem.w, x, y)
        n = len(fixed.regions)
        ends, set_of = np.append(np.full(n, NEVER), 0), np.where(fixed.set_of < 0, n, fixed.set_of)
        offered = None if multipliers is None else _offered(problem, fixed, multipliers)
        if offered is not None:
            return cls(offered, ends, set_of)
        inner = 2 * problem.w[: tree.n_inner, None] * (y[: tree.n_inner] - x[: tree.n_inner])
        for level in range(1, tree.n_levels - 1):
            here = tree.level(level)
            inner[here] += inner[tree.parent[here]]
        return cls(inner, ends, set_of)

    @property
    def top(self) -> int:
        """The potential above the root."""
        return int(self.ends[-1])

    def settle(self, problem: Problem, x: np.ndarray) -> tuple[bool, int]:
        """Lower the potentials until all conditions hold; return False if that cannot be, and the number of sweeps."""
        from pgsr.certificates import potentials_kernel as kernels

        # Copies, because compiled loops tell read-only arrays from others and would be compiled twice.
        w, parent = problem.w.copy(), problem.hierarchy.parent.copy()
        arrays = read_only(np.ascontiguousarray(x)), np.ascontiguousarray(problem.target), w, parent
        state, sweeps = kernels.settle(*arrays, problem.hierarchy.n_inner, self.set_of, self.inner, self.ends)
        if state == kernels.TOO_LARGE:
            raise TooLargeError("weights times differences exceed 64-bit arithmetic; scale the weights down")
        return state == kernels.SETTLED, sweeps

    def hold(self, problem: Problem, x: np.ndarray) -> bool:
        """Say whether the potentials satisfy the conditions of `is_potential_optimal`."""
        tree, y = problem.hierarchy, problem.target
        for level in range(tree.n_levels):
            for block in row_blocks(tree.level(level), y.shape[1]):
                above = self.inner[tree.parent[block]] if level else self.top
                own = self.inner[block] if level < tree.n_levels - 1 else self._leaves(tree.n_inner, block)
                excess = above - own - 2 * problem.w[block, None] * (x[block] - y[block])
                w = problem.w[block, None]
                if (excess > w).any() or ((excess < -w) & (x[block] > 0)).any():
                    return False
        return True

    def _leaves(self, n_inner: int, block: slice) -> np.ndarray:
        return self.ends[self.set_of[block.start - n_inner : block.stop - n_inner], None]


def _offered(problem: Problem, fixed: FixedTotals, multipliers: Multipliers) -> np.ndarray | None:
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
    inner = (np.concatenate(inner) if inner else np.empty((0, problem.max_size + 1))) + moved[:, None]
    return np.rint(inner).astype(np.int64) if np.abs(inner).max() <= _LARGEST_START else None
