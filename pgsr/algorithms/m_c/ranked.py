"""M_c with costs of ranks: the relaxed optimum by proximal points, a bound over integers, and integers near it.

**Relaxed.** Columns cost squares, ranks convex piecewise linear costs of cumulative counts (`pgsr.problems.ranks`). The
joint least squares of the columns and of the fitted ranks' cumulative counts is where the first centre x' is; then the
objective plus w rho / 2 (x - x')^2 over cells with costs of ranks is minimised, whose dual is smooth (`RankedDual`) and
is ascended by Newton's method, and its minimiser is the next centre. As in `emd_projection`, rho falls from step to
step, and as the costs are piecewise linear, a step with a small one ends at an optimum with optimal prices.

**Bound over integers.** At any prices every region alone is minimised over integers (`lagrangian_bound`). Costs of
ranks are straight between integers, so that columns alone lose by rounding; the smoothed dual over integers of
`integers` is ascended for the prices, with the relaxed optimum as centre.

**Integers.** Those next to the relaxed optimum, from the root down, are feasible. Then leaves settle one after the
other at the true costs of all, exactly: every leaf takes its best integers in order while the others stay.

Source: new here; proximal points after Rockafellar 1976.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import Point, SquaresDual
from pgsr.algorithms.m_c.quasi_newton import QuasiNewton
from pgsr.algorithms.m_c.ranked_dual import RankedDual
from pgsr.algorithms.tree_rounding import integers_near
from pgsr.certificates import Multipliers, lagrangian_bound, objective
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.gate import Deadline
from pgsr.problems.problem import Problem

_FIRST_GAP = 1e-4
_RHO = (1.0, 0.1, 0.01, 0.003)
"""The strength of the first proximal steps and of all after them; that of the columns' squares is 2."""

_RIDGE = 0.03
_ROUNDS, _STEPS = 40, 60
_STEP_ERROR = 0.2
"""The error at which a proximal step ends, relative to how far it moved, both in units of the objective."""

_STAGES = ((0.4, 15), (0.15, 20), (0.05, 30), (0.01, 80), (0.004, 80), (0.002, 100), (0.001, 150))
"""Softness, and the number of steps."""

_ROUNDING = 2.0**-40
"""How small a gradient is nothing but rounding, relative to the largest count."""

_SWEEPS, _PART = 20, 64
"""How often all leaves settle at most, and how many between two looks at the clock."""

RANKED_BYTES = 120
"""The memory of a solve with ranks per unknown."""


def refused_beside_ranks(problem: Problem) -> str | None:
    """Say that stated conditions are not known beside ranks, or return None."""
    if problem.ranks is None or problem.conditions is None:
        return None
    first = problem.conditions.first
    return (
        f"this method takes no conditions beside costs of ranks, such as {first}; take a solver model such as Cvxpy, "
        "Gurobi, MathOpt or Scipy from pgsr.models, or leave them out"
    )


@dataclass(frozen=True, eq=False)
class Found:
    """The best feasible x, shape (regions, K + 1), the best prices, and what the next step starts from.

    Attributes:
        gap: relative gap between both.
        rounds: proximal steps taken.
    """

    x: np.ndarray
    multipliers: Multipliers
    gap: float
    rounds: int
    dual: RankedDual
    point: Point


def relaxed_optimum(problem: Problem, gap: float, deadline: Deadline) -> Found:
    """Solve a continuous problem with ranks to a relative gap, or as far as time and rounding allow."""
    plain = replace(problem, ranks=None, label=f"{problem.label} of fitted cumulative counts")
    first = maximise(SquaresDual(plain), _FIRST_GAP, deadline)
    dual, x, prices, bound, least = RankedDual(problem), first.x, first.point.prices, -np.inf, np.inf
    best, found, point, rounds, before, share = x, None, first.point, 0, np.inf, 0.1
    while True:
        value = float(objective(problem, Estimate(problem.hierarchy, View.CUMULATIVE, x)))
        if value < least:
            least, best = value, x
        multipliers = dual.multipliers(replace(point, prices=prices))
        here = lagrangian_bound(problem, multipliers)
        if here > bound or found is None:
            bound, found = here, multipliers
        reached = (least - bound) / max(1.0, bound)
        if reached <= gap or rounds == _ROUNDS or deadline.passed:
            return Found(best, found, reached, rounds, dual, point)
        share, before = share / 4 if reached > before / 2 else share, reached
        dual.towards(x, _RHO[min(rounds, len(_RHO) - 1)], _RIDGE)
        point = _proximal_step(dual, prices, share * gap * max(1.0, least), deadline)
        x, prices, rounds = dual.feasible(point), point.prices, rounds + 1


def _proximal_step(dual: RankedDual, prices: np.ndarray, enough: float, deadline: Deadline) -> Point:
    """Ascend until the step's error is small beside its movement, or small enough for the gap asked."""
    point = dual.at(prices)
    for _ in range(_STEPS):
        accuracy = dual.accuracy(point)
        if accuracy.error <= max(_STEP_ERROR * accuracy.moved, enough) or deadline.passed:
            break
        following = dual.better(point)
        if following is None:
            break
        point = following
    return point


def integer_candidates(problem: Problem, gap: float, deadline: Deadline) -> Iterator[tuple[np.ndarray, Multipliers]]:
    """Yield integers of all regions once, shape (regions, K + 1), each time with prices for a better bound."""
    relaxed = relaxed_optimum(problem.relaxed(), gap, deadline)
    tree, dual = problem.hierarchy, relaxed.dual
    x = integers_near(tree, relaxed.x, problem.root_total, problem.region_totals)
    x = settled(dual, x, deadline)
    yield x, relaxed.multipliers
    dual.towards(relaxed.x, _RHO[-1], _RIDGE)
    prices = dual.at(relaxed.point.prices).prices
    ascent = QuasiNewton(dual)
    rounding = _ROUNDING * max(1.0, float(np.abs(problem.target).max()))
    for softness, steps in _STAGES:
        dual.softness = softness
        prices = ascent.ascend(
            lambda prices: dual.at(prices).gradient, prices, steps, lambda: deadline.passed, rounding
        )
        yield x, dual.multipliers(replace(relaxed.point, prices=prices))


def settled(dual: RankedDual, x: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Let leaves settle at the true costs until none moves, forwards and backwards in turn; shape (regions, K + 1)."""
    from pgsr.algorithms.m_c.ranked_settle_kernel import settle

    tree, leaves = dual.problem.hierarchy, np.ascontiguousarray(x[dual.problem.hierarchy.leaves, :-1])
    sums = np.zeros(dual.shape, np.int64)
    np.add.at(sums, dual.leaf_node, leaves)
    for node in range(dual.shape[0] - 1, 0, -1):
        sums[dual.parent[node]] += sums[node]
    order, regions = np.arange(len(leaves)), (dual.leaf_rows, dual.inner_rows)
    for _ in range(_SWEEPS):
        saved = 0
        for part in np.array_split(order, 1 + len(order) // _PART):
            if not deadline.passed:
                saved += settle(*regions, dual.parent, dual.leaf_node, part.copy(), leaves, sums)
        if not saved:
            break
        order = order[::-1]
    return tree.sum_up(np.append(leaves, dual.problem.region_totals[tree.leaves, None], axis=1))
