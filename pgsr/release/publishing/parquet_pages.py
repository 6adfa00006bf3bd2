"""Tell whether a Parquet file holds anything that its readers do not show.

A file is a mark of 4 bytes, the columns' pages one after another, the footer, its length and the mark again. Readers go
where the footer sends them, and stop when they have as many values as it says, so they pass over whatever else lies
between or after the pages.

Source of the format: Apache Parquet, parquet.thrift; of how a page's header is written: the compact protocol of Thrift.
"""

import mmap
from pathlib import Path
from typing import Any

from pgsr.machine.extras import extra
from pgsr.release.publishing.errors import ReleaseError

with extra("release"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

_MARK = 4
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
_LENGTH, _OF_DATA, _OF_DICTIONARY, _OF_NEWER_DATA, _N_VALUES = 3, 5, 7, 8, 1
"""Numbers of the fields of a page's header: its length after the header, what is said of a page of its kind, and in
this the number of its values."""


def without_numbers(schema: "pa.Schema") -> "pa.Schema":
    """Give the schema of a Parquet file without the numbers of fields, which Parquet notes in their metadata."""

    def plain(field: "pa.Field") -> "pa.Field":
        kept = {key: value for key, value in (field.metadata or {}).items() if key != b"PARQUET:field_id"}
        return field.with_metadata(kept or None)

    return pa.schema([plain(field) for field in schema], schema.metadata)


def require_plain(path: Path) -> None:
    """Raise `ReleaseError` if a Parquet file holds bytes of no page, or statistics that are not those of its values.

    Other readers skip rows by these statistics. What a page holds after its last value is not looked at.

    Shown by `test_release_forgeries.py`.
    """
    hidden = f"{path.name} holds bytes that belong to no column"
    with (
        pq.ParquetFile(path) as file,
        path.open("rb") as raw,
        mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        about, end = file.metadata, _MARK
        for group in range(about.num_row_groups):
            row_group = about.row_group(group)
            values = file.read_row_group(group)
            for place in range(row_group.num_columns):
                column = row_group.column(place)
                start = column.dictionary_page_offset or column.data_page_offset
                if start != end:
                    raise ReleaseError(hidden)
                end = start + column.total_compressed_size
                if not _filled_by_pages(data, start, end, column.num_values):
                    raise ReleaseError(hidden)
                if column.is_stats_set and not _true_statistics(column.statistics, values.column(place)):
                    raise ReleaseError(f"{path.name} has statistics that are not those of its values")
        footer = int.from_bytes(data[-8:-4], "little")
        if len(data) - 8 - footer != end:
            raise ReleaseError(hidden)


def _filled_by_pages(data: mmap.mmap, start: int, end: int, n_values: int) -> bool:
    """Tell whether pages fill these bytes of a column: none is left over, and no page comes after the last value."""
    found = 0
    try:
        while start < end:
            header, start = _struct(data, start)
            of_data = header.get(_OF_DATA, header.get(_OF_NEWER_DATA))
            first = not found and _OF_DICTIONARY in header
            if header[_LENGTH] < 0 or found >= n_values > 0 or not (of_data or first):
                return False
            found += of_data[_N_VALUES] if of_data else 0
            start += header[_LENGTH]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):  # what stands there is no header
        return False
    return start == end and found == n_values


def _struct(data: mmap.mmap, at: int) -> tuple[dict[int, Any], int]:
    """Read a struct: its fields by number, and where it ends.

    Raises:
        IndexError, ValueError: none stands there.
    """
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = _signed(data, at)
        fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    if kind in _BOOLEANS:
        return kind == _BOOLEANS[0], at
    if kind == _BYTE:
        return data[at], at + 1
    if kind in _INTEGERS:
        return _signed(data, at)
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    if kind == _BINARY:
        size, at = _number(data, at)
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return _struct(data, at)
    raise ValueError(f"a field of type {kind}, which no page has")


def _number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first."""
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at + shift // 7] & 127) << shift
        if data[at + shift // 7] < 128:
            return value, at + shift // 7 + 1
    raise ValueError("a number of more than 64 bits")


def _signed(data: mmap.mmap, at: int) -> tuple[int, int]:
    value, at = _number(data, at)
    return value >> 1 ^ -(value & 1), at


def _true_statistics(said: pq.Statistics, values: pa.ChunkedArray) -> bool:
    if said.has_null_count and said.null_count != values.null_count:
        return False
    if not said.has_min_max:
        return True
    found = pc.call_function("min_max", [values]).as_py()
    return (said.min, said.max) == (found["min"], found["max"])
