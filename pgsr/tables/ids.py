"""The columns of ids: text or whole numbers, never converted from one to the other."""

from collections.abc import Mapping
from enum import StrEnum

from pgsr.data.region_ids import BLANKS
from pgsr.errors import TableError
from pgsr.tables.sql import INTEGERS, is_text, name, text

UNSEEN = r"'[\p{Cc}\p{Cf}\p{Cs}]'"
"""Control and format characters, as a regular expression in SQL."""


class IdKind(StrEnum):
    """The kind of ids. 1001 and "01001" differ, so columns that refer to each other must be of one kind."""

    TEXT = "text"
    NUMBER = "numbers"


def id_kind(types: Mapping[str, str], column: str, what: str) -> IdKind:
    """Say whether a column's ids are text or numbers.

    Raises:
        TableError: they are neither. Floats are what a reader makes of whole numbers with gaps.
    """
    kind = types[column]
    if kind in INTEGERS:
        return IdKind.NUMBER
    if is_text(kind):
        return IdKind.TEXT
    raise TableError(
        f"column {column!r} of {what} is {kind}; ids are text or whole numbers: fill missing ids, and read ids as text"
    )


def require_one_kind(a: IdKind, what: str, b: IdKind, other: str) -> None:
    """Raise `TableError` if two columns that refer to each other hold text and numbers."""
    if a is not b:
        raise TableError(
            f"{what} holds {a}, {other} holds {b}; read ids as text in both, else '01001' becomes 1001 "
            "(or cast: Csv(..., cast={column: 'integer'}), and likewise Parquet; in a TOML file, cast = "
            '{column = "integer"} in the section of the table)'
        )


def id_sql(column: str, kind: IdKind) -> str:
    """Write an id in SQL, as `pgsr.data.region_ids.region_name` does; an empty text is a missing id."""
    if kind is IdKind.NUMBER:
        return name(column)
    return f"nullif(trim(nfc_normalize(CAST({name(column)} AS VARCHAR)), {text(BLANKS)}), '')"
