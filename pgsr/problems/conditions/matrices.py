"""The conditions of a problem as numbers: bounds of single cells, and rows of a sparse matrix for all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.errors import ProblemError
from pgsr.problems.conditions.choices import UNBOUNDED, Choices, Compared, Either
from pgsr.problems.conditions.coefficients import ProblemCells
from pgsr.problems.conditions.expressions import Condition

if TYPE_CHECKING:
    import scipy.sparse


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions lower <= x <= upper and row_lower <= rows x <= row_upper over the cells x of a problem.

    Attributes:
        lower, upper: as stated per cell, region by region, -UNBOUNDED or UNBOUNDED where nothing is; int64, shape
            (cells,). Signs are no part of them.
        rows: integers, shape (m, cells).
        row_lower, row_upper: as `lower` and `upper`, shape (m,).
        names: of the rows, with their regions and sizes.
        stated: the conditions as they were written; a condition may have many cells and rows.
        sources: positions in `matrices` of what stated a cell's lower and its upper bound, -1 for nothing; int32, shape
            (2, cells). None where conditions came from elsewhere.
        choices: conditions of which one holds, see `either`; or None.
    """

    lower: np.ndarray
    upper: np.ndarray
    rows: "scipy.sparse.csr_array"
    row_lower: np.ndarray
    row_upper: np.ndarray
    names: tuple[str, ...]
    stated: tuple[str, ...]
    sources: np.ndarray | None
    choices: Choices | None

    @classmethod
    def none(cls, n_cells: int) -> "Conditions":
        """Make conditions that state nothing."""
        nothing = np.zeros(0, np.int64)
        return cls(
            np.full(n_cells, -UNBOUNDED),
            np.full(n_cells, UNBOUNDED),
            scipy.sparse.csr_array((0, n_cells), dtype=np.int64),
            nothing,
            nothing,
            (),
            (),
            np.full((2, n_cells), -1, np.int32),
            None,
        )

    @property
    def first(self) -> str:
        """One of the conditions, for sentences."""
        return next(iter(self.stated + self.names), "a bound of a cell")

    @property
    def first_bound(self) -> str:
        """What stated one of the bounds, for sentences."""
        by = np.zeros(0, np.int32) if self.sources is None else self.sources[self.sources >= 0]
        return self.stated[int(by[0])] if len(by) else "a bound of a cell"

    @property
    def bounds_alone(self) -> bool:
        """Whether all that is stated are bounds of single cells."""
        return not len(self.row_lower) and self.choices is None

    @property
    def n_stated(self) -> int:
        """The number of conditions as they were written, or else that of bounds, rows and choices."""
        return len(self.stated) or self.n_bounds + len(self.names) + len(self.choices or ())

    def __repr__(self) -> str:
        return f"Conditions({self.text})"

    @property
    def text(self) -> str:
        """The conditions as they were written, the first ten of them."""
        named = self.stated or self.names or (self.first,)
        return "; ".join(named[:10]) + (f"; and {len(named) - 10:,} more" if len(named) > 10 else "")

    @property
    def largest_row(self) -> int:
        """The largest sum of magnitudes of a row's coefficients."""
        of_rows = int(abs(self.rows).sum(axis=1).max()) if len(self.row_lower) else 0
        return of_rows if self.choices is None else max(of_rows, self.choices.largest_row)

    def require_minima_from_0(self) -> None:
        """Raise unless every lower bound that stands alone is 0 or more, where cells are non-negative anyway.

        Raises:
            ProblemError: one is negative, so it says nothing, most likely by mistake.
        """
        negative = (self.lower > -UNBOUNDED) & (self.lower < 0) & (self.lower != self.upper)
        if negative.any():
            cell = int(np.argmax(negative))
            number = -1 if self.sources is None else int(self.sources[0, cell])
            name = self.stated[number] if number >= 0 else f"the lower bound {int(self.lower[cell]):,}"
            raise ProblemError(f"{name}: these numbers are never below 0, so this says nothing; give a minimum from 0")
        least = self.rows.min(axis=1).toarray().ravel() if len(self.row_lower) else np.zeros(0)
        idle = (least >= 0) & (self.row_lower > -UNBOUNDED) & (self.row_lower < 0) & (self.row_upper != self.row_lower)
        if idle.any():
            name = self.names[int(np.argmax(idle))]
            raise ProblemError(f"{name}: this sum is never below 0, so this says nothing; give a minimum from 0")

    @property
    def bounded(self) -> np.ndarray:
        """The cells with a bound, bool; shape (cells,)."""
        return (self.lower > -UNBOUNDED) | (self.upper < UNBOUNDED)

    @property
    def n_bounds(self) -> int:
        """The number of cells with a bound."""
        return int(self.bounded.sum())

    def and_also(self, other: "Conditions") -> "Conditions":
        """Join two sets of conditions over the same cells."""
        return Conditions(
            np.maximum(self.lower, other.lower),
            np.minimum(self.upper, other.upper),
            scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, other.rows])),
            np.concatenate([self.row_lower, other.row_lower]),
            np.concatenate([self.row_upper, other.row_upper]),
            self.names + other.names,
            self.stated + other.stated,
            self._joined_sources(other),
            self._joined_choices(other),
        )

    def _joined_choices(self, other: "Conditions") -> Choices | None:
        if self.choices is None or other.choices is None:
            return other.choices if self.choices is None else self.choices
        return self.choices.and_also(other.choices)

    def _joined_sources(self, other: "Conditions") -> np.ndarray | None:
        if self.sources is None or other.sources is None:
            return None
        later = np.where(other.sources >= 0, other.sources + len(self.stated), -1).astype(np.int32)
        tighter = np.stack([other.lower > self.lower, other.upper < self.upper])
        return np.where(tighter, later, self.sources)


