"""Counts as a long table, one row per region and size, to Parquet or CSV and back."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from scipy import sparse

from pgsr import memory
from pgsr.checks import require_kind
from pgsr.errors import ArgumentError, TableError
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import LARGEST_DENSE, CountOfCounts
from pgsr.tables.ids import IdKind, id_kind, id_sql, require_columns
from pgsr.tables.regions import path_of, real_paths
from pgsr.tables.session import Limits, Session, name
from pgsr.tables.source import source
from pgsr.views import View

WHAT = "the long table"


def to_long(table: CountOfCounts | Estimate, *, zeros: bool = False, separator: str | None = None) -> pa.Table:
    """One row per region and size: level_0, level_1, ... (empty below the region), size, count.

    All regions have rows, for a relaxed estimate need not add up; sum over one level only. A region that padding
    repeats has one set of rows. The truth is private in this form too.

    Args:
        table: finished or true counts, or an estimate, whose counts may be fractional.
        zeros: keep rows whose count is 0. Without them two kinds stay, so that the table says which regions and sizes
            exist: size 0 of every region, and size K of the root.
        separator: write the path as one column "region" joined by this text, instead of one column per level.

    Raises:
        TableError: a region's name holds the separator.
        MemoryNeededError: the rows do not fit.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> to_long(CountOfCounts(tree, [[0, 2], [1, 0]]), separator="/").to_pandas()
          region  size  count
        0     US     0      1
        1     US     1      2
        2  US/GA     0      0
        3  US/GA     1      2
        4  US/MI     0      1
    """
    require_kind(table, (CountOfCounts, Estimate), "the table", "give CountOfCounts or Estimate")
    tree, paths = table.hierarchy, real_paths(table.hierarchy)
    listed = np.flatnonzero(~tree.padded)
    if zeros:
        memory.require(48 * len(listed) * (table.max_size + 1), f"{len(listed) * (table.max_size + 1):,} rows")
    region, size, count = _listed_cells(table, listed, zeros)
    columns: dict[str, Any] = {}
    if separator is None:
        for level in range(tree.n_levels):
            names = [paths[r][level] if level < len(paths[r]) else None for r in range(tree.n_regions)]
            columns[f"level_{level}"] = pa.array(names, pa.string()).take(pa.array(region))
    else:
        _require_separator(separator, tree)
        joined = pa.array([separator.join(path) for path in paths], pa.string())
        columns["region"] = joined.take(pa.array(region))
    return pa.table({**columns, "size": size, "count": count})


def write_long(
    table: CountOfCounts | Estimate, path: str | Path, *, zeros: bool = False, separator: str | None = None
) -> None:
    """Write `to_long` as Parquet or CSV, by the file's ending; a file of that name is replaced in one step.

    Raises:
        ArgumentError: another ending.
        TableError: as `to_long`.
        OSError: the folder cannot be written to.
    """
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise ArgumentError(f"the file {path.name!r} ends in neither .parquet nor .csv; rename it")
    rows = to_long(table, zeros=zeros, separator=separator)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            if path.suffix == ".parquet":
                pa_parquet.write_table(rows, file, compression="zstd")
            else:
                pa_csv.write_csv(rows, file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read_long(table: Any, *, separator: str | None = None, limits: Limits | None = None) -> Estimate:
    """The estimate of counts that `to_long` wrote; `.counts()` is the `CountOfCounts` if it is one.

    Regions and sizes are those that occur; absent rows count 0. Region ids are read as text.

    Args:
        table: anything `source` takes: a file of `write_long`, a frame of `to_long`.
        separator: as in `to_long`.
        limits: of memory, threads and disk.

    Raises:
        TableError: a missing column, or a row without region, size from 0 up or finite count, or given twice.
        HierarchyError: the regions form no tree.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> read_long(to_long(CountOfCounts(tree, [[0, 2], [1, 0]]))).counts().counts
        array([[1, 2],
               [0, 2],
               [1, 0]])
    """
    given = source(table)
    with Session(limits or Limits(), [given]) as session:
        types = session.types(given, WHAT)
        regions = (
            ["region"]
            if separator is not None
            else sorted((c for c in types if c.startswith("level_") and c[6:].isdecimal()), key=lambda c: int(c[6:]))
        )
        require_columns(types, [*(regions or ["level_0"]), "size", "count"], WHAT)
        if any(id_kind(types, column, WHAT) is IdKind.NUMBER for column in regions):
            raise TableError(f"region names of {WHAT} are numbers; read them as text, else '01001' becomes 1001")
        keys = [id_sql(column, IdKind.TEXT) for column in regions]
        aliased = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
        k = ", ".join(f"k{i}" for i in range(len(keys)))
        numbered = (
            f"SELECT {aliased}, {_number(types, 'size', 'BIGINT')} AS size, {_number(types, 'count', 'DOUBLE')} AS c, "
            f"{_number(types, 'count', 'BIGINT')} AS n, row_number() OVER () AS place FROM {session.scan(given)}"
        )
        rows = session.keep(numbered, WHAT)
        [(bad, n_sizes, whole)] = session.rows(
            "SELECT count(*) FILTER (size IS NULL OR size < 0 OR c IS NULL OR NOT isfinite(c)), max(size) + 1, "
            f"bool_and(n IS NOT NULL) FROM {rows}",
            WHAT,
        )
        if bad or n_sizes is None:
            raise TableError(f"{bad:,} rows of {WHAT} have no size from 0 up or no finite count; mend or add rows")
        codes = session.keep(f"SELECT {k}, min(place) AS place FROM {rows} GROUP BY {k}", WHAT)
        listed = session.rows(f"SELECT {k} FROM {codes} ORDER BY place", WHAT)
        paths = [_path(key, separator) for key in listed]
        tree = Hierarchy.from_paths(paths, pad_ragged=True)
        same = " AND ".join(f"r.k{i} IS NOT DISTINCT FROM o.k{i}" for i in range(len(keys)))
        order = f"(SELECT {k}, row_number() OVER (ORDER BY place) - 1 AS region FROM {codes}) o"
        found = session.columns(
            f"SELECT o.region AS region, r.size AS size, {'r.n' if whole else 'r.c'} AS count "
            f"FROM {rows} r JOIN {order} ON {same}",
            WHAT,
        )
    return Estimate(tree, View.COUNTS, _values(tree, found, len(paths), int(n_sizes)))


def _listed_cells(table: CountOfCounts | Estimate, listed: np.ndarray, zeros: bool) -> tuple[Any, Any, Any]:
    values = None if isinstance(table, CountOfCounts) else table.as_counts
    blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for region in map(int, listed):
        if isinstance(table, CountOfCounts):
            row = table.rows(region, region + 1)[0]
        else:
            row = values[[region]].toarray()[0] if sparse.issparse(values) else np.asarray(values)[region]  # pyright: ignore
        keep = np.ones(len(row), bool) if zeros else row != 0
        keep[0] = True
        keep[-1] |= len(blocks) == 0
        size = np.flatnonzero(keep)
        blocks.append((np.full(len(size), region), size, row[size]))
    region, size, count = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return region, size, count


def _require_separator(separator: str, tree: Hierarchy) -> None:
    if not isinstance(separator, str) or not separator:
        raise ArgumentError(f"separator={separator!r}; give text, such as '/'")
    for path in tree.paths:
        if separator in path[-1]:
            raise TableError(f"region {path[-1]!r} holds the separator {separator!r}; choose another one")


def _number(types: dict[str, str], column: str, kind: str) -> str:
    """A number in SQL, NULL where it is none (for BIGINT: no whole one)."""
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


def _path(key: tuple[str | None, ...], separator: str | None) -> tuple[str, ...]:
    return path_of(key) if separator is None else tuple(path_of(key)[0].split(separator))


def _values(tree: Hierarchy, found: dict[str, Any], n_listed: int, n_sizes: int) -> Any:
    listed, size = np.asarray(found["region"], np.int64), np.asarray(found["size"], np.int64)
    table = sparse.csr_array((np.ones(len(size), np.int64), (listed, size)), shape=(n_listed, n_sizes))
    if table.nnz and table.data.max() > 1:
        raise TableError(f"a region and size have two rows in {WHAT}; give each once")
    table = sparse.csr_array((np.asarray(found["count"]), (listed, size)), shape=(n_listed, n_sizes))
    position = tree.order
    if (position < 0).any():
        missing = int(np.argmax(position < 0))
        raise TableError(f"{WHAT} has no rows of {' / '.join(tree.paths[missing])}; add them, a row of size 0 will do")
    dense = 8 * tree.n_regions * n_sizes
    memory.require(min(dense, 16 * table.nnz + 32 * n_sizes), f"a table of {tree.n_regions:,} regions")
    table = sparse.csr_array(table[position])
    return table if dense > LARGEST_DENSE else table.toarray()
