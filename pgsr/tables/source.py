"""The sources of tables: files, data frames or queries. A source is a value; nothing is read until it is used.

How a table is read is declared here or follows from its schema, never from its rows: otherwise one row more could
change how all others are read, and no noise accounts for that.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from pgsr.data.plans import operators_of, require_no_guess
from pgsr.errors import ArgumentError, TableError

CASTS = ("integer", "text")
"""The types that a column can be cast to."""

STATELESS = (
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|tis-620|"
    "gb2312|gbk|gb18030|big5|shift_jis|euc_jp|euc_kr"
)
"""Encodings in which a line means the same wherever it stands, by Python's names."""


HEADERLESS = "declare header=False with columns=(...) (in a TOML file, header = false with columns = [...])"
"""What to declare of a CSV file without a header line."""


def _casts() -> Any:
    return field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Parquet:
    """A source of Parquet files: a path, or a pattern such as "people/*.parquet". Types are those of the schema.

    Args:
        pattern: a `Path`, which is one file whatever its name, or text: the file of this name, else a pattern. The
            columns that are used have the same type in every file.
        cast: columns to be read as "integer" or "text". Text that is no plain whole number is refused as an integer.
    """

    pattern: str | Path
    cast: Mapping[str, str] = _casts()

    def __post_init__(self) -> None:
        _set_cast(self, self.cast)


@dataclass(frozen=True)
class Csv:
    """A source of CSV files in a declared dialect, read strictly. Columns are text unless `cast`, so "01001" stays.

    Nothing is guessed. A file that departs from the dialect is refused: a line with more or fewer fields than the
    header, a blank line before others, a quote sign inside a field without quotes or text after the closing one, quotes
    that stay open, NUL, a carriage return without line feed outside quotes, text that is not in the encoding, a record
    of more than 16 MiB. Lines end with LF or CRLF; no sign begins a comment; spaces belong to their field. A byte order
    mark before the header line is no part of it; in a file without header it is refused. Columns without a name, which
    delimiters at the end of lines make, are not read, and blank lines at the end are no rows. Files ending in .gz, .bz2
    or .zst are decompressed.

    Args:
        pattern: a `Path`, which is one file whatever its name, or text: the file of this name, else a pattern. Every
            file of a pattern has the same header line.
        cast: columns to be read as "integer", so that they match ids that are numbers elsewhere, or as "text". Text
            that is no plain whole number ("007", "+1", "1e5", "1.0") is refused as an integer.
        delimiter: what separates the fields; one ASCII character.
        quote: what encloses fields; "" for files without quotes.
        escape: what stands before a quote sign (or itself) inside quotes; None if the quote sign is doubled.
        encoding: of the text, by Python's name.
        header: whether the first line, which is public, names the columns.
        columns: their names in files without header.
        nulls: texts that stand for a missing value, quoted or not.

    Example:
        >>> Csv("people.csv", cast={"group": "integer"}, delimiter=";").cast
        {'group': 'integer'}

    Shown by `test_tables_csv_files.py`, against Python's csv module.
    """

    pattern: str | Path
    cast: Mapping[str, str] = _casts()
    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    columns: tuple[str, ...] | None = None
    nulls: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        _set_cast(self, self.cast)
        _check_signs(self)
        _check_encoding(self)
        object.__setattr__(self, "nulls", _texts("nulls", self.nulls))
        if self.columns is not None:
            object.__setattr__(self, "columns", _texts("columns", self.columns))
        if not isinstance(self.header, bool):
            raise ArgumentError(f"header={self.header!r}; give True or False")
        if self.header is (self.columns is not None) or self.columns == ():
            raise ArgumentError(f"columns of a CSV file are named by its header line; without one {HEADERLESS}")
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            raise ArgumentError(f"columns={self.columns!r} repeat a name; give each column its own")


@dataclass(frozen=True, eq=False)
class Frame:
    """A source that is a pandas data frame or an Arrow table. Its index is no column.

    Types are those of the columns. A pandas column of type object says nothing about its values, so it is text, or
    whole numbers where `cast` says "integer"; anything else in it is refused.

    Args:
        table: the frame.
        cast: as of `Parquet`.
    """

    table: pd.DataFrame | pa.Table
    cast: Mapping[str, str] = _casts()

    def __post_init__(self) -> None:
        if not isinstance(self.table, pd.DataFrame | pa.Table):
            raise ArgumentError(f"a frame of type {type(self.table).__name__}; give a pandas or an Arrow table")
        _set_cast(self, self.cast)

    def __repr__(self) -> str:
        return f"Frame(columns {', '.join(frame_columns(self.table))})"


