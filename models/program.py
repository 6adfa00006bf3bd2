"""The hand-over forms between problems and solvers, with the names of unknowns and rows that modellers see."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.problems.programs.program import Program, ProgramKind

__all__ = [
    "Bends",
    "Indicators",
    "Program",
    "ProgramKind",
    "ProgramRows",
    "SolverProgram",
    "Units",
    "in_cells",
    "linear_optimum",
    "quadratic",
    "scaled",
]


@dataclass(frozen=True)
class LabelBlock:
    """A run of unknowns or rows with a name of its own, such as consistency[0].

    Attributes:
        name: as a modeller would write it.
        part: where it is among all unknowns, or among all rows.
        shape: in which a modeller sees it, (regions, sizes) or (entries,).
        least, most: the names of its lower and upper bounds, of unknowns.
    """

    name: str
    part: slice
    shape: tuple[int, ...]
    least: str = ""
    most: str = ""


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of a program's unknowns and rows.

    Attributes:
        title: of the program.
        unknowns, rows: names, in order; equalities come before inequalities.
        unknown_blocks, row_blocks: which together are all of them, in order.
        upward: the inequalities that are stated as lower limits; bool, shape (inequalities,).
        n_links: the number of last equalities that are z = up - down; up and down are the last unknowns, as many each.
    """

    title: str
    unknowns: tuple[str, ...]
    rows: tuple[str, ...]
    unknown_blocks: tuple[LabelBlock, ...]
    row_blocks: tuple[LabelBlock, ...]
    upward: np.ndarray
    n_links: int = 0

    def with_rows(self, keep: np.ndarray) -> "Labels":
        """Leave all other rows out, as whole blocks; bool, shape (rows,)."""
        before = np.append(0, np.cumsum(keep))
        parts = [(block, int(before[block.part.start]), int(before[block.part.stop])) for block in self.row_blocks]
        n_equal = len(self.rows) - len(self.upward)
        return replace(
            self,
            rows=tuple(name for name, kept in zip(self.rows, keep.tolist(), strict=True) if kept),
            row_blocks=tuple(replace(block, part=slice(a, b)) for block, a, b in parts if b > a),
            upward=self.upward[keep[n_equal:]],
        )


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
class ProgramRows:
    """All rows of a program as solvers state them, lower <= matrix v <= upper: equalities first, then inequalities.

    Attributes:
        matrix: sparse of shape (m, n).
        lower, upper: shape (m,); lower is -inf or upper inf where a row is no equality.
        sign: 1, or -1 of inequalities that are stated the other way round, as lower limits; shape (m,).
        n_equal: the number of equalities.
    """

    matrix: sparse.csr_array
    lower: np.ndarray
    upper: np.ndarray
    sign: np.ndarray
    n_equal: int

    @property
    def senses(self) -> np.ndarray:
        """The signs =, < and > of rows."""
        return np.where(self.lower == self.upper, "=", np.where(self.sign < 0, ">", "<"))

    @property
    def right(self) -> np.ndarray:
        """The finite side of every row."""
        return np.where(self.sign < 0, self.lower, self.upper)

    def duals(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Read duals of equalities and inequalities, signed as in `pgsr.models.judge.SolverAnswer`.

        Args:
            slopes: of the optimum in the right-hand sides of rows, which is what most solvers call duals or prices.
        """
        duals = -self.sign * np.asarray(slopes, float)
        return duals[: self.n_equal], duals[self.n_equal :]

    def terms(self) -> list[tuple[list[int], list[float]]]:
        """List the columns and coefficients of every row, for interfaces that take them one by one."""
        columns, data = self.matrix.indices.tolist(), self.matrix.data.tolist()
        at: list[int] = np.asarray(self.matrix.indptr).tolist()
        return [(columns[a:b], data[a:b]) for a, b in pairwise(at)]


@dataclass(frozen=True, eq=False)
class Indicators:
    """Rows that hold where a binary unknown is 1: v[binary[i]] = 1 implies matrix[i] v <= right[i].

    Attributes:
        binary: unknowns, integers in [0, 1]; shape (k,).
        matrix, right: sparse of shape (k, n), and shape (k,).
        names: shape (k,), or empty.
    """

    binary: np.ndarray
    matrix: sparse.csr_array
    right: np.ndarray
    names: tuple[str, ...]

    def terms(self) -> list[tuple[int, list[int], list[float], float, str]]:
        """List the binary, columns, coefficients, right-hand side and name of every row."""
        names = self.names or ("",) * len(self.right)
        right = np.full(len(self.right), -np.inf)
        rows = ProgramRows(self.matrix, right, self.right, np.ones(len(self.right)), 0).terms()
        return [
            (b, *row, r, name)
            for b, row, r, name in zip(self.binary.tolist(), rows, self.right.tolist(), names, strict=True)
        ]


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
        start_duals: duals of equalities and inequalities beside `start`, signed as in
            `pgsr.models.judge.SolverAnswer`; or None.
        bends: piecewise linear costs of unknowns besides, for solvers that take these; or None.
        cells_first: whether the first unknowns are z itself and the first rows those of the `Program`, with whatever
            else behind them.
        switch: of every inequality the binary unknown that switches it on, by a coefficient so large that the row says
            nothing where the unknown is 0; -1 of rows that always hold. None if all do.
        indicators: the switched rows as implications, in place of inequalities, for solvers that take these; or None.
        labels: the names of unknowns and rows, of models that a user gets; or None.
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
    switch: np.ndarray | None = None
    indicators: Indicators | None = None
    labels: Labels | None = None

    @property
    def n(self) -> int:
        return len(self.linear)

    @property
    def m(self) -> int:
        """The number of rows, equalities and inequalities."""
        return len(self.right) + len(self.order_right)

    @cached_property
    def rows(self) -> ProgramRows:
        """All rows, those that labels call lower limits as such."""
        m, right = len(self.right), self.right.astype(float)
        sign = np.ones(self.m)
        if self.labels is not None:
            sign[m:][self.labels.upward] = -1.0
        turned = sign[m:] * self.order_right
        matrix = sparse.csr_array(sparse.vstack([self.matrix, self.order]))
        if (sign < 0).any():
            matrix = sparse.csr_array(sparse.diags_array(sign) @ matrix)
        matrix.sort_indices()  # as MathOpt wants it
        lower = np.concatenate([right, np.where(sign[m:] < 0, turned, -np.inf)])
        return ProgramRows(matrix, lower, np.concatenate([right, np.where(sign[m:] < 0, np.inf, turned)]), sign, m)

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


@dataclass(frozen=True)
class Units:
    """The units that a program is stated in.

    Attributes:
        values, objective: what the program's own are divided by; duals are divided by objective / values.
    """

    values: float = 1.0
    objective: float = 1.0

    @property
    def duals(self) -> float:
        return self.objective / self.values


def scaled(program: SolverProgram) -> tuple[SolverProgram, Units]:
    """State a continuous program in units of its own, since solvers have absolute tolerances.

    The unit of values is the typical size of the right-hand sides that force values from 0. Costs are divided by the
    typical weight of a square, or slope without squares, as a power of 2, so that no digit changes.
    """
    forced = [program.right, np.minimum(program.order_right, 0), np.maximum(program.lower, 0)]
    sizes = np.concatenate([np.abs(part[np.isfinite(part) & (part != 0)]).astype(float) for part in forced])
    unit = max(1.0, float(np.sqrt(np.mean(sizes**2)))) if len(sizes) else 1.0
    costs = np.abs(program.quadratic if program.is_quadratic else program.linear)
    cost = float(2.0 ** np.floor(np.log2(np.median(costs[costs > 0])))) if costs.any() else 1.0
    units = Units(unit, cost * unit**2 if program.is_quadratic else cost * unit)
    duals, bends = program.start_duals, program.bends
    if bends is not None:
        bends = Bends(bends.unknown, bends.at / unit, bends.cost / units.objective)
    if duals is not None:
        duals = duals[0] / units.duals, duals[1] / units.duals
    return (
        replace(
            program,
            quadratic=program.quadratic / cost,
            linear=program.linear / units.duals,
            right=program.right / unit,
            order_right=program.order_right / unit,
            lower=program.lower / unit,
            upper=program.upper / unit,
            reach=(program.reach[0] / unit, program.reach[1] / unit),
            start=None if program.start is None else program.start / unit,
            start_duals=duals,
            bends=bends,
        ),
        units,
    )


def linear_optimum(rows: Program | SolverProgram, costs: np.ndarray, **more: Any) -> Any:
    """Solve a linear program with the rows and bounds of a program by SciPy's HiGHS, which wants None for no rows."""
    from scipy.optimize import linprog  # which takes a tenth of a second

    above = (rows.order, rows.order_right) if len(rows.order_right) else (None, None)
    equal = (rows.matrix, rows.right) if len(rows.right) else (None, None)
    bounds = np.stack([rows.lower, rows.upper], axis=1)
    return linprog(costs, *above, *equal, bounds, "highs", **more)


def in_cells(program: Program, start: np.ndarray | None) -> SolverProgram:
    """Hand a program over in its cells: rows and bounds, without costs of deviations.

    Args:
        start: values z from which a solver may start, shape (n,).
    """
    return SolverProgram(
        quadratic=np.zeros(program.n),
        linear=np.zeros(program.n),
        matrix=program.matrix,
        right=program.right,
        order=program.order,
        order_right=program.order_right,
        lower=program.lower,
        upper=program.upper,
        integer=np.full(program.n, program.integer),
        reach=program.reach,
        start=start,
        switch=program.switch,
    )


def quadratic(program: Program, start: np.ndarray | None = None) -> SolverProgram:
    """The program as it stands, for solvers that take squares."""
    assert program.norm == 2
    return replace(in_cells(program, start), quadratic=program.weight.astype(float))
