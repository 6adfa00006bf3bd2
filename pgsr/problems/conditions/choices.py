"""Choices between conditions: `either(a, b)`, of which one holds for every entry, as values and as numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import require_kind
from pgsr.errors import ProblemError
from pgsr.problems.conditions.coefficients import LARGEST_NUMBER, ProblemCells, matched
from pgsr.problems.conditions.expressions import Condition, Expression

if TYPE_CHECKING:
    import scipy.sparse

UNBOUNDED = 2**62
"""The bound that stands for none."""


def either(*alternatives: "Condition | Sequence[Condition]") -> "Either":
    """Join conditions of which one holds at least, entry by entry; `Problem.where` takes it.

    Args:
        alternatives: two or more conditions, or lists of conditions that hold together. All have the same number of
            entries, or one that stands for all.

    Raises:
        ProblemError: there are fewer than two.
        ArgumentError: something is no condition.

    Example:
        >>> from pgsr.problems.conditions import cells, total
        >>> either(total(("US", "GA")) == 0, [total(("US", "GA")) >= 10, cells(("US", "GA"), size=1) >= 2])
        Either(total(US/GA) == 0 or total(US/GA) >= 10 and cells(US/GA, 1) >= 2)
    """
    if len(alternatives) < 2:
        raise ProblemError("either joins two conditions or more, either(a, b); state a single one as it is")
    sides: tuple[tuple[Any, ...], ...]
    sides = tuple(tuple(side) if isinstance(side, list | tuple) else (side,) for side in alternatives)
    for condition in (condition for side in sides for condition in side):
        require_kind(condition, Condition, "an alternative of either", "write comparisons such as cells(size=0) == 0")
    if not all(sides):
        raise ProblemError("an alternative of either is empty, so it says nothing; give conditions")
    return Either(sides)


def zero_or_at_least(expression: Expression, least: Any) -> "Either":
    """Let every entry be 0 or at least so much, as offices do that suppress small counts.

    Example:
        >>> from pgsr.problems.conditions import cells
        >>> zero_or_at_least(cells(level=1), 5)
        Either(cells(level 1, every size) == 0 or cells(level 1, every size) >= 5)
    """
    require_kind(expression, Expression, "the expression", "write one such as cells(level=1)")
    return either(expression == 0, expression >= least)


@dataclass(frozen=True, eq=False)
class Either:
    """Alternatives of which one holds for every entry, each of conditions that hold together."""

    alternatives: tuple[tuple[Condition, ...], ...]

    @property
    def name(self) -> str:
        """The choice as a modeller would read it."""
        return " or ".join(" and ".join(condition.name for condition in side) for side in self.alternatives)

    def __bool__(self) -> NoReturn:
        raise ProblemError(f"{self.name} is a choice, neither true nor false; give it to where")

    def __repr__(self) -> str:
        return f"Either({self.name})"


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices in numbers: of the alternatives of each, all rows of one hold, lower <= rows x <= upper.

    Attributes:
        rows: integers, shape (m, cells), cells region by region.
        lower, upper: shape (m,), -UNBOUNDED or UNBOUNDED where a row has one side only.
        alternative: the number of the alternative that a row belongs to, shape (m,).
        choice: the number of the choice that an alternative belongs to, not decreasing; shape (alternatives,).
        names: of the choices, with their regions and sizes.
    """

    rows: "scipy.sparse.csr_array"
    lower: np.ndarray
    upper: np.ndarray
    alternative: np.ndarray
    choice: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, choices: Sequence[Either], place: ProblemCells) -> "Choices":
        """Find the rows of all entries.

        Raises:
            ProblemError: a region, level or size is not there, numbers of entries differ, or no unknown is left.
        """
        return reduce(Choices.and_also, (_numbers(choice, place) for choice in choices))

    def and_also(self, other: "Choices") -> "Choices":
        """Put other choices behind these, over the same cells."""
        return Choices(
            scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, other.rows])),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.upper, other.upper]),
            np.concatenate([self.alternative, other.alternative + len(self.choice)]),
            np.concatenate([self.choice, other.choice + len(self)]),
            self.names + other.names,
        )

    def broken(self, x: np.ndarray, near: float, relative: float) -> np.ndarray:
        """Say which choices no alternative holds of, rows by as much as one of their cells may be off; bool."""
        have = self.rows @ x.ravel()
        off = near * abs(self.rows).max(axis=1).toarray().ravel() + relative * np.abs(have)
        wrong = ((self.lower > -UNBOUNDED) & (have < self.lower - off)) | (
            (self.upper < UNBOUNDED) & (have > self.upper + off)
        )
        fails = np.bincount(self.alternative, wrong, len(self.choice)) > 0
        return np.bincount(self.choice, ~fails, len(self)) == 0

    def reached(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the least and the largest value of every row where cells are between two numbers; shape (m,) each.

        Raises:
            ProblemError: a row has none.
        """
        plus, minus = (scipy.sparse.csr_array(part) for part in (self.rows.maximum(0), self.rows.minimum(0)))
        with np.errstate(invalid="ignore"):
            least = _product(plus, low) + _product(minus, high)
            most = _product(plus, high) + _product(minus, low)
        wrong = np.flatnonzero(~(np.isfinite(least) & np.isfinite(most)))
        if len(wrong):
            name = self.names[int(self.choice[self.alternative[wrong[0]]])]
            raise ProblemError(
                f"{name}: a choice needs cells with a least and a largest value; state a public total, or bounds such "
                "as cells(level=1) <= 1_000"
            )
        return least, most

    @property
    def largest_row(self) -> int:
        """The largest sum of magnitudes of a row's coefficients."""
        return int(abs(self.rows).sum(axis=1).max())


@dataclass(frozen=True, eq=False)
class Compared:
    """A condition in numbers, lower <= matrix x <= upper, and what `names` its entries at some positions."""

    matrix: "scipy.sparse.csr_array"
    lower: np.ndarray
    upper: np.ndarray
    names: Callable[[np.ndarray], list[str]]
    largest: int

    @classmethod
    def of(cls, condition: Condition, place: ProblemCells) -> "Compared":
        relation = condition.relation
        left, right = matched(condition.left.resolve(place), condition.right.resolve(place), condition.name)
        matrix = scipy.sparse.csr_array(left.matrix - right.matrix)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not np.diff(matrix.indptr).all():
            raise ProblemError(f"{condition.name} leaves no unknown; state a condition between different cells")

        def names(entries: np.ndarray) -> list[str]:
            return [f"{a} {relation} {b}" for a, b in zip(left.names(entries), right.names(entries), strict=True)]

        number = right.constant - left.constant
        lower = number if relation in ("==", ">=") else np.full(len(number), -UNBOUNDED)
        upper = number if relation in ("==", "<=") else np.full(len(number), UNBOUNDED)
        return cls(matrix, lower, upper, names, int(np.abs(number).max(initial=0)))


def _product(matrix: "scipy.sparse.csr_array", values: np.ndarray) -> np.ndarray:
    """Multiply, where values may be infinite; a row without coefficients gives 0."""
    return np.add.reduceat(np.append(matrix.data * values[matrix.indices], 0.0), matrix.indptr[:-1]) * (
        np.diff(matrix.indptr) > 0
    )


def _numbers(choice: Either, place: ProblemCells) -> Choices:
    every = ((number, condition) for number, side in enumerate(choice.alternatives) for condition in side)
    numbers = [(number, Compared.of(condition, place)) for number, condition in every]
    counts = {len(compared.lower) for _, compared in numbers}
    n = max(counts)
    if counts - {1, n}:
        raise ProblemError(
            f"{choice.name}: alternatives have {min(counts - {1})} and {n} entries; select as many of each"
        )
    sides = len(choice.alternatives)
    blocks, lows, highs, of = [], [], [], []
    words: list[list[list[str]]] = [[[] for _ in range(sides)] for _ in range(n)]
    for number, compared in numbers:
        entries = np.arange(n) if len(compared.lower) == n else np.zeros(n, np.int64)
        blocks.append(compared.matrix[entries])
        lows.append(compared.lower[entries])
        highs.append(compared.upper[entries])
        of.append(np.arange(n) * sides + number)
        for entry, name in enumerate(compared.names(entries)):
            words[entry][number].append(name)
    if any(compared.largest > LARGEST_NUMBER for _, compared in numbers):
        raise ProblemError(f"a number of {choice.name} exceeds 2^50; scale the condition down")
    return Choices(
        scipy.sparse.csr_array(scipy.sparse.vstack(blocks)),
        np.concatenate(lows),
        np.concatenate(highs),
        np.concatenate(of),
        np.repeat(np.arange(n), sides),
        tuple(" or ".join(" and ".join(side) for side in entry) for entry in words),
    )
