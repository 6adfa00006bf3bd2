"""The continuous optimum of M_H with fixed totals of regions."""

from dataclasses import dataclass, replace
from typing import ClassVar

from pgsr.algorithms.m_h_regions.network import RegionFlow
from pgsr.certificates import certify
from pgsr.certificates.fixed_totals import totals_exceeding_arithmetic
from pgsr.certificates.rounded_reals import is_proved, missed
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.methods.gate import Deadline, GatedMethod, Taken, refused_squares, require_possible_totals
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

_ROUGHLY, _LOOSEST, _TIGHTEST = 0.1, 1e-6, 1e-12
"""Groups by which sums may be off while cells join the network, and in the end. Where weights differ by orders of
magnitude a small error of prices is a large one of the answer."""


@dataclass(frozen=True)
class RegionTotalsProjection(GatedMethod):
    """Projects noisy counts onto consistent non-negative ones in which regions, all or some, have their fixed totals.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   x >= 0,   sum_s x[r, s] = G[r] at regions r of a choice.

    The choice is every region where all totals are public, or the regions of conditions such as
    `problem.where(total(level=1) == numbers)`, with the root where its total is public. It is a flow of quadratic cost:
    fixed totals are those of disjoint sets of leaves (`pgsr.certificates.fixed_totals`), whose groups are paid mu[k]
    beside the price p of the region above, and Newton's method finds both. An integer problem gets its relaxation
    rounded, as the paper's M_H^r: RELAXED. `Flow(around=RegionTotalsProjection())` has the integer optimum.

    Shapes: any depth, any number of sizes. Complexity: some ten steps of Newton's method, of some ten passes each over
    the cells that are positive. Memory: up to 150 bytes per unknown, 25 where most cells are 0.

    Status: OPTIMAL if the Lagrangian bound of its own multipliers leaves a relative gap of at most 1e-9; else FAILED.
    Counts from about 1e9 up, rounded to 64 bits, can leave more; the reason says so.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.COUNTS, epsilon=1, totals="regions").measure(truth, Seeded("demo"))
        >>> result = RegionTotalsProjection().solve(Problem.m_h(noisy, totals="regions").relaxed())
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>
        >>> result.estimate.values.sum(axis=1).round(9)
        array([6., 3., 3.])

    Extends: M_H of Fioretto and Van Hentenryck 2019, section 5, by the totals of regions that Kuo et al. 2018
    publish. Shown equal to interior-point solvers by `test_house_agreement.py::test_methods_agree`, and proved
    with the totals of some regions by `test_m_h_regions_projection.py::test_some_totals_are_proved`.
    """

    conditions_taken: ClassVar[Taken] = Taken.TOTALS
    rounds_relaxation: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        reason = refused_squares(problem, "RegionTotalsProjection", View.COUNTS)
        if reason is None and problem.totals is not Totals.REGIONS and problem.conditions is None:
            return (
                "RegionTotalsProjection needs every region's public total, or some that were stated as "
                "total(region) == number; TreeProjection() does with the root's"
            )
        return reason

    def bytes_needed(self, problem: Problem) -> int:
        return 150 * problem.n_unknowns

    def exceeds(self, problem: Problem) -> str | None:
        return super().exceeds(problem) or totals_exceeding_arithmetic(problem)

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        require_possible_totals(problem)
        begun, relaxed = deadline.spent, problem.relaxed()
        flow, tolerance = RegionFlow.of(relaxed), _LOOSEST
        flow.solve(_ROUGHLY, deadline)
        while True:
            flow.solve(tolerance, deadline)
            seconds = Seconds(solve=deadline.spent - begun)
            estimate, multipliers = flow.estimate(), flow.multipliers()
            certificate = certify(relaxed, estimate, multipliers)
            if is_proved(relaxed, estimate, certificate):
                break
            tolerance *= 1e-3
            if tolerance < 0.5 * _TIGHTEST:
                reason = missed(relaxed, estimate, certificate, "Flow()")
                return Result(Status.FAILED, reason, None, certificate, seconds)
        if not problem.integer:
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=multipliers)
        certified = deadline.spent
        rounded = replace(estimate, values=nearest(estimate.values))
        seconds = replace(seconds, round=deadline.spent - certified)
        certificate = certify(problem, rounded, multipliers)
        reason = "relaxation solved, then every cell rounded to the nearest integer"
        reason += "" if certificate.optimal else "; the bound is the relaxation's"
        return Result(Status.RELAXED, reason, rounded, certificate, seconds, multipliers=multipliers)
