"""The reader of CSV files in exactly the declared dialect: records are checked before parsing, and never guessed."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from pgsr.tables import csv_records_kernel as csv_records
from pgsr.tables.source import HEADERLESS, Csv, files

LONGEST = 2**24
"""Most bytes of a record, its line end included."""

BLOCK = 2**24
"""Bytes that are read at a time."""

MARK = "\ufeff".encode()
"""The byte order mark in UTF-8."""

UNQUOTED = "declare quote='' (in a TOML file, quote = \"\")"
FAULTS = {
    csv_records.FIELDS: "has a line with more or fewer fields than it has columns; declare the delimiter and quote "
    "signs of the file, or mend the line: if it ends with more delimiters than the first one, delete these",
    csv_records.STRAY_QUOTE: "has a quote sign inside a field without quotes; enclose the field and double the sign, "
    f"or {UNQUOTED}",
    csv_records.AFTER_QUOTE: "has text after the closing quote of a field; double quote signs inside quotes, or "
    f"{UNQUOTED}",
    csv_records.STRAY_ESCAPE: "has an escape sign that stands before no quote sign inside quotes; double it, or leave "
    "out escape",
    csv_records.RETURN: "has a carriage return without line feed outside quotes; end lines with LF or CRLF",
    csv_records.NUL: "holds NUL bytes; remove them, or declare the encoding",
    csv_records.BLANK: "has a blank line before others; remove it",
    csv_records.LONG: f"has a record of more than {LONGEST >> 20} MiB, or quotes that stay open; mend it",
}
OPEN = f"ends inside quotes; close them, or {UNQUOTED}"
ENCODING = "holds text that is not in the declared encoding; declare the one it has, or convert the file"
MARKED = "begins with a byte order mark and has no header line; remove the mark, or write a header"
UNREADABLE = "cannot be read or decompressed; check that the file opens by itself"


class CsvFault(Exception):
    """An error of a file: a sentence that tells nothing about its rows, and where the fault is."""

    def __init__(self, sentence: str, file: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.place = file if line is None else f"line {line:,} of {file}"


def column_names(csv: Csv) -> tuple[str, ...]:
    """Read the names of the columns: those of the header line, which every file shares, or the declared ones.

    A header line may end with delimiters, or leave names out: any number of columns is called "", and none of them can
    be asked for.

    Raises:
        CsvFault: no header line, or one that is not in the dialect or repeats a name, or headers differ.
        TableError: as `files`.
    """
    listed = files(csv.pattern)
    if csv.columns is not None:
        return csv.columns
    headers = []
    for file in listed:
        with _opened(file) as stream:
            headers.append(_header(csv, file, next(_chunks(csv, file, stream), b"")))
        if headers[-1] != headers[0]:
            raise CsvFault(f"has files with other header lines than {listed[0]!r}; give all the same columns", file)
    return headers[0]


def text_tables(csv: Csv, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of all rows as text, block by block.

    Raises:
        CsvFault: as `column_names`, or a record is not in the dialect.
        TableError: as `files`.
    """
    names = column_names(csv)
    keys = [f"c{i}" for i in range(len(names))]  # pyarrow refuses names that repeat, and "" is one
    wanted = [keys[names.index(column)] for column in columns]
    for file in files(csv.pattern):
        for block in _record_blocks(csv, file, len(names)):
            table = _parsed(csv, block, keys, wanted)
            yield table.rename_columns(list(columns))


def _record_blocks(csv: Csv, file: str, n_fields: int) -> Iterator[bytes]:
    """Yield whole records without fault, the header line left out."""
    rest, line, first, over = b"", 1, csv.header, False
    with _opened(file) as stream:
        for chunk in _chunks(csv, file, stream):
            data = rest + chunk
            if over:
                _require_over(data, file, line)
                continue
            if first:
                end = data.find(b"\n") + 1 or len(data)  # `column_names` has checked that it is there
                first, line, data = False, 2, data[end:]
            end, over = _checked(csv, file, data, n_fields, line)
            yield data[:end]
            line, rest = line + data.count(b"\n", 0, end), data[end:]
            if over:
                _require_over(rest, file, line)
                rest = b""
    if rest.endswith(b"\r"):
        raise CsvFault(FAULTS[csv_records.RETURN], file, line)
    if rest:
        if _checked(csv, file, rest + b"\n", n_fields, line) == (0, False):
            raise CsvFault(OPEN, file, line)
        yield rest + b"\n"


