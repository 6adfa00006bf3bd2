"""The sizes of rows, or other kinds that add up each by itself; and many tables, whose cells stand side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pgsr.data.columns import ColumnFrame
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import ProblemError, TableError

LARGEST_SIZE = 100_000
"""The largest whole number that is taken for a size and not for a name."""

SizeNames = tuple[int, ...] | tuple[str, ...]


def sizes_of(frame: ColumnFrame, column: str | None, remedy: str) -> tuple[SizeNames, np.ndarray]:
    """Find the sizes in their order, whole numbers or names, and which every row has; nothing depends on rows' order.

    Names that are one number, "3" and "3.0", are one size. Without a column there is one size, called "".

    Raises:
        TableError: a row has no size.

    Example:
        >>> sizes_of(ColumnFrame.of({"size": ["10", "9", "10"]}), "size", "")
        ((9, 10), array([1, 0, 1]))
        >>> sizes_of(ColumnFrame.of({"size": ["4+", "-1", "4"]}), "size", "")
        (('-1', '4', '4+'), array([2, 0, 1]))
    """
    if column is None:
        return ("",), np.zeros(frame.n_rows, np.int64)
    code, labels = frame.codes(column)
    if (code < 0).any():
        raise TableError(f"row {int(np.argmin(code))} has nothing in {column!r}; fill it in, or {remedy}")
    keys, _ = _order(frame, column, labels)
    names = dict(sorted(zip(keys, labels, strict=True), reverse=True))
    place = {key: i for i, key in enumerate(sorted(names))}
    found, numbers = tuple(map(names.__getitem__, place)), list(map(_number, labels))
    if all(number is not None and _is_size(*number) for number in numbers):
        found = tuple(int(Decimal(name)) for name in found)
    return found, np.array([place[key] for key in keys])[code]


def require_order(frame: ColumnFrame, column: str) -> None:
    """Raise `ProblemError` unless the sizes of a column have an order beside that of rows."""
    _, labels = frame.codes(column)
    if not _order(frame, column, labels)[1]:
        raise ProblemError(
            f"monotone=True orders sizes, and {column!r} has names without an order, such as {min(labels)!r}; give "
            "numbers, times or an ordered category"
        )


def _order(frame: ColumnFrame, column: str, labels: list[str]) -> tuple[list[Any], bool]:
    """Give what every name is ordered by, category, number or time, or its text; and whether that is an order."""
    places = {name: i for i, name in enumerate(frame.categories(column))}
    for keys in (map(kind, labels) for kind in (places.get, _number, _time)):
        found = list(keys)
        if None not in found:
            return found, True
    return labels, len(labels) == 1


def _number(label: str) -> tuple[Decimal, bool] | None:
    """Read "3", " 3.0" or "+3" as a number, and "4+" as what comes after "4"."""
    text = label.strip()
    try:
        number = Decimal(text.removesuffix("+"))
    except ArithmeticError:
        return None
    return (number, text.endswith("+")) if number.is_finite() else None


def _is_size(number: Decimal, more: bool) -> bool:
    return not more and 0 <= number <= LARGEST_SIZE and number == number.to_integral_value()


def _time(label: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(label)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Tables:
    """The tables that are told apart by columns; the cells of one stand together, in the order of its sizes.

    Attributes:
        by: the columns that tell them apart.
        keys: what every table has in these.
        start: where the cells of every table begin among those of a region, and end; shape (tables + 1,).
        sizes: the size of every cell of a region; all "" where tables have no sizes.
    """

    by: tuple[str, ...]
    keys: tuple[tuple[int | str, ...], ...]
    start: np.ndarray
    sizes: SizeNames

    def keys_of_rows(self, times: Sequence[int]) -> list[tuple[int | str, ...]]:
        """Repeat the key of every table so many times."""
        return [key for key, n in zip(self.keys, times, strict=True) for _ in range(n)]

    def name(self, table: int) -> str:
        """Name a table as sentences do."""
        return ", ".join(f"{column} {key!r}" for column, key in zip(self.by, self.keys[table], strict=True))

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The names of all cells of a region: the table's, and the size."""
        tables = np.repeat(np.arange(len(self.keys)), np.diff(self.start)).tolist()
        pairs = zip(map(self.name, tables), self.sizes, strict=True)
        return tuple(name if size == "" else f"{name}, size {size!r}" for name, size in pairs)


def tables_of(
    frame: ColumnFrame, by: Sequence[str], sizes: SizeNames, row_size: np.ndarray
) -> tuple[Tables, np.ndarray, np.ndarray]:
    """Find the tables, the place of every row's cell among those of its region, and the table of every row.

    Raises:
        TableError: a row is of no table.
    """
    names, codes = zip(*(sizes_of(frame, column, "leave the row out") for column in by), strict=True)
    shape = *map(len, names), len(sizes)
    cells, place = np.unique(np.ravel_multi_index((*codes, row_size), shape), return_inverse=True)
    tables, start, of_cell = np.unique(cells // len(sizes), return_index=True, return_inverse=True)
    keys = zip(*np.unravel_index(tables, shape[:-1]), strict=True)
    found = Tables(
        tuple(by),
        tuple(tuple(labels[int(i)] for labels, i in zip(names, key, strict=True)) for key in keys),
        np.append(start, len(cells)),
        tuple(sizes[int(i)] for i in cells % len(sizes)),  # pyright: ignore[reportArgumentType]
    )
    return found, place, of_cell[place]
