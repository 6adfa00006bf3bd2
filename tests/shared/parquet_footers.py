"""Parquet files with bytes that no reader shows, whose footers were rewritten so that every reader still reads them.

A footer is a struct in the compact protocol of Thrift, which is read into dictionaries {field: (type, value)} here.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

Struct = dict[int, tuple[int, Any]]

_BOOLEANS, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT = (1, 2), (3, 4, 5, 6), 7, 8, (9, 10), 11, 12
_ROW_GROUPS, _COLUMNS, _ABOUT, _PLACE_OF_GROUP, _PLACE_OF_CHUNK = 4, 1, 3, 5, 2
_COMPRESSED, _DATA_PAGE, _DICTIONARY_PAGE = 7, 9, 11


def hide_between(path: Path, hidden: bytes, column: int = 0) -> None:
    """Put bytes after a column of the first row group; all that follows moves, and the footer says so."""
    _hide(path, hidden, column, lambda about: None)


def hide_in_column(path: Path, hidden: bytes, column: int = 0) -> None:
    """Put bytes after the last page of a column, which the footer counts among the bytes of this column."""

    def longer(about: Struct) -> None:
        about[_COMPRESSED] = about[_COMPRESSED][0], about[_COMPRESSED][1] + len(hidden)

    _hide(path, hidden, column, longer)


HIDING = (hide_between, hide_in_column)


def _hide(path: Path, hidden: bytes, column: int, change: Callable[[Struct], None]) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _struct_at(data, len(data) - 8 - length)
    chunks = [chunk for group in footer[_ROW_GROUPS][1] for chunk in group[_COLUMNS][1]]
    about = chunks[column][_ABOUT][1]
    start = about[_DICTIONARY_PAGE if _DICTIONARY_PAGE in about else _DATA_PAGE][1]
    cut = start + about[_COMPRESSED][1]
    change(about)
    places = [(group, _PLACE_OF_GROUP) for group in footer[_ROW_GROUPS][1]] + [(c, _PLACE_OF_CHUNK) for c in chunks]
    places += [(chunk[_ABOUT][1], name) for chunk in chunks for name in (_DATA_PAGE, _DICTIONARY_PAGE)]
    for holder, name in places:
        if name in holder and holder[name][1] >= cut:
            holder[name] = holder[name][0], holder[name][1] + len(hidden)
    written = _written(footer)
    body = data[:cut] + hidden + data[cut : len(data) - 8 - length]
    path.write_bytes(body + written + len(written).to_bytes(4, "little") + data[-4:])


def _struct_at(data: bytes, at: int) -> tuple[Struct, int]:
    found: Struct = {}
    number = 0
    while data[at]:
        kind, delta = data[at] & 15, data[at] >> 4
        at += 1
        if delta:
            number += delta
        else:
            number, at = _integer_at(data, at)
        found[number], at = _value_at(data, at, kind)
    return found, at + 1


def _value_at(data: bytes, at: int, kind: int) -> tuple[tuple[int, Any], int]:
    if kind in _BOOLEANS:
        return (kind, kind == 1), at
    if kind == 3:
        return (kind, data[at]), at + 1
    if kind in _INTEGERS:
        value, at = _integer_at(data, at)
        return (kind, value), at
    if kind == _DOUBLE:
        return (kind, data[at : at + 8]), at + 8
    if kind == _BINARY:
        size, at = _varint_at(data, at)
        return (kind, data[at : at + size]), at + size
    if kind in _LISTS:
        size, of = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint_at(data, at)
        items = []
        for _ in range(size):
            if of in _BOOLEANS:
                items.append(data[at] == 1)
                at += 1
                continue
            (_, item), at = _value_at(data, at, of)
            items.append(item)
        return (kind | of << 8, items), at
    assert kind == _STRUCT, f"a footer with a value of type {kind}"
    value, at = _struct_at(data, at)
    return (kind, value), at


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _integer_at(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint_at(data, at)
    return value >> 1 ^ -(value & 1), at


def _written(fields: Struct) -> bytes:
    text, last = b"", 0
    for number, (kind, value) in fields.items():
        delta = number - last
        assert 0 < delta < 16, "fields of a footer stand in order"
        text += bytes([delta << 4 | kind & 15]) + _value(kind, value)
        last = number
    return text + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in _BOOLEANS:
        return b""
    if kind == 3:
        return bytes([value])
    if kind in _INTEGERS:
        return _varint(value << 1 ^ value >> 63)
    if kind == _DOUBLE:
        return value
    if kind == _BINARY:
        return _varint(len(value)) + value
    if kind & 15 in _LISTS:
        of, size = kind >> 8, len(value)
        head = bytes([size << 4 | of]) if size < 15 else bytes([0xF0 | of]) + _varint(size)
        return head + b"".join(bytes([2 - item]) if of in _BOOLEANS else _value(of, item) for item in value)
    return _written(value)


def _varint(value: int) -> bytes:
    text = b""
    while value > 127:
        text, value = text + bytes([value & 127 | 128]), value >> 7
    return text + struct.pack("B", value)
