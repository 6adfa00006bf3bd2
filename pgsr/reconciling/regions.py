"""The regions and sizes that rows of a table name; paths are written when they are asked for."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pgsr.data.columns import ColumnFrame
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import ABOVE_ALL, like
from pgsr.errors import ProblemError, TableError
from pgsr.machine import memory

LARGEST_SIZE = 100_000
"""The largest whole number that is taken for a size and not for a name."""

SizeNames = tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableRegions:
    """The regions of a table.

    Attributes:
        tree: the regions; a branch that ends early is continued by copies of its last region, as in `Hierarchy`.
        of_row: the region of every row, its lowest copy; shape (rows,).
    """

    tree: Hierarchy
    of_row: np.ndarray


def regions_of_levels(frame: ColumnFrame, columns: Sequence[str]) -> TableRegions:
    """Find the regions of rows that name one region per level, from the root down, and nothing below their own.

    Raises:
        TableError: a row names a region and none above it, or no region at all.
    """
    codes, labels = zip(*(_in_order(*frame.codes(name)) for name in columns), strict=True)
    named = np.stack([code >= 0 for code in codes])
    depth = named.sum(axis=0)
    gap = named[1:] & ~named[:-1]
    if gap.any():
        level, row = np.argwhere(gap)[0]
        name = labels[level + 1][int(codes[level + 1][row])]
        raise TableError(
            f"row {row} names {name!r} in {columns[level + 1]!r} and nothing in {columns[level]!r}; fill it in"
        )
    if (depth == 0).any():
        row = int(np.argmin(depth))
        raise TableError(f"row {row} names no region in {columns[0]!r}; fill it in, or leave the row out")
    parents, names, at = [], [], np.zeros(frame.n_rows, np.int64)
    region = np.zeros(frame.n_rows, np.int64)
    for level, code in enumerate(codes):
        rows = np.flatnonzero(depth > level)
        width = len(labels[level])
        found, inverse = np.unique(at[rows] * width + code[rows], return_inverse=True)
        parents.append(found // width)
        names.append((labels[level], found % width))
        at[rows] = inverse
        own = rows[depth[rows] == level + 1]
        region[own] = at[own]
    return _assembled(parents, names, depth - 1, region)


def regions_of_parents(frame: ColumnFrame, ids: str, parents: str) -> TableRegions:
    """Find the regions of rows that have an id and that of the region above, nothing at the root.

    Raises:
        TableError: a row without an id, a parent without a row, two parents of one region, or a cycle.
    """
    code, labels = _in_order(*frame.codes(ids))
    above_code, above_labels = frame.codes(parents)
    frame.spelled[ids] = [*frame.spelled[ids], *frame.spelled.pop(parents)]
    if (code < 0).any():
        raise TableError(f"row {int(np.argmin(code))} has nothing in {ids!r}; give every row its id")
    number = {name: i for i, name in enumerate(labels)}
    known = np.array([number.get(name, -1) for name in above_labels], np.int64)
    above_row = np.append(np.where(known < 0, -2, known), -1)[above_code]
    if (above_row == -2).any():
        row = int(np.argmax(above_row == -2))
        raise TableError(
            f"row {row}, {labels[code[row]]!r}, lies below {above_labels[above_code[row]]!r}, which no row has in "
            f"{ids!r}{like(above_labels[above_code[row]], labels)}; add a row for it, without a value if it has "
            f"none, or leave {parents!r} empty at the root"
        )
    above = np.full(len(labels), -1, np.int64)
    above[code[::-1]] = above_row[::-1]  # the first row of a region wins
    differs = above[code] != above_row
    if differs.any():
        row = int(np.argmax(differs))
        raise TableError(f"row {row}, {labels[code[row]]!r}, has another parent than an earlier row; a region has one")
    level_of, place = np.full(len(labels), -1, np.int64), np.zeros(len(labels), np.int64)
    here, up, level = np.flatnonzero(above < 0), None, 0
    levels, names = [], []
    while len(here):
        order = np.argsort(place[above[here]], kind="stable") if up is not None else np.arange(len(here))
        here = here[order]
        levels.append(np.zeros(len(here), np.int64) if up is None else place[above[here]])
        names.append((labels, here))
        level_of[here], place[here] = level, np.arange(len(here))
        up, level = here, level + 1
        here = np.flatnonzero((level_of < 0) & (above >= 0) & (level_of[above] == level - 1))
    if (level_of < 0).any():
        row = int(np.argmax(level_of[code] < 0))
        raise TableError(f"row {row}, {labels[code[row]]!r}, lies below itself; its parents form a cycle, break it")
    return _assembled(levels, names, level_of[code], place[code])


def _in_order(code: np.ndarray, labels: list[str]) -> tuple[np.ndarray, list[str]]:
    """Number names by their text, so that neither ties nor draws depend on the order of rows."""
    order = sorted(range(len(labels)), key=labels.__getitem__)
    place = np.full(len(labels) + 1, -1)
    place[order] = np.arange(len(labels))
    return place[code], [labels[i] for i in order]


def _assembled(
    parents: list[np.ndarray], names: list[tuple[Sequence[str], np.ndarray]], level: np.ndarray, place: np.ndarray
) -> TableRegions:
    """Put levels below each other, with copies of regions that end early, and one region above several roots.

    Args:
        parents: the places, on the level above, of the regions of every level; those of the first say nothing.
        names: of every level the names, and the number of each region's among them.
        level, place: of every row's region.
    """
    parents[0] = np.zeros_like(parents[0])
    added = len(parents[0]) > 1
    if added:
        parents, names, level = (
            [np.zeros(1, np.int64), *parents],
            [([ABOVE_ALL], np.zeros(1, np.int64)), *names],
            level + 1,
        )
    first = np.cumsum([0, *map(len, parents)])  # regions without copies, numbered level by level
    ended = np.cumsum([0, *(len(here) - len(np.unique(below)) for here, below in itertools.pairwise(parents))])
    memory.require(350 * int(ended.sum()), f"copying regions to the last of {len(parents)} levels", "leave out levels")
    start, position = np.zeros(int(first[-1]), np.int64), np.zeros(int(first[-1]), np.int64)
    who, links, copied, level_start = [np.zeros(1, np.int64)], [np.full(1, -1)], [], [0, 1]
    for depth in range(1, len(parents)):
        real = position[first[depth - 1] + parents[depth]]
        ends = np.ones(len(who[-1]), bool)
        ends[real] = False
        copied.append(ends)
        above = np.concatenate([real, np.flatnonzero(ends)])
        order = np.argsort(above, kind="stable")
        numbers = np.concatenate([np.arange(first[depth], first[depth + 1]), who[-1][ends]])[order]
        links.append(level_start[-2] + above[order])
        who.append(numbers)
        position[numbers], start[numbers] = np.arange(len(numbers)), level_start[-1]
        level_start.append(level_start[-1] + len(numbers))
    parent, index = np.concatenate(links), start + position
    n, n_inner = len(parent), level_start[-2]
    first_child = np.append(np.searchsorted(parent[1:], np.arange(n_inner)) + 1, np.full(n - n_inner + 1, n))
    padded = np.concatenate([*copied, np.zeros(len(who[-1]), bool)])
    region = index[first[level] + place]
    paths = LazyPaths(parents, names, first, np.concatenate(who), added)
    tree = Hierarchy(paths, parent, first_child, np.array(level_start), np.full(n, -1), padded)  # pyright: ignore
    return TableRegions(tree, region)


@dataclass(frozen=True, eq=False)
class LazyPaths(Sequence[tuple[str, ...]]):
    """The paths of all regions, each made when it is asked for: ten million tuples of text would take minutes.

    A copy has the path of its region, and the region put above several roots stands in no path but its own.
    """

    parents: list[np.ndarray]
    names: list[tuple[Sequence[str], np.ndarray]]
    first: np.ndarray
    who: np.ndarray
    added: bool

    def __len__(self) -> int:
        return len(self.who)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        number = int(self.who[index])
        depth = int(np.searchsorted(self.first, number, side="right")) - 1
        place, path = number - int(self.first[depth]), []
        top = 1 if self.added and depth else 0
        for level in range(depth, top - 1, -1):
            labels, label = self.names[level]
            path.append(labels[label.item(place)])
            place = self.parents[level].item(place)
        return tuple(reversed(path))


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
