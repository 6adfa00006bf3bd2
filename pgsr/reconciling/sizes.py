"""The sizes of a table's rows, or other kinds that add up over regions each by itself."""

import numpy as np

from pgsr.errors import TableError
from pgsr.reconciling.frames import ColumnFrame

LARGEST_SIZE = 100_000
"""The largest whole number that is taken for a size and not for a name."""

SizeNames = tuple[int, ...] | tuple[str, ...]


def sizes_of(frame: ColumnFrame, column: str | None) -> tuple[SizeNames, np.ndarray]:
    """Find the sizes, whole numbers in rising order or names as they appear, and which every row has, -1 for none.

    Without a column there is one size, called "".

    Raises:
        TableError: the column has no sizes.

    Example:
        >>> sizes_of(ColumnFrame.of({"size": ["10", None, "9"]}), "size")
        ((9, 10), array([ 1, -1,  0]))
    """
    if column is None:
        return ("",), np.zeros(frame.n_rows, np.int64)
    code, labels = frame.codes(column)
    names = [label for label in labels if label]
    if not names:
        raise TableError(f"column {column!r} is empty; leave size= out")
    if all(name.isascii() and name.isdigit() and int(name) <= LARGEST_SIZE for name in names):
        numbers = sorted(set(map(int, names)))
        place = {number: i for i, number in enumerate(numbers)}
        return tuple(numbers), np.array([*(place[int(label)] if label else -1 for label in labels), -1])[code]
    order = {name: i for i, name in enumerate(names)}
    return tuple(names), np.array([*(order.get(label, -1) for label in labels), -1])[code]
