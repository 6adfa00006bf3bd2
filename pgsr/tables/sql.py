"""The writing of names, texts, types and casts in SQL; ids stay text or whole numbers, as they are."""

from collections.abc import Mapping
from enum import StrEnum

from pgsr.data.region_ids import BLANKS
from pgsr.errors import TableError

INTEGERS = frozenset(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE"))
INTEGERS |= {"INTEGER", "UINTEGER", "INT8", "INT16", "INT32", "INT64", "INT128", "UINT8", "UINT16", "UINT32", "UINT64"}

UNSEEN = r"'[\p{Cc}\p{Cf}\p{Cs}]'"
"""Control and format characters, as a regular expression in SQL."""


def name(column: str) -> str:
    """Write a column's name in SQL.

    Example:
        >>> name("group")
        '"group"'
    """
    return '"' + column.replace('"', '""') + '"'


def text(value: str) -> str:
    """Write a text in SQL.

    Example:
        >>> print(text("it's"))
        'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def is_text(kind: str) -> bool:
    """Say whether a DuckDB type is one of texts."""
    return kind in ("VARCHAR", "UUID") or kind.startswith("ENUM")


def cast_types(types: Mapping[str, str], cast: Mapping[str, str], what: str) -> dict[str, str]:
    """Compute the types after the declared casts.

    Raises:
        TableError: a column is neither text nor whole numbers.
    """
    after = dict(types)
    for column in [column for column in cast if column in types]:
        if types[column] not in INTEGERS and not is_text(types[column]):
            raise TableError(
                f"column {column!r} of {what} is {types[column]}, and casts turn text into whole numbers or back; "
                "store it as one of them"
            )
        after[column] = "VARCHAR" if cast[column] == "text" else "BIGINT" if is_text(types[column]) else types[column]
    return after


def cast_sql(column: str, before: str, after: str) -> tuple[str, str]:
    """Write a column after its cast, and the condition under which a value has none.

    Text is a whole number if it is exactly what the number is written as: digits, perhaps a minus sign before them, no
    plus sign, leading zeros, decimal point, exponent or space, within 64 bits. So no two texts become one number.
    """
    n = name(column)
    if before == after:
        return n, "false"
    if after == "VARCHAR":
        return f"CAST({n} AS VARCHAR) AS {n}", "false"
    given = f"nullif(CAST({n} AS VARCHAR), '')"
    number = f"TRY_CAST({given} AS BIGINT)"
    return f"{number} AS {n}", f"{given} IS NOT NULL AND CAST({number} AS VARCHAR) IS DISTINCT FROM {given}"


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
