"""The long table of counts, one row per region and size, written to and read from Parquet or CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from scipy import sparse

from pgsr.checks import require_kind
from pgsr.data.counts import LARGEST_DENSE, CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import long_cells
from pgsr.data.region_ids import path_of_id
from pgsr.data.views import View
from pgsr.errors import ArgumentError, TableError
from pgsr.machine import memory
from pgsr.machine.replacing import as_path, replacing
from pgsr.tables.ids import IdKind, id_kind, id_sql
from pgsr.tables.session import Limits, Session
from pgsr.tables.source import source
from pgsr.tables.sql import name

WHAT = "the long table"


def to_long(
    table: CountOfCounts | Estimate, *, zeros: bool = False, level_names: Sequence[str] | None = None
) -> pa.Table:
    """Make a table of one row per region and size.

    Columns: `region_id` (the path, see `region_id`), `level` (0 for the root), `level_name`, `is_leaf`, one column of
    names per level (empty below the region), `group_size`, and `n_groups`. All regions have rows, and the groups of a
    region are also in the rows of every region above it, so sum over one level only: `is_leaf` marks the rows in which
    every group occurs once. A region that padding repeats has one set of rows, that of a leaf. The truth is private in
    this form too.

    Args:
        table: finished or true counts, or an estimate, whose counts may be fractional.
        zeros: keep rows whose count is 0. Without them two kinds stay, so that the table says which regions and sizes
            exist: size 0 of every region, and size K of the root.
        level_names: columns of names, root first; those of the hierarchy if None.

    Raises:
        ArgumentError: the names of levels are too few or many, repeated, or those of other columns.
        MemoryNeededError: the rows do not fit.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> long = to_long(CountOfCounts(tree, [[0, 2], [1, 0]]), level_names=("nation", "state")).to_pandas()
        >>> long.drop(columns=["nation", "state"])
          region_id  level level_name  is_leaf  group_size  n_groups
        0        US      0     nation    False           0         1
        1        US      0     nation    False           1         2
        2     US/GA      1      state     True           0         0
        3     US/GA      1      state     True           1         2
        4     US/MI      1      state     True           0         1
        >>> int(long[long.is_leaf].n_groups.sum())
        3
    """
    require_kind(table, (CountOfCounts, Estimate), "the table", "give CountOfCounts or Estimate")
    tree = table.hierarchy
    region, size, count = long_cells(table.row, tree.listed, table.max_size + 1, zeros)
    keys = region_columns(tree, level_names)
    taken = {name: column.take(pa.array(region)) for name, column in keys.items()}
    return pa.table({**taken, "group_size": size, "n_groups": count})


def region_columns(tree: Hierarchy, level_names: Sequence[str] | None) -> dict[str, pa.Array]:
    """Make `Hierarchy.region_columns` as Arrow arrays."""
    columns = tree.region_columns(level_names)
    types = {"level": pa.int64(), "is_leaf": pa.bool_()}
    return {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}


def write_long(
    table: CountOfCounts | Estimate,
    path: str | Path,
    *,
    zeros: bool = False,
    level_names: Sequence[str] | None = None,
) -> None:
    """Write `to_long` as Parquet or CSV, by the file's ending; a file of that name is replaced in one step.

    Raises:
        ArgumentError: another ending, or as `to_long`.
        TableError: there is no such folder, or the file cannot be written.
    """
    path = as_path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise ArgumentError(f"the file {path.name!r} ends in neither .parquet nor .csv; rename it")
    rows = to_long(table, zeros=zeros, level_names=level_names)
    with replacing(path, TableError) as file:
        if path.suffix == ".parquet":
            pa_parquet.write_table(rows, file, compression="zstd")
        else:
            pa_csv.write_csv(rows, file)


def read_long(table: Any, *, limits: Limits | None = None) -> Estimate:
    """Read the estimate of counts that `to_long` wrote; `.counts()` is the `CountOfCounts` if it is one.

    Regions and sizes are those that occur; absent rows count 0. Only `region_id`, `group_size` and `n_groups` are read:
    the other columns follow from the ids.

    Args:
        table: anything `source` takes: a file of `write_long`, a frame of `to_long`.
        limits: of memory, threads and disk.

    Raises:
        TableError: a missing column, or a row without size from 0 up or finite count, or given twice.
        HierarchyError: an id is none, or the regions form no tree.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> read_long(to_long(CountOfCounts(tree, [[0, 2], [1, 0]]))).counts().counts
        array([[1, 2],
               [0, 2],
               [1, 0]])
    """
    found = read_rows(table, limits)
    tree = Hierarchy.from_paths(found.paths, pad_ragged=True)
    return Estimate(tree, View.COUNTS, _values(tree, found))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a long table.

    Attributes:
        paths: of the regions, in the order of their first rows.
        region: of every row, a place in `paths`.
        size, count: of every row.
        n_sizes: K + 1.
        whole: whether all counts are whole numbers.
    """

    paths: list[tuple[str, ...]]
    region: np.ndarray
    size: np.ndarray
    count: np.ndarray
    n_sizes: int
    whole: bool


