"""M_H where prices of single sizes do not suffice: sizes of levels differ, or every region's total is public."""

import numpy as np

from pgsr.algorithms.m_h_flow.part import UNKNOWN, FlowPart
from pgsr.algorithms.m_h_flow.solution import solve
from pgsr.certificates import Multipliers
from pgsr.certificates.multipliers import of_levels
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import TooLargeError
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

LARGEST_WEIGHT = 2**31 - 1
"""The largest weight of an arc."""


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
        return (
            f"TreeProjection knows no conditions by where, such as {problem.conditions.first}, as long as "
            f"{_why(problem)}; take a solver model from pgsr.models"
        )
    if (problem.w == 0).any():
        return f"TreeProjection needs a weight above 0 in every region where {_why(problem)}; measure every level"
    return None


def optimum_by_flow(problem: Problem, deadline: Deadline) -> tuple[Estimate, Multipliers]:
    """Find the integer optimum by a cheapest flow of quadratic cost, with the prices that prove it.

    See `pgsr.algorithms.m_h_flow`, whose network has an arc per cell and a vertex per sum.

    Raises:
        TooLargeError: weights beyond 2^31.
        Stopped: the deadline passed.
    """
    if int(problem.w.max()) > LARGEST_WEIGHT:
        raise TooLargeError("weights reach 2^31; scale the weights down")
    tree, total = problem.hierarchy, problem.root_total if problem.totals is Totals.ROOT else None
    known = np.full(tree.n_regions, UNKNOWN, np.int64)
    if problem.totals is Totals.REGIONS:
        known[tree.leaves] = problem.region_totals[tree.leaves]
    tables, flow_prices = solve(FlowPart(tree, problem.tables, problem.w, known), total, deadline)
    prices = np.zeros({None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals])
    if total is not None:
        prices[0] = flow_prices.top[0]
    elif problem.totals is Totals.REGIONS:  # what one more group in a leaf is paid
        prices[tree.leaves] = -flow_prices.leaves
    consistency = of_levels([table.astype(float) for table in flow_prices.inner], problem.sizes)
    return Estimate(tree, View.COUNTS, tables), Multipliers(consistency, prices)


def _why(problem: Problem) -> str:
    return "every region's total is public" if problem.sizes.equal else "levels have sizes of their own"
