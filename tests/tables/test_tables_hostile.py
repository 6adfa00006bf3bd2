"""The reading of a table never depends on its rows: one row more is one group one size up, or the table is refused.

Every way in is compared with a count by a dictionary, on tables that mislead readers who guess.
"""

import csv
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_tables import IDS, NOTES, NUMBERS, ONE, TEXTS, TREE, by_dictionary, count, one_up
from instances import rng_of, scale

from pgsr.errors import TableError
from pgsr.tables import Csv, Database, Entities, Limits, Parquet, Quantities, count_groups
from pgsr.tables.session import Session
from pgsr.tables.source import Frame, Query


def ways(
    rows: list[tuple[str | None, str | None]], cast: dict[str, str], folder: Path, connection: Any
) -> dict[str, Any]:
    """The same rows by every way."""
    table = pa.table(
        {"note": pa.array([a for a, _ in rows], pa.string()), "group": pa.array([b for _, b in rows], pa.string())}
    )
    pq.write_table(table, folder / "rows.parquet")
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([("note", "group"), *(("" if a is None else a, "" if b is None else b) for a, b in rows)])
    (folder / "rows.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "rows.duckdb")) as database:
        database.register("given", table)
        database.execute("create table people as select * from given")
    connection.register("given", table)
    connection.execute("create or replace table people as select * from given")
    objects = pd.DataFrame({"note": [a for a, _ in rows], "group": [b for _, b in rows]}, dtype=object)
    return {
        "csv": Csv(str(folder / "rows.csv"), cast),
        "parquet": Parquet(str(folder / "rows.parquet"), cast),
        "query": Query(connection, 'select note, "group" from people -- all', cast),
        "database": Database(str(folder / "rows.duckdb"), "select * from people;", cast),
        "arrow": Frame(table, cast),
        "objects": Frame(objects, cast),
        "pandas": Frame(table.to_pandas(), cast),
    }


def test_every_way_in_agrees_and_one_row_more_is_one_group_one_size_up(
    tmp_path: Path, counted: Callable[[int, str], None]
) -> None:
    rng, n, pairs = rng_of(83), 0, 0
    strange: list[str | None] = [None, "", "\0", "\ufeff1", "unlisted", "a\nb", "1\r"]
    plain = ["1", "7", "-1", "100000"]
    with duckdb.connect() as connection:
        for i in range(scale(2, 400)):
            cast, of = ({"group": "integer"}, NUMBERS) if i % 2 else ({}, TEXTS)

            def row(cast: dict[str, str] = cast) -> tuple[str, str | None]:
                pool = strange if rng.random() < 0.02 else plain if cast and rng.random() < 0.97 else IDS
                return NOTES[int(rng.integers(len(NOTES)))], pool[int(rng.integers(len(pool)))]

            rows = [row() for _ in range(int(rng.integers(0, 8)))]
            found = []
            for table in (rows, [*rows, row()]):
                expected = by_dictionary([g for _, g in table], of)
                for way, source in ways(list(table), cast, tmp_path, connection).items():
                    assert count(source, of) == expected, (way, table)
                    n += 1
                found.append(expected)
            if None not in found:
                assert one_up(*found)
                pairs += 1
    counted(n, "tables")
    counted(pairs, "pairs of neighbours")


def test_compressed_files_and_patterns_are_the_same_table(tmp_path: Path) -> None:
    for i, name in enumerate(("a.csv", "b.csv.gz", "c.csv.bz2", "d.csv.zst")):
        with pa.output_stream(tmp_path / name, compression="detect") as file:
            file.write(f"note,group\nx,{IDS[i]}\n".encode())
    assert count(Csv(str(tmp_path / "*.csv*"))) == by_dictionary(IDS[:4])
    (tmp_path / "torn.csv.gz").write_bytes((tmp_path / "b.csv.gz").read_bytes()[:-12])
    assert count(tmp_path / "torn.csv.gz") is None
    (tmp_path / "e.csv").write_text("group,note\n1,x\n")
    with pytest.raises(TableError, match="other header lines"):
        count_groups(Entities(Csv(str(tmp_path / "[ae].csv"))), TEXTS, TREE, max_size=3)


def test_objects_of_pandas_are_text_or_refused_whatever_the_other_rows_are() -> None:
    def read(values: list[Any], **cast: str) -> tuple[int, ...] | None:
        frame = pd.DataFrame({"group": pd.Series(values, dtype=object)})
        return count(Frame(frame, cast), NUMBERS if cast.get("group") == "integer" else TEXTS)

    for values in ([], [None], ["1", "007"]):  # no rows and only missing values have the types of others
        assert read(values) == by_dictionary(values)
    for other in (7, 7.0, True, b"7", pd.Timestamp(0), ["7"], pd.NaT):
        assert read([other]) is None
        assert read(["1", other]) is None
    assert read([1, 7], group="integer") == by_dictionary(["1", "7"], NUMBERS)
    assert read(["1", "7"], group="integer") == by_dictionary(["1", "7"], NUMBERS)
    for other in ("7", 7.0, True):
        assert read([1, other], group="integer") is None
    categories = pd.DataFrame({"group": pd.Categorical(["1", "007", "1"])})
    assert count(categories) == by_dictionary(["1", "007", "1"])
    none = pd.Categorical([], categories=pd.Index([], dtype=object))
    assert count(pd.DataFrame({"group": none})) == by_dictionary([])


def test_casts_to_text_and_their_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"group": [1, 7], "day": pa.array([0, 1], pa.date32())}), tmp_path / "n.parquet")
    path = str(tmp_path / "n.parquet")
    assert count(Parquet(path, {"group": "text"})) == by_dictionary(["1", "7"])
    for cast, word in (({"day": "text"}, "column 'day' .* is DATE, and casts"), ({"x": "text"}, "no column 'x'")):
        with pytest.raises(TableError, match=word):
            count_groups(Entities(Parquet(path, cast), None, next(iter(cast))), TEXTS, TREE, max_size=3)


