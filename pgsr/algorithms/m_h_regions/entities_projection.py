"""The continuous optimum of M_H with the public total and the number of entities of every region."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pgsr.algorithms.m_h_regions.entities_dual import EntityDual
from pgsr.algorithms.m_h_regions.projection import solved_by_dual
from pgsr.data.views import View
from pgsr.methods.gate import Deadline, GatedMethod
from pgsr.methods.method import Result
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_LARGEST_SUM = 2**61


@dataclass(frozen=True)
class EntityTotalsProjection(GatedMethod):
    """Projects noisy counts onto consistent non-negative ones with every region's number of groups and of entities.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0,
                    sum_s x[l, s] = G[l],   sum_s s x[l, s] = E[l]   at every leaf l.

    What holds at the leaves holds above them. Every inner region pays its children a price p[r, s] per group, the dual
    of its consistency condition, and every leaf is paid mu[l] + s nu[l] besides, the duals of its two conditions: it
    takes max(0, y + (p + mu + s nu) / 2w). The dual is maximised in p by Newton's method, mu and nu of every leaf
    following exactly, see `entities_dual`. So the answer is feasible up to rounding.

    What is exact: the relaxation, at any scale. In integers the conditions are no network, so nothing like
    `TreeProjection` is known. Branch and bound (`pgsr.models.MathOpt("GSCIP")`, `Gurobi`) is exact on tiny problems,
    of tens of unknowns; at 671 it had no integer point after 15 seconds. Here an integer problem gets its relaxation
    rounded to the nearest integers: RELAXED, because totals, entities and sums are then off by the roundings, and the
    certificate counts where.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per step of Newton and of conjugate
    gradients, about 20 and 60 of them in all. Memory: about 56 bytes per unknown.

    Status: OPTIMAL if the Lagrangian bound of its own multipliers leaves a relative gap of at most 1e-9.

    Example:
        >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View
        >>> from pgsr.noise.entities import entity_totals
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.COUNTS, epsilon=1, totals="regions").measure(truth, Seeded("demo"))
        >>> problem = Problem.m_h(noisy, totals="regions", entities=entity_totals(truth))
        >>> result = EntityTotalsProjection().solve(problem.relaxed())
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>
        >>> (result.estimate.values @ [0, 1, 2, 3]).round(9)
        array([11.,  5.,  6.])

    Extends: M_H of Fioretto and Van Hentenryck 2019, section 5, by the numbers of groups and of entities of every
    region, side by side as in the statistics of Kuo et al. 2018, section 6. Shown equal to an interior-point solver by
    `tests/test_m_h_regions_entities.py::test_relaxation_equals_clarabel`.
    """

    rounds_relaxation: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        if problem.entities is None:
            return f"EntityTotalsProjection needs numbers of entities, which {problem.label} does not state"
        if problem.norm != 2:
            return f"EntityTotalsProjection minimises squares, {problem.label} absolute values"
        if not problem.nonnegative:
            return f"EntityTotalsProjection needs non-negativity, which {problem.label} does not state"
        assert problem.view is View.COUNTS, "entities are a condition of consistent counts"
        if problem.totals is not Totals.REGIONS or len(problem.entities) != problem.hierarchy.n_regions:
            return (
                "EntityTotalsProjection needs every region's total and number of entities; with the root's alone use "
                "a solver of quadratic programs such as pgsr.models.Cvxpy('CLARABEL')"
            )
        return None

    def exceeds(self, problem: Problem) -> str | None:
        reason = super().exceeds(problem)
        if reason is None and int(np.abs(problem.target).max()) * problem.target.shape[1] ** 2 > _LARGEST_SUM:
            reason = "counts times sizes exceed 2^61, so numbers of entities would not be exact; use fewer sizes"
        return reason

    def bytes_needed(self, problem: Problem) -> int:
        return 56 * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        return solved_by_dual(problem, EntityDual.of, deadline)
