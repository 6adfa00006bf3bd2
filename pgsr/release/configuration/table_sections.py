"""The TOML tables that say where rows are and how to read them: [entities], [tuples], [groups], [regions], [limits]."""

import os
from collections.abc import Mapping
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from pgsr.errors import ArgumentError, TableError
from pgsr.release.configuration.sections import Section
from pgsr.release.errors import ConfigError
from pgsr.tables import Csv, Database, Entities, Groups, Levels, Limits, Parents, Parquet, Quantities
from pgsr.tables.source import CASTS, Source, file_kind, files

DIALECT = ("delimiter", "quote", "escape", "encoding", "header", "columns", "nulls")
"""The keys that only a CSV file may have."""

Tables = tuple[Entities | Quantities, Groups | None, Parents | Levels | None, bool]


def read_tables(top: Section, folder: Path) -> Tables:
    """Read entities or tuples, groups, regions, and whether groups are private; file names are relative to `folder`.

    Raises:
        ConfigError: a key is missing, unknown or of the wrong kind.
    """
    rows, tuples = top.section("entities"), top.section("tuples")
    if (rows is None) == (tuples is None):
        raise ConfigError("write one of the tables [entities] and [tuples]")
    if rows is not None:
        source, entity = read_source(rows, folder), rows.text("entity", "entity", empty=True) or None
        entities = Entities(source, entity, rows.text("group", "group"), rows.columns("region", None))
        rows.done()
    else:
        assert tuples is not None
        source, user = read_source(tuples, folder), tuples.text("user", "user", empty=True) or None
        most, clip = tuples.number("max_quantity"), tuples.flag("clip", False)
        unit, region, quantity = (
            tuples.text("unit", "unit"),
            tuples.columns("region", None),
            tuples.text("quantity", "quantity"),
        )
        entities = Quantities(source, most, clip, user, unit, region, quantity)
        tuples.done()
    groups, listed, private = None, top.section("groups"), True
    if listed is not None:
        groups = Groups(read_source(listed, folder), listed.text("group", "group"), listed.columns("region", "region"))
        private = listed.flag("private", False)
        listed.done()
    return entities, groups, _regions(top.section("regions"), folder), private


def read_source(section: Section, folder: Path) -> Csv | Parquet | Database:
    """Read where a table's rows are: in a `file`, with the dialect of CSV, or a `query` on the file `connection`.

    Raises:
        ConfigError: a key is missing, of the wrong kind, or has no meaning for this kind of source.

    Example:
        >>> section = Section("groups", {"file": "groups.csv", "delimiter": ";", "cast": {"group": "integer"}})
        >>> found = read_source(section, Path())
        >>> found.delimiter, found.cast
        (';', {'group': 'integer'})
    """
    if "integers" in section:
        raise ConfigError(
            f"the key 'integers' of {section.title} is not used any more; write cast = {{column = 'integer'}}"
        )
    cast = section.choices("cast", CASTS)
    if "connection" in section or "query" in section:
        path, sql = section.text("connection"), section.text("query")
        _refuse_keys(section, ("file", "kind", *DIALECT), "the rows come from a query")
        return Database(str(folder / path), sql, cast)
    file = section.text("file")
    kind = section.text("kind", "csv" if file_kind(file) is Csv else "parquet")
    if kind not in ("csv", "parquet"):
        raise ConfigError(f"kind = {kind!r} of the file {file!r} is unknown; write 'csv' or 'parquet'")
    if kind == "parquet":
        _refuse_keys(section, DIALECT, f"the file {file!r} is Parquet")
        return Parquet(str(folder / file), cast)
    try:
        return Csv(
            str(folder / file),
            cast,
            section.text("delimiter", ","),
            section.text("quote", '"', empty=True),
            section.text("escape", None),
            section.text("encoding", "utf-8"),
            section.flag("header", True),
            section.texts("columns", None),
            section.texts("nulls", ("",), empty=True),
        )
    except ArgumentError as error:
        raise ConfigError(f"the table {section.title}: {error}") from None


def read_limits(section: Section | None) -> Limits | None:
    """Read the limits on memory and threads; None if the configuration sets none."""
    if section is None:
        return None
    limits = Limits(section.number("gibibytes", 6), section.number("threads", None), section.text("folder", None))
    section.done()
    return limits


def files_read(*tables: Entities | Quantities | Groups | Parents | Levels | None) -> list[Path]:
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


def require_unread(
    written: Mapping[str, Path], *tables: Entities | Quantities | Groups | Parents | Levels | None
) -> None:
    """Raise `ConfigError` if what a release writes, by the name of its key, is a file that it reads or would match."""
    read = files_read(*tables)
    patterns = [s.pattern for s in _sources(tables) if isinstance(s, Csv | Parquet) and has_magic(s.pattern)]
    for key, path in written.items():
        same = any(_same(path, file) for file in read)
        if same or any(fnmatch(os.path.abspath(path), os.path.abspath(pattern)) for pattern in patterns):
            raise ConfigError(f"the {key} {str(path)!r} is one of the tables that are read; name another file")


def _sources(tables: tuple[Entities | Quantities | Groups | Parents | Levels | None, ...]) -> list[Source]:
    return [table.table for table in tables if table is not None]


def _same(a: Path, b: Path) -> bool:
    """Tell whether two names are one file, also through links. A name that no file can have is not."""
    try:
        return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))
    except OSError:
        return False


def _refuse_keys(section: Section, keys: tuple[str, ...], why: str) -> None:
    for key in keys:
        if key in section:
            raise ConfigError(f"the key {key!r} of {section.title} has no meaning, for {why}; leave it out")


def _regions(section: Section | None, folder: Path) -> Parents | Levels | None:
    if section is None:
        return None
    source, levels = read_source(section, folder), section.texts("levels", None)
    ragged = section.flag("pad_ragged", False)
    if levels is not None:
        regions = Levels(source, levels, section.text("region", None), ragged)
    else:
        regions = Parents(source, section.text("region", "region"), section.text("parent", "parent"), ragged)
    section.done()
    return regions
