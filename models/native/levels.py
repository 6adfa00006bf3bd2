"""A problem level by level, as the papers write it, from which native models are stated."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.problems.conditions import UNBOUNDED
from pgsr.problems.problem import Problem
from pgsr.problems.programs import NamedProgram, named
from pgsr.problems.programs.rows import ordered_from, regions_with_total, with_sums


@dataclass(frozen=True, eq=False)
class StatedRow:
    """A row that `Problem.where` stated: low <= sum of coefficient x[cell] <= high, cells row by row of regions.

    Attributes:
        name: as it was stated.
        cells, coefficients: one each per entry.
        low, high: -inf or inf where a side is missing.
        at_origin: what the row adds up to where x is the origin.
    """

    name: str
    cells: np.ndarray
    coefficients: np.ndarray
    low: float
    high: float
    at_origin: int


class Levels:
    """The parts of a problem by level, root first; arrays of level l have shape (regions of l, K of l + 1).

    Native models have deviations z = x - origin as unknowns, as `Program` says: numbers of the size of the noise.

    Args:
        problem: of counts or cumulative counts.

    Raises:
        ProblemError: sizes are ranked, so regions have vectors of different lengths.
        TooLargeError: numbers are too large for exact arithmetic.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> levels = Levels(Problem.of([[0, 3], [1, 2], [0, 1]], tree, groups=5))
        >>> levels.y[1].tolist(), levels.S[0].toarray().tolist()
        ([[1, 2], [0, 1]], [[1, 1]])
        >>> levels.names("z", 1).tolist()
        [['z[US/GA,0]', 'z[US/GA,1]'], ['z[US/MI,0]', 'z[US/MI,1]']]
    """

    def __init__(self, problem: Problem) -> None:
        if problem.view is View.RANKED:
            raise ProblemError(
                f"{problem.label} is about ranked sizes, whose regions have vectors of different lengths; native "
                "models are of counts or cumulative counts, and problem.write(...) states this one as a file"
            )
        self.problem, self.tree = problem, problem.hierarchy
        self.n_sizes = problem.max_size + 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.tree.n_levels))

    @property
    def inner(self) -> range:
        """The levels that have another below them and are to be consistent with it."""
        return range(self.tree.n_levels - 1 if self.problem.consistent else 0)

    @cached_property
    def program(self) -> NamedProgram:
        """The same problem as one program with names, in deviations."""
        return named(self.problem, "full", shifted=True)

    @cached_property
    def y(self) -> list[np.ndarray]:
        """The noisy values, in regions without weight the sums of those below: where deviations are 0."""
        return self.split(with_sums(self.problem).cells)

    @cached_property
    def w(self) -> list[np.ndarray]:
        """The weights of cells."""
        weights = (self.problem.weights_of(self.tree.level(level)) for level in self)
        return [np.broadcast_to(w, y.shape) for w, y in zip(weights, self.y, strict=True)]

    @cached_property
    def S(self) -> list[sparse.csr_array]:
        """The children of every region: S[l][r, c] = 1 where c of level l + 1 lies below r of level l."""
        out = []
        for level in range(self.tree.n_levels - 1):
            above, below = self.tree.level(level), self.tree.level(level + 1)
            rows = self.tree.parent[below] - above.start
            shape = above.stop - above.start, len(rows)
            out.append(sparse.csr_array((np.ones(len(rows), np.int64), (rows, np.arange(len(rows)))), shape=shape))
        return out

    @cached_property
    def F(self) -> list[np.ndarray | None]:
        """The matrices that fold a level's sizes into those below: F[l][s, i] = 1 where size s is a part of i.

        None where a level has the sizes of the level below: values add up as they are there, else x[l] @ F[l] do.
        """
        sizes = self.problem.sizes
        out: list[np.ndarray | None] = []
        for level, below in enumerate(sizes.max_sizes[1:]):
            cells = np.eye(sizes.max_sizes[level] + 1, dtype=np.int64)
            out.append(None if below == sizes.max_sizes[level] else sizes.folded(cells, level, self.problem.view))
        return out

    def n_sums(self, level: int) -> int:
        """The number of sums of each region of a level that its children add up to: one per size of theirs."""
        return self.problem.sizes.max_sizes[level + 1] + 1

    @cached_property
    def lower(self) -> list[np.ndarray]:
        """The least deviations, -inf where there is none: signs and stated bounds."""
        return self.split(self.program.lower[: self.problem.n_unknowns])

    @cached_property
    def upper(self) -> list[np.ndarray]:
        """The largest deviations, inf where there is none."""
        return self.split(self.program.upper[: self.problem.n_unknowns])

    @property
    def totals(self) -> Iterator[tuple[int, slice, np.ndarray]]:
        """The public totals that have a row: level, regions within it, numbers of groups."""
        totals = self.problem.stated_totals
        return iter(()) if totals is None else self._of_regions(regions_with_total(self.problem), totals)

    @property
    def total_is_last(self) -> bool:
        """Whether a region's number of groups is its last cell, as in cumulative counts, and not the sum of all."""
        return self.problem.view is View.CUMULATIVE

    @property
    def ordered(self) -> Iterator[tuple[int, int]]:
        """The levels whose values do not decrease, from which size on; the rest follows."""
        if self.problem.monotone:
            for level, largest in enumerate(self.problem.sizes.max_sizes):
                first = ordered_from(self.problem, level)
                if first < largest:
                    yield level, first

    @property
    def stated(self) -> Iterator[StatedRow]:
        """The rows that `Problem.where` stated."""
        program = self.program
        known = self.problem.conditions
        if known is None:
            return
        magnitudes = 0 if self.problem.norm == 2 else int((self.problem.cell_weights > 0).sum())
        first = program.m - len(known.names) - magnitudes
        names = program.rows.texts()[first:]
        at_origin: list[Any] = (known.rows @ program.origin).tolist()
        lows = np.where(known.row_lower > -UNBOUNDED, known.row_lower, -np.inf)
        highs = np.where(known.row_upper < UNBOUNDED, known.row_upper, np.inf)
        for row, (low, high, at) in enumerate(zip(lows, highs, at_origin, strict=True)):
            part = slice(program.matrix.indptr[first + row], program.matrix.indptr[first + row + 1])
            yield StatedRow(names[row], program.matrix.indices[part], program.matrix.data[part], low, high, at)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Cut values of all cells into levels."""
        return list(self.problem.sizes.tables(values))

    def names(self, kind: str, level: int, columns: slice = slice(None)) -> np.ndarray:
        """Write the names of a level's cells, such as order[US/GA,3]; shape as the values."""
        words = np.array([name[1:] for name in self._cell_names], object)
        return kind + self.problem.sizes.tables(words)[level][:, columns]

    def region_names(self, kind: str, level: int, regions: slice) -> list[str]:
        """Write the names of rows of regions, such as total[US]."""
        return [name.rsplit(",", 1)[0] + "]" for name in self.names(kind, level)[regions, 0]]

    @cached_property
    def _cell_names(self) -> list[str]:
        return self.program.variables.texts()[: self.problem.n_unknowns]

    def _of_regions(self, regions: np.ndarray, values: np.ndarray) -> Iterator[tuple[int, slice, np.ndarray]]:
        for level in self:
            here = self.tree.level(level)
            inside = regions[(regions >= here.start) & (regions < here.stop)]
            if len(inside):
                yield level, slice(int(inside[0]) - here.start, int(inside[-1]) + 1 - here.start), values[inside]
