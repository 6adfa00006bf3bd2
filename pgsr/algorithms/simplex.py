"""The naive method: project every region's noisy counts alone onto the counts that add up to its total."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pgsr.certificates import certify
from pgsr.certificates.regions_alone import is_simplex_problem
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.machine.blocks import row_blocks
from pgsr.methods.gate import Deadline, GatedMethod
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP

_LARGEST_SUM = 2**61


@dataclass(frozen=True)
class SimplexProjection(GatedMethod):
    """Projects the noisy counts of every region alone onto a simplex, in exact integers (the naive method).

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] >= 0 (integer),   sum over s of x[r, s] = G[r].

    The regions need not add up afterwards. A region that was not measured has no values of its own: it gets the
    projection of its children's sum, which is as good as any other point.

    Complexity and memory: those of `simplex_projection`, and 8 bytes per unknown for the answer.

    Status: OPTIMAL with bound == objective, in integers; the relaxation with a Lagrangian bound and OPTIMAL if that
    leaves a relative gap of at most 1e-9, else FEASIBLE (single counts near 1e9 have no more digits).

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> problem = Problem.naive(Geometric(View.COUNTS, epsilon=4).measure(truth, Seeded("demo")))
        >>> SimplexProjection().solve(problem).estimate.values.sum(axis=1)
        array([6, 3, 3])

    Source: Kuo et al. 2018, section 4.1. Shown equal to exhaustive search by
    `test_algorithms_simplex.py::test_equals_exact_fractions`.
    """

    sizes_per_level: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        if not is_simplex_problem(problem):
            return (
                "SimplexProjection projects non-negative counts with every region's own total and no other condition "
                f"by least squares; {problem.label} is another problem"
            )
        return None

    def exceeds(self, problem: Problem) -> str | None:
        largest = max(int(np.abs(table).max()) for table in _filled(problem))
        if largest * (problem.max_size + 1) + int(problem.region_totals.max()) > _LARGEST_SUM:
            return "noisy counts times sizes exceed 2^61; use fewer sizes"
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return 8 * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        tree, totals = problem.hierarchy, problem.region_totals
        x = [
            simplex_projection(table, totals[tree.level(level)], problem.integer)
            for level, table in enumerate(_filled(problem))
        ]
        seconds = Seconds(solve=deadline.spent)
        estimate = Estimate(tree, View.COUNTS, tuple(x))
        certificate = certify(problem, estimate)
        if certificate.gap is None:
            reason = f"the answer misses our tolerances: {certificate!r}"
            return Result(Status.FAILED, reason, None, certificate, seconds)
        if certificate.optimal or (not problem.integer and abs(certificate.gap) <= PROVED_GAP):
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds)
        return Result(Status.FEASIBLE, f"relative gap {certificate.gap:.1e}", estimate, certificate, seconds)


def simplex_projection(rows: np.ndarray, totals: np.ndarray, integer: bool) -> np.ndarray:
    """Find, row by row, the nearest non-negative numbers with a given total.

        minimise    sum_i (x[i] - y[i])^2
        subject to  x >= 0 (integer),   sum_i x[i] = G.

    The optimum is max(0, y - theta), with theta from sums of the largest cells in integers. All positive cells have the
    same fractional part, so rounding by largest remainders, ties to the first cell, is the integer optimum.

    Args:
        rows: y, int64, shape (n, cells); |y| times cells plus G below 2^62.
        totals: G, non-negative, int64, shape (n,).
        integer: integers (int64) or reals (float64).

    Complexity: O(cells log cells) per row; memory for a few blocks of rows beside the answer.

    Example:
        >>> simplex_projection(np.array([[2, 1, 1], [-1, 5, 5]]), np.array([3, 5]), integer=False)
        array([[1.66666667, 0.66666667, 0.66666667],
               [0.        , 2.5       , 2.5       ]])
        >>> simplex_projection(np.array([[2, 1, 1], [-1, 5, 5]]), np.array([3, 5]), integer=True)
        array([[2, 1, 0],
               [0, 3, 2]])

    Source: Kuo et al. 2018, section 4.1; projection by sorting after Held, Wolfe and Crowder 1974. Shown by
    `test_algorithms_simplex.py::test_equals_exact_fractions`.
    """
    x = np.empty(rows.shape, np.int64 if integer else np.float64)
    for block in row_blocks(slice(0, len(rows)), rows.shape[1]):
        y = rows[block]
        whole, part, n_positive = (column[:, None] for column in _thresholds(y, totals[block]))
        shifted = y - whole
        if not integer:
            np.maximum(shifted - part / n_positive, 0.0, out=x[block])
            continue
        np.maximum(shifted, 0, out=x[block])
        positive = shifted > 0
        x[block] -= positive & (np.cumsum(positive, axis=1) > n_positive - part)
    return x


def _thresholds(y: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute theta = whole + part / n_positive of every row, 0 <= part < n_positive; each of shape (rows,), int64."""
    ascending = np.sort(y, axis=1)
    descending = ascending[:, ::-1]
    excess = np.cumsum(descending, axis=1)
    excess -= totals[:, None]
    descending *= np.arange(1, y.shape[1] + 1)
    # With a total of 0 no cell is positive; the largest one's own value is then a theta.
    n_positive = np.maximum((descending > excess).sum(axis=1), 1)
    whole, part = np.divmod(excess[np.arange(len(y)), n_positive - 1], n_positive)
    return whole, part, n_positive


def _filled(problem: Problem) -> tuple[np.ndarray, ...]:
    """Fill y, where regions that were not measured get the sum of their children; one table per level."""
    tree = problem.hierarchy
    if problem.w.all():  # as where levels have sizes of their own
        return problem.tables
    y = problem.target.copy()
    for level in range(tree.n_levels - 2, -1, -1):
        missing = problem.w[tree.level(level)] == 0
        y[tree.level(level)][missing] = tree.sum_children(y, level)[missing]
    return problem.sizes.tables(y)