@dataclass(frozen=True, eq=False)
class Query:
    """A source that is a SQL query on a DuckDB connection of the caller, whose memory limit and threads apply.

    A row of the result is what is protected: a query that makes several rows of one, or drops rows because of others,
    protects something else. A query that scans a CSV, JSON or Excel file or a pandas frame is refused, for DuckDB would
    guess from the rows how to read it; a table that was made of such a scan earlier cannot be told from others.
    """

    connection: duckdb.DuckDBPyConnection
    sql: str
    cast: Mapping[str, str] = _casts()

    def __post_init__(self) -> None:
        if not isinstance(self.connection, duckdb.DuckDBPyConnection) or not isinstance(self.sql, str):
            raise ArgumentError("a query needs a DuckDB connection and SQL text: Query(connection, 'select ...')")
        _set_cast(self, self.cast)


@dataclass(frozen=True)
class Database:
    """A source that is a SQL query on a DuckDB database file, opened read-only, which may read no other file.

    Args:
        path: of the file.
        sql: the query; as of `Query`, a row of its result is what is protected.
        cast: as of `Parquet`.
    """

    path: str
    sql: str
    cast: Mapping[str, str] = _casts()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))
        if not isinstance(self.sql, str) or not self.sql.strip():
            raise ArgumentError("a database file needs SQL text: Database('people.duckdb', 'select ...')")
        _set_cast(self, self.cast)


Source = Parquet | Csv | Frame | Query | Database


def source(given: object, sql: str | None = None) -> Source:
    """Make the source that `given` is: a Parquet or CSV path, a frame, or with `sql` a DuckDB connection or file.

    A frame is one of pandas, Polars or Arrow, a DuckDB relation, anything else with an Arrow stream, or a dictionary of
    arrays.

    Raises:
        ArgumentError: it is none of them.
        TableError: it is a relation whose types DuckDB guesses, or a dictionary of columns of different lengths.

    Example:
        >>> source("people/*.parquet")
        Parquet(pattern='people/*.parquet', cast={})
        >>> source("people.duckdb", "select * from people")
        Database(path='people.duckdb', sql='select * from people', cast={})
    """
    if sql is not None:
        return Database(str(given), sql) if isinstance(given, str | Path) else Query(given, sql)  # pyright: ignore[reportArgumentType]
    if isinstance(given, Source):
        return given
    if isinstance(given, pd.DataFrame | pa.Table):
        return Frame(given)
    if isinstance(given, str | Path):
        kind = file_kind(str(given))
        if kind is None:
            raise ArgumentError(f"the file {str(given)!r} is neither .parquet nor .csv; write Parquet(...) or Csv(...)")
        return kind(given)
    if isinstance(given, duckdb.DuckDBPyConnection):
        raise ArgumentError("a DuckDB connection needs SQL text; write Query(connection, 'select ...')")
    if isinstance(given, duckdb.DuckDBPyRelation):
        require_no_guess(operators_of(given), "the relation", "give Csv(...), the frame itself or a stored table")
    if isinstance(given, Mapping):
        return Frame(_frame_of(given))
    if hasattr(given, "__arrow_c_stream__"):
        return Frame(pa.table(given))  # pyright: ignore[reportArgumentType]
    hint = "; collect() it first" if hasattr(given, "collect") else ""
    raise ArgumentError(
        f"a table of type {type(given).__name__}{hint}; give a path, a data frame or Query(connection, sql)"
    )


