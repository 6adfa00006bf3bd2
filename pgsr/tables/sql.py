"""The writing of names, texts, types and casts in SQL."""

from collections.abc import Mapping

from pgsr.errors import TableError

INTEGERS = frozenset(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE"))
INTEGERS |= {"INTEGER", "UINTEGER", "INT8", "INT16", "INT32", "INT64", "INT128", "UINT8", "UINT16", "UINT32", "UINT64"}


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
