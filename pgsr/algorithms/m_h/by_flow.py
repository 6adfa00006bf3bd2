"""M_H where prices of single sizes do not suffice: sizes of levels differ, or every region's total is public."""

import numpy as np

from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.projection import LevelTreeProjection
from pgsr.certificates import Multipliers
from pgsr.certificates.multipliers import of_levels
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem


def needs_flow(problem: Problem) -> bool:
    """Say whether sizes are coupled by more than the root's total: folded into each other, or in every region."""
    return not problem.sizes.equal or problem.totals is Totals.REGIONS


def refused_by_flow(problem: Problem) -> str | None:
    """Give the reason why the flow does not solve such a problem, or None."""
    if not problem.integer:
        return (
            f"TreeProjection finds integers where {_why(problem)}; take RegionTotalsProjection() for every region's "
            "total in real numbers, or a solver model of quadratic programs from pgsr.models"
        )
    if problem.conditions is not None:
        return f"TreeProjection knows no conditions by where as long as {_why(problem)}; take a solver model"
    if (problem.w == 0).any():
        return f"TreeProjection needs a weight above 0 in every region where {_why(problem)}; measure every level"
    return None


def optimum_by_flow(problem: Problem, deadline: Deadline) -> tuple[Estimate, Multipliers]:
    """Find the integer optimum by a cheapest flow of quadratic cost, with the prices that prove it.

    See `pgsr.algorithms.m_h_levels`, whose network has an arc per cell and a vertex per sum.
    """
    totals = problem.region_totals if problem.totals is Totals.REGIONS else None
    tree, total = problem.hierarchy, problem.root_total if problem.totals is Totals.ROOT else None
    if totals is not None:
        totals = totals[tree.leaves]
    stated = LevelProblem(CountsByLevel(tree, problem.tables), total, totals, problem.w)
    result = LevelTreeProjection().solve(stated, deadline)
    found = result.prices
    prices = np.zeros({None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals])
    if total is not None:
        prices[0] = found.top[0]
    elif totals is not None:  # what one more group in a leaf is paid
        prices[tree.leaves] = -found.leaves
    estimate = Estimate(tree, View.COUNTS, tuple(table.astype(np.int64) for table in result.counts.tables))
    consistency = of_levels([table.astype(float) for table in found.inner], problem.sizes)
    return estimate, Multipliers(consistency, prices)


def _why(problem: Problem) -> str:
    return "every region's total is public" if problem.sizes.equal else "levels have sizes of their own"
