"""The checks of settings, of which one of the wrong kind is refused with one sentence, and of what is installed."""

from enum import StrEnum
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from pgsr.errors import PgsrError
from pgsr.machine.extras import extra

Choice = TypeVar("Choice", bound=StrEnum)


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


def torch() -> Any:
    """Import and return the module torch, with which whole marginals, HPD-Fixed and HPD-Gen are fitted.

    Raises:
        MissingPackageError: it is not installed.
    """
    with extra("synthesis"):
        return import_module("torch")
