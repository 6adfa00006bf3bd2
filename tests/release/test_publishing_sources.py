"""The place of tables and how they are read, as a configuration says; and what it writes is never what it reads."""

import csv
import os
import tomllib
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from made_tables import TABLES, release, write_config, write_tables

from pgsr.release import ReleaseConfig, check
from pgsr.release.configuration.keys import DeclaredTable, require
from pgsr.release.configuration.sources import FILE_OR_QUERY, SOURCE, SOURCE_APART, files_read, read_source
from pgsr.release.publishing.errors import ConfigError
from pgsr.tables import Csv, Database, Parquet


def read(toml: str) -> Csv | Parquet | Database:
    given = tomllib.loads(toml)
    require(DeclaredTable("groups", "", SOURCE, one_of=FILE_OR_QUERY, apart=SOURCE_APART), given)
    return read_source(given, "groups", Path("in"))


def test_every_key_of_a_source() -> None:
    assert read('file = "a.parquet"\ncast = {g = "text"}') == Parquet(Path("in/a.parquet"), {"g": "text"})
    assert read('file = "a.dat"\nkind = "csv"') == Csv(Path("in/a.dat"))
    assert read('connection = "a.duckdb"\nquery = "from t"') == Database("in/a.duckdb", "from t")
    declared = """file = "a.csv"
        delimiter = ";"
        quote = "'"
        escape = "\\\\"
        encoding = "cp1252"
        header = false
        columns = ["a", "b"]
        nulls = ["", "NA"]
        cast = {a = "integer"}"""
    expected = Csv(Path("in/a.csv"), {"a": "integer"}, ";", "'", "\\", "cp1252", False, ("a", "b"), ("", "NA"))
    assert read(declared) == expected


