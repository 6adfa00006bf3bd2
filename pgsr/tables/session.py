"""A DuckDB connection with limits, for the time of one reading."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import psutil
import pyarrow as pa

from pgsr.errors import ArgumentError, MemoryNeededError, TableError
from pgsr.tables.source import Csv, Frame, Parquet, Query, Source, arrow, files


@dataclass(frozen=True)
class Limits:
    """What DuckDB may use. Beyond its memory it writes to disk.

    Args:
        gibibytes: of memory; at most three quarters of what is free.
        threads: None for all cores.
        folder: where spilled rows (private ones too) are kept while reading, in a folder of their own that only this
            user can open and that is deleted afterwards; None for the system's temporary folder.
    """

    gibibytes: float = 6.0
    threads: int | None = None
    folder: str | Path | None = None

    def __post_init__(self) -> None:
        if isinstance(self.gibibytes, bool) or not isinstance(self.gibibytes, int | float) or not self.gibibytes > 0:
            raise ArgumentError(f"gibibytes={self.gibibytes!r}; give memory above 0")
        n = self.threads
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
            raise ArgumentError(f"threads={n!r}; give a number from 1 up, or None for all cores")
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ArgumentError(f"the folder {str(self.folder)!r} does not exist; create it")


class Session:
    """Runs SQL over sources. Messages of DuckDB may quote private values, so none of them is passed on.

    With a `Query` among the sources everything runs on the caller's connection, under its own limits: what is put there
    is temporary and removed.
    """

    def __init__(self, limits: Limits, sources: Sequence[Source]) -> None:
        theirs = [s.connection for s in sources if isinstance(s, Query)]
        if any(connection is not theirs[0] for connection in theirs):
            raise TableError("the queries are on two DuckDB connections; attach both databases to one")
        self._limits = limits
        self._theirs = theirs[0] if theirs else None
        self._scans: dict[int, tuple[Source, str]] = {}
        self._views: list[str] = []
        self._tables: list[str] = []

    def __enter__(self) -> "Session":
        self._folder = tempfile.TemporaryDirectory(prefix="pgsr-tables-", dir=self._limits.folder)
        self.connection = self._theirs or duckdb.connect(config=self._config())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for view in self._views:
            self.connection.unregister(view)
        for table in self._tables:
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
        if self._theirs is None:
            self.connection.close()
        self._folder.cleanup()

    def rows(self, sql: str, what: str) -> list[tuple[Any, ...]]:
        """All rows of a query on the table called `what` in messages."""
        return self._run(sql, what).fetchall()

    def columns(self, sql: str, what: str) -> dict[str, Any]:
        """The columns of a query as NumPy arrays."""
        return self._run(sql, what).fetchnumpy()

    def keep(self, sql: str, what: str) -> str:
        """Store the rows of a query; the name of the temporary table."""
        name = f"pgsr_kept_{len(self._tables)}"
        self._tables.append(name)
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}", what)
        return name

    def register(self, table: pa.Table) -> str:
        """Make an Arrow table known to SQL; its name."""
        name = f"pgsr_view_{len(self._views)}"
        self._views.append(name)
        self.connection.register(name, table)
        return name

    def scan(self, source: Source) -> str:
        """What to write after FROM to read a source."""
        if id(source) not in self._scans:
            self._scans[id(source)] = source, self._scan(source)
        return self._scans[id(source)][1]

    def types(self, source: Source, what: str) -> dict[str, str]:
        """The DuckDB type of every column."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE SELECT * FROM {self.scan(source)}", what)}

    def _scan(self, source: Source) -> str:
        if isinstance(source, Frame):
            return self.register(arrow(source.table))
        if isinstance(source, Query):
            return f"({source.sql.strip().rstrip(';')}\n)"  # the line break ends a trailing comment
        listed = ", ".join(map(text, files(source.pattern)))
        if isinstance(source, Parquet):
            return f"read_parquet([{listed}], union_by_name = true)"
        return self._scan_csv(source, listed)

    def _scan_csv(self, source: Csv, listed: str) -> str:
        read = (
            f"read_csv([{listed}], all_varchar = true, header = true, delim = {text(source.delimiter)}, quote = '\"', "
            "escape = '\"', union_by_name = true)"
        )
        if not source.integers:
            return read
        # A cast alone would round '1.5' to 2.
        numbers = ", ".join(
            f"CASE WHEN regexp_full_match({name(c)}, '-?[0-9]{{1,18}}') THEN CAST({name(c)} AS BIGINT) END AS {name(c)}"
            for c in source.integers
        )
        return f"(SELECT * REPLACE ({numbers}) FROM {read})"

    def _run(self, sql: str, what: str) -> Any:
        try:
            return self.connection.execute(sql)
        except duckdb.OutOfMemoryException:
            raise MemoryNeededError(
                f"reading {what} needs more than {self._limits.gibibytes:g} GiB of memory, or the disk for spilled "
                "rows is full; raise Limits(gibibytes=...), or give a folder with more room"
            ) from None
        except duckdb.Error as error:
            line = re.search(r"on Line: (\d+)", str(error))
            where = f" at line {line[1]}" if line else ""
            raise TableError(
                f"{what} cannot be read{where}: DuckDB raised {type(error).__name__} (its message may quote data and "
                "is left out); check that the table opens by itself and has the named columns"
            ) from None

    def _config(self) -> dict[str, Any]:
        free = 0.75 * psutil.virtual_memory().available / 2**30
        config: dict[str, Any] = {
            "memory_limit": f"{max(0.25, min(self._limits.gibibytes, free)):.2f}GiB",
            "temp_directory": self._folder.name,
            "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
        }
        if self._limits.threads is not None:
            config["threads"] = self._limits.threads
        return config


def name(column: str) -> str:
    """A column's name in SQL.

    Example:
        >>> name("group")
        '"group"'
    """
    return '"' + column.replace('"', '""') + '"'


def text(value: str) -> str:
    """Text in SQL.

    Example:
        >>> print(text("it's"))
        'it''s'
    """
    return "'" + value.replace("'", "''") + "'"
