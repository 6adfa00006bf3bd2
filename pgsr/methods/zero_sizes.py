"""Structural zeros of whole sizes: a problem in which a size is 0 in every region is the one without that size.

Where conditions state no other bounds, a method that solves the problem without these sizes solves this one; stated
rows, such as totals of regions, lose these sizes, at which they add nothing. Every point of one is a point of the other
with zeros put in, at distances that differ by the constant sum of w |y|^norm over the zeros, so optima are optima, and
the bound of one plus this constant is a bound of the other.

In cumulative counts a zero at one size is one at all smaller ones, so these are left out together.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pgsr.certificates import certify
from pgsr.certificates.certificate import objective
from pgsr.data.estimate import Estimate
from pgsr.data.sizes import Sizes
from pgsr.methods.method import Result
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions
from pgsr.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class WithoutZeroSizes:
    """A problem and the same one without sizes that are 0 in every region.

    Attributes:
        whole: the problem with all sizes.
        reduced: the one without these sizes, and with no conditions but rows.
        kept: the sizes of `reduced`, increasing.
    """

    whole: Problem
    reduced: Problem
    kept: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "WithoutZeroSizes | None":
        """Leave such sizes out; None where other cells have bounds, or more is stated of cells than `is_plain` says.

        Example:
            >>> from pgsr import Hierarchy
            >>> from pgsr.problems.conditions import cells
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> problem = Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], tree, groups=5, label="M_H")
            >>> WithoutZeroSizes.of(problem.where(cells(size=0) == 0)).reduced
            Problem(M_H with 1 condition, totals='root', 6 unknowns)
            >>> WithoutZeroSizes.of(problem.where(cells(size=0) <= 1)) is None
            True
        """
        conditions = problem.conditions
        if conditions is None or conditions.choices is not None or not problem.is_plain:
            return None
        zero = _zero_sizes(problem, conditions)
        if zero is None:
            return None
        kept = np.flatnonzero(~zero)
        cells = np.arange(problem.target.size).reshape(problem.target.shape)[:, kept].ravel()
        rows = conditions.rows[:, cells]
        if (np.diff(rows.indptr) == 0).any():  # a row of sizes that are left out alone
            return None
        left = None
        if len(conditions.row_lower):
            none = Conditions.none(len(cells))
            left = replace(conditions, lower=none.lower, upper=none.upper, rows=rows, stated=(), sources=None)
        reduced = replace(
            problem,
            sizes=Sizes.alike(problem.hierarchy, len(kept) - 1),
            cells=problem.target[:, kept].ravel(),
            conditions=left,
        )
        return cls(problem, reduced, kept)

    def restored(self, result: Result) -> Result:
        """Put the zeros into the answer to the reduced problem, and judge it as one to the whole problem."""
        if result.answer is None:
            return replace(result, certificate=None, multipliers=None, refused=None, problem=None)
        answer = self._with_zeros(result.answer)
        certificate = certify(self.whole, answer)
        found = result.certificate
        if not certificate.optimal and found is not None and found.bound is not None:
            bound = found.bound + self.constant
            if isinstance(bound, float):
                bound = math.nextafter(bound, -math.inf)
            certificate = certificate.with_bound(bound, found.bound_by)
        return replace(result, answer=answer, certificate=certificate, multipliers=None, refused=None, problem=None)

    @property
    def constant(self) -> int:
        """The distance of the zeros to the noisy values, an exact integer."""
        left_out = np.setdiff1d(np.arange(self.whole.max_size + 1), self.kept)
        y = self.whole.target[:, left_out]
        problem = replace(
            self.whole,
            sizes=Sizes.alike(self.whole.hierarchy, len(left_out) - 1),
            cells=y.ravel(),
            conditions=None,
        )
        return int(objective(problem, Estimate(self.whole.hierarchy, self.whole.view, np.zeros_like(y))))

    def _with_zeros(self, answer: Estimate) -> Estimate:
        values = np.zeros((len(answer.values), self.whole.max_size + 1), answer.values.dtype)
        values[:, self.kept] = answer.values
        return Estimate(answer.hierarchy, answer.view, values)


def _zero_sizes(problem: Problem, conditions: Conditions) -> np.ndarray | None:
    """Find the sizes of which no region has groups, bool; None if there are none, or other cells have bounds."""
    low, high = (side.reshape(problem.target.shape) for side in (conditions.lower, conditions.upper))
    low = np.maximum(low, 0) if problem.nonnegative else low
    zero = ((low == 0) & (high == 0)).all(axis=0)
    if problem.nonnegative and problem.consistent:  # where the root has none, no region has
        zero |= (low == 0).all(axis=0) & (high[0] == 0)
    free = high.min(axis=0) >= UNBOUNDED
    free &= (low.max(axis=0) == 0) if problem.nonnegative else (low.max(axis=0) <= -UNBOUNDED)
    if problem.monotone:
        if zero[-1] or not problem.nonnegative:  # the last cell may be a public total
            return None
        zero[: np.flatnonzero(zero).max(initial=0)] = True  # cells before one that is 0
    return zero if zero.any() and not zero.all() and free[~zero].all() else None
