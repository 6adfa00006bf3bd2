"""The conversion of numeric columns to attributes, by labelled bins with public bounds."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from pgsr.synthesis.data.domain import Attribute, SynthesisError


@dataclass(frozen=True)
class Binning:
    """A division of numbers into bins; bin i holds the values x with lower[i] <= x < lower[i + 1].

    Args:
        name: of the column and of the attribute.
        lower: whole numbers, increasing. Labels are those of whole numbers: "5-14"; the last bin is open: "65+".
        missing: label of missing values, which then come last; without it they are refused.

    Example:
        >>> ages = Binning("age", (0, 5, 15, 65), missing="unknown")
        >>> ages.attribute.values
        ('0-4', '5-14', '15-64', '65+', 'unknown')
        >>> ages.codes([4, 5, 70, None])
        array([0, 1, 3, 4])
    """

    name: str
    lower: tuple[int, ...]
    missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", tuple(int(bound) for bound in self.lower))
        if not self.lower or any(b <= a for a, b in pairwise(self.lower)):
            raise SynthesisError(f"bins of {self.name} start at {self.lower}; give increasing bounds, at least one")

    @property
    def attribute(self) -> Attribute:
        ends = [*(bound - 1 for bound in self.lower[1:]), None]
        labels = [_label(start, end) for start, end in zip(self.lower, ends, strict=True)]
        return Attribute(self.name, (*labels, *(() if self.missing is None else (self.missing,))))

    def codes(self, values: ArrayLike) -> np.ndarray:
        """Find the code of every value, the number of its bin.

        Raises:
            SynthesisError: a value is no number, is missing without a label for it, or lies outside the bins.
        """
        numbers = self._numbers(values)
        absent = np.isnan(numbers)
        if absent.any() and self.missing is None:
            raise SynthesisError(f"{self.name} is missing in some rows; give missing='...'")
        if (numbers < self.lower[0]).any():
            raise SynthesisError(f"{self.name} is below its bins in some rows; widen the bins, or mend the table")
        return np.where(absent, len(self.lower), np.searchsorted(self.lower, numbers, side="right") - 1)

    def labels(self, values: ArrayLike) -> np.ndarray:
        """Find the label of every value, as a column to put into a table."""
        return np.array(self.attribute.values, object)[self.codes(values)]

    def _numbers(self, values: ArrayLike) -> np.ndarray:
        import pandas as pd

        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            return values.astype(np.float64)
        column = np.asarray(values, object)
        column = np.where(pd.isna(column), np.nan, column)
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError):
            raise SynthesisError(f"{self.name} holds something that is no number; mend the table") from None


def _label(start: int, end: int | None) -> str:
    if end is None:
        return f"{start}+"
    if start == end:
        return str(start)
    return f"{start}-{end}" if start >= 0 else f"{start} to {end}"
