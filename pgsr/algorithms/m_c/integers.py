"""The integer M_c with a proven gap, by prices over integers and by leaves that settle; without a solver."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pgsr.algorithms.m_c import cycles
from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import SquaresDual, cumulative_counts_exceed, refused_bounds_above
from pgsr.algorithms.m_c.integers_dual import RoundedDual
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal
from pgsr.algorithms.m_c.quasi_newton import QuasiNewton
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, GatedMethod, Taken
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem

_GAP = 1e-5
_RELAXED_GAP = 1e-3

_STAGES = ((0.4, 15), (0.15, 20), (0.05, 30), (0.01, 80), (0.004, 80), (0.002, 100), (0.001, 150))
"""Softness, and the number of steps."""

_JUDGED = 0.01
"""From which softness on integers are made and bounds computed."""

_RESTARTS, _FEW = 32, 2_000
"""How often integers are made anew where a gap is left, and the most cells of leaves for which that is tried."""

_NEARBY = 0.05
"""The standard deviation of changes of the bound's prices, at each of which integers are made anew."""

_ROUNDING = 2.0**-40
"""How small a gradient is nothing but rounding, relative to the largest count."""


@dataclass(frozen=True)
class CumulativeIntegers(GatedMethod):
    """Finds consistent monotone integers next to noisy cumulative counts: the integer M_c, with a proven gap.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   x integer,
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    **The dual over integers.** Prices p of consistency leave every region on its own, as in `CumulativeProjection`, and
    in integers a region takes the nearest integers to what it takes in fractions: an isotonic regression is rounded
    block by block, because rounding keeps it monotone. That gives a bound for any prices, which lies far above the
    relaxed one. Its maximum over p is the optimum of M_c in which every square is replaced by straight lines between
    integers, by the duality of linear programs; below a root alone that program has integer optima (its matrix is a
    network's), and with more levels nearly so.

    **Smoothing.** That dual has a kink wherever somebody rounds. With a share t of the square and 1 - t of the lines as
    the costs, what is taken is rounded softly, floor(v) + clip((frac(v) - 1/2) / t + 1/2, 0, 1) for v in fractions; so
    t = 1 is the relaxed dual, and t = 0 that over integers. From the relaxed optimum the dual is ascended at t = 0.4,
    0.15, 0.05 and so on by `QuasiNewton` in the metric of the relaxed dual. Newton's method itself, which is best for
    t = 1, is of no use here: what is flat and what is steep changes at every step.

    **Integers.** At the prices so found `RoundedDual.integers` lets leaves settle one after the other, exactly and in
    integers, first near what their parents would take at these prices, then at the true costs of all.

    **Families.** The leaves below one node are a flow, which negative cycles close exactly while all other leaves stay
    (`pgsr.algorithms.m_c.cycles`); families take turns. That is done up to 100,000 cells, whatever gap was asked for,
    and beyond where it was not reached. Where leaves lie right below the root, or levels between were not measured,
    there is one family: the optimum, and prices whose bound is its objective. Elsewhere families may stop above their
    bound; up to 2,000 cells of leaves they start anew, up to 32 times, from integers at prices nearby.

    Bounds of single cells that `Problem.where` states of the lowest regions are kept throughout, as in
    `CumulativeProjection`; leaves then exchange no runs of cells at the end, so the gap may be a little wider.

    Args:
        gap: relative gap (objective - bound) / max(1, bound) at which to stop.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per step, 100 to 350 steps. Memory: about 60
    bytes per cell of a leaf, and 600 per cell of an inner region.

    Status: OPTIMAL where the bound leaves no room for a smaller integer, as it does wherever cycles close what is left;
    else FEASIBLE, and the reason says the proven gap: at 3,195 regions x 1,001 sizes below 1e-5 at epsilon 1 and 1.5e-7
    at 0.1. When time is up (checked between steps) the best integers so far are the answer, always feasible.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> result = CumulativeIntegers().solve(Problem.m_c(noisy))
        >>> result.certificate.feasible, int(result.estimate.values[0, -1])
        (True, 6)

    Source: the problem, Fioretto and Van Hentenryck 2019, section 8; the method is new here. Shown by
    `tests/test_m_c_integers.py`.
    """

    conditions_taken: ClassVar[Taken] = Taken.BOUNDS

    gap: float = _GAP

    def __post_init__(self) -> None:
        if isinstance(self.gap, bool) or not isinstance(self.gap, int | float) or not 0 < self.gap < math.inf:
            raise MethodError(f"gap={self.gap!r} is not a positive number; give a relative gap such as 1e-5")

    def supports(self, problem: Problem) -> str | None:
        if not problem.integer:
            return "CumulativeIntegers finds integers; solve a relaxation with CumulativeProjection()"
        if problem.view is not View.CUMULATIVE:
            return f"CumulativeIntegers works on cumulative counts; {problem.label} is about {problem.view.value}"
        if problem.norm != 2:
            return f"CumulativeIntegers minimises squares, {problem.label} absolute values"
        if not problem.monotone or not problem.consistent or not problem.nonnegative:
            return f"CumulativeIntegers needs consistency, order and signs, which {problem.label} does not all state"
        return refused_bounds_above(problem)

    def exceeds(self, problem: Problem) -> str | None:
        return cumulative_counts_exceed(problem)

    def bytes_needed(self, problem: Problem) -> int:
        n_leaf_cells = problem.tables[-1].size
        return 600 * (problem.n_unknowns - n_leaf_cells) + 60 * n_leaf_cells

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        dual = SquaresDual(problem.relaxed())
        prices = maximise(dual, _RELAXED_GAP, deadline).point.prices
        rounded, ascent = RoundedDual(dual), QuasiNewton(TreeDiagonal(dual).solved)
        best = _Best(problem, rounded.multipliers(prices))
        rounding = _ROUNDING * max(1.0, float(np.abs(problem.target).max()))

        def late() -> bool:
            return deadline.passed

        for softness, steps in _STAGES:
            prices = ascent.ascend(partial(rounded.gradient, softness=softness), prices, steps, late, rounding)
            if softness <= _JUDGED or deadline.passed:
                best.offer(rounded.integers(prices, softness), rounded.multipliers(prices))
                if best.gap <= self.gap or deadline.passed:
                    break
        n_leaf_cells = problem.tables[-1].size
        if not best.proved and (n_leaf_cells <= cycles.LARGEST or best.gap > self.gap):
            assert best.estimate is not None
            best.close(rounded, best.estimate.values, deadline)
            nearby = np.random.default_rng(0)
            for _ in range(_RESTARTS if n_leaf_cells <= _FEW else 0):
                if best.proved or deadline.passed:
                    break
                best.close(rounded, rounded.integers(nearby.normal(prices, _NEARBY), _STAGES[-1][0]), deadline)
        return best.judged(deadline)

    def __repr__(self) -> str:
        return "CumulativeIntegers()" if self.gap == _GAP else f"CumulativeIntegers(gap={self.gap:g})"


