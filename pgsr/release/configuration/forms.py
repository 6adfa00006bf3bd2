"""The forms that a value of a configuration may have, as JSON schema, and what is said of a value that does not fit."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pgsr.release.configuration.toml import kind_of, shown

Schema = Mapping[str, Any]
"""A JSON schema, of the words that `fits` knows."""


@dataclass(frozen=True)
class Form:
    """A description of what a value has to be.

    Attributes:
        wanted: how a message asks for it, after "write".
        schema: the same as JSON schema.

    Example:
        >>> COUNT.fault(0)
        'is 0; write an integer from 1 up'
        >>> COUNT.fault("7")
        'is "7", a string; write an integer from 1 up'
        >>> COUNT.fault(7) is None
        True
    """

    wanted: str
    schema: Schema

    def fault(self, value: object) -> str | None:
        """Say what is wrong with a value, in words that follow its name; None if it fits."""
        if fits(value, self.schema):
            return None
        if value == "":
            return f"is empty; write {self.wanted}"
        if isinstance(value, float) and value > 0 and fits(repr(value), self.schema):
            return f"is {shown(value)}, a float, which is not exact; write it in quotes, {shown(repr(value))}"
        near = nearest(value, self.schema.get("enum", ())) if isinstance(value, str) else None
        of_kind = any(part.get("type") in _kinds(value) for part in self.schema.get("anyOf", (self.schema,)))
        kind = "" if of_kind or isinstance(value, bool) else f", {kind_of(value)}"
        return f"is {shown(value)}{kind}; write {self.wanted}" + (f", perhaps {shown(near)}" if near else "")


def fits(value: object, schema: Schema) -> bool:
    """Tell whether a TOML value is valid under a JSON schema that uses only the words of `_WORDS`.

    Stricter than JSON in one thing: 3.0 is a float in TOML, and no integer.

    Example:
        >>> fits(["a"], {"type": "array", "items": {"type": "string"}}), fits(True, {"type": "integer"})
        (True, False)
    """
    unknown = schema.keys() - _WORDS
    assert not unknown, f"a form uses {unknown}, which `fits` does not know"
    if "anyOf" in schema:
        return any(fits(value, part) for part in schema["anyOf"])
    if "type" in schema and schema["type"] not in _kinds(value):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        return (
            schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
            and re.search(schema.get("pattern", ""), value) is not None
        )
    if isinstance(value, int | float):
        return value >= schema.get("minimum", value) and value <= schema.get("maximum", value)
    if isinstance(value, list):
        unique = not schema.get("uniqueItems") or all(part not in value[:place] for place, part in enumerate(value))
        enough = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return unique and enough and _all_fit(value, schema.get("items", {}))
    if isinstance(value, dict):
        return _all_fit(value.values(), schema.get("additionalProperties", {}))
    return True


def choice(values: Iterable[str]) -> Form:
    """The form of a value that is one of these strings."""
    listed = [str(value) for value in values]
    return Form(f"one of {', '.join(map(shown, listed))}", {"type": "string", "enum": listed})


def choices(values: Iterable[str]) -> Form:
    """The form of a table of names that the user chooses, each with one of these strings."""
    listed = [str(value) for value in values]
    every = f"and one of {', '.join(map(shown, listed))} for every name"
    return Form(
        f"a table, such as {{group = {shown(listed[0])}}}, {every}",
        {"type": "object", "additionalProperties": {"type": "string", "enum": listed}},
    )


def _array(of: str, item: Form, **more: bool) -> Form:
    """The form of an array with at least one item."""
    return Form(f"an array of {of}", {"type": "array", "items": item.schema, "minItems": 1, **more})


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its case; None if none is alike.

    Example:
        >>> nearest("Epsilom", ["epsilon", "shares"]), nearest("colour", ["columns"])
        ('epsilon', None)
    """
    folded = {other.casefold(): other for other in known}
    near = get_close_matches(word.casefold(), folded, 1, 0.7)
    return folded[near[0]] if near else None


def _kinds(value: object) -> tuple[str, ...]:
    """The JSON types that a TOML value has."""
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int):
        return ("integer", "number")
    return {str: ("string",), float: ("number",), list: ("array",), dict: ("object",)}.get(type(value), ())


def _all_fit(values: Iterable[object], schema: Schema) -> bool:
    return all(fits(value, schema) for value in values)


_WORDS = {
    *("anyOf", "type", "enum", "minLength", "maxLength", "pattern", "minimum", "maximum", "items", "minItems"),
    *("maxItems", "uniqueItems", "additionalProperties"),
}
_NUMBER = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[0-9]+/[0-9]+$"

TEXT = Form("a string", {"type": "string", "minLength": 1})
MAYBE_TEXT = Form("a string", {"type": "string"})
CHARACTER = Form("one character in quotes", {"type": "string", "minLength": 1, "maxLength": 1})
MAYBE_CHARACTER = Form('one character in quotes, or ""', {"type": "string", "maxLength": 1})
WHOLE = Form("an integer from 0 up", {"type": "integer", "minimum": 0})
COUNT = Form("an integer from 1 up", {"type": "integer", "minimum": 1})
COUNT_OR_COUNTS = Form(
    "an integer from 1 up, or a table with one for every level, such as {nation = 50, block = 7}",
    {"anyOf": [COUNT.schema, {"type": "object", "additionalProperties": COUNT.schema}]},
)
BOOLEAN = Form("true or false", {"type": "boolean"})
TEXTS = _array('strings, such as ["nation", "state"]', TEXT)
NAMES = _array('different strings, such as ["nation", "state"]', TEXT, uniqueItems=True)
MAYBE_TEXTS = _array('strings, such as ["", "NA"]', MAYBE_TEXT)
COLUMNS = Form(
    'the name of a column, or an array of strings, such as ["nation", "state"]',
    {"anyOf": [TEXT.schema, TEXTS.schema]},
)
EXACT = Form(
    'an exact number greater than 0 in quotes, such as "0.1" or "1/3"',
    {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _NUMBER}]},
)
EXACT_OR_ZERO = Form(
    'an exact number from 0 up in quotes, such as "0" or "1/3"',
    {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _NUMBER}]},
)
EXACTS = _array('exact numbers in quotes, such as ["1/3", "2/3"]', EXACT_OR_ZERO)
