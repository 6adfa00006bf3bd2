"""The proofs for problems in which every region is alone: exchange test, Lagrangian bound, subgradient chain."""

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.nearest_tree.exchange import NEVER
from pgsr.errors import ProblemError, TooLargeError
from pgsr.machine.blocks import row_blocks
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import CONDITION, RELATIVE

_LARGEST_MULTIPLIER = 2**60


def is_simplex_problem(problem: Problem) -> bool:
    """Say whether the problem is least squares on the non-negative counts of every region with its own total."""
    return (
        problem.view is View.COUNTS
        and problem.norm == 2
        and problem.is_plain
        and problem.nonnegative
        and not problem.monotone
        and not problem.consistent
        and problem.totals is Totals.REGIONS
    )


def is_region_exchange_optimal(problem: Problem, estimate: Estimate) -> bool:
    """Say whether a feasible answer to an integer `is_simplex_problem` is optimal, by exchanges in every region.

    One group less of size s saves 2 (x - y) - 1, where x > 0, and one more costs 2 (x - y) + 1. The objective is
    separable and convex, so the answer is optimal if and only if no saving exceeds a cost. In integers; O(cells).
    Shown against exhaustive search by `test_algorithms_simplex.py::test_exchange_test_equals_brute_force`.
    """
    if estimate.kind != "i":
        return False
    for x, y, w, _ in _blocks(problem, estimate):
        slope = 2 * (x - y)
        saved = np.where(x > 0, slope - 1, NEVER).max(axis=1)
        paid = slope.min(axis=1) + 1
        if ((saved > paid) & (w > 0)).any():  # a region without weight costs nothing
            return False
    return True


def simplex_bound(problem: Problem, estimate: Estimate) -> float:
    """Compute a number that no feasible objective of an `is_simplex_problem` is below.

    The Lagrangian with one multiplier 2 w[r] t[r] for the total of every region, at x = y + d:

        sum over r of  w[r] (sum over s of  d[r, s]^2 - 2 t[r] d[r, s]  +  2 t[r] (G[r] - sum over s of y[r, s])),

    minimised cell by cell over d >= -y (integers if x is). Any t gives a bound; t[r] = min over s of x[r, s] - y[r, s]
    is the best one if `estimate` is the relaxed optimum. Nothing cancels against counts of 1e9. O(cells).
    Shown by `test_algorithms_simplex.py::test_any_estimate_gives_a_bound`.
    """
    terms = []
    for x, y, weights, groups in _blocks(problem, estimate):
        w = weights[:, None]
        t = (x - y).min(axis=1, keepdims=True).astype(float)
        d = np.maximum(np.rint(t) if problem.integer else t, -y)
        terms.append(sum_below(w * d * (d - 2 * t), w * np.abs(d) * (np.abs(d) + 2 * np.abs(t))))
        missing = 2.0 * w * t * (groups[:, None] - y.sum(axis=1, keepdims=True))
        terms.append(sum_below(missing, np.abs(missing)))
    total = math.fsum(terms)
    return total - abs(total) * 2e-16


def is_isotonic_problem(problem: Problem) -> bool:
    """Say whether the problem is the nearest non-decreasing cumulative counts of every region, with bounds of cells."""
    return (
        problem.view is View.CUMULATIVE
        and problem.monotone
        and not problem.consistent
        and problem.totals is not Totals.ROOT
        and problem.is_plain
        and (problem.conditions is None or problem.conditions.bounds_alone)
    )


