"""The prices of conditions that were stated by `Problem.where`, and of measured sums, in Lagrangian bounds."""

from dataclasses import dataclass

import numpy as np

from pgsr.certificates.multipliers import Multipliers
from pgsr.certificates.regions_alone import sum_below
from pgsr.errors import ProblemError
from pgsr.problems.conditions.stated import UNBOUNDED, Conditions
from pgsr.problems.problem import Problem
from pgsr.problems.sums import MeasuredSums


@dataclass(frozen=True, eq=False)
class StatedPrices:
    """The prices of stated rows, of stated bounds, those of a missing side set to 0, and of measured sums.

    Attributes:
        conditions: the problem's, or none.
        measured: its measured sums, or None.
        rows: shape (m,).
        bounds: shape (cells,).
        sums: shape (measured sums,).
        cells: what they add up to in every cell, coefficients of rows and sums times prices, and bounds' prices; shape
            (cells,).
    """

    conditions: Conditions
    measured: MeasuredSums | None
    rows: np.ndarray
    bounds: np.ndarray
    sums: np.ndarray
    cells: np.ndarray

    @classmethod
    def of(cls, problem: Problem, multipliers: Multipliers) -> "StatedPrices | None":
        """Copy the prices; None where the problem has neither conditions nor sums, or nothing is priced.

        A sum of magnitudes falls without end where its price exceeds its weight, so it is cut off there.

        Raises:
            ProblemError: there are more or fewer of them than the problem has conditions.
        """
        stated, measured = problem.conditions, problem.sums
        of_rows, of_bounds = (None, None) if stated is None else (multipliers.conditions, multipliers.bounds)
        of_sums = None if measured is None else multipliers.sums
        if of_rows is None and of_bounds is None and of_sums is None:
            return None
        stated = Conditions.none(problem.n_unknowns) if stated is None else stated
        rows = _copied(of_rows, stated.row_lower.shape, "stated rows", problem)
        bounds = _copied(of_bounds, stated.lower.shape, "stated bounds", problem)
        sums = _copied(of_sums, (0 if measured is None else len(measured),), "measured sums", problem)
        if measured is not None and problem.norm == 1:
            sums = np.clip(sums, -measured.weights, measured.weights)
        rows[((rows > 0) & (stated.row_lower <= -UNBOUNDED)) | ((rows < 0) & (stated.row_upper >= UNBOUNDED))] = 0.0
        bounds[((bounds > 0) & (stated.lower <= -UNBOUNDED)) | ((bounds < 0) & (stated.upper >= UNBOUNDED))] = 0.0
        return cls._summed(stated, measured, rows, bounds, sums)

    @classmethod
    def _summed(
        cls, stated: Conditions, measured: MeasuredSums | None, rows: np.ndarray, bounds: np.ndarray, sums: np.ndarray
    ) -> "StatedPrices":
        cells = stated.rows.T @ rows
        if measured is not None:
            cells = cells + measured.matrix.T @ sums
        return cls(stated, measured, rows, bounds, sums, cells + bounds)

    @property
    def largest(self) -> float:
        """A bound on every sum of magnitudes in a cell."""
        in_rows = abs(self.conditions.rows).T @ np.abs(self.rows)
        if self.measured is not None:
            in_rows = in_rows + abs(self.measured.matrix).T @ np.abs(self.sums)
        in_cells = float((in_rows + np.abs(self.bounds)).max(initial=0.0))
        return max(in_cells, float(np.abs(self.sums).max(initial=0.0)))

    def on_grid(self, factor: float, unit: float) -> "StatedPrices":
        """Multiply by a factor and round to whole multiples of a unit, on which sums are exact."""
        parts = self.rows, self.bounds, self.sums
        rows, bounds, sums = (np.rint(prices * factor / unit) * unit for prices in parts)
        return self._summed(self.conditions, self.measured, rows, bounds, sums)

    def without(self, dropped: np.ndarray) -> "StatedPrices":
        """Drop the prices of rows and bounds with these cells, given as bool, shape (cells,)."""
        cells = dropped.astype(float)
        rows = np.where(abs(self.conditions.rows) @ cells > 0, 0.0, self.rows)
        sums = self.sums if self.measured is None else np.where(abs(self.measured.matrix) @ cells > 0, 0.0, self.sums)
        return self._summed(self.conditions, self.measured, rows, np.where(dropped, 0.0, self.bounds), sums)

    def constants(self, problem: Problem) -> list[float]:
        """Compute multipliers times residuals of y, rounded down: of rows, of bounds and of sums."""
        stated, y = self.conditions, problem.cells
        terms = []
        for prices, low, high, have in (
            (self.rows, stated.row_lower, stated.row_upper, stated.rows @ y),
            (self.bounds, stated.lower, stated.upper, y),
        ):
            priced = np.flatnonzero(prices)
            price = prices[priced]
            values = price * (np.where(price > 0, low[priced], high[priced]) - have[priced])
            terms.append(sum_below(values, np.abs(values)))
        if self.measured is not None:
            values = -self.sums * self.measured.off(y)
            terms.append(sum_below(values, np.abs(values)))
        return terms


def _copied(given: np.ndarray | None, shape: tuple[int, ...], what: str, problem: Problem) -> np.ndarray:
    if given is None:
        return np.zeros(shape)
    prices = np.array(given, float)
    if prices.shape != shape:
        raise ProblemError(f"prices of {what} have shape {prices.shape}; {problem!r} needs {shape}")
    return prices
