"""Reading a TOML table strictly: every key is known, present where it must be, and of its kind."""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from pgsr.budget import exact
from pgsr.release.errors import ConfigError

Choice = TypeVar("Choice", bound=StrEnum)
REQUIRED: Any = object()
"""Default of a key that has none."""


class Section:
    """One table of a configuration. Ask for every key that may occur, then call `done`.

    Example:
        >>> section = Section("", {"max_size": 5, "epsilom": "1"})
        >>> section.number("max_size")
        5
        >>> section.fraction("epsilon")
        Traceback (most recent call last):
        pgsr.release.errors.ConfigError: the key 'epsilon' is missing; did you write 'epsilom'?
    """

    def __init__(self, name: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ConfigError(f"{name} is {values!r}; write a table [{name}]")
        self._name = name
        self._values: dict[str, Any] = values
        self._asked: list[str] = []

    def text(self, key: str, default: Any = REQUIRED, *, empty: bool = False) -> Any:
        value = self._take(key, str, "text in quotes", default)
        if value == "" and not empty:
            raise ConfigError(f"{self._shown(key)} is empty; write a text")
        return value

    def number(self, key: str, default: Any = REQUIRED) -> Any:
        return self._take(key, int, "a whole number", default)

    def flag(self, key: str, default: bool) -> bool:
        return self._take(key, bool, "true or false", default)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def title(self) -> str:
        """The table as a message names it."""
        return f"[{self._name}]"

    def texts(self, key: str, default: Any = REQUIRED, *, empty: bool = False) -> Any:
        """A list of texts, as a tuple."""
        value = self._take(key, list, "a list of texts", default)
        if value is default:
            return value
        if not value or not all(isinstance(part, str) and (part or empty) for part in value):
            raise ConfigError(f"{self._shown(key)} is {value!r}; write a list of texts, such as ['nation', 'state']")
        return tuple(value)

    def columns(self, key: str, default: Any = REQUIRED) -> Any:
        """One column name, or a list of them, as a tuple."""
        return self.texts(key) if isinstance(self._values.get(key), list) else self.text(key, default)

    def fraction(self, key: str, default: Any = REQUIRED, *, zero: bool = False) -> Any:
        """An exact number, as text or a whole number; decimal points outside quotes are refused."""
        value = self._take(key, (str, int), "an exact number in quotes, such as '0.1' or '1/3'", default)
        return value if value is default else exact(value, key, zero=zero)

    def fractions(self, key: str, default: Any = REQUIRED) -> tuple[Fraction, ...] | Any:
        value = self._take(key, list, "a list of exact numbers, such as ['1/3', '2/3']", default)
        if value is default:
            return value
        for part in value:
            if isinstance(part, bool) or not isinstance(part, str | int):
                raise ConfigError(f"{self._shown(key)} holds {part!r}; write it in quotes, such as '1/3'")
        return tuple(exact(part, f"a number of {key}", zero=True) for part in value)

    def choice(self, key: str, kind: type[Choice], default: Any = REQUIRED) -> Choice | Any:
        value = self.text(key, default)
        if value is default:
            return value
        try:
            return kind(value)
        except ValueError:
            raise ConfigError(f"{self._shown(key)} is {value!r}; write one of {', '.join(kind)}") from None

    def choices(self, key: str, allowed: Iterable[str]) -> dict[str, str]:
        """A table of names, each with one of the allowed texts; empty if the key is absent."""
        value, known = self._take(key, dict, "a table, such as {group = 'integer'}", {}), tuple(allowed)
        for name, chosen in value.items():
            if chosen not in known:
                raise ConfigError(f"{name} in {self._shown(key)} is {chosen!r}; write one of {', '.join(known)}")
        return value

    def section(self, key: str) -> "Section | None":
        """A table inside this one, or None."""
        self._asked.append(key)
        return Section(key, self._values[key]) if key in self._values else None

    def done(self) -> None:
        """Raise `ConfigError` if there is a key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise ConfigError(f"{self._shown(key)} is unknown; known are {_list(self._asked)}")

    def _take(self, key: str, kind: type | tuple[type, ...], wanted: str, default: Any) -> Any:
        self._asked.append(key)
        if key not in self._values:
            if default is REQUIRED:
                unknown = [other for other in self._values if other not in self._asked]
                hint = _near(key, unknown) or f"; write {key} = ... with {wanted}"
                raise ConfigError(f"{self._shown(key)} is missing{hint}")
            return default
        value = self._values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ConfigError(f"{self._shown(key)} is {value!r}; write {wanted}")
        return value

    def _shown(self, key: str) -> str:
        return f"the key {key!r}" + (f" of [{self._name}]" if self._name else "")


def _near(key: str, others: Iterable[str]) -> str:
    near = get_close_matches(key, list(others), 1)
    return f"; did you write {near[0]!r}?" if near else ""


def _list(keys: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(keys))
