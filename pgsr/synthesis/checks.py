"""Settings of the wrong kind become sentences."""

from enum import StrEnum
from typing import TypeVar

import numpy as np

from pgsr.errors import PgsrError

Choice = TypeVar("Choice", bound=StrEnum)


class SynthesisError(PgsrError, ValueError):
    """A domain, a population, a query or a setting of data synthesis is not what it should be."""


def require_whole(*, least: int = 1, **numbers: object) -> None:
    """Raise `SynthesisError` unless all are whole numbers from `least` up.

    Example:
        >>> require_whole(n_groups=3)
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise SynthesisError(f"{name} is {number!r}; give a whole number from {least} up")


def chosen(kind: type[Choice], value: object, name: str) -> Choice:
    """The member of an enumeration that `value` is, or is the text of.

    Raises:
        SynthesisError: it is none.
    """
    try:
        return kind(value)  # pyright: ignore[reportArgumentType]
    except ValueError:
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise SynthesisError(f"{name} is {value!r}; give one of {members}") from None
