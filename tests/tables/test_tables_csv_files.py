"""The reader of CSV files against a grammar and Python's csv module, on files made to mislead."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_tables import IDS, LARGEST, NOTES, NUMBERS, ONE, TEXTS, TREE, by_dictionary, count, listed, one_up, told
from instances import rng_of, scale

from pgsr.errors import TableError
from pgsr.tables import Csv, Entities, Groups, count_groups, csv_files
from pgsr.tables.csv_files import LONGEST, CsvFault, column_names, text_tables
from pgsr.tables.inputs import PrivateLog
from pgsr.tables.session import Limits, Session


def python_rows(data: bytes, dialect: Csv) -> list[list[str | None]] | None:
    """The rows of a file in exactly this dialect; None if it is in another."""
    try:
        text = data.decode(dialect.encoding)
    except UnicodeDecodeError:
        return None
    if text.startswith("\ufeff") and not dialect.header:
        return None
    text = text.removeprefix("\ufeff")
    # No possessive repetitions: up to Python 3.11.4 they matched too much (python/cpython issue 106052).
    d, q, e = re.escape(dialect.delimiter), re.escape(dialect.quote), re.escape(dialect.escape or dialect.quote)
    if dialect.quote:
        inside = rf"[^{q}\0]|{q}{q}" if e == q else rf"[^{q}{e}\0]|{e}[{q}{e}]"
        field = rf"(?:{q}(?:{inside})*{q}|[^{d}{q}{e}\r\n\0]*)"
    else:
        field = rf"[^{d}\r\n\0]*"
    record = rf"(?!\r?\n|\Z){field}(?:{d}{field})*"
    if not re.fullmatch(rf"(?:{record}\r?\n)*(?:{record}|[\r\n]*)", text):
        return None
    if dialect.header and text.startswith(("\r", "\n")):
        return None
    text = re.sub(r"(?<=\n)[\r\n]+\Z|\A[\r\n]+\Z", "", text)
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
    '"', "'", "\\", "\0", "\r", "\ufeff", "\n", "\r\n", ",", ";", "#", ' "a",1', '"a"b,1', 'a"b,1', '"', "\n\n", '"7',
]  # fmt: skip


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


def adds_a_row(lines: list[str], more: list[str]) -> bool:
    """Say whether the line more is a row; a blank one at the end is none."""
    [added] = (Counter(more) - Counter(lines)).elements()
    return bool(added.strip("\r\n"))


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


def test_csv_rows_are_those_of_pythons_csv_module(
    tmp_path: Path, counted: Callable[[int, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files in all dialects, most of them damaged: the same rows, or refused by both; a line more is a row more.

    Every other file is read in blocks of a few bytes, so that they end anywhere in a record.
    """
    rng, read, refused = rng_of(81), 0, 0
    for i in range(scale(100, 20_000)):
        monkeypatch.setattr(csv_files, "BLOCK", int(rng.integers(30, 90)) if rng.random() < 0.5 else LONGEST)
        options = DIALECTS[i % len(DIALECTS)]
        path = tmp_path / "table.csv"
        dialect = Csv(str(path), **options)
        damage = b"\xff\xfe\x80" if rng.random() < 0.03 else b""
        found, both = [], lines_and_one_more(rng, dialect, 0.6)
        for lines in both:
            data = file_bytes(rng, lines, dialect, damage)
            path.write_bytes(data)
            rows = our_rows(dialect)
            assert rows == python_rows(data, dialect), (options, data)
            found.append(rows)
            read, refused = read + (rows is not None), refused + (rows is None)
        before, after = found
        if before is not None and after is not None:
            more = Counter(map(tuple, after)) - Counter(map(tuple, before))
            assert len(after) == len(before) + adds_a_row(*both)
            assert more.total() == adds_a_row(*both), (options, before, after)
    counted(read, "files read")
    counted(refused, "files refused")


