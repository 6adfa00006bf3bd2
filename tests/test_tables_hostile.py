"""How a table is read never depends on its rows: one row more is one group one size up, or the table is refused.

Every way in is held against Python's csv module and dictionaries, on tables made to mislead whoever guesses.
"""

import csv
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from instances import scale

from pgsr import Hierarchy
from pgsr.errors import ArgumentError, TableError
from pgsr.tables import (
    Csv,
    Database,
    Entities,
    Frame,
    Groups,
    Limits,
    Parquet,
    PrivateLog,
    Quantities,
    Query,
    count_groups,
    csv_files,
)
from pgsr.tables.csv_files import (
    ENCODING,
    FAULTS,
    LONGEST,
    MARKED,
    OPEN,
    UNREADABLE,
    CsvFault,
    column_names,
    text_tables,
)
from pgsr.tables.session import Session

TREE = Hierarchy.from_parents(["US"], [-1])
ONE = Limits(gibibytes=1, threads=1)
LARGEST = 60

IDS = [
    "#1", "#", "null", "NULL", "NA", "NaN", "None", "1", "01", "007", "7", "+1", "-1", "1e5", "100000", "1.0", "1.5",
    "true", "2020-01-01", " x", "x ", "x", "a;b", "a,b", "a\"b", "'a'", "\\", "\\N", "é", "//", "--", "inf", "0x1F",
]  # fmt: skip
"""Ids that readers like to take for something else; all of them are listed groups."""

NOTES = [*IDS, "", "a\nb", "a\r\nb", "\t", "\n#\n", '"', '""', "x" * 3000, ",,,", "line\n1,1\n"]
"""What may stand in a column that is not looked at."""

ENTITY_FAULTS = (
    "some entities have no group; name the group of every entity; none is dropped",
    "some entities are in groups that the table of groups does not list; add the groups or mend the ids, none is "
    "dropped",
)
COLUMN_FAULT = re.compile(
    "column 'group' of the table of entities (holds values that are no plain whole numbers, such as 7|mixes types;)"
)


def told(message: str) -> bool:
    """Whether a refusal is one of the sentences that are the same whatever the rows are."""
    of_file = {
        f"the table of entities {sentence}" for sentence in (*FAULTS.values(), OPEN, ENCODING, MARKED, UNREADABLE)
    }
    return message in of_file or message in ENTITY_FAULTS or bool(COLUMN_FAULT.match(message))


def listed(ids: list[Any]) -> Groups:
    return Groups(pa.table({"group": ids, "region": ["US"] * len(ids)}))


TEXTS = listed(IDS)
NUMBERS = listed([0, 1, 7, 10, -1, 100_000])


def counted(table: Any, groups: Groups = TEXTS) -> tuple[int, ...] | None:
    """Counts by size, or None if the table is refused by a sentence that tells nothing."""
    try:
        truth = count_groups(Entities(table, entity=None), groups, TREE, max_size=LARGEST, limits=ONE)
    except TableError as error:
        refusal = str(error)
    else:
        return tuple(truth.counts[0].tolist())
    assert told(refusal), refusal
    return None


def by_dictionary(groups: list[str | None], of: Groups = TEXTS) -> tuple[int, ...] | None:
    ids = of.table.table["group"].to_pylist()
    if of is NUMBERS:
        if not all(not g or re.fullmatch(r"0|-?[1-9][0-9]{0,17}", g) for g in groups):
            return None
        groups = [str(int(g)) if g else None for g in groups]
        ids = list(map(str, ids))
    if not all(g and g in ids for g in groups):
        return None
    size = Counter(groups)
    sizes = Counter(min(size[i], LARGEST) for i in ids)
    return tuple(sizes[s] for s in range(LARGEST + 1))