def read_rows(table: Any, limits: Limits | None, *, by_level: bool = False) -> Rows:
    """Read the rows of a long table; `by_level` says whether levels are to have sizes of their own.

    Raises:
        TableError, HierarchyError: as `read_long`; or the sizes are not so.
    """
    given = source(table)
    with Session(limits or Limits(), [given], public=[given]) as session:
        types = session.require(given, ["region_id", "group_size", "n_groups"], WHAT)
        if ("size_class" in session.names(given, WHAT)) != by_level:
            reader = "read_long" if by_level else "read_long_by_level"
            which = "the same sizes on all levels" if by_level else "sizes per level (a column 'size_class')"
            raise TableError(f"{WHAT} has {which}; read it with {reader}")
        if id_kind(types, "region_id", WHAT) is IdKind.NUMBER:
            raise TableError(f"ids of regions of {WHAT} are numbers; read them as text, else '01001' becomes 1001")
        numbered = (
            f"SELECT {id_sql('region_id', IdKind.TEXT)} AS id, {_number(types, 'group_size', 'BIGINT')} AS size, "
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
    return Rows(paths, region, size, np.asarray(found["count"]), int(n_sizes), bool(whole))


def _number(types: dict[str, str], column: str, kind: str) -> str:
    """Write a number in SQL, NULL where it is none (for BIGINT: no whole one)."""
    n = name(column)
    if types[column] != "VARCHAR":
        return (
            f"CASE WHEN {n} = floor({n}) THEN TRY_CAST({n} AS BIGINT) END"
            if kind == "BIGINT"
            else f"CAST({n} AS DOUBLE)"
        )
    if kind == "BIGINT":
        return f"CASE WHEN regexp_full_match({n}, '-?[0-9]{{1,18}}') THEN TRY_CAST({n} AS BIGINT) END"
    return f"TRY_CAST({n} AS DOUBLE)"


def _values(tree: Hierarchy, found: Rows) -> Any:
    listed, size, shape = found.region, found.size, (len(found.paths), found.n_sizes)
    table = sparse.csr_array((np.ones(len(size), np.int64), (listed, size)), shape=shape)
    if table.nnz and table.data.max() > 1:
        raise TableError(f"a region and size have two rows in {WHAT}; give each once")
    table = sparse.csr_array((found.count, (listed, size)), shape=shape)
    position = order_of_rows(tree)
    dense = 8 * tree.n_regions * found.n_sizes
    memory.require(min(dense, 16 * table.nnz + 32 * found.n_sizes), f"a table of {tree.n_regions:,} regions")
    table = sparse.csr_array(table[position])
    return table if dense > LARGEST_DENSE else table.toarray()


def order_of_rows(tree: Hierarchy) -> np.ndarray:
    """Give the place of every region among those that have rows; shape (regions,).

    Raises:
        TableError: a region has none.
    """
    if (tree.order < 0).any():
        missing = int(np.argmax(tree.order < 0))
        raise TableError(f"{WHAT} has no rows of {' / '.join(tree.paths[missing])}; add them, a row of size 0 will do")
    return tree.order