def _require_over(rest: bytes, file: str, line: int) -> None:
    """Raise `CsvFault` unless nothing but line ends follows: blank lines at the end of a file are no rows."""
    if rest.strip(b"\r\n"):
        raise CsvFault(FAULTS[csv_records.BLANK], file, line)


def _checked(csv: Csv, file: str, data: bytes, n_fields: int, line: int) -> tuple[int, bool]:
    """Check a block, and return where the last complete record ends, and whether a blank line follows it."""
    quote = ord(csv.quote) if csv.quote else -1
    escape = quote if csv.escape is None else ord(csv.escape)
    signs = np.frombuffer(data, np.uint8)
    fault, end, _ = csv_records.scan_records(signs, ord(csv.delimiter), quote, escape, n_fields, LONGEST)
    _require_utf8(data[:end], file, line)
    if fault and fault != csv_records.BLANK:
        raise CsvFault(FAULTS[fault], file, line + data.count(b"\n", 0, end))
    return end, bool(fault)


def _require_utf8(data: bytes, file: str, line: int) -> None:
    try:
        _ = data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        raise CsvFault(ENCODING, file, line + data.count(b"\n", 0, error.start)) from None


def _header(csv: Csv, file: str, start: bytes) -> tuple[str, ...]:
    line = start[: start.find(b"\n") + 1] or start + b"\n"
    if not start or len(line) > LONGEST:
        raise CsvFault(f"has no header line; write one, or {HEADERLESS}", file)
    quote = ord(csv.quote) if csv.quote else -1
    escape = quote if csv.escape is None else ord(csv.escape)
    signs = np.frombuffer(line, np.uint8)
    fault, end, n = csv_records.scan_records(signs, ord(csv.delimiter), quote, escape, 0, LONGEST)
    if fault or end != len(line):
        raise CsvFault(f"{FAULTS[fault] if fault else OPEN} (its header line)", file, 1)
    _require_utf8(line, file, 1)
    [row] = _parsed(replace(csv, nulls=()), line, keys := [f"c{i}" for i in range(n)], keys).to_pylist()
    names = tuple(row.values())
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise CsvFault(f"has two columns called {twice!r}; rename one", file)
    return names


def _parsed(csv: Csv, records: bytes, names: list[str], wanted: list[str]) -> pa.Table:
    if not records:
        return pa.table({name: pa.array([], pa.string()) for name in wanted})
    return pa_csv.read_csv(
        pa.BufferReader(MARK + records),  # pyarrow drops a mark that begins its input: this one, and none of the rows'
        pa_csv.ReadOptions(column_names=names, block_size=len(MARK) + len(records) + 1, use_threads=False),
        pa_csv.ParseOptions(
            delimiter=csv.delimiter,
            quote_char=csv.quote or False,
            double_quote=csv.escape in (None, csv.quote),
            escape_char=False if csv.escape in (None, csv.quote) else csv.escape,
            newlines_in_values=True,
            ignore_empty_lines=False,
        ),
        pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=wanted,
            null_values=list(csv.nulls),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            check_utf8=False,  # `_require_utf8` has
        ),
    )


def _opened(file: str) -> pa.NativeFile:
    try:
        return pa.input_stream(file, compression="detect")
    except (OSError, pa.ArrowException):
        raise CsvFault(UNREADABLE, file) from None


def _chunks(csv: Csv, file: str, stream: pa.NativeFile) -> Iterator[bytes]:
    """Yield the file in UTF-8, without a byte order mark before the header, which the first chunk holds if it can."""
    utf8 = csv.encoding == "utf-8"
    decoder = None if utf8 else codecs.getincrementaldecoder(csv.encoding)("strict")
    first, more = True, True
    while more:
        try:
            chunk = stream.read(BLOCK)
            while chunk and len(chunk) < BLOCK and (rest := stream.read(BLOCK - len(chunk))):
                chunk += rest
        except (OSError, pa.ArrowException):
            raise CsvFault(UNREADABLE, file) from None
        more = bool(chunk)
        if decoder is not None:
            try:
                chunk = decoder.decode(chunk, final=not more).encode()
            except (UnicodeError, ValueError):
                raise CsvFault(ENCODING, file) from None
        if first and chunk:
            if chunk.startswith(MARK) and not csv.header:  # it could as well belong to the first row
                raise CsvFault(MARKED, file, 1)
            chunk, first = chunk.removeprefix(MARK), False
        if chunk:
            yield chunk
