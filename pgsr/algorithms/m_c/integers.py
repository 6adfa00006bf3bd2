"""The integer M_c with a proven gap, by prices over integers leaves that settle, and moves of single groups."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from pgsr.algorithms.m_c.ascent import maximise
from pgsr.algorithms.m_c.dual import SquaresDual, cumulative_counts_exceed, refused_bounds_above
from pgsr.algorithms.m_c.integers_dual import RoundedDual
from pgsr.algorithms.m_c.moves import GroupMoves
from pgsr.algorithms.m_c.preconditioner import TreeDiagonal
from pgsr.algorithms.m_c.quasi_newton import QuasiNewton
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import objective
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline, GatedMethod, Taken, refused_squares
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem

_LARGE, _GAP = 1_000_000, 1e-5
"""Beyond how many unknowns this relative gap is enough, where none was asked for."""

_RELAXED_GAP = 1e-3

_STAGES = ((0.4, 15), (0.15, 20), (0.05, 30), (0.01, 40), (0.004, 80), (0.002, 100), (0.001, 150))
"""Softness, and the number of steps; the last three for gaps alone that need no proof."""

_JUDGED = 0.01
"""From which softness on integers are made and bounds computed."""

_WITHIN, _PROGRAMS = 1.0, 5
"""The reduced cost up to which a move is in a linear program, and how many of these are solved at most."""

_MISSING = 1e-9
"""By how much, relatively, the program's value may be above its bound but for rounding; more shows missing moves."""

_TIED, _NODES, _SEARCHED = 1e-6, 1_000, 1e-4
"""The reduced cost up to which moves are in the first branch and bound, the number of its nodes, and its least gap."""

_ROUNDING = 2.0**-40
"""How small a gradient is nothing but rounding, relative to the largest count."""


@dataclass(frozen=True)
class CumulativeIntegers(GatedMethod):
    """Finds consistent monotone integers next to noisy cumulative counts: the integer M_c, with a proven gap.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s],   0 <= x[r, 0] <= ... <= x[r, K],   x integer,
                    x[root, K] = G, or x[r, K] = G[r] in every region.

    Prices p of consistency leave every region on its own, and in integers a region takes the nearest integers to what
    it takes in fractions: a dual with a kink wherever somebody rounds (docs/derivations/m_c.md). From the prices of
    `CumulativeProjection` on it is ascended by `QuasiNewton`, rounding ever less softly (`RoundedDual`). Newton's
    method is of no use here, as what is flat and what is steep changes at every step. Then leaves settle one after the
    other, and a small linear program moves single groups (`pgsr.algorithms.m_c.moves`). Its optimum is nearly always
    whole, and its prices those of the largest bound; else branch and bound looks for better integers. Bounds of single
    cells that `Problem.where` states of the lowest regions are kept throughout.

    Args:
        gap: relative gap (objective - bound) / max(1, bound) at which to stop; None for a proof up to a million
            unknowns and 1e-5 beyond.

    Shapes: any depth, any number of sizes. Complexity: O(regions x sizes) per step, 105 to 435 steps, and a linear
    program of a column per three to thirty unknowns. Memory: about 60 bytes per cell of a leaf, and 600 per cell of an
    inner region.

    Status: OPTIMAL where `lagrangian_bound` leaves no room for a smaller integer; else FEASIBLE, and the reason says
    the proven gap. Nothing that SciPy says is part of the proof. When time is up the best integers so far are the
    answer, always feasible.

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
    `test_m_c_integers.py`.
    """

    conditions_taken: ClassVar[Taken] = Taken.BOUNDS

    gap: float | None = None

    def __post_init__(self) -> None:
        if self.gap is None:
            return
        if isinstance(self.gap, bool) or not isinstance(self.gap, int | float) or not 0 < self.gap < math.inf:
            raise MethodError(f"gap={self.gap!r} is not a positive number; give a relative gap such as 1e-5")

    def supports(self, problem: Problem) -> str | None:
        if not problem.integer:
            return "CumulativeIntegers finds integers; solve a relaxation with CumulativeProjection()"
        return refused_squares(problem, "CumulativeIntegers", View.CUMULATIVE) or refused_bounds_above(problem)

    def exceeds(self, problem: Problem) -> str | None:
        return cumulative_counts_exceed(problem)

    def bytes_needed(self, problem: Problem) -> int:
        n_leaf_cells = problem.tables[-1].size
        return 600 * (problem.n_unknowns - n_leaf_cells) + 60 * n_leaf_cells

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        dual = SquaresDual(problem.relaxed())
        prices = maximise(dual, _RELAXED_GAP, deadline).point.prices
        rounded, ascent = RoundedDual(dual), QuasiNewton(TreeDiagonal(dual, lumped=False).solved)
        best = _Best(problem, rounded.multipliers(prices))
        gap = self.gap if self.gap is not None else (0.0 if problem.n_unknowns <= _LARGE else _GAP)
        rounding = _ROUNDING * max(1.0, float(np.abs(problem.target).max()))

        def late() -> bool:
            return deadline.passed

        climbed = prices
        for softness, steps in _STAGES:
            climbed = ascent.ascend(partial(rounded.gradient, softness=softness), climbed, steps, late, rounding)
            if softness <= _JUDGED or deadline.passed:
                if best.price(rounded.multipliers(climbed)):  # else they ran away along a plateau
                    prices = climbed
                best.offer(rounded.integers(prices, softness))
                if best.gap <= gap or gap < _GAP or deadline.passed:
                    break
        best.close(rounded, prices, gap, deadline)
        return best.judged(deadline)

    def __repr__(self) -> str:
        return "CumulativeIntegers()" if self.gap is None else f"CumulativeIntegers(gap={self.gap:g})"


