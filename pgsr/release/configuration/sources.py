"""The tables of a configuration: the keys that say where their rows are, and what they are read from."""

import os
from collections.abc import Mapping
from fnmatch import fnmatch
from glob import escape, has_magic
from pathlib import Path
from typing import Any

from pgsr.errors import ArgumentError, TableError
from pgsr.release.configuration import forms
from pgsr.release.configuration.forms import choice
from pgsr.release.configuration.keys import DeclaredTable, Key, complete
from pgsr.release.publishing.errors import ConfigError
from pgsr.tables import Csv, Database, Entities, Groups, Levels, Limits, Parents, Parquet, Quantities
from pgsr.tables.source import Frame, Source, file_kind, files

DIALECT = ("delimiter", "quote", "escape", "encoding", "header", "columns", "nulls")
"""The keys that only a CSV file may have."""

SOURCE = (
    Key("file", forms.TEXT, 'The file, or a pattern such as "people/*.parquet", relative to this file.', None),
    Key("query", forms.TEXT, "Instead of a file: a query on `connection`, whose rows are the table.", None),
    Key("connection", forms.TEXT, "The DuckDB database file, opened read-only, on which `query` runs.", None),
    Key("kind", choice(("csv", "parquet")), "Of the file; by the end of its name if left out.", None),
    Key("delimiter", forms.CHARACTER, "What separates the columns of a CSV file.", ","),
    Key("quote", forms.MAYBE_CHARACTER, 'What stands around values of a CSV file; "" if nothing does.', '"'),
    Key(
        "escape",
        forms.CHARACTER,
        "What stands before a quote inside a quoted value of a CSV file; the quote is doubled if left out.",
        None,
    ),
    Key("encoding", forms.TEXT, "The encoding of a CSV file.", "utf-8"),
    Key("header", forms.BOOLEAN, "Whether the first row of a CSV file names its columns.", True),
    Key("columns", forms.NAMES, "The names of the columns of a CSV file without a header.", None),
    Key("nulls", forms.MAYBE_TEXTS, 'Texts of a CSV file that stand for a missing value; [""] if left out.', None),
    Key("cast", forms.choices(("integer", "text")), "Columns to be read as integers, or as text.", None),
)
"""The keys that say where a table is and how it is read."""

FILE_OR_QUERY = ((("file",), ("query", "connection")),)

SOURCE_APART = ("integers",)
"""The keys of a source that no schema lists: the reading code refuses them, and says what replaced them."""


def read_source(given: Mapping[str, Any], name: str, folder: Path) -> Csv | Parquet | Database:
    """Read where a table's rows are: in a `file`, with the dialect of CSV, or a `query` on the file `connection`.

    Args:
        given: the keys of the table that are there, of the declared forms.
        name: of the table.
        folder: that names of files are relative to.

    Raises:
        ConfigError: a key has no meaning for this kind of source.

    Example:
        >>> given = {"file": "groups.csv", "delimiter": ";", "cast": {"group": "integer"}}
        >>> found = read_source(given, "groups", Path())
        >>> found.delimiter, found.cast
        (';', {'group': 'integer'})
    """
    if "integers" in given:
        raise ConfigError(f"the key 'integers' of [{name}] is not used any more; write cast = {{column = 'integer'}}")
    values = complete(DeclaredTable(name, "", SOURCE), given)
    cast, file = values["cast"] or {}, values["file"]
    csv = file is not None and (values["kind"] or ("csv" if file_kind(file) is Csv else "parquet")) == "csv"
    if not csv:
        why = "the rows come from a query" if file is None else f"the file {file!r} is Parquet"
        unused = [key for key in (*DIALECT, *(("kind",) if file is None else ())) if key in given]
        if unused:
            raise ConfigError(f"the key {unused[0]!r} of [{name}] has no meaning, for {why}; leave it out")
    if file is None:
        return Database(str(folder / values["connection"]), values["query"], cast)
    # The file may match several names, and its folder is where it is, whatever signs its name holds.
    path = folder / file
    pattern = path if path.is_file() or not has_magic(file) else str(Path(escape(str(folder))) / file)
    if not csv:
        return Parquet(pattern, cast)
    try:
        dialect: dict[str, Any] = {key: values[key] for key in DIALECT}
        dialect["nulls"] = dialect["nulls"] or ("",)
        return Csv(pattern, cast, **dialect)
    except ArgumentError as error:
        raise ConfigError(f"the table [{name}]: {error}") from None