def one_up(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether exactly one group has grown by one."""
    change = np.subtract(after, before)
    [size] = np.flatnonzero(change == -1)
    return change[size + 1] == 1 and np.abs(change).sum() == 2


# --- the twin: a grammar, and Python's csv module -----------------------------------------------------------------


def python_rows(data: bytes, dialect: Csv) -> list[list[str | None]] | None:
    """The rows of a file in exactly this dialect; None if it is in another."""
    try:
        text = data.decode(dialect.encoding)
    except UnicodeDecodeError:
        return None
    if text.startswith("\ufeff") and not dialect.header:
        return None
    text = text.removeprefix("\ufeff")
    d, q, e = re.escape(dialect.delimiter), re.escape(dialect.quote), re.escape(dialect.escape or dialect.quote)
    if dialect.quote:
        inside = rf"[^{q}\0]|{q}{q}" if e == q else rf"[^{q}{e}\0]|{e}[{q}{e}]"
        field = rf"(?:{q}(?:{inside})*+{q}|[^{d}{q}{e}\r\n\0]*+)"
    else:
        field = rf"[^{d}\r\n\0]*+"
    record = rf"(?!\r?\n|\Z){field}(?:{d}{field})*+"
    if not re.fullmatch(rf"(?:{record}\r?\n)*+(?:{record})?+", text):
        return None
    options: dict[str, Any] = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
    if dialect.escape is not None:
        options |= {"escapechar": dialect.escape, "doublequote": False}
    csv.field_size_limit(2**30)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, strict=True, **options))
    n = len(dialect.columns or rows[0])
    if any(len(row) != n for row in rows):
        return None
    return [[None if value in dialect.nulls else value for value in row] for row in rows[dialect.header :]]


def our_rows(dialect: Csv) -> list[list[str | None]] | None:
    try:
        names = column_names(dialect)
        return [list(row.values()) for part in text_tables(dialect, names) for row in part.to_pylist()]
    except CsvFault as fault:
        refusal = f"the table of entities {fault.sentence}".replace(" (its header line)", "")
    assert told(refusal), refusal
    return None


# --- files made to mislead ----------------------------------------------------------------------------------------

DIALECTS: list[dict[str, Any]] = [
    {},
    {},
    {"delimiter": ";"},
    {"delimiter": "\t", "nulls": ("", "NA")},
    {"quote": "'"},
    {"quote": ""},
    {"escape": "\\"},
    {"encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"encoding": "utf-16-le", "header": False, "columns": ("note", "group")},
    {"encoding": "shift_jis"},
    {"header": False, "columns": ("note", "group")},
    {"delimiter": "|", "nulls": ("null", "\\N")},
]

JUNK = [
    '"',
    "'",
    "\\",
    "\0",
    "\r",
    "\ufeff",
    "\n",
    "\r\n",
    ",",
    ";",
    "#",
    ' "a",1',
    '"a"b,1',
    'a"b,1',
    '"',
    "\n\n",
    '"7',
]


def written(rng: np.random.Generator, value: str, dialect: Csv) -> str:
    """One field; in quotes where it has to be, and sometimes where it has not."""
    quote, escape = dialect.quote, dialect.escape or dialect.quote
    special = {dialect.delimiter, quote, escape, "\r", "\n"} - {""}
    if quote and (rng.random() < 0.2 or any(sign in value for sign in special)):
        inner = value.replace(escape, escape * 2) if dialect.escape else value
        return quote + inner.replace(quote, escape + quote) + quote
    return value


def line(rng: np.random.Generator, dialect: Csv, group: str | None = None) -> str:
    note = NOTES[int(rng.integers(len(NOTES)))]
    group = IDS[int(rng.integers(len(IDS)))] if group is None else group
    return dialect.delimiter.join(written(rng, value, dialect) for value in (note, group))


def lines_and_one_more(rng: np.random.Generator, dialect: Csv, hostile: float) -> tuple[list[str], list[str]]:
    """Lines of a file, and with one more among them; with the chance `hostile` there is junk in some line."""
    found = [line(rng, dialect) for _ in range(int(rng.integers(0, 8)))]
    more = line(rng, dialect)
    if rng.random() < hostile:
        junk = JUNK[int(rng.integers(len(JUNK)))]
        place = int(rng.integers(-1, len(found)))
        spoiled = more if place < 0 else found[place]
        at = int(rng.integers(0, len(spoiled) + 1))
        spoiled = junk if rng.random() < 0.3 else spoiled[:at] + junk + spoiled[at:]
        if place < 0:
            more = spoiled
        else:
            found[place] = spoiled
    at = int(rng.integers(0, len(found) + 1))
    return found, [*found[:at], more, *found[at:]]


def file_bytes(rng: np.random.Generator, lines: list[str], dialect: Csv, damage: bytes) -> bytes:
    """The lines with their ends, LF or CRLF, a header if there is one, sometimes a byte order mark and bad bytes."""
    ends = ["\n", "\r\n"]
    header = [dialect.delimiter.join(("note", "group"))] if dialect.header else []
    ended = [(line, ends[int(rng.integers(2))]) for line in [*header, *lines]]
    if ended and rng.random() < 0.3:
        ended[-1] = ended[-1][0], ""
    text = "".join(line + end for line, end in ended)
    data = text.encode(dialect.encoding, errors="replace")
    if dialect.encoding == "utf-8" and rng.random() < 0.2:
        data = b"\xef\xbb\xbf" + data
    return data + damage


def test_rows_that_look_like_comments_count_one_by_one(tmp_path: Path) -> None:
    """Fifty rows "#i,1" were fifty members, and with a row "7,1" one: their sign had been guessed to begin comments."""
    homes = listed(["1"])
    for more, size in (("", 50), ("7,1\n", 51), ('"7",1\n', 51), ("7;1,1\n", 51)):
        (tmp_path / "people.csv").write_text("entity,group\n" + "".join(f"#{i},1\n" for i in range(50)) + more)
        truth = count_groups(Entities(tmp_path / "people.csv"), homes, TREE, max_size=LARGEST, limits=ONE)
        assert np.flatnonzero(truth.counts[0]).tolist() == [size]


@pytest.mark.assure("R15")
def test_csv_rows_are_those_of_pythons_csv_module(
    tmp_path: Path, counted: Callable[[int, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files in all dialects, most of them damaged: the same rows, or refused by both; a line more is a row more.

    Every other file is read in blocks of a few bytes, so that they end anywhere in a record.
    """
    rng, read, refused = np.random.default_rng(81), 0, 0
    for i in range(scale(300, 20_000)):
        monkeypatch.setattr(csv_files, "BLOCK", int(rng.integers(30, 90)) if rng.random() < 0.5 else LONGEST)
        options = DIALECTS[i % len(DIALECTS)]
        path = tmp_path / "table.csv"
        dialect = Csv(str(path), **options)
        damage = b"\xff\xfe\x80" if rng.random() < 0.03 else b""
        found = []
        for lines in lines_and_one_more(rng, dialect, 0.6):
            data = file_bytes(rng, lines, dialect, damage)
            path.write_bytes(data)
            rows = our_rows(dialect)
            assert rows == python_rows(data, dialect), (options, data)
            found.append(rows)
            read, refused = read + (rows is not None), refused + (rows is None)
        before, after = found
        if before is not None and after is not None:
            more = Counter(map(tuple, after)) - Counter(map(tuple, before))
            assert len(after) == len(before) + 1
            assert more.total() == 1, (options, before, after)
    counted(read, "files read")
    counted(refused, "files refused")


@pytest.mark.assure("R6")
def test_one_csv_row_more_is_one_group_one_size_up(tmp_path: Path, counted: Callable[[int, str], None]) -> None:
    rng, pairs, n = np.random.default_rng(82), 0, 0
    for i in range(scale(40, 2_000)):
        cast = {"group": "integer"} if i % 4 == 3 else {}
        dialect = Csv(str(tmp_path / "table.csv"), cast=cast, **DIALECTS[i % len(DIALECTS)])
        of = NUMBERS if cast else TEXTS
        sizes = []
        for lines in lines_and_one_more(rng, dialect, 0.3):
            data = file_bytes(rng, lines, dialect, b"")
            Path(dialect.pattern).write_bytes(data)
            rows = python_rows(data, dialect)
            sizes.append(count(dialect, of))
            assert sizes[-1] == (None if rows is None else by_dictionary([row[1] for row in rows], of)), data
            n += 1
        if None not in sizes:
            assert one_up(*sizes)
            pairs += 1
    counted(n, "files")
    counted(pairs, "pairs of neighbours")


# --- every way in -------------------------------------------------------------------------------------------------


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


@pytest.mark.assure("R6")
def test_every_way_in_agrees_and_one_row_more_is_one_group_one_size_up(
    tmp_path: Path, counted: Callable[[int, str], None]
) -> None:
    rng, n, pairs = np.random.default_rng(83), 0, 0
    strange: list[str | None] = [None, "", "\0", "\ufeff1", "unlisted", "a\nb", "1\r"]
    plain = ["1", "7", "-1", "100000"]
    with duckdb.connect() as connection:
        for i in range(scale(8, 400)):
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


count = counted
"""The function above, where a test has the fixture of that name."""


def test_very_long_fields_are_read_up_to_16_mib(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    short = "a,1\n" * 5
    for length, quotes in ((3_000_000, ""), (3_000_000, '"'), (LONGEST - 5, ""), (LONGEST - 3, ""), (2 * LONGEST, '"')):
        text = quotes + "x" * length + quotes + ",1\n"
        for lines in (text + short, short + text, text + short * 900_000):
            path.write_text("note,group\n" + lines)
            expected = None if len(text) > LONGEST else by_dictionary(["1"] * (lines.count("\n")))
            assert count(path) == expected
            if length < LONGEST - 5:
                break


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


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "no header line"),
        (b"\nnote,group\n", "blank line"),
        (b'note,"group\n1,1\n', "inside quotes"),
        (b"note,group,note\n", "two columns called 'note'"),
        (b"\xff,group\n", "not in the declared encoding"),
        (b"note;group\n1;1\n", "no column 'group', only note;group"),
    ],
)
def test_headers_that_are_none(data: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(data)
    with pytest.raises(TableError, match=word):
        count_groups(Entities(tmp_path / "table.csv", entity=None), TEXTS, TREE, max_size=3, limits=ONE)


def test_lines_are_named_for_public_tables_and_in_the_private_log(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('entity,group\n1,1\n2,"1"x\n')
    log, place = PrivateLog(), f"line 3 of {tmp_path / 'table.csv'}"
    with pytest.raises(TableError, match="after the closing quote") as caught:
        count_groups(Entities(tmp_path / "table.csv"), TEXTS, TREE, max_size=3, limits=ONE, log=log)
    assert not re.search("[0-9]", str(caught.value))
    assert place in log.faults[0]
    (tmp_path / "table.csv").write_text('group,region\n1,US\n2,"US"x\n')
    people = Entities(pa.table({"group": ["1"]}), entity=None)
    with pytest.raises(TableError, match=r"after the closing quote.*line 3"):
        count_groups(people, Groups(tmp_path / "table.csv"), TREE, max_size=3, limits=ONE)
    with pytest.raises(TableError, match="after the closing quote") as caught:
        count_groups(people, Groups(tmp_path / "table.csv"), TREE, max_size=3, limits=ONE, private_groups=True)
    assert "line 3" not in str(caught.value)


# --- types --------------------------------------------------------------------------------------------------------


def test_objects_of_pandas_are_text_or_refused_whatever_the_other_rows_are() -> None:
    def read(values: list[Any], **cast: str) -> tuple[int, ...] | None:
        frame = pd.DataFrame({"group": pd.Series(values, dtype=object)})
        return count(Frame(frame, cast), NUMBERS if cast.get("group") == "integer" else TEXTS)

    assert read(["1", "007"]) == by_dictionary(["1", "007"])
    for other in (7, 7.0, True, b"7", pd.Timestamp(0), ["7"], pd.NaT):
        assert read([other]) is None
        assert read(["1", other]) is None
    assert read([1, 7], group="integer") == by_dictionary(["1", "7"], NUMBERS)
    assert read(["1", "7"], group="integer") == by_dictionary(["1", "7"], NUMBERS)
    for other in ("7", 7.0, True):
        assert read([1, other], group="integer") is None
    categories = pd.DataFrame({"group": pd.Categorical(["1", "007", "1"])})
    assert count(categories) == by_dictionary(["1", "007", "1"])
    assert count(pd.DataFrame({"group": pd.Categorical([], categories=pd.Index([], dtype=object))})) == by_dictionary(
        []
    )


def test_no_rows_and_only_missing_values_have_the_types_of_others(tmp_path: Path) -> None:
    for values in ([], [None], ["1"]):
        frame = pd.DataFrame({"group": pd.Series(values, dtype=object)})
        assert count(frame) == by_dictionary(values)
    (tmp_path / "none.csv").write_text("note,group\n")
    assert count(tmp_path / "none.csv") == by_dictionary([])


def test_casts_to_text_and_their_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"group": [1, 7], "day": pa.array([0, 1], pa.date32())}), tmp_path / "n.parquet")
    path = str(tmp_path / "n.parquet")
    assert count(Parquet(path, {"group": "text"})) == by_dictionary(["1", "7"])
    for cast, word in (({"day": "text"}, "column 'day' .* is DATE, and casts"), ({"x": "text"}, "no column 'x'")):
        with pytest.raises(TableError, match=word):
            count_groups(Entities(Parquet(path, cast), None, next(iter(cast))), TEXTS, TREE, max_size=3)