class _Best:
    """The best integers and the best prices so far."""

    def __init__(self, problem: Problem, prices: Multipliers) -> None:
        self.problem = problem
        self.estimate: Estimate | None = None
        self.objective = math.inf
        self.prices, self.bound = prices, lagrangian_bound(problem, prices)

    def price(self, prices: Multipliers) -> bool:
        """Say whether these prices prove a larger bound, and keep it."""
        bound = lagrangian_bound(self.problem, prices)
        rises = bound > self.bound
        if rises:
            self.bound, self.prices = bound, prices
        return rises

    def offer(self, x: np.ndarray) -> None:
        estimate = Estimate(self.problem.hierarchy, View.CUMULATIVE, x)
        value = objective(self.problem, estimate)
        if value < self.objective:
            self.objective, self.estimate = value, estimate

    def close(self, rounded: RoundedDual, prices: np.ndarray, gap: float, deadline: Deadline) -> None:
        """Close what is left between bound and integers by moves of single groups, around the best integers so far."""

        def done() -> bool:
            return self.proved or self.gap <= gap or deadline.passed

        def search(within: float, change: float) -> None:
            enough = max(_SEARCHED, 0.5 * gap * max(1.0, self.bound) / max(1.0, abs(change)))
            leaves = self._moves(rounded, prices, within).integers(deadline, _NODES, enough)
            if leaves is not None:
                self.offer(rounded.settled(leaves))

        for _ in range(_PROGRAMS):
            program = None if done() else self._moves(rounded, prices, _WITHIN)
            found = program and program.relaxed(deadline)
            if program is None or found is None:
                return
            prices, value = found.prices, self.objective + found.value
            self.price(rounded.multipliers(prices))
            self.offer(rounded.settled(program.rounded(found.taken, deadline)))
            if value <= self.bound + _MISSING * max(1.0, self.bound):
                break
        for within in (_TIED, _WITHIN):
            if not done():
                search(within, self.objective - self.bound)

    def _moves(self, rounded: RoundedDual, prices: np.ndarray, within: float) -> GroupMoves:
        assert self.estimate is not None
        leaves = np.array(self.estimate.values[self.problem.hierarchy.leaves])  # which may be written to
        return GroupMoves(rounded.dual, (leaves, rounded.sums_off(leaves)), prices, within, None)

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
