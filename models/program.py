"""The hand-over forms between problems and solvers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr.problems.programs import Kind, Program

__all__ = ["Bends", "Kind", "Program", "SolverProgram", "quadratic", "scaled"]


@dataclass(frozen=True, eq=False)
class Bends:
    """The points of piecewise linear costs, which go on straight beyond the first and the last point of an unknown.

    Attributes:
        unknown, at, cost: shape (points,) each; in the order of unknowns, and rising within each.
    """

    unknown: np.ndarray
    at: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True, eq=False)
class SolverProgram:
    """A program as an adapter hands it to its solver:

        minimise    sum_j quadratic[j] v[j]^2 + linear[j] v[j]  (+ constant)
        subject to  matrix v = right,   order v <= order_right,   lower <= v <= upper,   v[j] integer where integer[j].

    The unknowns are the z of a `Program`, or the pieces that add up to z (`pgsr.models.window`). The rows are those of
    the `Program` in any case, so that duals can be read off.

    Attributes:
        quadratic, linear: shape (n,), non-negative and any.
        integer: shape (n,), bool.
        reach: (low, high), shape (n,) each: some optimum lies between, whatever the bounds say.
        constant: what the program's objective has besides.
        start: values v from which a solver starts that can, not necessarily within bounds and rows; or None.
        start_duals: duals of equalities and inequalities beside `start`, signed as in `pgsr.models.judge.Answer`; or
            None.
        bends: piecewise linear costs of unknowns besides, for solvers that take these; or None.
        cells_first: whether the first unknowns are z itself and the first rows those of the `Program`, with whatever
            else behind them.
    """

    quadratic: np.ndarray
    linear: np.ndarray
    matrix: sparse.csr_array
    right: np.ndarray
    order: sparse.csr_array
    order_right: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integer: np.ndarray
    reach: tuple[np.ndarray, np.ndarray]
    constant: float = 0.0
    start: np.ndarray | None = None
    start_duals: tuple[np.ndarray, np.ndarray] | None = None
    bends: Bends | None = None
    cells_first: bool = True

    @property
    def n(self) -> int:
        return len(self.linear)

    @property
    def m(self) -> int:
        """The number of rows, equalities and inequalities."""
        return len(self.right) + len(self.order_right)

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray, float, bool]]:
        """Yield row by row: columns, coefficients, right-hand side, whether it is an equality."""
        for matrix, right, equal in ((self.matrix, self.right, True), (self.order, self.order_right, False)):
            for row, value in enumerate(right):
                part = slice(matrix.indptr[row], matrix.indptr[row + 1])
                yield matrix.indices[part], matrix.data[part], float(value), equal

    @property
    def start_bound_duals(self) -> np.ndarray:
        """The duals of bounds beside `start_duals`, by stationarity: positive of upper ones, negative of lower ones."""
        assert self.start is not None
        assert self.start_duals is not None
        duals, order_duals = self.start_duals
        slope = 2.0 * self.quadratic * self.start + self.linear + self.matrix.T @ duals + self.order.T @ order_duals
        free_up, free_down = np.isinf(self.upper), np.isinf(self.lower)
        return np.where((slope < 0) & free_up | (slope > 0) & free_down, 0.0, -slope)

    @property
    def is_quadratic(self) -> bool:
        return bool(self.quadratic.any())

    @property
    def is_integer(self) -> bool:
        return bool(self.integer.any())


def scaled(program: SolverProgram) -> tuple[SolverProgram, float]:
    """A continuous program in v / unit, and the unit: the typical size of the right-hand sides that force v from 0.

    The objective is divided by unit^2, or by unit where it is linear; so duals come out divided by unit, or as they
    are. Linear costs beside squares are divided by unit.
    """
    forced = [program.right, np.minimum(program.order_right, 0), np.maximum(program.lower, 0)]
    sizes = np.concatenate([np.abs(part[np.isfinite(part) & (part != 0)]).astype(float) for part in forced])
    unit = max(1.0, float(np.sqrt(np.mean(sizes**2)))) if len(sizes) else 1.0
    duals = program.start_duals
    if duals is not None and program.is_quadratic:
        duals = duals[0] / unit, duals[1] / unit
    return (
        replace(
            program,
            linear=program.linear / unit if program.is_quadratic else program.linear,
            right=program.right / unit,
            order_right=program.order_right / unit,
            lower=program.lower / unit,
            upper=program.upper / unit,
            reach=(program.reach[0] / unit, program.reach[1] / unit),
            start=None if program.start is None else program.start / unit,
            start_duals=duals,
        ),
        unit,
    )


def quadratic(program: Program, start: np.ndarray | None = None) -> SolverProgram:
    """The program as it stands, for solvers that take squares, or where it has none and no magnitudes either.

    Args:
        start: values z from which a solver may start, shape (n,).
    """
    assert program.norm == 2 or not program.weight.any()
    return SolverProgram(
        quadratic=program.weight.astype(float),
        linear=program.linear.astype(float),
        matrix=program.matrix,
        right=program.right,
        order=program.order,
        order_right=program.order_right,
        lower=program.lower,
        upper=program.upper,
        integer=np.full(program.n, program.integer),
        reach=program.reach,
        start=start,
    )