def tables_of(told: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the fields of `ReleaseConfig` that are tables, and the limits of reading.

    Args:
        told: the values of a file, completed.
        values: the same as they stand in the file.
        folder: that names of files are relative to.

    Raises:
        ConfigError: as `read_source`.
    """
    names = ("entities", "tuples", "groups", "regions")
    rows, tuples, groups, regions = (told[name] for name in names)
    sources = {name: read_source(values[name], name, folder) for name in names if name in values}
    if rows is not None:
        entities = Entities(sources["entities"], rows["entity"] or None, rows["group"], rows["region"])
    else:
        assert tuples is not None, "one of the two is there"
        about = tuples["user"] or None, tuples["unit"], tuples["region"], tuples["quantity"]
        entities = Quantities(sources["tuples"], tuples["max_quantity"], tuples["clip"], *about)
    listed = None
    if regions is not None and regions["levels"] is not None:
        listed = Levels(sources["regions"], regions["levels"], regions["region"], regions["pad_ragged"])
    elif regions is not None:
        region = regions["region"] or "region"
        listed = Parents(sources["regions"], region, regions["parent"], regions["pad_ragged"])
    return {
        "entities": entities,
        "groups": None if groups is None else Groups(sources["groups"], groups["group"], groups["region"]),
        "regions": listed,
        "private_groups": groups is None or groups["private"],
        "limits": None if told["limits"] is None else Limits(**told["limits"]),
    }


Read = Entities | Quantities | Groups | Parents | Levels | Source
"""A table that is read, with its columns or as a source alone."""


def files_read(*tables: Read | None) -> list[Path]:
    """List the files that these tables are read from: those that match a pattern now, and database files.

    Example:
        >>> files_read(Entities(Database("people.duckdb", "select * from people")), None)
        [PosixPath('people.duckdb'), PosixPath('people.duckdb.wal')]
    """
    found: list[Path] = []
    for source in _sources(tables):
        if isinstance(source, Database):
            found += [Path(source.path), Path(source.path + ".wal")]
        elif isinstance(source, Csv | Parquet):
            try:
                found += map(Path, files(source.pattern))
            except TableError:  # there is none yet, which reading will say
                found.append(Path(source.pattern))
    return found


def require_unread(written: Mapping[str, Path], *tables: Read | None) -> None:
    """Raise `ConfigError` if what a release writes, by the name of its key, is a file that it reads or would match."""
    read = files_read(*tables)
    given = [s.pattern for s in _sources(tables) if isinstance(s, Csv | Parquet)]
    patterns = [pattern for pattern in given if isinstance(pattern, str) and has_magic(pattern)]
    for key, path in written.items():
        same = any(_same(path, file) for file in read)
        if same or any(fnmatch(os.path.abspath(path), os.path.abspath(pattern)) for pattern in patterns):
            raise ConfigError(f"the {key} {str(path)!r} is one of the tables that are read; name another file")


def is_there(table: object) -> bool:
    """Tell whether the files of a table exist; nothing is opened."""
    if isinstance(table, Database):
        return Path(table.path).is_file()
    if not isinstance(table, Csv | Parquet):
        return True
    try:
        return bool(files(table.pattern))
    except TableError:
        return False


def name_of(table: object) -> str:
    """Name the file or query that a table is read from."""
    if isinstance(table, Csv | Parquet):
        return str(table.pattern)
    if isinstance(table, Database):
        return f"{table.path}: {table.sql}"
    return "a data frame" if isinstance(table, Frame) else "a query"


def _sources(tables: tuple[Read | None, ...]) -> list[Source]:
    return [table if isinstance(table, Source) else table.table for table in tables if table is not None]


def _same(a: Path, b: Path) -> bool:
    """Tell whether two names are one file, also through links. A name that no file can have is not."""
    try:
        return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))
    except OSError:
        return False
