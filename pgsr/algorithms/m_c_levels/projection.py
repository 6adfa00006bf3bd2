"""The relaxed optimum of M_c with other sizes on every level, with its proven gap."""

from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.m_c_levels.dual import LevelDual, ascend
from pgsr.algorithms.m_c_levels.problem import CumulativeLevelProblem
from pgsr.checks import require_kind
from pgsr.errors import MethodError
from pgsr.methods.gate import Deadline

ENOUGH = 0.01
"""Groups by which sums may be off."""


@dataclass(frozen=True, eq=False)
class CumulativeLevelResult:
    """The answer to a `CumulativeLevelProblem`.

    Attributes:
        tables: cumulative counts in real numbers that keep all conditions, per level, shape (regions of the level, K).
        objective: of the tables.
        bound: no feasible point has a smaller objective, up to floating-point roundings of the dual.
        missing: the largest number of groups by which what regions take at the last prices is off a sum.
        steps: of Newton's method.
        seconds: wall time without compilation.
    """

    tables: tuple[np.ndarray, ...]
    objective: float
    bound: float
    missing: float
    steps: int
    seconds: float

    @property
    def gap(self) -> float:
        """(objective - bound) / max(1, bound)."""
        return (self.objective - self.bound) / max(1.0, self.bound)


@dataclass(frozen=True)
class CumulativeLevelProjection:
    """Projects cumulative values with other sizes on every level onto consistent monotone ones, in real numbers.

    The problem, see `CumulativeLevelProblem`, has a price per sum; for given prices every region is an isotonic
    regression or free. Newton's method maximises the dual, as in `CumulativeProjection`; the room derives it.

    Args:
        tolerance: groups by which sums may be off at the end.

    Memory: about 24 bytes per cell, 100 more per cell of an inner region that its children share.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> y = np.array([[1.0, 6.0, 5.0]]), np.array([[2.0], [1.0]])
        >>> totals = np.array([9]), np.array([5, 4])
        >>> problem = CumulativeLevelProblem(tree, y, totals, (np.ones(1), np.ones(1)))
        >>> result = CumulativeLevelProjection(1e-9).solve(problem)
        >>> [table.round(3).tolist() for table in result.tables], round(result.objective, 6)
        ([[[1.667, 5.5, 5.5]], [[1.333], [0.333]]], 1.833333)

    Extends: the relaxed M_c of Fioretto and Van Hentenryck 2019, section 8, to sizes per level. Shown equal to an
    interior-point solver by `tests/test_m_c_levels.py::test_equals_clarabel`.
    """

    tolerance: float = ENOUGH

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, bool) or not isinstance(self.tolerance, int | float) or not self.tolerance > 0:
            raise MethodError(f"tolerance={self.tolerance!r}; give a positive number of groups")

    def solve(self, problem: CumulativeLevelProblem) -> CumulativeLevelResult:
        """Solve a problem; every problem that can be stated has an answer."""
        require_kind(problem, CumulativeLevelProblem, "problem", "give CumulativeLevelProblem(...)")
        deadline, dual = Deadline(), LevelDual(problem)
        point, steps = ascend(dual, self.tolerance)
        tables = consistent_tables(problem, dual)
        return CumulativeLevelResult(
            tables, problem.objective(tables), point.value, point.missing, steps, deadline.spent
        )


def consistent_tables(problem: CumulativeLevelProblem, dual: LevelDual) -> tuple[np.ndarray, ...]:
    """Add up the values of leaves; a tail has the values of its own region, between those below it and the total."""
    tables = [dual.taken[-1]]
    for level in range(len(dual.taken) - 2, -1, -1):
        here, k = dual.taken[level], dual.k[level]
        here[:, :k] = problem.sums(level, tables[0])
        np.minimum(here, problem.totals[level][:, None], out=here)
        if k:
            np.maximum(here[:, k:], here[:, k - 1 : k], out=here[:, k:])
        tables.insert(0, here)
    return tuple(tables)
