"""The sizes of a table's rows, or other kinds that add up over regions each by itself."""

import numpy as np

from pgsr.errors import TableError
from pgsr.reconciling.frames import ColumnFrame

LARGEST_SIZE = 100_000
"""The largest whole number that is taken for a size and not for a name."""

SizeNames = tuple[int, ...] | tuple[str, ...]


def sizes_of(frame: ColumnFrame, column: str | None) -> tuple[SizeNames, np.ndarray]:
    """Find the sizes, whole numbers in rising order or names as they appear, and which every row has.

    Without a column there is one size, called "".

    Raises:
        TableError: a row has no size.

    Example:
        >>> sizes_of(ColumnFrame.of({"size": ["10", "9", "10"]}), "size")
        ((9, 10), array([1, 0, 1]))
    """
    if column is None:
        return ("",), np.zeros(frame.n_rows, np.int64)
    code, labels = frame.codes(column)
    if (code < 0).any():
        raise TableError(
            f"row {int(np.argmin(code))} has nothing in {column!r}, and sums over sizes are not taken; fill it in, or "
            "make sizes the last column of hierarchy= and leave size= out"
        )
    if all(label.isascii() and label.isdigit() and int(label) <= LARGEST_SIZE for label in labels):
        numbers = sorted(set(map(int, labels)))
        place = {number: i for i, number in enumerate(numbers)}
        return tuple(numbers), np.array([place[int(label)] for label in labels])[code]
    return tuple(labels), code