def state(conditions: Sequence[Condition | Either], place: ProblemCells) -> Conditions:
    """Find the bounds and rows of conditions: an entry with one cell and coefficient 1 or -1 is a bound.

    Choices are kept apart from both.

    Raises:
        ProblemError: a region, level or size is not there, numbers of entries differ, or no unknown is left.
    """
    every = Conditions.none(place.sizes.n_cells)
    lower, upper, sources = every.lower, every.upper, every.sources
    assert sources is not None, "what states nothing has sources"
    blocks, lows, highs, names = [], [], [], []
    choices = [condition for condition in conditions if isinstance(condition, Either)]
    for number, condition in enumerate(conditions):
        if isinstance(condition, Either):
            continue
        compared = Compared.of(condition, place)
        matrix, low, high = compared.matrix, compared.lower, compared.upper
        first = matrix.indptr[:-1]
        single = (np.diff(matrix.indptr) == 1) & (np.abs(matrix.data[first]) == 1)
        cell, turned = matrix.indices[first[single]], matrix.data[first[single]] < 0
        _tighten(lower, sources[0], cell, np.where(turned, -high[single], low[single]), number, 1)
        _tighten(upper, sources[1], cell, np.where(turned, -low[single], high[single]), number, -1)
        kept = np.flatnonzero(~single)
        blocks.append(scipy.sparse.csr_array(matrix[kept]))
        lows.append(low[kept])
        highs.append(high[kept])
        names += compared.names(kept)
    return Conditions(
        lower,
        upper,
        scipy.sparse.csr_array(scipy.sparse.vstack([every.rows, *blocks])),
        np.concatenate([every.row_lower, *lows]),
        np.concatenate([every.row_upper, *highs]),
        tuple(names),
        tuple(condition.name for condition in conditions),
        sources,
        Choices.of(choices, place) if choices else None,
    )


def _tighten(
    bound: np.ndarray, source: np.ndarray, cell: np.ndarray, value: np.ndarray, number: int, sign: int
) -> None:
    """Raise lower bounds (sign 1), or lower upper bounds (sign -1); a cell may occur several times."""
    before = bound[cell]
    (np.maximum if sign > 0 else np.minimum).at(bound, cell, value)
    source[cell[bound[cell] != before]] = number
