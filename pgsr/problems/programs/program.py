"""The form of a problem in its cells: rows, bounds and weights."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import sparse


class ProgramKind(Enum):
    """The kind of a program, which a solver has to be able to solve."""

    LP = "linear program"
    QP = "convex quadratic program"
    MILP = "integer linear program"
    MIQP = "integer quadratic program"

    @property
    def integer(self) -> bool:
        return self in (ProgramKind.MILP, ProgramKind.MIQP)

    @property
    def with_article(self) -> str:
        """The kind in words with its article, such as "an integer linear program"."""
        return f"{'an' if self.integer else 'a'} {self.value}"


@dataclass(frozen=True, eq=False)
class Program:
    """A problem in its cells, around a point, x = origin + z:

        minimise    sum_j weight[j] |z[j]|^norm
        subject to  matrix z = right,   order z <= order_right,   lower <= z <= upper   (z integer).

    `origin` is the noisy vector (in regions without weight the sums of those below), so unknowns and right-hand sides
    are of the size of the noise, not of counts of 1e8; and `pgsr.models.program.scaled` divides by that size. Both
    together keep solvers with absolute tolerances accurate.

    The first unknowns are the cells; others follow where conditions are joined by `either`
    (`pgsr.problems.programs.auxiliary`).

    Attributes:
        norm: 1 or 2.
        weight: shape (n,), non-negative integers.
        matrix, right: equalities, sparse of shape (m, n) and integers of shape (m,).
        order, order_right: inequalities, sparse of shape (k, n) and integers of shape (k,).
        lower, upper: shape (n,), integers as floats, or -inf and inf.
        integer: whether z is integer.
        origin: shape (n,), integers.
        reach: (low, high), shape (n,) each: every optimum lies between. The bounds, until `pgsr.models.formulate` finds
            finite ones.
        n_cells: the number of unknowns that are cells.
        switch: of every inequality the unknown, 0 or 1, that switches it on: where it is 0 the row says nothing, by a
            large coefficient. -1 of rows that always hold. None if all do.
    """

    norm: int
    weight: np.ndarray
    matrix: sparse.csr_array
    right: np.ndarray
    order: sparse.csr_array
    order_right: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integer: bool
    origin: np.ndarray
    reach: tuple[np.ndarray, np.ndarray]
    n_cells: int
    switch: np.ndarray | None = None

    @property
    def n(self) -> int:
        return len(self.weight)
