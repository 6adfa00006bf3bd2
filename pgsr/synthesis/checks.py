"""The checks of settings; a setting of the wrong kind is refused with one sentence."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import numpy as np

from pgsr.errors import PgsrError

Choice = TypeVar("Choice", bound=StrEnum)
Made = TypeVar("Made")


class SynthesisError(PgsrError, ValueError):
    """An error in a domain, a population, a query or a setting of data synthesis."""


def require_whole(*, least: int = 1, **numbers: object) -> None:
    """Raise `SynthesisError` unless all values are whole numbers from `least` up.

    Example:
        >>> require_whole(n_groups=3)
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise SynthesisError(f"{name} is {number!r}; give a whole number from {least} up")


def chosen(kind: type[Choice], value: object, name: str) -> Choice:
    """Return the member of an enumeration that `value` is, or whose text it is.

    Raises:
        SynthesisError: it is none.
    """
    try:
        return kind(value)  # pyright: ignore[reportArgumentType]
    except ValueError:
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise SynthesisError(f"{name} is {value!r}; give one of {members}") from None


class Faults:
    """The faults of several checks, so that a user sees all of them at once.

    Example:
        >>> faults = Faults()
        >>> faults.tried(lambda: require_whole(groups=0))
        >>> faults.tried(lambda: require_whole(rounds=-1))
        >>> faults.raise_all()
        Traceback (most recent call last):
        pgsr.synthesis.checks.SynthesisError: 2 errors:
          - groups is 0; give a whole number from 1 up
          - rounds is -1; give a whole number from 1 up
    """

    def __init__(self) -> None:
        self._found: list[PgsrError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def tried(self, check: Callable[[], Made]) -> Made | None:
        """Do a check and return its result; None if it found a fault, which is kept."""
        try:
            return check()
        except PgsrError as error:
            self._found.append(error)
            return None

    def raise_all(self, kind: type[PgsrError] = SynthesisError) -> None:
        """Raise the fault as it is if there is one, and an error of this kind that lists them if there are more."""
        said = list(dict.fromkeys(map(str, self._found)))
        if len(said) > 1:
            raise kind("\n".join([f"{len(said)} errors:", *(f"  - {line}" for line in said)]))
        if said:
            raise self._found[0]
