"""Where a table is: files, a data frame, or a query. A source is a value; nothing is read until it is used."""

from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from pgsr.errors import ArgumentError, TableError


@dataclass(frozen=True)
class Parquet:
    """Parquet files: a path, or a pattern such as "people/*.parquet"."""

    pattern: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", str(self.pattern))


@dataclass(frozen=True)
class Csv:
    """CSV files with a header, in UTF-8. Every column is read as text, so that "01001" stays "01001".

    Args:
        pattern: a path or a pattern.
        integers: columns to read as whole numbers instead, so that they match ids that are numbers elsewhere.
        delimiter: what separates the columns.
    """

    pattern: str
    integers: tuple[str, ...] = ()
    delimiter: str = ","

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", str(self.pattern))
        if isinstance(self.integers, str) or not all(isinstance(column, str) for column in self.integers):
            raise ArgumentError(f"integers={self.integers!r}; give a tuple of column names, ('group',)")
        object.__setattr__(self, "integers", tuple(self.integers))
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1:
            raise ArgumentError(f"delimiter={self.delimiter!r}; give one character")


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas data frame or an Arrow table. Its index is no column."""

    table: pd.DataFrame | pa.Table

    def __post_init__(self) -> None:
        if not isinstance(self.table, pd.DataFrame | pa.Table):
            raise ArgumentError(f"a frame of type {type(self.table).__name__}; give a pandas or an Arrow table")

    def __repr__(self) -> str:
        return f"Frame(columns {', '.join(map(str, _columns(self.table)))})"


@dataclass(frozen=True, eq=False)
class Query:
    """The rows of a SQL query on a DuckDB connection of the caller, whose own memory limit and threads apply."""

    connection: duckdb.DuckDBPyConnection
    sql: str

    def __post_init__(self) -> None:
        if not isinstance(self.connection, duckdb.DuckDBPyConnection) or not isinstance(self.sql, str):
            raise ArgumentError("a query needs a DuckDB connection and SQL text: Query(connection, 'select ...')")


Source = Parquet | Csv | Frame | Query


def source(given: object, sql: str | None = None) -> Source:
    """The source that `given` plainly is: a Parquet or CSV path, a data frame, or a DuckDB connection with `sql`.

    Raises:
        ArgumentError: it is none of them.

    Example:
        >>> source("people/*.parquet"), source("regions.csv")
        (Parquet(pattern='people/*.parquet'), Csv(pattern='regions.csv', integers=(), delimiter=','))
    """
    if sql is not None:
        return Query(given, sql)  # pyright: ignore[reportArgumentType]
    if isinstance(given, Parquet | Csv | Frame | Query):
        return given
    if isinstance(given, pd.DataFrame | pa.Table):
        return Frame(given)
    if isinstance(given, str | Path):
        name = str(given).lower()
        if name.endswith(".parquet"):
            return Parquet(str(given))
        if name.endswith((".csv", ".csv.gz")):
            return Csv(str(given))
        raise ArgumentError(f"the file {str(given)!r} is neither .parquet nor .csv; write Parquet(...) or Csv(...)")
    if isinstance(given, duckdb.DuckDBPyConnection):
        raise ArgumentError("a DuckDB connection needs SQL text; write Query(connection, 'select ...')")
    raise ArgumentError(f"a table of type {type(given).__name__}; give a path, a data frame or Query(connection, sql)")


def files(pattern: str) -> list[str]:
    """The files that match, in order.

    Raises:
        TableError: there are none, or one has a name that is itself a pattern.
    """
    found = [pattern] if Path(pattern).is_file() else sorted(f for f in glob(pattern, recursive=True))
    found = [file for file in found if Path(file).is_file()]
    if not found:
        raise TableError(
            f"no file matches {pattern!r}; mend the path, or write 'folder/*.parquet' for a folder's files"
        )
    for file in found:
        if any(sign in file for sign in "*?["):
            raise TableError(f"the file name {file!r} holds '*', '?' or '['; rename it")
    return found


def arrow(table: Any) -> pa.Table:
    """A frame as an Arrow table.

    Raises:
        TableError: columns share a name, or one mixes types. Values are not quoted.
    """
    names = [str(name) for name in _columns(table)]
    if len(set(names)) < len(names):
        raise TableError("two columns of a frame share a name; rename one")
    if isinstance(table, pa.Table):
        return table
    columns = []
    for place, name in enumerate(names):
        try:
            columns.append(pa.array(table.iloc[:, place], from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise TableError(f"column {name!r} of a frame mixes types; convert it, e.g. .astype('string')") from None
    return pa.table(columns, names=names)


def _columns(table: Any) -> list[Any]:
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)
