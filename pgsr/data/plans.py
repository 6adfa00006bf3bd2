"""The plans of DuckDB's queries and relations, and whether they look at rows to decide how to read them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pgsr.errors import TableError

GUESSING = ("READ_CSV", "SNIFF_CSV", "READ_JSON", "READ_NDJSON", "READ_XLSX", "PANDAS_SCAN")
"""How operators of DuckDB begin that look at rows to decide how to read them."""


def require_no_guess(operators: Iterable[str], what: str, remedy: str) -> None:
    """Raise `TableError` if some operator of a plan guesses.

    DuckDB takes the types of a CSV file's columns from its first 20,480 lines, and rounds 1.75 to 2 where all before it
    are whole.
    """
    guessed = sorted({name for name in operators if name.startswith(GUESSING)})
    if guessed:
        raise TableError(
            f"{what} scans a CSV, JSON or Excel file or a pandas frame ({', '.join(guessed)}), and DuckDB guesses from "
            f"its rows how to read it; {remedy}"
        )


def operators(plan: str) -> Iterator[str]:
    """List the names of all operators of a plan in DuckDB's JSON, and of the functions that they call."""
    yield from _names(json.loads(plan))


def operators_of(relation: Any) -> Iterator[str]:
    """List the operators of a relation's plan, and with DuckDB 1, which draws plans as text, all words in it."""
    try:
        yield from operators(relation.explain(format="json"))
    except TypeError:
        drawn = "".join(sign if sign.isalnum() or sign == "_" else " " for sign in relation.explain())
        yield from drawn.upper().split()


def _names(plan: Any) -> Iterator[str]:
    for node in plan if isinstance(plan, list) else [plan]:
        details = node.get("extra_info")
        yield str(node["name"]).strip().upper()
        yield str(details.get("Function", "") if isinstance(details, dict) else "").upper()
        yield from _names(node.get("children", []))