def test_files_of_parquet_with_other_types_are_refused(tmp_path: Path) -> None:
    for first, second, odd in (
        ({"group": ["1"]}, {"group": [7]}, "b"),
        ({"group": [1]}, {"group": ["7"]}, "b"),  # together they would be text, and "01" beside 1 another group
        ({"note": ["1"]}, {"group": ["1"]}, "a"),
    ):
        pq.write_table(pa.table(first), tmp_path / "a.parquet")
        pq.write_table(pa.table(second), tmp_path / "b.parquet")
        with pytest.raises(TableError, match=rf"absent or of another type in .*{odd}\.parquet"):
            count_groups(Entities(str(tmp_path / "*.parquet"), None), TEXTS, TREE, max_size=3)
    folder = tmp_path / "group=7"
    folder.mkdir()
    pq.write_table(pa.table({"note": ["1"]}), folder / "c.parquet")
    with pytest.raises(TableError, match="no column 'group', only 'note'"):
        count_groups(Entities(str(folder / "*.parquet"), None), TEXTS, TREE, max_size=3)


def test_queries_that_would_have_duckdb_guess_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("note,group\nx,1\n")
    (tmp_path / "table.json").write_text('{"note": "x", "group": "1"}\n')
    pq.write_table(pa.table({"note": ["x"], "group": ["1"]}), tmp_path / "table.parquet")
    with duckdb.connect() as connection:
        connection.register("frame", pd.DataFrame({"group": pd.Series(["1"], dtype=object)}))
        connection.execute(f"create view seen as select * from '{tmp_path}/table.csv'")
        for sql in (
            f"select * from '{tmp_path}/table.csv'",
            f"from read_csv('{tmp_path}/table.csv')",
            f"from '{tmp_path}/table.json'",
            "from seen",
            "from frame",
            'with a as (from seen) from a where "group" = 1',
        ):
            with pytest.raises(TableError, match="guesses from its rows"):
                count_groups(Entities(Query(connection, sql), None), TEXTS, TREE, max_size=3)
        assert count(Query(connection, f"from '{tmp_path}/table.parquet'")) == by_dictionary(["1"])
        with pytest.raises(TableError, match=r"the relation scans a CSV.*guesses from its rows"):
            Entities(connection.sql("from seen"))


def test_database_files_are_opened_read_only_and_read_nothing_else(tmp_path: Path) -> None:
    path = str(tmp_path / "people.duckdb")
    (tmp_path / "table.csv").write_text("user,unit,region,quantity\na,1,US,2\n")
    with duckdb.connect(path) as database:
        database.execute("""create table people as select * from (values ('a', '1', 'US', 1), ('b', '1', 'US', 2))
            as t("user", unit, region, quantity)""")
        database.execute(f"create view outside as select * from '{tmp_path}/table.csv'")
    before = Path(path).read_bytes()

    def of(sql: str) -> list[int]:
        found = count_groups(Quantities(Database(path, sql), 3), TEXTS, TREE, max_size=9, limits=ONE)
        return found.counts[0][[0, 3]].tolist()

    sums = 'select max("user") as "user", unit, \'US\' as region, sum(quantity) as quantity from people group by unit'
    assert of("select * from people") == of(sums) == [30, 1]
    file = f"from '{tmp_path}/table.csv'"
    for sql in ("from outside", file, "copy people to 'x.csv'", "drop table people", "from absent"):
        with pytest.raises(TableError, match="cannot be read"):
            of(sql)
    assert Path(path).read_bytes() == before
    (tmp_path / "none.duckdb").write_text("no database")
    for name, word in (("absent.duckdb", "does not exist"), ("none.duckdb", "cannot be opened")):
        with pytest.raises(TableError, match=word):
            count_groups(Entities(Database(str(tmp_path / name), "from people")), TEXTS, TREE, max_size=9)


def test_what_duckdb_says_about_a_row_is_not_passed_on(tmp_path: Path) -> None:
    """Faults that show only when rows are fetched, in queries and views: DuckDB quotes the value, and we do not."""
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        given = "select i, case i when 99999 then 'secret' else '1' end as g from range(100000) r(i)"
        connection.execute(f"create table t as {given}")
        sql = 'select cast(i as varchar) as entity, cast(cast(g as integer) as varchar) as "group" from t'
        with pytest.raises(duckdb.Error, match="secret"):
            connection.execute(sql).fetchall()
    with duckdb.connect(str(tmp_path / "people.duckdb"), read_only=True) as connection:
        with pytest.raises(TableError, match="cannot be read") as caught:
            count_groups(Entities(Query(connection, sql)), TEXTS, TREE, max_size=3)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    with pytest.raises(TableError, match="cannot be read") as caught:
        count_groups(Entities(Database(str(tmp_path / "people.duckdb"), sql)), TEXTS, TREE, max_size=3)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_folders_that_killed_processes_left_are_deleted(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pgsr.tables.session import Limits, Session
with Session(Limits(threads=1, folder={str(tmp_path)!r}), []) as session:
    open(os.path.join(session._folder, "rows"), "w").write("private")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    [left] = tmp_path.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    (tmp_path / "pgsr-tables-mine").mkdir()
    with Session(Limits(threads=1, folder=tmp_path), []):
        assert not left.exists()
        with Session(Limits(threads=1, folder=tmp_path), []):
            assert len(list(tmp_path.iterdir())) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["pgsr-tables-mine"]
