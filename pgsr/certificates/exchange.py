"""The exchange test, which proves integer counts optimal under consistency and the root's total."""

from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.engines.nearest_tree.exchange import passes_exchange_test
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem


def has_exchange_test(problem: Problem) -> bool:
    """Say whether `is_exchange_optimal` decides optimality: M_H, with the root's total or none, and bounds of cells.

    Weights may be those of cells.
    """
    return (
        problem.view is View.COUNTS
        and problem.integer
        and problem.nonnegative
        and problem.consistent
        and not problem.monotone
        and problem.sizes.equal
        and problem.totals is not Totals.REGIONS
        and (problem.conditions is None or problem.conditions.bounds_alone)  # nor with other rows
    )


def is_exchange_optimal(problem: Problem, estimate: Estimate) -> bool:
    """Say whether a feasible integer answer to a problem with `has_exchange_test` is optimal.

    See `pgsr.engines.nearest_tree.exchange.passes_exchange_test`, which needs no problem, and decides in integers and
    one pass.
    """
    if estimate.values.dtype.kind != "i":
        return False
    has_total, stated = problem.totals is not None, problem.conditions
    shape = problem.target.shape
    bounds = (None, None) if stated is None else (stated.lower.reshape(shape), stated.upper.reshape(shape))
    assert problem.weights is not None, "problems have weights"
    values = estimate.values, problem.target
    return passes_exchange_test(problem.hierarchy, problem.weights, *values, has_total, *bounds, problem.norm)
