"""Read a TOML table strictly: every key is known, present where it must be, and of its form."""

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from pgsr.privacy.accounting.zcdp import exact_delta
from pgsr.privacy.budget import exact
from pgsr.publishing.configuration import forms
from pgsr.publishing.configuration.forms import Form, nearest
from pgsr.publishing.configuration.toml import kind_of, shown
from pgsr.publishing.errors import ConfigError

Choice = TypeVar("Choice", bound=StrEnum)
REQUIRED: Any = object()
"""The default of a key that has none, and so must be there."""


class Section:
    """A table of a configuration. Ask for every key that may occur, then call `done`.

    Example:
        >>> section = Section("", {"max_size": 5, "epsilom": "1"})
        >>> section.number("max_size")
        5
        >>> section.fraction("epsilon")
        Traceback (most recent call last):
        pgsr.publishing.errors.ConfigError: the key 'epsilon' is missing; did you write 'epsilom'?
    """

    def __init__(self, name: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ConfigError(no_table(name, values))
        self._name = name
        self._values: dict[str, Any] = values
        self._asked: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def title(self) -> str:
        """The table as a message names it."""
        return f"[{self._name}]"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are there."""
        return tuple(self._values)

    def text(self, key: str, default: Any = REQUIRED, *, empty: bool = False) -> Any:
        """A string, not empty unless `empty`."""
        return self._take(key, forms.MAYBE_TEXT if empty else forms.TEXT, default)

    def number(self, key: str, default: Any = REQUIRED) -> Any:
        """An integer."""
        return self._take(key, forms.INTEGER, default)

    def number_or_numbers(self, key: str) -> int | dict[str, int]:
        """An integer from 1 up, or a table of them by names that the user chooses."""
        return self._take(key, forms.COUNT_OR_COUNTS, REQUIRED)

    def flag(self, key: str, default: Any) -> Any:
        """A boolean."""
        return self._take(key, forms.BOOLEAN, default)

    def texts(self, key: str, default: Any = REQUIRED, *, empty: bool = False) -> Any:
        """An array of strings, not empty ones unless `empty`, as a tuple."""
        value = self._take(key, forms.MAYBE_TEXTS if empty else forms.TEXTS, default)
        return value if value is default else tuple(value)

    def columns(self, key: str, default: Any = REQUIRED) -> Any:
        """A column name, or several as a tuple."""
        value = self._take(key, forms.COLUMNS, default)
        return tuple(value) if isinstance(value, list) else value

    def fraction(self, key: str, default: Any = REQUIRED, *, zero: bool = False) -> Any:
        """An exact number, as a string or an integer; floats are refused."""
        value = self._take(key, forms.EXACT_OR_ZERO if zero else forms.EXACT, default)
        return value if value is default else exact(value, key, zero=zero)

    def probability(self, key: str) -> Fraction | None:
        """An exact probability, which may be far smaller than an epsilon; None if it is 0 or left out."""
        value = self._take(key, forms.EXACT_OR_ZERO, 0)
        return None if Fraction(value) == 0 else exact_delta(value)

    def fractions(self, key: str, default: Any = REQUIRED) -> tuple[Fraction, ...] | Any:
        """An array of exact numbers, as a tuple."""
        value = self._take(key, forms.EXACTS, default)
        return value if value is default else tuple(exact(part, f"a number of {key}", zero=True) for part in value)

    def choice(self, key: str, kind: type[Choice], default: Any = REQUIRED) -> Choice | Any:
        """A value of an enumeration."""
        value = self._take(key, forms.choice(kind), default)
        return value if value is default else kind(value)

    def choices(self, key: str, allowed: Iterable[str]) -> dict[str, str]:
        """A table of names that the user chooses, each with one of the allowed strings; empty if the key is absent."""
        return self._take(key, forms.choices(allowed), {})

    def tables(self, key: str) -> list[dict[str, Any]]:
        """The tables of an array [[key]]; none if the key is absent."""
        return list(self._take(key, forms.TABLES, []))

    def section(self, key: str) -> "Section | None":
        """A table inside this one, or None."""
        self._asked.append(key)
        return Section(key, self._values[key]) if key in self._values else None

    def done(self) -> None:
        """Raise `ConfigError` if there is a key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise ConfigError(f"{shown_key(key, self._name)} is unknown{near_or_all(key, self._asked)}")

    def _take(self, key: str, form: Form, default: Any) -> Any:
        self._asked.append(key)
        if key not in self._values:
            if default is REQUIRED:
                unknown = [other for other in self._values if other not in self._asked]
                near = nearest(key, unknown)
                hint = f"did you write {near!r}?" if near else f"write {key} = ... with {form.wanted}"
                raise ConfigError(f"{shown_key(key, self._name)} is missing; {hint}")
            return default
        fault = form.fault(self._values[key])
        if fault is not None:
            raise ConfigError(f"{shown_key(key, self._name)} {fault}")
        return self._values[key]


def shown_key(key: str, table: str) -> str:
    """A key as messages name it."""
    return f"the key {key!r}" + (f" of [{table}]" if table else "")


def no_table(name: str, value: object) -> str:
    """Say what is wrong with a value that stands where a table should be."""
    return f"{name} is {shown(value)}, {kind_of(value)}; write a table, [{name}] on a line of its own"


def near_or_all(key: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown key: the known key that was probably meant, or all of them."""
    listed = list(dict.fromkeys(known))
    near = nearest(key, listed)
    return f"; did you mean {near!r}?" if near else f"; known are {', '.join(listed)}"
