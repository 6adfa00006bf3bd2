"""The method for isotonic problems, which solves and certifies them region by region."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pgsr.algorithms.isotonic.regression import (
    Optimum,
    isotonic_l1,
    isotonic_l2,
    isotonic_l2_means,
    isotonic_min_max,
    isotonic_within,
    nearest_fractions,
)
from pgsr.certificates import certify
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, counts_of_ranked
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline, GatedMethod, Taken
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import PROVED_GAP

_UNBOUNDED = 2**61

MOST_CELLS = 20_000
"""Cells of a region up to which the min-max formula is evaluated: half a second."""


@dataclass(frozen=True)
class Isotonic(GatedMethod):
    """Finds the nearest non-decreasing vector for every region alone (H_c and H_g).

        minimise    sum_i |x[i] - y[i]|^norm
        subject to  0 <= x[0] <= x[1] <= ...,  x integer unless relaxed, of any sign where the problem allows it,
                    cumulative: x[K] = G where the region's total is public;   ranked: x <= K,
                    lower[i] <= x[i] <= upper[i] where `Problem.where` states bounds of cumulative cells.

    Bounds of cells pool blocks by their clipped means (`pgsr.algorithms.isotonic`); squares of reals with such bounds
    and everything else that `where` states are refused.

    Returns cumulative counts, or for a ranked problem the counts that its sizes amount to; of L1 optima the least.

    Complexity: O(cells log cells) for norm 1, O(cells) for norm 2; regions run on all cores.

    Status: OPTIMAL with bound == objective by the subgradient chain (or a Lagrangian bound for relaxed squares).

    Source: Kuo et al. 2018, sections 4.2 and 4.3.
    """

    conditions_taken: ClassVar[Taken] = Taken.BOUNDS
    sizes_per_level: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        if not problem.monotone or problem.consistent:
            return f"Isotonic fits every region alone; {problem.label} is another kind of problem"
        if problem.view is View.COUNTS:
            return f"Isotonic fits cumulative counts or ranked sizes; {problem.label} is about the counts view"
        if problem.totals is Totals.ROOT:
            return (
                f"Isotonic takes every region's total or none, {problem.label} states the root's alone; state the "
                "problem with totals='regions' or without totals"
            )
        if problem.view is View.RANKED and not problem.integer:
            return "ranked sizes are fitted in integers; state the problem without .relaxed()"
        if problem.conditions is not None and problem.norm == 2 and not problem.integer:
            return (
                f"Isotonic proves no squares of reals with conditions such as {problem.conditions.first}; state the "
                "problem in integers, or take a solver model such as Cvxpy from pgsr.models"
            )
        return None

    def exceeds(self, problem: Problem) -> str | None:
        del problem  # every regression asks for itself
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return 8 * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        # One pass; there is nothing to stop in between.
        noisy = problem.rows
        rows = Threads()(lambda region: self._row(problem, region, noisy[region]), range(len(noisy)))
        if problem.view is View.RANKED:
            counts = np.stack([counts_of_ranked(row, problem.max_size) for row in rows])
            estimate = Estimate(problem.hierarchy, View.COUNTS, counts)
        else:
            estimate = Estimate(problem.hierarchy, problem.view, problem.sizes.shaped(np.concatenate(rows)))
        seconds = Seconds(solve=deadline.spent)
        certificate = certify(problem, estimate)
        proved = certificate.optimal or (certificate.gap is not None and certificate.gap <= PROVED_GAP)
        return Result(Status.OPTIMAL if proved else Status.FEASIBLE, "", estimate, certificate, seconds)

    def _row(self, problem: Problem, region: int, y: np.ndarray) -> np.ndarray:
        conditions = problem.conditions
        if problem.view is View.RANKED:
            return self._fit(problem, y, problem.max_size)
        if conditions is not None:
            assert isinstance(problem.norm, int), "supports refuses other norms"
            own = slice(problem.first_cell[region], problem.first_cell[region + 1])
            lower, upper = np.maximum(conditions.lower[own], _least(problem)), conditions.upper[own]
            if problem.totals is Totals.REGIONS:
                total = int(problem.region_totals[region])
                upper = np.minimum(upper, total)
                return np.append(isotonic_within(y[:-1], lower[:-1], upper[:-1], problem.norm), total)
            return isotonic_within(y, lower, upper, problem.norm)
        if problem.totals is not Totals.REGIONS:
            return self._fit(problem, y, _UNBOUNDED)
        total = int(problem.region_totals[region])
        return np.append(self._fit(problem, y[:-1], total), total)

    def _fit(self, problem: Problem, y: np.ndarray, upper: int) -> np.ndarray:
        """Fit one vector of integers of at most `upper`."""
        lower = _least(problem)
        if problem.norm == 1:
            fit = isotonic_l1(y, lower, upper, Optimum.SMALLEST)
            return fit if problem.integer else fit.astype(float)
        if problem.integer:
            return isotonic_l2(y[None], np.array([lower]), np.array([upper]))[0]
        return isotonic_l2_means(y, lower, upper)


class MinMax(Isotonic):
    """Finds the nearest non-decreasing vector for every region alone in squares, by the min-max formula.

        x[i] = max over a <= i of  min over b >= i of  mean of y[a], ..., y[b],

    then clipped, and rounded in whole problems, as `Isotonic` does. The papers name the formula beside pool adjacent
    violators, which takes time in proportion to the cells and is what `Isotonic` does.

    Complexity: O(cells^2) per region; a region of more than 20,000 cells or groups is refused.

    Status: as of `Isotonic`.

    Source: Kuo et al. 2018, section 4.2; Barlow et al. 1972. Shown by `test_isotonic.py::test_min_max_is_pav`.
    """

    conditions_taken: ClassVar[Taken] = Taken.NONE

    def supports(self, problem: Problem) -> str | None:
        if problem.norm != 2:
            return "MinMax fits squares; state the problem with norm=2, or take Isotonic()"
        return super().supports(problem)

    def exceeds(self, problem: Problem) -> str | None:
        cells = int(np.diff(problem.first_cell).max())
        if cells > MOST_CELLS:
            return f"a region of {cells:,} cells takes their square, and {MOST_CELLS:,} are allowed; take Isotonic()"
        return None

    def _fit(self, problem: Problem, y: np.ndarray, upper: int) -> np.ndarray:
        total, count = isotonic_min_max(y)
        fit = nearest_fractions(total, count) if problem.integer else total / count
        return np.clip(fit, _least(problem), upper)


def _least(problem: Problem) -> int:
    """Give the number that no value is below; sizes are never below 0."""
    return 0 if problem.nonnegative or problem.view is View.RANKED else -_UNBOUNDED
