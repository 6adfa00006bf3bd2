"""Read a TOML file into values, and show values as TOML writes them."""

import json
import re
import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from pgsr.release.publishing.errors import ConfigError

KINDS: dict[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
    datetime: "a date-time",
    date: "a date",
    time: "a time",
}
"""The names that TOML has for the kinds of values."""

LONGEST = 60
"""The number of characters of a value that a message shows."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read the values of a TOML file in UTF-8.

    Raises:
        ConfigError: the file cannot be read, or is no TOML; the message names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the configuration {str(path)!r} cannot be read ({error.strerror}); `pgsr release --example` prints one "
            "to start from"
        ) from None
    try:
        text = data.decode("utf-8-sig")  # some editors mark the file's start
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(
            f"the configuration {path.name} is not TOML: line {line} is not in UTF-8; save the file in this encoding"
        ) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the configuration {path.name} is not TOML {_place(str(error), text)}") from None


def shown(value: object) -> str:
    """A value as TOML writes it, cut where it is long.

    Example:
        >>> shown(True), shown("a"), shown([1, 2.5]), shown({"a key": {"b": "c"}})
        ('true', '"a"', '[1, 2.5]', '{"a key" = {b = "c"}}')
    """
    text = _written(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def kind_of(value: object) -> str:
    """The name that TOML has for the kind of a value, with its article.

    Example:
        >>> kind_of(1), kind_of([]), kind_of({})
        ('an integer', 'an array', 'a table')
    """
    return KINDS.get(type(value), f"a {type(value).__name__}")


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_written(part)}' for key, part in value.items())}}}"
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _place(said: str, text: str) -> str:
    """Say where the parser stopped, what is written there, what it said, and what is usually meant."""
    found = re.search(r" \(at (line (\d+), column \d+|end of document)\)", said)
    what = said[: found.start()] if found else said
    remedy = next((hint for start, hint in _REMEDIES.items() if what.startswith(start)), "")
    what = what[:1].lower() + what[1:] + remedy
    if found is None or found[2] is None:
        return f"at its end: {what}" if found else f": {what}"
    line = text.splitlines()[int(found[2]) - 1 : int(found[2])] if text else []
    return f"at {found[1]}, {json.dumps(line[0].strip()[:LONGEST], ensure_ascii=False) if line else ''}: {what}"


_REMEDIES = {
    "Invalid value": "; strings stand in double quotes",
    "Cannot overwrite": "; write every key and every table once",
    "Cannot declare": "; write every key and every table once",
    "Expected newline": "; write one key a line, and strings in double quotes",
    "Unterminated string": "; end the string with its quotes",
    "Illegal character": "; end strings with their quotes, on the same line",
    "Expected '='": "; write key = value",
}
"""The remedies, by the start of the parser's message."""
