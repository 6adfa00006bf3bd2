"""Cells that weigh so much more than others that whole numbers cannot have both: held at their values, then proved.

A heavy cell stands at the whole number nearest to its value, and its weight is left out. What is found then is the
optimum of all weights if what the other cells are off costs no more than the cheapest step of a held one: any other
numbers with the held cells where they are cost as much or more by the solve, and numbers with one elsewhere cost that
step more than the least that held cells cost.
"""

from dataclasses import dataclass, replace

import numpy as np

from pgsr.data.read_only import read_only_arrays
from pgsr.engines.losses import loss
from pgsr.errors import TooLargeError
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.whole_numbers import too_heavy


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Held:
    """The cells of a table that are held.

    Attributes:
        cells: held for their weight alone, bool; shape (regions, sizes).
        at: the number that each is held at; of the same shape, int64.
        known: cells that the table holds already, bool; of the same shape.
    """

    cells: np.ndarray
    at: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, found: MeasuredCells, weight: np.ndarray, most: np.ndarray, nonnegative: bool) -> "Held":
        """Find the cells that have to be held.

        Args:
            found: the table.
            weight: of cells, shape (regions, sizes); what the table holds counts for nothing.
            most: the largest weight that each may have in the problem, of the same shape.
            nonnegative: whether numbers are from 0 on.
        """
        known = known_cells(found)
        heavy = too_heavy(weight, most, ~known & (found.weight > 0))
        at = np.rint(np.where(heavy, found.value, 0.0)).astype(np.int64)
        return cls(heavy, np.maximum(at, 0) if nonnegative else at, known)

    @property
    def any(self) -> bool:
        """Whether some cell is held for its weight."""
        return bool(self.cells.any())

    @property
    def out(self) -> np.ndarray:
        """The cells whose weight says nothing, bool; shape (regions, sizes)."""
        return self.cells | self.known

    def eased(self, weight: np.ndarray) -> np.ndarray:
        """Give cells whose weight says nothing the smallest weight of the others, or 1."""
        others = weight[(weight > 0) & ~self.out]
        return np.where(self.out & (weight > 0), others.min(initial=np.inf) if len(others) else 1.0, weight)

    def on(self, found: MeasuredCells) -> MeasuredCells:
        """Hold the cells in the table."""
        lower = np.full(found.shape, -np.inf) if found.lower is None else found.lower.copy()
        upper = np.full(found.shape, np.inf) if found.upper is None else found.upper.copy()
        lower[self.cells] = upper[self.cells] = self.at[self.cells]
        return replace(found, lower=lower, upper=upper)

    def require_proved(self, found: MeasuredCells, answer: np.ndarray, norm: int, nonnegative: bool) -> None:
        """Raise `TooLargeError` unless the answer is the optimum of all weights."""
        if not self.any:
            return
        weight, off = found.weight[self.cells], self.at[self.cells] - found.value[self.cells]
        above, below = loss(off + 1.0, norm), loss(off - 1.0, norm)
        if nonnegative:
            below = np.where(self.at[self.cells] == 0, np.inf, below)
        step = weight * (np.minimum(above, below) - loss(off, norm))
        rows = found.row_weight > 0
        rows[rows] = ~self.cells.ravel()[found.row_cell[rows]]
        away = answer.ravel()[found.row_cell[rows]] - found.row_value[rows]
        cost = float((found.row_weight[rows] * loss(away, norm)).sum())
        if not cost * (1 + 1e-9) <= float(step.min()):
            least = int(np.flatnonzero(self.cells)[np.argmin(step)])
            refuse(found, np.where(self.out, 0.0, found.weight).ravel(), least)


def known_cells(found: MeasuredCells) -> np.ndarray:
    """Find the cells that a table holds at one number, bool; shape (regions, sizes)."""
    if found.lower is None or found.upper is None:
        return np.zeros(found.shape, bool)
    return found.lower == found.upper


def refuse(found: MeasuredCells, weight: np.ndarray, cell: int) -> None:
    """Raise for a cell whose weight whole numbers cannot have beside the smallest of some weights."""
    given = found.weight.ravel()
    others = weight if weight.any() else given
    light = int(np.argmin(np.where(others > 0, others, np.inf)))
    cell = cell if given[cell] > given[light] else int(np.argmax(given))
    with np.errstate(over="ignore"):
        times = given[cell] / given[light]
    ratio, real = f"{times:.3g}", "ask for integer=False, without base= and noise=, "
    if np.isinf(times):
        ratio, real = "more than 1e308", ""
    raise TooLargeError(
        f"{found.first_row(cell)} has {ratio} times the weight of {found.first_row(light)}, and whole numbers of "
        f"64 bits do not keep both; {real}hold one by fixed= if it is exact, or give weights nearer to each other"
    )
