"""The prices of conditions that were stated by `Problem.where`, in Lagrangian bounds."""

from dataclasses import dataclass

import numpy as np

from pgsr.certificates.multipliers import Multipliers
from pgsr.certificates.regions_alone import sum_below
from pgsr.errors import ProblemError
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions
from pgsr.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class StatedPrices:
    """The prices of stated rows, of stated bounds, those of a missing side set to 0.

    Attributes:
        conditions: the problem's, or none.
        rows: shape (m,).
        bounds: shape (cells,).
        cells: what they add up to in every cell, coefficients of rows times prices, and bounds' prices; shape (cells,).
    """

    conditions: Conditions
    rows: np.ndarray
    bounds: np.ndarray
    cells: np.ndarray

    @classmethod
    def of(cls, problem: Problem, multipliers: Multipliers) -> "StatedPrices | None":
        """Copy the prices; None where the problem has no conditions, or nothing is priced.

        Raises:
            ProblemError: there are more or fewer of them than the problem has conditions.
        """
        conditions = problem.conditions
        if conditions is None or (multipliers.conditions is None and multipliers.bounds is None):
            return None
        rows = _copied(multipliers.conditions, conditions.row_lower.shape, "stated rows", problem)
        bounds = _copied(multipliers.bounds, conditions.lower.shape, "stated bounds", problem)
        rows[
            ((rows > 0) & (conditions.row_lower <= -UNBOUNDED)) | ((rows < 0) & (conditions.row_upper >= UNBOUNDED))
        ] = 0.0
        bounds[((bounds > 0) & (conditions.lower <= -UNBOUNDED)) | ((bounds < 0) & (conditions.upper >= UNBOUNDED))] = (
            0.0
        )
        return cls._summed(conditions, rows, bounds)

    @classmethod
    def _summed(cls, stated: Conditions, rows: np.ndarray, bounds: np.ndarray) -> "StatedPrices":
        return cls(stated, rows, bounds, stated.rows.T @ rows + bounds)

    @property
    def largest(self) -> float:
        """A bound on every sum of magnitudes in a cell."""
        in_rows = abs(self.conditions.rows).T @ np.abs(self.rows)
        return float((in_rows + np.abs(self.bounds)).max(initial=0.0))

    def on_grid(self, factor: float, unit: float) -> "StatedPrices":
        """Multiply by a factor and round to whole multiples of a unit, on which sums are exact."""
        rows, bounds = (np.rint(prices * factor / unit) * unit for prices in (self.rows, self.bounds))
        return self._summed(self.conditions, rows, bounds)

    def without(self, dropped: np.ndarray) -> "StatedPrices":
        """Drop the prices of rows and bounds with these cells, given as bool, shape (cells,)."""
        rows = np.where(abs(self.conditions.rows) @ dropped.astype(float) > 0, 0.0, self.rows)
        return self._summed(self.conditions, rows, np.where(dropped, 0.0, self.bounds))

    def constants(self, problem: Problem) -> list[float]:
        """Compute multipliers times residuals of y, rounded down: of rows and of bounds."""
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
        return terms


def _copied(given: np.ndarray | None, shape: tuple[int, ...], what: str, problem: Problem) -> np.ndarray:
    if given is None:
        return np.zeros(shape)
    prices = np.array(given, float)
    if prices.shape != shape:
        raise ProblemError(f"prices of {what} have shape {prices.shape}; {problem!r} needs {shape}")
    return prices
