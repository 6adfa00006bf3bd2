"""The sizes of a table's rows, or other kinds that add up over regions each by itself."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pgsr.data.columns import ColumnFrame
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
