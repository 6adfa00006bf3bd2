"""The prices of all rows of a program, from the multipliers of a continuous optimum of squares.

Multipliers price what ties regions together. In the cumulative view a region is a chain besides, whose rows of order,
and its fixed last cell, have prices that follow from stationarity: with c[i] the slope of the squares and of the tying
prices in the chain's cell i, mu[i] of x[i] <= x[i + 1] and nu of x[K] = G,

    c[i] + mu[i] - mu[i - 1] = 0,   c[K] - mu[K - 1] + nu = 0,   so  mu[i] = m - (c[0] + ... + c[i]),

where mu[i] = 0 at a place where x rises, which gives m. The widest such place is taken: there rounding counts least.
"""

import math

import numpy as np

from pgsr.certificates.multipliers import Multipliers
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import ordered_from, regions_with_least, regions_with_total
from pgsr.problems.tolerances import CONDITION

STATIONARY = 1e-4
"""By how much prices may miss optimality, relative to 1 + the largest slope; else the multipliers do not tell them."""


def row_prices(problem: Problem, estimate: Estimate, multipliers: Multipliers) -> np.ndarray | None:
    """Compute the prices of all rows, as `pgsr.certificates.duals.Duals` defines them, at a continuous optimum.

    Args:
        problem: continuous, of squares.
        estimate: its optimum.
        multipliers: the optimal ones.

    Returns: shape (rows,), in the order of `pgsr.problems.programs.named(problem)`; None where multipliers do not tell
        them: other distances than squares alone, order beside stated conditions, and regions whose public total of 0
        leaves no choice.

    Complexity: O(cells).
    """
    conditions, chains = problem.conditions, problem.view is View.CUMULATIVE and problem.monotone
    if problem.integer or problem.norm != 2 or problem.view is View.RANKED:
        return None
    if chains and conditions is not None:
        return None
    consistency, order, totals = _by_level(problem, multipliers), [], multipliers.totals
    if chains:
        order, totals, missed = _of_chains(problem, estimate, consistency)
        if missed > STATIONARY:
            return None
    elif problem.view is View.CUMULATIVE and problem.totals is not None:
        return None
    parts = [-prices.ravel() for prices in consistency] if problem.consistent else []
    parts.append(np.asarray(totals, float)[regions_with_total(problem)])
    n_stated, stated = 0 if conditions is None else len(conditions.names), multipliers.conditions
    return np.concatenate([*parts, *order, np.zeros(n_stated) if stated is None else np.asarray(stated, float)])


def _by_level(problem: Problem, multipliers: Multipliers) -> list[np.ndarray]:
    """Copy the prices of consistency, a table per level with children."""
    tree, found = problem.hierarchy, multipliers.consistency
    if not problem.consistent or tree.n_levels == 1:
        return []
    if isinstance(found, tuple):
        return [np.array(table, float) for table in found]
    return [np.array(found[tree.level(level)], float) for level in range(tree.n_levels - 1)]


def _of_chains(
    problem: Problem, estimate: Estimate, consistency: list[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray, float]:
    """Compute the prices of order by level, those of totals by region, and by how much they miss optimality.

    Where every region's total is public, rows state those of the lowest regions alone. The others' last cells are fixed
    by them, and prices of consistency there, which nothing else tells, are set to make them stationary.

    What is missed is the largest slope of a cell that is in no chain, or the most negative price of order, relative to
    1 + the largest slope of the squares.
    """
    tree, sizes = problem.hierarchy, problem.sizes
    order, totals = [], np.zeros(tree.n_regions)
    priced, bounded = np.zeros(tree.n_regions, bool), regions_with_least(problem)
    priced[regions_with_total(problem)] = True
    implied = problem.totals is Totals.REGIONS and problem.consistent
    weights, missed, steepest = sizes.tables(problem.cell_weights), 0.0, 1.0
    for level in range(tree.n_levels):
        here, x = tree.level(level), np.asarray(estimate.tables[level], float)
        slope = 2.0 * weights[level] * (x - problem.tables[level])
        steepest = max(steepest, 1.0 + float(np.abs(slope).max()))
        if consistency and level > 0:
            slope -= consistency[level - 1][tree.parent[here] - tree.level(level - 1).start]
        if consistency and level < tree.n_levels - 1:
            slope += consistency[level]
        first, fixed = ordered_from(problem, level), priced[here]
        inner = implied and level < tree.n_levels - 1 and not fixed.any()
        mu = _chain(x[:, first:], slope[:, first:], problem.nonnegative and bool(bounded[here.start]), fixed | inner)
        order.append(-np.maximum(mu[:, :-1], 0.0).ravel())
        totals[here] = np.where(fixed, -mu[:, -1], 0.0)
        if inner:
            consistency[level][:, -1] += mu[:, -1]
        missed = max(missed, float(np.abs(slope[:, :first]).max(initial=0.0)), float(-mu[:, :-1].min(initial=0.0)))
    return order, totals, missed / steepest


def _chain(x: np.ndarray, slope: np.ndarray, bounded: bool, fixed: np.ndarray) -> np.ndarray:
    """Compute m - (c[0] + ... + c[i]) for every cell of every region; the last column is the price of the last cell.

    Where nothing rises, as without groups, m is the least number that leaves no price negative.
    """
    sums = np.cumsum(slope, axis=1)
    start = x[:, :1] if bounded else np.full((len(x), 1), math.inf)
    end = np.where(fixed, -math.inf, math.inf)[:, None]
    rise = np.concatenate([start, np.diff(x, axis=1), end], axis=1)
    widest = rise.argmax(axis=1)[:, None]
    before = np.concatenate([np.zeros((len(x), 1)), sums], axis=1)
    m = np.take_along_axis(before, widest, axis=1)
    flat = np.take_along_axis(rise, widest, axis=1) <= CONDITION
    return np.where(flat, before[:, :-1].max(axis=1, keepdims=True), m) - sums