class _Best:
    """The best integers and the best prices so far."""

    def __init__(self, problem: Problem, prices: Multipliers) -> None:
        self.problem = problem
        self.estimate: Estimate | None = None
        self.objective = math.inf
        self.prices, self.bound = prices, lagrangian_bound(problem, prices)

    def offer(self, x: np.ndarray, prices: Multipliers) -> None:
        estimate = Estimate(self.problem.hierarchy, View.CUMULATIVE, x)
        value = objective(self.problem, estimate)
        if value < self.objective:
            self.objective, self.estimate = value, estimate
        bound = lagrangian_bound(self.problem, prices)
        if bound > self.bound:
            self.bound, self.prices = bound, prices

    def close(self, rounded: RoundedDual, start: np.ndarray, deadline: Deadline) -> None:
        """Offer what leaves below every node are at best, from integers of all regions: the optimum if one node is."""
        self.offer(*rounded.closed(start, self.prices, deadline))

    @property
    def proved(self) -> bool:
        """Whether no integer is between bound and objective."""
        return self.objective <= math.ceil(self.bound)

    @property
    def gap(self) -> float:
        return (self.objective - self.bound) / max(1.0, self.bound)

    def judged(self, deadline: Deadline) -> Result:
        assert self.estimate is not None
        seconds = Seconds(solve=deadline.spent)
        certificate = certify(self.problem, self.estimate, self.prices)
        assert certificate.feasible, certificate
        if certificate.optimal:
            return Result(Status.OPTIMAL, "", self.estimate, certificate, seconds, multipliers=self.prices)
        reason = f"within a relative gap of {certificate.gap:.1e} of the optimum, proved"
        return Result(Status.FEASIBLE, reason, self.estimate, certificate, seconds, multipliers=self.prices)
