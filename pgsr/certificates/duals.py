"""The prices of the rows of a continuous problem's program, by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.read_only import read_only_arrays
from pgsr.problems.problem import Problem
from pgsr.problems.programs.formulation import row_names


@dataclass(frozen=True, eq=False, repr=False)
@read_only_arrays
class Duals(Mapping[str, float]):
    """A mapping from the rows of a continuous problem's program to their prices, in the order of its file.

    The price of a row a x = b, a x <= b or a x >= b is the derivative of the least objective with respect to b: of a
    lower bound it is 0 or positive, of an upper one 0 or negative, and of an equality any number. It is 0 where the
    row is not met with equality. A row with two sides has the price of the side that it meets. Where the objective has
    a kink, a price is one of the numbers between the derivatives to the left and to the right.

    Names are those of `pgsr.problems.programs.named(problem).rows` and of `Problem.write`: consistency[US,3] (the
    region's count less those of its children), total[US], order[US/GA,3] (x[US/GA,3] - x[US/GA,4] <= 0), conditions as
    they were stated. From 200,000 unknowns on, indices of regions stand for their paths.

    Args:
        problem: the continuous problem.
        prices: the prices of all rows, in groups squared per group for squares; shape (rows,).

    Complexity: names are made when the first is asked for, O(rows).

    Example:
        >>> from pgsr import Hierarchy
        >>> from pgsr.algorithms import TreeProjection
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> problem = Problem.of([[1, 9], [0, 5], [3, 4]], tree, groups=13)
        >>> duals = TreeProjection().solve(problem.relaxed()).duals
        >>> duals
        Duals(3 rows: consistency[US,0], consistency[US,1], total[US])
        >>> round(duals["total[US]"], 6)
        3.428571
    """

    problem: Problem
    prices: np.ndarray

    @cached_property
    def rows(self) -> list[str]:
        """The names of all rows."""
        return row_names(self.problem, "auto").texts()

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.rows)}

    def __getitem__(self, row: str) -> float:
        place = self._place.get(row)
        if place is None:
            raise KeyError(f"{self.problem.label} has no row {row!r}; its rows are {self._shown()}")
        return float(self.prices[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.prices)

    def _shown(self) -> str:
        few = ", ".join(self.rows[:3])
        return f"{few}, ..., {self.rows[-1]}" if len(self.rows) > 4 else ", ".join(self.rows)

    def __repr__(self) -> str:
        return f"Duals({len(self):,} rows: {self._shown()})"