def _frame_of(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Put arrays side by side; those of objects say nothing of their values, as in a frame of pandas."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    lengths = {name: array.shape for name, array in arrays.items()}
    if len(set(lengths.values())) > 1 or any(array.ndim != 1 for array in arrays.values()):
        raise TableError(f"the columns have the shapes {lengths}; give one array of values per column, of one length")
    return pd.DataFrame({n: a.astype(object) if a.dtype.kind == "U" else a for n, a in arrays.items()})


def file_kind(name: str) -> type[Parquet] | type[Csv] | None:
    """Find `Parquet` or `Csv` by the ending of a file's name; None for another ending.

    Example:
        >>> file_kind("people.CSV.gz").__name__
        'Csv'
    """
    if name.lower().endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.zst")):
        return Csv
    return Parquet if name.lower().endswith(".parquet") else None


def files(pattern: str | Path) -> list[str]:
    """List the files that are meant: the one that has this path, or those that match text as a pattern, in order.

    Raises:
        TableError: there are none.

    Example:
        >>> files(Path("people[1].csv"))
        Traceback (most recent call last):
        pgsr.errors.TableError: there is no file 'people[1].csv'; mend the path
    """
    if Path(pattern).is_file():
        return [str(pattern)]
    if isinstance(pattern, Path) or not has_magic(pattern):
        advice = "" if isinstance(pattern, Path) else ", or write 'folder/*.parquet' for a folder's files"
        raise TableError(f"there is no file {str(pattern)!r}; mend the path{advice}")
    found = [file for file in sorted(glob(pattern, recursive=True)) if Path(file).is_file()]
    if not found:
        raise TableError(f"no file matches {pattern!r}; mend the pattern")
    return found


def literal(file: str) -> str:
    """Write the name of one file so that DuckDB, which takes every name as a pattern, finds this file alone.

    Raises:
        TableError: DuckDB has no way to write it.

    Example:
        >>> literal("people[1].parquet")
        'people[[]1].parquet'
    """
    if has_magic(file) and "\\" in file:
        raise TableError(f"the file name {file!r} holds a backslash beside '*', '?' or '['; rename it")
    return escape(file)


def frame_columns(table: Any) -> list[str]:
    """List the names of a frame's columns."""
    return [str(name) for name in (table.column_names if isinstance(table, pa.Table) else table.columns)]


def arrow(frame: Frame, columns: list[str], what: str) -> pa.Table:
    """Convert some columns of a frame to an Arrow table.

    Raises:
        TableError: a column mixes types. Values are not quoted.
    """
    table, names = frame.table, frame_columns(frame.table)
    if isinstance(table, pa.Table):
        return table.select(columns)
    found = []
    for column in columns:
        try:
            found.append(_arrow_column(table.iloc[:, names.index(column)], frame.cast.get(column, "text")))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise TableError(
                f"column {column!r} of {what} mixes types; convert it, e.g. .astype('string') or .astype('Int64')"
            ) from None
    return pa.table(found, names=columns)


def _arrow_column(column: pd.Series, wanted: str) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype == object:
        known = _arrow_objects(column.cat.categories.to_numpy(object), "text")
        codes = column.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)
    if column.dtype == object:
        return _arrow_objects(column.to_numpy(object), wanted)
    return pa.array(column, from_pandas=True)


def _arrow_objects(values: Any, wanted: str) -> Any:
    """Convert objects to texts, or to whole numbers where they are wanted and no value is text."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "integer" and wanted == "integer":
        return pa.array(values, pa.int64(), from_pandas=True)
    if kind not in ("string", "empty"):
        raise TypeError("values other than text")
    return pa.array(values, pa.string(), from_pandas=True)


def _set_cast(of: Any, cast: object) -> None:
    fine = isinstance(cast, Mapping) and all(isinstance(c, str) and kind in CASTS for c, kind in cast.items())
    if not fine:
        raise ArgumentError(f"cast={cast!r}; give columns and kinds, such as cast={{'group': 'integer'}} or 'text'")
    object.__setattr__(of, "cast", dict(cast))  # pyright: ignore[reportCallIssue, reportArgumentType]


def _texts(key: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, tuple | list) or not all(isinstance(part, str) for part in given):
        raise ArgumentError(f"{key}={given!r}; give a tuple of texts")
    return tuple(given)


def _check_signs(csv: Csv) -> None:
    empty = {"delimiter": False, "quote": True, "escape": False}
    for key, may_be_empty in empty.items():
        sign = getattr(csv, key)
        if (key == "escape" and sign is None) or (may_be_empty and sign == ""):
            continue
        if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign in "\0\r\n":
            raise ArgumentError(f"{key}={sign!r}; give one ASCII character")
    if csv.delimiter in (csv.quote, csv.escape):
        raise ArgumentError(f"delimiter={csv.delimiter!r} is also the quote or escape sign; choose another")
    if not csv.quote and csv.escape is not None:
        raise ArgumentError("an escape sign has no meaning in files without quotes; leave it out")


def _check_encoding(csv: Csv) -> None:
    try:
        name = codecs.lookup(csv.encoding).name if isinstance(csv.encoding, str) else ""
    except (LookupError, ValueError):
        name = ""
    if not re.fullmatch(STATELESS, name):
        raise ArgumentError(
            f"encoding={csv.encoding!r} is unknown, or its lines cannot be read one by one; give one of Python's, such "
            "as 'utf-8' or 'cp1252'"
        )
    if not csv.header and name in ("utf-16", "utf-32"):
        raise ArgumentError(
            f"encoding={csv.encoding!r} has a byte order mark, which only a header line can follow; write a header, or "
            f"declare '{name}-le' or '{name}-be'"
        )
    object.__setattr__(csv, "encoding", "utf-8" if name == "utf-8-sig" else name)
