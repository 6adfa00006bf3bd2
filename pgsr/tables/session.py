"""A DuckDB connection with limits, for the time of one reading."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import psutil
import pyarrow as pa

from pgsr.checks import plain, whole_number
from pgsr.data.plans import operators, require_no_guess
from pgsr.errors import ArgumentError, MemoryNeededError, TableError
from pgsr.tables.csv_files import CsvFault, column_names, text_tables
from pgsr.tables.source import Csv, Database, Frame, Parquet, Query, Source, arrow, files, frame_columns, literal
from pgsr.tables.spill import private_folder
from pgsr.tables.sql import cast_sql, cast_types, is_text, name, text


@dataclass(frozen=True)
class Limits:
    """The resources that DuckDB may use. Beyond its memory it writes to disk.

    Args:
        gibibytes: of memory; at most three quarters of what is free.
        threads: None for all cores.
        folder: where spilled rows (private ones too) are kept while reading, in a folder of their own that only this
            user can open and that is deleted afterwards; None for the system's temporary folder. A process that is
            killed leaves its folder behind; the next reading by the same user, with the same `folder` and on the same
            machine, deletes it. Until then, and for as long as the disk keeps deleted blocks, the rows are there.
    """

    gibibytes: float = 6.0
    threads: int | None = None
    folder: str | Path | None = None

    def __post_init__(self) -> None:
        memory = plain(self.gibibytes)
        if isinstance(memory, bool) or not isinstance(memory, int | float) or not memory > 0:
            raise ArgumentError(f"gibibytes={self.gibibytes!r}; give memory above 0")
        if self.threads is not None:
            n = whole_number("threads", self.threads, 1, ArgumentError)
            object.__setattr__(self, "threads", n)
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ArgumentError(f"the folder {str(self.folder)!r} does not exist; create it")


class Session:
    """A connection that runs SQL over sources. It passes no message of DuckDB on, since these may quote private values.

    Say which columns of a source are needed (`require`) before it is scanned. CSV files, database files and whatever is
    cast are then copied into a temporary table, once; all else is read where it is.

    With a `Query` among the sources everything runs on the caller's connection, under its own limits: what is put there
    is temporary and removed.

    Args:
        limits: of memory, threads and disk.
        sources: all that will be read.
        public: those of them whose lines a message may name.
        faults: takes what messages leave out.
    """

    def __init__(
        self,
        limits: Limits,
        sources: Sequence[Source],
        public: Sequence[Source] = (),
        faults: list[str] | None = None,
    ) -> None:
        theirs = [s.connection for s in sources if isinstance(s, Query)]
        if any(connection is not theirs[0] for connection in theirs):
            raise TableError("the queries are on two DuckDB connections; attach both databases to one")
        self._limits = limits
        self._theirs = theirs[0] if theirs else None
        self._public = {id(source) for source in public}
        self._faults = faults
        self._needed: dict[int, list[str]] = {}
        self._types: dict[tuple[int, int], dict[str, str]] = {}
        self._scans: dict[tuple[int, int], tuple[Source, str]] = {}
        self._views: list[str] = []
        self._tables: list[str] = []

    def __enter__(self) -> "Session":
        parent = Path(self._limits.folder or tempfile.gettempdir())
        self._open = ExitStack()
        self._folder = self._open.enter_context(private_folder(parent))
        self._thread = self._open.enter_context(ThreadPoolExecutor(1))
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
        self._open.close()

    def rows(self, sql: str, what: str) -> list[tuple[Any, ...]]:
        """Fetch all rows of a query on the table called `what` in messages."""
        return self._run(self.connection, sql, what)

    def columns(self, sql: str, what: str) -> dict[str, Any]:
        """Fetch the columns of a query as NumPy arrays."""
        return self._run(self.connection, sql, what, lambda result: result.fetchnumpy())

    def table(self, sql: str, what: str) -> pa.Table:
        """Fetch the rows of a query as an Arrow table."""
        try:
            return pa.RecordBatchReader.from_stream(self.connection.sql(sql)).read_all()
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _unreadable(error, what) from None

    def keep(self, sql: str, what: str) -> str:
        """Store the rows of a query in a temporary table; return its name."""
        name = f"pgsr_kept_{len(self._tables)}"
        self._tables.append(name)
        self._run(self.connection, f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}", what)
        return name

    def register(self, table: pa.Table) -> str:
        """Make an Arrow table known to SQL; return its name."""
        name = f"pgsr_view_{len(self._views)}"
        self._views.append(name)
        self.connection.register(name, table)
        return name

    def names(self, source: Source, what: str) -> list[str]:
        """Read the names of a source's columns, which are public.

        Raises:
            TableError: two share a name, the source cannot be opened, or a query would have DuckDB guess.
        """
        if isinstance(source, Csv):
            try:
                names = [name for name in column_names(source) if name]
            except CsvFault as fault:
                raise self._refused(fault, source, what) from None
        elif isinstance(source, Frame):
            names = frame_columns(source.table)
        elif isinstance(source, Database):
            with self._opened(source, what) as connection:
                names = list(self._described(connection, _query(source.sql), what))
        else:
            if isinstance(source, Query):
                self._require_no_guess(source, what)
            names = list(self._described(self.connection, _direct(source), what))
        if len(set(names)) < len(names):
            raise TableError(f"two columns of {what} share a name; rename one")
        return names

    def require(self, source: Source, wanted: Iterable[str], what: str) -> dict[str, str]:
        """Check and return the types of these columns, which will be scanned, and of those required before.

        Capitals matter.

        Raises:
            TableError: one is absent, or a cast names an absent column or one of another type.
        """
        names, needed = self.names(source, what), self._needed.setdefault(id(source), [])
        for column in [*wanted, *source.cast]:
            if column not in names:
                remedy = _other_delimiter(source, names) or "name the column to use"
                have = ", ".join(map(repr, names))
                raise TableError(f"{what} has no column {column!r}, only {have}; {remedy}")
        needed.extend(column for column in dict.fromkeys(wanted) if column not in needed)
        for column in needed:
            if [other.casefold() for other in needed].count(column.casefold()) > 1:
                raise TableError(f"columns of {what} that are used differ in capitals only from {column!r}; rename one")
        return self.types(source, what)

    def types(self, source: Source, what: str) -> dict[str, str]:
        """Look up the DuckDB types of the required columns, casts applied. They follow from schema and declarations."""
        key = id(source), len(self._needed[id(source)])
        if key not in self._types:
            self._types[key] = self._stored_types(source, what)
        return cast_types(self._types[key], source.cast, what)

    def scan(self, source: Source, what: str) -> str:
        """Write what follows FROM in SQL to read the required columns of a source.

        Raises:
            TableError: the file is not in the declared dialect, or a cast fails.
        """
        key = id(source), len(self._needed[id(source)])
        if key not in self._scans:
            self._scans[key] = source, self._scan(source, what)
        return self._scans[key][1]

    def note(self, fault: str) -> None:
        """Keep for the private log what no message may tell."""
        if self._faults is not None:
            self._faults.append(fault)

    @property
    def notes(self) -> bool:
        """True if somebody wants to know."""
        return self._faults is not None

    def _stored_types(self, source: Source, what: str) -> dict[str, str]:
        needed = self._needed[id(source)]
        if isinstance(source, Csv):
            return dict.fromkeys(needed, "VARCHAR")
        if isinstance(source, Database):
            with self._opened(source, what) as connection:
                types = self._described(connection, _query(source.sql), what)
            return {c: "BIGINT" if types[c] in ("HUGEINT", "UHUGEINT") else types[c] for c in needed}
        if isinstance(source, Frame):
            found = self._described(self.connection, self._frame(source, what), what)
        else:
            found = self._described(self.connection, _direct(source), what)
        if isinstance(source, Parquet):
            # The types that were found are those of all files together, where numbers beside text are text.
            listed = files(source.pattern)
            each = [self._described(self.connection, _parquet([file]), what) for file in listed]
            for file, types in zip(listed[1:], each[1:], strict=True):
                for column in needed:
                    if column not in each[0] or types.get(column) != each[0][column]:
                        where = file if column in each[0] else listed[0]
                        raise TableError(
                            f"column {column!r} of {what} is absent or of another type in {where!r} than in another "
                            "file; write all files with one schema"
                        )
        return {column: found[column] for column in needed}

    def _scan(self, source: Source, what: str) -> str:
        after = self.types(source, what)
        before = self._types[id(source), len(self._needed[id(source)])]
        if isinstance(source, Csv | Database):
            return self._copied(self._tables_of(source, before, what), source, before, after, what)
        base = self._frame(source, what) if isinstance(source, Frame) else _direct(source)
        if before == after:
            return base
        columns, bad = self._casts(before, after)
        for column, condition in bad.items():
            [(n,)] = self.rows(f"SELECT count(*) FILTER ({condition}) FROM {base}", what)
            self._refuse_cast(n, column, what)
        return self.keep(f"SELECT {columns} FROM {base}", what)

    def _copied(
        self,
        parts: Iterator[pa.Table],
        source: Source,
        before: dict[str, str],
        after: dict[str, str],
        what: str,
    ) -> str:
        """Make a temporary table with the rows of all parts, casts applied."""
        columns, bad = self._casts(before, after)
        typed = ", ".join(f"CAST(NULL AS {_plain(kind)}) AS {name(c)}" for c, kind in after.items())
        kept = self.keep(f"SELECT {typed} LIMIT 0", what)
        wrong = dict.fromkeys(bad, 0)
        try:
            for part in parts:
                view = self.register(part)
                for column, condition in bad.items():
                    [(n,)] = self.rows(f"SELECT count(*) FILTER ({condition}) FROM {view}", what)
                    wrong[column] += n
                self._run(self.connection, f"INSERT INTO {kept} SELECT {columns} FROM {view}", what)
                self.connection.unregister(self._views.pop())
        except CsvFault as fault:
            raise self._refused(fault, source, what) from None
        for column, n in wrong.items():
            self._refuse_cast(n, column, what)
        return kept

    def _tables_of(self, source: Csv | Database, types: dict[str, str], what: str) -> Iterator[pa.Table]:
        if isinstance(source, Csv):
            yield from text_tables(source, list(types))
            return
        listed = ", ".join(f"CAST({name(c)} AS {_plain(kind)}) AS {name(c)}" for c, kind in types.items())
        with self._opened(source, what) as connection:
            try:
                rows = connection.sql(f"SELECT {listed} FROM {_query(source.sql)}")
                for batch in pa.RecordBatchReader.from_stream(rows):
                    yield pa.Table.from_batches([batch])
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise _unreadable(error, what) from None

    def _casts(self, before: dict[str, str], after: dict[str, str]) -> tuple[str, dict[str, str]]:
        """Write the select list, and the conditions under which a value has no cast."""
        pairs = {column: cast_sql(column, _plain(before[column]), _plain(after[column])) for column in before}
        listed = ", ".join(sql for sql, _ in pairs.values())
        return listed, {column: bad for column, (_, bad) in pairs.items() if bad != "false"}

    def _refuse_cast(self, n: int, column: str, what: str) -> None:
        if n:
            self.note(f"{n:,} values in column {column!r} of {what} are no plain whole numbers")
            raise TableError(
                f"column {column!r} of {what} holds values that are no plain whole numbers, such as 7 and not 007, +7, "
                f"7.0 or 7e0; mend them, or write cast = {{{column} = 'text'}} here and where it is referred to"
            )

    def _refused(self, fault: CsvFault, source: Source, what: str) -> TableError:
        if id(source) in self._public:
            return TableError(f"{what} {fault.sentence} ({fault.place})")
        self.note(f"{what} {fault.sentence}: {fault.place}")
        return TableError(f"{what} {fault.sentence}")

    def _require_no_guess(self, source: Query, what: str) -> None:
        [(_, plan)] = self.rows(f"EXPLAIN (FORMAT json) SELECT * FROM {_query(source.sql)}", what)
        remedy = "give Csv(...), the frame itself or a stored table"
        require_no_guess(operators(plan), f"the query of {what}", remedy)

    def _frame(self, source: Frame, what: str) -> str:
        key = id(source), -len(self._needed[id(source)]) - 1
        if key not in self._scans:
            self._scans[key] = source, self.register(arrow(source, self._needed[id(source)], what))
        return self._scans[key][1]

    def _opened(self, source: Database, what: str) -> duckdb.DuckDBPyConnection:
        if not Path(source.path).is_file():
            raise TableError(f"the database file {source.path!r} of {what} does not exist; mend the path")
        try:
            connection = duckdb.connect(source.path, read_only=True, config=self._config())
            connection.execute("SET enable_external_access = false; SET lock_configuration = true")
            return connection
        except duckdb.Error:
            raise TableError(
                f"the database file {source.path!r} of {what} cannot be opened for reading; check that it is a DuckDB "
                "database, and close it in other programs"
            ) from None

    def _described(self, connection: duckdb.DuckDBPyConnection, scan: str, what: str) -> dict[str, str]:
        return {row[0]: row[1] for row in self._run(connection, f"DESCRIBE SELECT * FROM {scan}", what)}

    def _run(
        self,
        connection: duckdb.DuckDBPyConnection,
        sql: str,
        what: str,
        fetch: Callable[[Any], Any] = lambda result: result.fetchall(),
    ) -> Any:
        """Execute and fetch: DuckDB may find a fault in a row only when that is fetched."""
        try:
            return _until_stopped(self._thread, connection, lambda: fetch(connection.execute(sql)))
        except duckdb.OutOfMemoryException:
            raise MemoryNeededError(
                f"reading {what} needs more than {self._limits.gibibytes:g} GiB of memory, or the disk for spilled "
                "rows is full; raise Limits(gibibytes=...) (in a TOML file, gibibytes of "
                "[limits]), or give a folder with more room"
            ) from None
        except duckdb.Error as error:
            raise _unreadable(error, what) from None

    def _config(self) -> dict[str, Any]:
        free = 0.75 * psutil.virtual_memory().available / 2**30
        config: dict[str, Any] = {
            "memory_limit": f"{max(0.25, min(self._limits.gibibytes, free)):.2f}GiB",
            "temp_directory": self._folder,
            "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
        }
        if self._limits.threads is not None:
            config["threads"] = self._limits.threads
        return config


def _until_stopped(thread: ThreadPoolExecutor, connection: duckdb.DuckDBPyConnection, query: Callable[[], Any]) -> Any:
    """Run a query in another thread, where Ctrl-C ends it; in this one DuckDB looks late, and calls it an error."""
    done = thread.submit(query)
    try:
        while not wait([done], timeout=0.1).done:
            pass
    except KeyboardInterrupt:
        while not wait([done], timeout=0.1).done:
            connection.interrupt()
        raise
    return done.result()


PLAIN = ", union_by_name = true, hive_partitioning = false, filename = false"
"""The options of read_parquet: columns are those of the files, and none is made from their paths."""


def _direct(source: Source) -> str:
    """Write what follows FROM in SQL to read Parquet files or a query as they are."""
    if isinstance(source, Query):
        return _query(source.sql)
    assert isinstance(source, Parquet)
    return _parquet(files(source.pattern))


def _parquet(listed: Sequence[str]) -> str:
    """Write what follows FROM in SQL to read these Parquet files."""
    return f"read_parquet([{', '.join(text(literal(file)) for file in listed)}]{PLAIN})"


def _other_delimiter(source: Source, names: Sequence[str]) -> str:
    """Ask for another delimiter where a CSV file's header, which is public, is one name with such characters in it."""
    if isinstance(source, Csv) and source.header and len(names) == 1:
        for mark, shown in ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ",")):
            if mark != source.delimiter and mark in names[0]:
                return f'its header looks as if separated by another character; write delimiter = "{shown}"'
    return ""


def _query(sql: str) -> str:
    return f"({sql.strip().rstrip(';')}\n)"  # the line break ends a trailing comment


def _plain(kind: str) -> str:
    return "VARCHAR" if is_text(kind) else kind


def _unreadable(error: Exception, what: str) -> TableError:
    return TableError(
        f"{what} cannot be read: DuckDB raised {type(error).__name__} (its message may quote data and is left out); "
        "check that the table opens by itself and has the named columns"
    )
