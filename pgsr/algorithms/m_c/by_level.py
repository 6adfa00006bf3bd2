"""The relaxed M_c where levels have sizes of their own."""

import numpy as np

from pgsr.algorithms.m_c_levels.dual import LevelDual, ascend
from pgsr.algorithms.m_c_levels.problem import CumulativeLevelProblem
from pgsr.algorithms.m_c_levels.projection import consistent_tables
from pgsr.certificates import Multipliers
from pgsr.methods.gate import Deadline
from pgsr.problems.problem import Problem

_MISSING = 1e-8
"""Groups, relative to the largest distance in the objective, by which sums may be off at the end."""


def relaxed_by_level(problem: Problem, deadline: Deadline) -> tuple[Multipliers, tuple[np.ndarray, ...]]:
    """Find the relaxed optimum of M_c with every region's total, and the prices of its sums.

    See `pgsr.algorithms.m_c_levels`: last cells are the public totals and no unknowns, so they have a price of 0.

    Raises:
        Stopped: the deadline passed between two steps of Newton's method.
    """
    tree = problem.hierarchy
    totals = tuple(problem.region_totals[tree.level(level)] for level in range(tree.n_levels))
    targets = tuple(table[:, :-1].astype(float) for table in problem.tables)
    weights = tuple(_rows(problem.w[tree.level(level)], y) for level, y in enumerate(targets))
    stated = CumulativeLevelProblem(tree, targets, totals, weights)
    dual = LevelDual(stated)
    point, _ = ascend(dual, _MISSING, deadline)
    prices = tuple(np.append(table, np.zeros((len(table), 1)), axis=1) for table in point.prices)
    tables = consistent_tables(stated, dual)
    last = (groups[:, None].astype(float) for groups in totals)
    return Multipliers(prices, np.zeros(tree.n_regions)), tuple(
        np.append(table, groups, axis=1) for table, groups in zip(tables, last, strict=True)
    )


def _rows(w: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Give weights of regions the shape that `CumulativeLevelProblem` takes: one row where all are alike."""
    one = w[:1] if (w == w[0]).all() else w
    return np.broadcast_to(one[:, None].astype(float), (len(one), y.shape[1]))