def test_files_of_parquet_with_other_types_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"group": ["1"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"group": [7]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"of another type in .*b\.parquet"):
        count_groups(Entities(str(tmp_path / "*.parquet"), None), TEXTS, TREE, max_size=3)
    folder = tmp_path / "group=7"
    folder.mkdir()
    pq.write_table(pa.table({"note": ["1"]}), folder / "c.parquet")
    with pytest.raises(TableError, match="no column 'group', only note"):
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
        with pytest.raises(ArgumentError, match=r"DuckDBPyRelation; give .* Query\(connection, sql\)"):
            Entities(connection.sql("from seen"))


def test_database_files_are_opened_read_only_and_read_nothing_else(tmp_path: Path) -> None:
    path = str(tmp_path / "people.duckdb")
    (tmp_path / "table.csv").write_text("user,unit,region,quantity\na,1,US,2\n")
    with duckdb.connect(path) as database:
        database.execute("""create table people as select * from (values ('a', '1', 'US', 1), ('b', '1', 'US', 2))
            as t("user", unit, region, quantity)""")
        database.execute(f"create view outside as select * from '{tmp_path}/table.csv'")
    before = Path(path).read_bytes()
    people = Database(path, "select * from people")
    assert count_groups(Quantities(people, 2), TEXTS, TREE, max_size=9, limits=ONE).counts[0][[0, 3]].tolist() == [
        32,
        1,
    ]
    sums = Database(
        path,
        'select max("user") as "user", unit, \'US\' as region, sum(quantity) as quantity from people group by unit',
    )
    assert count_groups(Quantities(sums, 3), TEXTS, TREE, max_size=9, limits=ONE).counts[0][[0, 3]].tolist() == [32, 1]
    for sql in (
        "from outside",
        f"from '{tmp_path}/table.csv'",
        "copy people to 'x.csv'",
        "drop table people",
        "from absent",
    ):
        with pytest.raises(TableError, match="cannot be read"):
            count_groups(Quantities(Database(path, sql), 2), TEXTS, TREE, max_size=9, limits=ONE)
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


# --- what is left behind ------------------------------------------------------------------------------------------


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
