"""The program that a reader of a file builds up, one name or number after the other."""

import numpy as np
from scipy import sparse

from pgsr.errors import ProblemError
from pgsr.problems.programs.formulation import NamedProgram
from pgsr.problems.programs.names import Names


class FileError(ProblemError):
    """An error of a file of a program that is damaged, or of another kind than its name says."""


class ProgramBuilder:
    """A program in the making; names are words as the file has them."""

    def __init__(self) -> None:
        self.label = ""
        self.constant: int | float = 0
        self.variable_index: dict[str, int] = {}
        self.row_index: dict[str, int] = {}
        self.linear: list[int | float] = []
        self.quadratic: list[int | float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []

    def variable(self, name: str, integer: bool = False) -> int:
        """Find an unknown, or add it with 0 <= x."""
        index = self.variable_index.setdefault(name, len(self.linear))
        if index == len(self.linear):
            self.linear.append(0)
            self.quadratic.append(0)
            self.lower.append(0.0)
            self.upper.append(np.inf)
            self.integer.append(integer)
        return index

    def row(self, name: str, low: float, high: float) -> int:
        index = len(self.row_lower)
        if self.row_index.setdefault(name, index) != index:
            raise FileError(f"two rows have the name {name}; write the file again")
        self.row_lower.append(low)
        self.row_upper.append(high)
        return index

    def entry(self, row: int, column: int, value: float) -> None:
        self._rows.append(row)
        self._columns.append(column)
        self._values.append(value)

    def shift(self, row: int, right: float) -> None:
        """Give a row its right-hand side."""
        self.row_lower[row] += right
        self.row_upper[row] += right

    def bound(self, kind: str, column: int, value: float) -> None:
        """Set bounds in the words of MPS."""
        low, high = {
            "FX": (value, value),
            "FR": (-np.inf, np.inf),
            "MI": (-np.inf, None),
            "PL": (None, np.inf),
            "LO": (value, None),
            "UP": (None, value),
        }[kind]
        self.lower[column] = self.lower[column] if low is None else low
        self.upper[column] = self.upper[column] if high is None else high

    @staticmethod
    def number(text: str) -> int | float:
        """Read an integer exactly, whatever its size, and anything else as a float."""
        try:
            return int(text)
        except ValueError:
            return float(text)

    def program(self) -> NamedProgram:
        shape = len(self.row_lower), len(self.linear)
        return NamedProgram(
            self.label,
            np.array(self.quadratic, float),
            np.array(self.linear, float),
            int(self.constant) if self.constant == int(self.constant) else self.constant,  # pyright: ignore
            sparse.csr_array((self._values, (self._rows, self._columns)), shape=shape),
            np.array(self.row_lower, float),
            np.array(self.row_upper, float),
            np.array(self.lower, float),
            np.array(self.upper, float),
            np.array(self.integer, bool),
            Names.of(list(self.variable_index)),
            Names.of(list(self.row_index)),
        )