def test_one_csv_row_more_is_one_group_one_size_up(tmp_path: Path, counted: Callable[[int, str], None]) -> None:
    rng, pairs, n = rng_of(82), 0, 0
    for i in range(scale(len(DIALECTS), 2_000)):
        cast = {"group": "integer"} if i % 4 == 3 else {}
        dialect = Csv(str(tmp_path / "table.csv"), cast=cast, **DIALECTS[i % len(DIALECTS)])
        of = NUMBERS if cast else TEXTS
        sizes, both = [], lines_and_one_more(rng, dialect, 0.3)
        for lines in both:
            data = file_bytes(rng, lines, dialect, b"")
            Path(dialect.pattern).write_bytes(data)
            rows = python_rows(data, dialect)
            sizes.append(count(dialect, of))
            assert sizes[-1] == (None if rows is None else by_dictionary([row[1] for row in rows], of)), data
            n += 1
        if None not in sizes and adds_a_row(*both):
            assert one_up(*sizes)
            pairs += 1
    counted(n, "files")
    counted(pairs, "pairs of neighbours")


@pytest.mark.slow
def test_very_long_fields_are_read_up_to_16_mib(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    short = "a,1\n" * 5
    for length, quotes in ((3_000_000, '"'), (LONGEST - 5, ""), (LONGEST - 3, ""), (2 * LONGEST, '"')):
        text = quotes + "x" * length + quotes + ",1\n"
        for lines in (text + short, short + text, *[text + short * 900_000] * scale(0, 1)):
            path.write_text("note,group\n" + lines)
            expected = None if len(text) > LONGEST else by_dictionary(["1"] * (lines.count("\n")))
            assert count(path) == expected
            if length < LONGEST - 5:
                break


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "no header line"),
        (b"\nnote,group\n", "blank line"),
        (b'note,"group\n1,1\n', "inside quotes"),
        (b"note,group,note\n", "two columns called 'note'"),
        (b"\xff,group\n", "not in the declared encoding"),
        (b"note;group\n1;1\n", "no column 'group', only 'note;group'"),
    ],
)
def test_headers_that_are_none(data: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(data)
    with pytest.raises(TableError, match=word):
        count_groups(Entities(tmp_path / "table.csv", entity=None), TEXTS, TREE, max_size=3, limits=ONE)


@pytest.mark.parametrize("block", [30, LONGEST])
@pytest.mark.parametrize(
    ("commas", "end"), [("", "\n" * 100), (",", ""), (",,", "\n\n"), (",,,", "\r\n\r\n\r\n")], ids=range(4)
)
def test_delimiters_and_blank_lines_at_the_end_are_nothing(tmp_path: Path, monkeypatch, block, commas, end) -> None:
    """As spreadsheets and editors leave them: columns without a name, and lines without a row."""
    monkeypatch.setattr(csv_files, "BLOCK", block)
    (tmp_path / "table.csv").write_text(f"note,group{commas}\na,1{commas}\nb,1{commas}\nc,7{commas}{end}", newline="")
    assert count(tmp_path / "table.csv") == by_dictionary(["1", "1", "7"])


@pytest.mark.parametrize("block", [30, LONGEST])
def test_what_the_end_of_a_line_or_file_has_to_be_rid_of_is_said(tmp_path: Path, monkeypatch, block) -> None:
    monkeypatch.setattr(csv_files, "BLOCK", block)
    for text, word in (
        ("note,group\na,1,\n", r"ends with more delimiters than the first one, delete these \(line 2"),
        ("note,group\na,1\n\n\nb,1\n", r"has a blank line before others; remove it \(line 3"),
        ("note,group\na,1\n" + "\n" * 100 + "b,1\n", r"has a blank line before others; remove it \(line 3"),
    ):
        (tmp_path / "table.csv").write_text(text)
        people = Entities(pa.table({"group": ["1"]}), entity=None)
        with pytest.raises(TableError, match=word):
            count_groups(people, Groups(tmp_path / "table.csv", region="note"), TREE, max_size=3, limits=ONE)
    (tmp_path / "table.csv").write_text("group,region\n1,US\n,\n,\n")
    with pytest.raises(TableError, match=r"2 rows .* have no group id \(first in row 2\).*delete rows that are empty"):
        count_groups(people, Groups(tmp_path / "table.csv"), TREE, max_size=3, limits=ONE)


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


def test_a_header_with_another_delimiter_is_told_it(tmp_path):
    (tmp_path / "a.csv").write_text("entity;group\n1;2\n")
    table = Csv(str(tmp_path / "a.csv"))
    with pytest.raises(TableError, match='write delimiter = ";"'), Session(Limits(), [table]) as session:
        session.require(table, ["group"], "the table")
