"""The exchange test: optimality of integer counts under consistency and the root's total, in one pass."""

import numpy as np

from pgsr.blocks import BLOCK_CELLS
from pgsr.certificates.regions_alone import NEVER
from pgsr.errors import ProblemError
from pgsr.estimate import Estimate
from pgsr.measurement import Totals
from pgsr.problem import Problem
from pgsr.views import View

LARGEST_SLOPE = 2**58
"""Largest slope of a cell times the number of levels, so that sums along a branch stay within 64 bits."""


def has_exchange_test(problem: Problem) -> bool:
    """Whether `is_exchange_optimal` decides optimality: M_H, with the root's total or none."""
    return (
        problem.view is View.COUNTS
        and problem.norm == 2
        and problem.integer
        and problem.nonnegative
        and problem.consistent
        and not problem.monotone
        and problem.totals is not Totals.REGIONS
        and problem.entities is None  # with their rows of sizes the conditions are no network
    )


def is_exchange_optimal(problem: Problem, estimate: Estimate) -> bool:
    """Whether a feasible integer answer is optimal, by local exchanges, in integers and one pass.

    For every region r and size let

        R = w (2 (x - y) + 1) + min over children of R     cheapest cost of one more group at r,
        L = w (2 (x - y) - 1) + max over children of L     largest saving of one less (minus infinity at a leaf with 0).

    The objective is separable and convex over a laminar family, so the answer is optimal if and only if at every inner
    region max L(children) <= min R(children), and across sizes max L(root) <= min R(root). Shown against exhaustive
    search by `tests/test_certificate.py::test_exchange_test_equals_brute_force`.
    """
    if estimate.values.dtype.kind != "i":
        return False
    n_sizes = problem.target.shape[1]
    step = max(1, BLOCK_CELLS // problem.hierarchy.n_regions)
    dearest, cheapest = [], []
    for start in range(0, n_sizes, step):
        block = slice(start, min(start + step, n_sizes))
        ends = exchange_prices(problem, estimate.values[:, block], problem.target[:, block])
        if ends is None:
            return False
        dearest.append(ends[0])
        cheapest.append(ends[1])
    if problem.totals is None:
        return max(dearest) <= 0 <= min(cheapest)
    return max(dearest) <= min(cheapest)


def exchange_prices(problem: Problem, x: np.ndarray, y: np.ndarray) -> tuple[int, int] | None:
    """Over some sizes: the largest L and the smallest R of the root, or None if an exchange below it pays."""
    tree, w = problem.hierarchy, problem.w[:, None]
    require_small_slopes(problem, x, y)
    slope = 2 * w * (x - y)
    more, less = slope + w, slope - w
    less[tree.leaves][x[tree.leaves] == 0] = NEVER
    for level in range(tree.n_levels - 2, -1, -1):
        here, below = tree.level(level), tree.level(level + 1)
        starts = tree.first_child[here] - below.start
        cheapest = np.minimum.reduceat(more[below], starts, axis=0)
        dearest = np.maximum.reduceat(less[below], starts, axis=0)
        if (dearest > cheapest).any():
            return None
        more[here] += cheapest
        less[here] += dearest
    return int(less[0].max()), int(more[0].min())


def require_small_slopes(problem: Problem, x: np.ndarray, y: np.ndarray) -> None:
    """Raise unless 2 w |x - y| times the number of levels is at most `LARGEST_SLOPE`; the check cannot overflow."""
    largest = float((np.abs(x - y).max(axis=1).astype(float) * problem.w).max())
    if 2 * largest * problem.hierarchy.n_levels > LARGEST_SLOPE:
        raise ProblemError("weights times differences exceed 64-bit arithmetic; scale the weights down")