def is_chain_optimal(problem: Problem, estimate: Estimate) -> bool:
    """Say whether an answer to an `is_isotonic_problem` is proved optimal by `isotonic_is_optimal` in every region.

    Where totals are public the last cell is G[r], so it is no unknown but a bound on the others. False also where the
    test does not apply: squares of real numbers, see `isotonic_bound`.
    """
    if problem.norm == 2 and not (problem.integer and estimate.kind == "i"):
        return False
    last = np.concatenate([table[:, -1] for table in estimate.tables])
    if problem.totals is not None and (problem.region_totals != last).any():
        return False
    for region, x, y, lower, upper in _chains(problem, estimate):
        stated = problem.conditions
        cells = problem.first_cell[region] + np.arange(len(x))
        bounds = None if stated is None else (stated.lower[cells], stated.upper[cells])
        if problem.w[region] and not isotonic_is_optimal(x, y, lower, upper, problem.norm, bounds):
            return False
    return True


def isotonic_is_optimal(
    x: np.ndarray,
    y: np.ndarray,
    lower: int | None,
    upper: int | None,
    norm: int,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> bool:
    """Say whether x is feasible and optimal for one isotonic regression:

        minimise    sum_i |x[i] - y[i]|^norm
        subject to  lower <= x[0] <= x[1] <= ... <= x[n - 1] <= upper.

    x is optimal if and only if every cell has a subgradient g[i] such that the multipliers mu[i] = mu[i - 1] - g[i] >=
    0 vanish at conditions that are slack. The values that mu[i] can take are an interval, which is passed on from cell
    to cell. Exact, in 64-bit integers. A cell at a bound of its own may have any subgradient beyond as well.

    Args:
        x: shape (n,). Norm 2: integers, optimal among integers. Norm 1: integers or reals; an optimum in integers is
            one in reals.
        y: integers, shape (n,).
        lower, upper: bounds, or None.
        norm: 1 or 2.
        bounds: lower and upper bounds of every cell besides, shape (n,) each, or None.

    Complexity: O(n).

    Raises:
        ProblemError: norm 2 and x is not of an integer type, or differences too large for 64 bits.

    Example:
        >>> y = np.array([3, 1, 2, 5, 4])
        >>> isotonic_is_optimal(np.array([2, 2, 2, 4, 4]), y, 0, None, norm=2)
        True
        >>> isotonic_is_optimal(np.array([1, 1, 2, 4, 5]), y, 0, None, norm=1)
        False

    Shown equal to exhaustive search by `test_certificates_regions_alone.py::test_chain_equals_brute_force`.
    """
    from pgsr.certificates.chain_kernel import chain_closes

    if norm == 2 and x.dtype.kind != "i":
        raise ProblemError("the chain proves least squares in integers only; give x as integers")
    if not len(x):
        return lower is None or upper is None or lower <= upper
    joined = x[:-1] == x[1:]
    increasing = bool((joined | (x[:-1] < x[1:])).all())
    if not increasing or (lower is not None and not x[0] >= lower) or (upper is not None and not x[-1] <= upper):
        return False
    difference = x - y
    if norm == 2:
        if int(np.abs(difference).max()) * 3 * len(x) > _LARGEST_MULTIPLIER:
            raise TooLargeError("differences times cells exceed 64-bit arithmetic; use fewer sizes")
        low, high = 2 * difference - 1, 2 * difference + 1
    else:
        low, high = np.where(difference > 0, 1, -1), np.where(difference < 0, -1, 1)
    if bounds is not None:
        if ((x < bounds[0]) | (x > bounds[1])).any():
            return False
        low, high = np.where(x == bounds[0], NEVER, low), np.where(x == bounds[1], -NEVER, high)
    return bool(chain_closes(low, high, joined, bool(x[0] == lower), bool(x[-1] == upper)))


def isotonic_bound(problem: Problem, estimate: Estimate) -> float:
    """Compute a number that no feasible objective of an `is_isotonic_problem` with norm 2 is below.

    The Lagrangian of `isotonic_is_optimal` at x = y + d, where c[i] = mu[i] - mu[i - 1], is

        sum_i (d[i]^2 + c[i] d[i])
            + mu[-1] (lower - y[0]) + sum_i mu[i] (y[i] - y[i + 1]) + mu[n - 1] (y[n - 1] - upper)

    for each region, minimised by d = -c / 2. Any mu >= 0 gives a bound (mu[-1] = 0 and mu[n - 1] = 0 where there is no
    such condition). The ones used follow from the gradients 2 (x - y) of `estimate` and are the best ones if it is the
    optimum. A bound in reals is one in integers. O(cells).
    Shown by `test_certificates_regions_alone.py::test_any_estimate_gives_a_bound`.
    """
    terms, totals = [], problem.region_totals if problem.totals is not None else None
    for level, tables in enumerate(zip(estimate.tables, problem.tables, strict=True)):
        first = problem.hierarchy.level(level).start
        for rows in row_blocks(slice(0, len(tables[0])), tables[0].shape[1]):
            regions, (x, y) = slice(first + rows.start, first + rows.stop), (table[rows] for table in tables)
            w, upper = problem.w[regions, None].astype(float), None
            if totals is not None:  # the last cell is G whatever is done
                upper = totals[regions]
                terms.append(float(w[:, 0] @ (upper - y[:, -1]).astype(float) ** 2) * (1 - 1e-14))
                x, y = x[:, :-1], y[:, :-1]
            if x.shape[1]:
                values = w * _lagrangians(x, y, problem.nonnegative, upper)
                terms.append(sum_below(values, np.abs(values)))
    total = math.fsum(terms)
    return total - sum(map(abs, terms)) * 1e-15


def _lagrangians(x: np.ndarray, y: np.ndarray, nonnegative: bool, upper: np.ndarray | None) -> np.ndarray:
    """Compute the parts of the Lagrangian of every region, for the multipliers that follow from x."""
    from pgsr.certificates.chain_kernel import chain_multipliers

    near = CONDITION + RELATIVE * np.abs(x).max(axis=1, keepdims=True)  # as close as a solver gets to equal numbers
    slopes = 2.0 * (x - y)
    # mu falls by the gradients of the cells at the lower bound and has to stay non-negative.
    start = np.cumsum(np.where(x <= near, slopes, 0.0), axis=1).max(axis=1, initial=0.0) * nonnegative
    end_is_free = np.full(len(x), True) if upper is None else x[:, -1] < upper - near[:, 0]
    mu = chain_multipliers(slopes, np.column_stack([np.diff(x) > near, end_is_free]), start)
    c = np.diff(mu, axis=1, prepend=start[:, None])
    end = np.zeros(len(y)) if upper is None else y[:, -1] - upper
    return np.column_stack([-c * c / 4, mu * np.column_stack([-np.diff(y), end]), -start * y[:, 0]])


def sum_below(values: np.ndarray, magnitudes: np.ndarray) -> float:
    """Compute a lower bound of the exact sum of values that had a few roundings of their magnitudes each."""
    slack = (math.log2(max(values.size, 2)) + 20) * 2.0**-53
    return float(values.sum()) - slack * float(magnitudes.sum())


def _blocks(problem: Problem, estimate: Estimate) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield x, y, weights and numbers of groups of some regions of a level at a time."""
    for level, (x, y) in enumerate(zip(estimate.tables, problem.tables, strict=True)):
        here = problem.hierarchy.level(level)
        for block in row_blocks(slice(0, len(y)), y.shape[1]):
            yield x[block], y[block], problem.w[here][block], problem.region_totals[here][block]


def _chains(
    problem: Problem, estimate: Estimate
) -> Iterator[tuple[int, np.ndarray, np.ndarray, int | None, int | None]]:
    """Yield for every region its index, the unknown cells of x and of y, and their bounds."""
    lower = 0 if problem.nonnegative else None
    levels = zip(estimate.tables, problem.tables, strict=True)
    rows = chain.from_iterable(zip(*tables, strict=True) for tables in levels)
    for region, (x, y) in enumerate(rows):
        if problem.totals is None:
            yield region, x, y, lower, None
        else:
            yield region, x[:-1], y[:-1], lower, int(problem.region_totals[region])
