"""The long table of counts, one row per region and size, written to and read from Parquet or CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from pgsr.checks import require_kind
from pgsr.data.counts import LARGEST_DENSE, CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import SIZE_CLASS
from pgsr.data.long_tables import Reading, class_of_cells, reading, tables_cells
from pgsr.data.region_ids import path_of_id, region_id
from pgsr.data.views import View
from pgsr.errors import HierarchyError, TableError
from pgsr.machine import memory
from pgsr.tables.ids import IdKind, id_kind
from pgsr.tables.session import Limits, Session
from pgsr.tables.source import source
from pgsr.tables.sql import name

WHAT = "the long table"


def to_long(
    table: CountOfCounts | Estimate,
    *,
    zeros: bool = False,
    level_names: Sequence[str] | None = None,
    beside: Mapping[str, Sequence[np.ndarray]] | None = None,
    classes: bool | None = None,
) -> pa.Table:
    """Make a table of one row per region and size.

    Columns: `region_id`, `level` (0 for the root), `level_name`, `is_leaf`, one column of names per level (empty below
    the region), `group_size`, and `n_groups`. Groups are also in the rows of every region above, so sum over one level
    only: `is_leaf` marks the rows in which every group occurs once. Where levels have sizes of their own, `size_class`
    stands before `n_groups`: "3", or "7 or more" for the last class of a level. The truth is private in this form too.

    Args:
        table: finished or true counts, or an estimate, whose counts may be fractional.
        zeros: keep rows whose count is 0. Without them size 0 of every region stays, and the largest size of the root,
            or where levels have sizes of their own of the first region of every level.
        level_names: columns of names, root first; those of the hierarchy if None.
        beside: further columns of numbers, one table per level each, in the shapes of the counts. Then rows that would
            hold 0 in all these columns, too, are left out, and no others.
        classes: whether there is a column `size_class`; if None, where levels have sizes of their own.

    Raises:
        ArgumentError: the names of levels are too few or many, repeated, or those of other columns.
        HierarchyError: with classes of sizes, a region stands above a copy of itself.
        MemoryNeededError: the rows do not fit.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> counts = CountOfCounts(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> to_long(counts).to_pandas()[["region_id", "is_leaf", "size_class", "n_groups"]].tail(4)
          region_id  is_leaf size_class  n_groups
        6     US/GA     True  2 or more         1
        7     US/MI     True          0         0
        8     US/MI     True          1         1
        9     US/MI     True  2 or more         2
    """
    require_kind(table, (CountOfCounts, Estimate), "the table", "give CountOfCounts or Estimate")
    tree, sizes = table.hierarchy, table.sizes
    columns: dict[str, Reading] = {"n_groups": table.rows}
    classes = not sizes.equal if classes is None else classes
    if classes and tree.padded.any():
        copied = region_id(tree.paths[int(np.argmax(tree.padded))])
        raise HierarchyError(f"region {copied!r} stands above a copy of itself; give every branch the same depth")
    for name_of_column, tables in (beside or {}).items():
        columns[name_of_column] = reading(sizes, tables)
    region, size, *values = tables_cells(sizes, list(columns.values()), zeros, every_level=classes)
    place = pa.array(region)
    found = {key: column.take(place) for key, column in region_columns(tree, level_names).items()}
    found["group_size"] = size
    if classes:
        found[SIZE_CLASS] = pa.array(class_of_cells(sizes, region, size), pa.string())
    return pa.table(found | dict(zip(columns, values, strict=True)))


def region_columns(tree: Hierarchy, level_names: Sequence[str] | None) -> dict[str, pa.Array]:
    """Make `Hierarchy.region_columns` as Arrow arrays."""
    columns = tree.region_columns(level_names)
    types = {"level": pa.int64(), "is_leaf": pa.bool_()}
    return {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}


def read_long(table: Any, *, limits: Limits | None = None) -> Estimate:
    """Read the estimate of counts that `to_long` wrote; `.counts()` is the `CountOfCounts` if it is one.

    Regions and sizes are those that occur; absent rows count 0. A table with a column `size_class` has sizes per level:
    the largest size of a level is its last class. Only `region_id`, `group_size` and `n_groups` are read: the other
    columns follow from the ids.

    Args:
        table: anything `source` takes: a frame of `to_long`, or a file of it.
        limits: of memory, threads and disk.

    Raises:
        TableError: a missing column, or a row without size from 0 up or finite count, or given twice.
        HierarchyError: an id is none, or the regions form no tree; with sizes per level, branches differ in depth.
        CountError: sizes rise from a level to the one below it.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> read_long(to_long(CountOfCounts(tree, [[0, 2], [1, 0]]))).counts().counts
        array([[1, 2],
               [0, 2],
               [1, 0]])
    """
    found = _read_rows(table, limits)
    tree = Hierarchy.from_paths(found.paths, pad_ragged=not found.by_level)
    return Estimate(tree, View.COUNTS, (_tables if found.by_level else _values)(tree, found))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a long table.

    Attributes:
        paths: of the regions, in the order of their first rows.
        region: of every row, a place in `paths`.
        size, count: of every row.
        n_sizes: K + 1.
        whole: whether all counts are whole numbers.
        by_level: whether levels have sizes of their own.
    """

    paths: list[tuple[str, ...]]
    region: np.ndarray
    size: np.ndarray
    count: np.ndarray
    n_sizes: int
    whole: bool
    by_level: bool


def _read_rows(table: Any, limits: Limits | None) -> _Rows:
    """Read the rows of a long table.

    Raises:
        TableError, HierarchyError: as `read_long`.
    """
    given = source(table)
    with Session(limits or Limits(), [given], public=[given]) as session:
        types = session.require(given, ["region_id", "group_size", "n_groups"], WHAT)
        by_level = SIZE_CLASS in session.names(given, WHAT)
        if id_kind(types, "region_id", WHAT) is IdKind.NUMBER:
            raise TableError(f"ids of regions of {WHAT} are numbers; read them as text, else '01001' becomes 1001")
        numbered = (
            f"SELECT nullif(CAST(region_id AS VARCHAR), '') AS id, {_number(types, 'group_size', 'BIGINT')} AS size, "
            f"{_number(types, 'n_groups', 'DOUBLE')} AS c, {_number(types, 'n_groups', 'BIGINT')} AS n, "
            f"row_number() OVER () AS place FROM {session.scan(given, WHAT)}"
        )
        rows = session.keep(numbered, WHAT)
        [(bad, n_sizes, whole)] = session.rows(
            "SELECT count(*) FILTER (id IS NULL OR size IS NULL OR size < 0 OR c IS NULL OR NOT isfinite(c)), "
            f"max(size) + 1, bool_and(n IS NOT NULL) FROM {rows}",
            WHAT,
        )
        if bad or n_sizes is None:
            raise TableError(f"{bad:,} rows of {WHAT} have no region, size from 0 up or finite count; mend or add rows")
        codes = session.keep(f"SELECT id, min(place) AS place FROM {rows} GROUP BY id", WHAT)
        paths = [path_of_id(id_) for (id_,) in session.rows(f"SELECT id FROM {codes} ORDER BY place", WHAT)]
        order = f"(SELECT id, row_number() OVER (ORDER BY place) - 1 AS region FROM {codes}) o"
        found = session.columns(
            f"SELECT o.region AS region, r.size AS size, {'r.n' if whole else 'r.c'} AS count "
            f"FROM {rows} r JOIN {order} ON r.id = o.id",
            WHAT,
        )
    region, size = np.asarray(found["region"], np.int64), np.asarray(found["size"], np.int64)
    return _Rows(paths, region, size, np.asarray(found["count"]), int(n_sizes), bool(whole), by_level)


def _number(types: dict[str, str], column: str, kind: str) -> str:
    """Write a number in SQL, NULL where it is none (for BIGINT: no whole one)."""
    n = name(column)
    if types[column] != "VARCHAR":
        kept = f" AND abs({n}) < {2**53}" if types[column] in ("FLOAT", "DOUBLE") else ""  # others may be rounded
        return (
            f"CASE WHEN {n} = floor({n}){kept} THEN TRY_CAST({n} AS BIGINT) END"
            if kind == "BIGINT"
            else f"CAST({n} AS DOUBLE)"
        )
    if kind == "BIGINT":
        return f"CASE WHEN regexp_full_match({n}, '-?[0-9]{{1,19}}(\\.0*)?') THEN TRY_CAST({n} AS BIGINT) END"
    return f"TRY_CAST({n} AS DOUBLE)"


def _values(tree: Hierarchy, found: _Rows) -> Any:
    listed, size, shape = found.region, found.size, (len(found.paths), found.n_sizes)
    table = sparse.csr_array((np.ones(len(size), np.int64), (listed, size)), shape=shape)
    if table.nnz and table.data.max() > 1:
        raise TableError(_TWICE)
    table = sparse.csr_array((found.count, (listed, size)), shape=shape)
    position = _order_of_rows(tree)
    dense = 8 * tree.n_regions * found.n_sizes
    memory.require(min(dense, 16 * table.nnz + 32 * found.n_sizes), f"a table of {tree.n_regions:,} regions")
    table = sparse.csr_array(table[position])
    return table if dense > LARGEST_DENSE else table.toarray()


def _tables(tree: Hierarchy, found: _Rows) -> tuple[np.ndarray, ...]:
    """Put the rows into one table per level."""
    position = np.empty(len(found.paths), np.int64)
    position[_order_of_rows(tree)] = np.arange(tree.n_regions)
    region = position[found.region]
    level_of, tables = tree.level_of[region], []
    for level in range(tree.n_levels):
        here, rows = tree.level(level), level_of == level
        shape = here.stop - here.start, int(found.size[rows].max()) + 1
        memory.require(17 * shape[0] * shape[1], f"the counts of level {level}")
        values, times = np.zeros(shape, found.count.dtype), np.zeros(shape, np.int8)
        place = region[rows] - here.start, found.size[rows]
        np.add.at(times, place, 1)
        if times.max(initial=0) > 1:
            raise TableError(_TWICE)
        values[place] = found.count[rows]
        tables.append(values)
    return tuple(tables)


_TWICE = f"a region and size have two rows in {WHAT}; give each once"


def _order_of_rows(tree: Hierarchy) -> np.ndarray:
    """Give the place of every region among those that have rows; shape (regions,).

    Raises:
        TableError: a region has none.
    """
    if (tree.order < 0).any():
        missing = int(np.argmax(tree.order < 0))
        raise TableError(
            f"{WHAT} has no rows of {' / '.join(tree.paths[missing])!r}; add them, a row of size 0 will do"
        )
    return tree.order