@pytest.mark.parametrize(
    ("toml", "word"),
    [
        ('file = "a.csv"\nintegers = ["g"]', r"'integers' of \[groups\] is not used any more; write cast"),
        ('file = "a.csv"\ncast = {g = "float"}', r"one of \"integer\", \"text\""),
        ('file = "a.csv"\ncast = ["g"]', r"write a table, such as \{group"),
        ('file = "a.csv"\ndelimiter = ";;"', r"'delimiter' of \[groups\] is \";;\"; write one character"),
        ('file = "a.csv"\ndelimiter = "é"', r"\[groups\]: delimiter='é'; give one ASCII character"),
        ('file = "a.csv"\nquote = ","', "also the quote"),
        ('file = "a.csv"\nquote = ""\nescape = "x"', "no meaning in files without quotes"),
        ('file = "a.csv"\nencoding = "utf-9"', "encoding='utf-9' is unknown"),
        ('file = "a.csv"\nencoding = "hex"', "encoding='hex' is unknown"),
        ('file = "a.csv"\nencoding = "iso2022_jp"', "cannot be read one by one"),
        ('file = "a.csv"\nencoding = "unicode_escape"', "cannot be read one by one"),
        ('file = "a.csv"\nencoding = "utf-16"\nheader = false\ncolumns = ["a"]', "declare 'utf-16-le' or"),
        ('file = "a.csv"\nheader = false', "header = false with columns"),
        ('file = "a.csv"\ncolumns = ["a"]', "header = false with columns"),
        ('file = "a.csv"\nheader = false\ncolumns = ["a", "a"]', "write an array of different strings"),
        ('file = "a.csv"\ncomment = "#"', "'comment' of .groups. is unknown"),
        (
            'file = "a.parquet"\nnulls = [""]',
            "'nulls' .* has no meaning, for the file 'a.parquet' is Parquet",
        ),
        ('connection = "a.duckdb"', r"or query = ... and connection = ... in \[groups\]; connection = ... is there"),
        ('query = "from t"', r"or query = ... and connection = ... in \[groups\]; query = ... is there"),
        ('connection = "a.duckdb"\nquery = "from t"\nfile = "b.csv"', "write either file = ... or query = ... and"),
        ('connection = "a.duckdb"\nquery = "from t"\nkind = "csv"', "'kind' .* for the rows come from a query"),
    ],
)
def test_every_error_of_a_source_names_its_key(toml: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        read(toml)


@pytest.mark.slow
def test_a_release_is_the_same_from_parquet_csv_and_a_database(place: Path) -> None:
    """Rehearsals, whose noise repeats: byte for byte the same tables."""
    for name, ends in (("entities", "'"), ("groups", '"')):
        table = pq.read_table(place / f"{name}.parquet")
        with (place / f"{name}.csv").open("w", newline="", encoding="utf-16-le") as file:
            writer = csv.writer(file, delimiter=";", quotechar=ends, quoting=csv.QUOTE_NONNUMERIC)
            writer.writerows(list(row.values()) for row in table.to_pylist())
        with duckdb.connect(str(place / "all.duckdb")) as database:
            database.register("given", table)
            database.execute(f"create table {name} as select * from given")
    dialect = 'cast = {group = "integer"}\ndelimiter = ";"\nencoding = "utf-16-le"\nheader = false\n'
    as_csv = (
        f'[entities]\nfile = "entities.csv"\n{dialect}columns = ["entity", "group"]\nquote = "\'"\n'
        f'[groups]\nfile = "groups.csv"\n{dialect}columns = ["group", "region"]\n[regions]\nfile = "regions.csv"\n'
    )
    of_file = 'connection = "all.duckdb"\nquery = "select * from {}"'
    as_query = TABLES.replace('file = "entities.parquet"', of_file.format("entities"))
    as_query = as_query.replace('file = "groups.parquet"', of_file.format("groups"))
    found = []
    for name, tables in (("a", TABLES), ("b", as_csv), ("c", as_query)):
        folder = release(ReleaseConfig.read(write_config(place, name=name, tables=tables)), rehearse=True)
        found.append({file: (folder / file).read_bytes() for file in ("counts.parquet", "measurement.parquet")})
    assert found[0] == found[1] == found[2]
    assert check(release(ReleaseConfig.read(write_config(place, name="d", tables=as_query)))).passed


@pytest.mark.parametrize("key", ["log", "ledger", "output"])
@pytest.mark.parametrize(
    "name", ["entities.parquet", "groups.parquet", "regions.csv", "../here/regions.csv", "linked", "hard"]
)
def test_what_is_written_is_none_of_the_tables(tmp_path: Path, key: str, name: str) -> None:
    place = tmp_path / "here"
    place.mkdir()
    write_tables(place)
    (place / "linked").symlink_to(place / "entities.parquet")
    os.link(place / "entities.parquet", place / "hard")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(ConfigError, match=f"the {key} .* is one of the tables that are read; name another file"):
        ReleaseConfig.read(write_config(place, **{key: f'"{name}"'}))
    assert {name: (place / name).read_bytes() for name in before} == before


def test_what_is_written_does_not_match_a_pattern_or_a_database(place: Path) -> None:
    with duckdb.connect(str(place / "all.duckdb")) as database:
        database.execute("create table t as select 1 as a")
    of_file = TABLES.replace('file = "entities.parquet"', 'connection = "all.duckdb"\nquery = "from t"')
    for log in ("all.duckdb", "all.duckdb.wal"):
        with pytest.raises(ConfigError, match=r"the log .* is one of the tables"):
            ReleaseConfig.read(write_config(place, log=f'"{log}"', tables=of_file))
    pattern = TABLES.replace('"entities.parquet"', '"ent*"')
    with pytest.raises(ConfigError, match=r"the log .* is one of the tables"):
        ReleaseConfig.read(write_config(place, log='"entities.log"', tables=pattern))
    config = ReleaseConfig.read(write_config(place, log='"private.log"', tables=pattern))
    found = files_read(config.entities, config.groups, config.regions)
    assert [path.name for path in found] == ["entities.parquet", "groups.parquet", "regions.csv"]
