"""The relaxed optimum of M_c with a proof, by Newton's method on the prices of consistency."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import SquaresDual, cumulative_counts_exceed, refused_bounds_above
from pgsr.certificates import certify
from pgsr.data.estimate import Estimate
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.machine import memory
from pgsr.methods.gate import Deadline, GatedMethod, Stopped, Taken, refused_squares
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP


@dataclass(frozen=True)
class CumulativeProjection(GatedMethod):
    """Projects noisy cumulative counts onto consistent monotone ones: the relaxed M_c, globally, without a solver.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    Newton's method on the dual of consistency, in which every leaf is an isotonic regression; directions come from
    conjugate gradients on two levels (docs/derivations/m_c.md). Children of a region of weight 0 become its parent's.
    Bounds of single cells that `Problem.where` states of the lowest regions are kept; those of regions above are
    refused unless they follow from the ones below.

    Args:
        gap: relative gap (objective - bound) / max(1, bound) at which an answer counts as optimal.

    Returns for an integer problem the relaxed optimum with every cumulative count rounded to the nearest integer, as
    the paper does for M_c^r; regions may then not add up.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per Newton step, 10 to 20 of them. Memory:
    about 24 bytes per cell of a leaf and 150 per cell of an inner region.

    Status: OPTIMAL, with a Lagrangian bound from the prices; FEASIBLE where rounding, or weights that differ by orders
    of magnitude, keep the gap above `gap`; RELAXED for an integer problem; TIMED_OUT, which says the gap reached.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> result = CumulativeProjection().solve(Problem.m_c(noisy).relaxed())
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>
        >>> print(f"{result.estimate.values[0, -1]:.6f}")
        6.000000

    Source: the problem, Fioretto and Van Hentenryck 2019, section 8. Shown equal to an interior-point solver by
    `test_house_agreement.py::test_methods_agree`.
    """

    conditions_taken: ClassVar[Taken] = Taken.BOUNDS
    rounds_relaxation: ClassVar[bool] = True

    gap: float = PROVED_GAP

    def __post_init__(self) -> None:
        if isinstance(self.gap, bool) or not isinstance(self.gap, int | float) or not 0 < self.gap < math.inf:
            raise MethodError(f"gap={self.gap!r} is not a positive number; give a relative gap such as 1e-9")

    def supports(self, problem: Problem) -> str | None:
        return refused_squares(problem, "CumulativeProjection", View.CUMULATIVE) or refused_bounds_above(problem)

    def exceeds(self, problem: Problem) -> str | None:
        return cumulative_counts_exceed(problem)

    def bytes_needed(self, problem: Problem) -> int:
        n_inner = problem.hierarchy.n_inner * problem.target.shape[1]
        per_leaf = 24 if problem.conditions is None else 40
        return 140 * n_inner + per_leaf * (problem.n_unknowns - n_inner)

    def no_start(self, problem: Problem) -> None:
        """Give no reason: this method starts from the prices of another solve."""
        del problem

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        return self._ascended(problem, SquaresDual(problem), None, deadline)

    def answer_from(self, problem: Problem, deadline: Deadline, start: Result) -> Result:
        dual = SquaresDual(problem)
        prices = None if start.multipliers is None else dual.prices_of(start.multipliers)
        if prices is None:
            raise Stopped(
                Status.UNSUPPORTED,
                f"{self!r} starts from prices of consistency, and {start!r} has none for {problem!r}; give a result of "
                f"{self!r} for another draw, or leave warm_start= out",
            )
        return self._ascended(problem, dual, prices, deadline)

    def _ascended(self, problem: Problem, dual: SquaresDual, start: np.ndarray | None, deadline: Deadline) -> Result:
        """Find the relaxed answer, judge it by its prices, and round it for an integer problem."""
        answer = maximise(dual, self.gap / 2, deadline, start)
        prices, values, solved = dual.multipliers(answer.point), answer.x, deadline.spent
        estimate = Estimate(problem.hierarchy, View.CUMULATIVE, values)
        certificate = certify(problem.relaxed(), estimate, prices)
        seconds = Seconds(solve=solved)
        reached = f"relative gap {certificate.gap:.1e}" if certificate.gap is not None else repr(certificate)
        if certificate.gap is None:
            return Result(Status.FAILED, f"the answer misses our tolerances: {reached}", None, certificate, seconds)
        if certificate.gap > self.gap and answer.timed_out:
            late = f"{deadline.limit:g} s and {answer.steps} steps"
            reason = f"{reached} after {late}, {self.gap:g} was asked for"
            return Result(Status.TIMED_OUT, reason, None, certificate, seconds)
        if not problem.integer:
            if certificate.gap <= self.gap:
                return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=prices)
            return Result(Status.FEASIBLE, f"the ascent stopped at a {reached}", estimate, certificate, seconds)
        certified = deadline.spent
        rounded = Estimate(problem.hierarchy, View.CUMULATIVE, nearest(values))
        seconds = Seconds(solve=solved, round=deadline.spent - certified)
        reason = f"relaxation solved to a {reached}, then every cumulative count rounded to the nearest integer"
        certificate = certify(problem, rounded, prices)
        return Result(Status.RELAXED, reason, rounded, certificate, seconds, multipliers=prices)

    def in_place(self, problem: Problem, room: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Solve the relaxation in `room`, the memory of the problem's own values, which are gone afterwards.

        The same x as `solve` finds, real, shape (regions, K + 1), without its certificate. Beyond the values there are
        only 20 bytes per block of a leaf, a family of leaves, and 150 bytes per cell of an inner region.

        Raises:
            Stopped: as the status of `solve` would be.
            MemoryNeededError: it does not fit.
        """
        for status, reason in (
            (Status.UNSUPPORTED, self.supports(problem)),
            (Status.INFEASIBLE, problem.contradiction),
            (Status.TOO_LARGE, self.exceeds(problem)),
        ):
            if reason is not None:
                raise Stopped(status, reason)
        tree, n_sizes = problem.hierarchy, problem.target.shape[1]
        memory.require(self.bytes_needed(problem) - 24 * (tree.n_regions - tree.n_inner) * n_sizes, repr(problem))
        found = maximise(SquaresDual(problem), self.gap / 2, deadline, room=room)
        if found.timed_out and found.gap > self.gap:
            reached = f"relative gap {found.gap:.1e} after {deadline.limit:g} s and {found.steps} steps"
            raise Stopped(Status.TIMED_OUT, f"{reached}, {self.gap:g} was asked for")
        return found.x

    def __repr__(self) -> str:
        return f"CumulativeProjection({'' if self.gap == PROVED_GAP else f'gap={self.gap:g}'})"
