"""The checks of arguments, whose errors are sentences."""

import sys
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from pgsr.errors import ArgumentError, PgsrError

Choice = TypeVar("Choice", bound=StrEnum)


def require_kind(value: object, kind: type | tuple[type, ...], what: str, remedy: str) -> None:
    """Raise `ArgumentError` unless `value` is an instance of `kind`; a class instead of a value gets its own hint.

    Example:
        >>> require_kind(3, int, "the count", "give a number")
    """
    if isinstance(value, type):
        raise ArgumentError(f"{what} is the class {value.__name__}; write {value.__name__}(...)")
    if not isinstance(value, kind):
        raise ArgumentError(f"{what} is {shown(value)}; {remedy}")


def member_of(kind: type[Choice], value: object, name: str, error: type[PgsrError]) -> Choice:
    """Return the member of an enumeration that `value` is, or whose text it is; raise `error` if it is none.

    Example:
        >>> from pgsr.noise.measurement import Totals
        >>> member_of(Totals, "root", "totals", ArgumentError)
        <Totals.ROOT: 'root'>
        >>> member_of(Totals, "leaves", "totals", ArgumentError)
        Traceback (most recent call last):
        pgsr.errors.ArgumentError: totals='leaves' is unknown; use 'root', 'regions' or 'noisy'
    """
    try:
        return kind(value)  # pyright: ignore[reportArgumentType]
    except ValueError:
        *others, last = (repr(str(member)) for member in kind)
        raise error(f"{name}={value!r} is unknown; use {', '.join(others)} or {last}") from None


def plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python, a real one by its shortest text; anything else as it is."""
    if isinstance(value, np.integer):
        return int(value)
    return float(str(value)) if isinstance(value, np.floating) else value


def whole_number(name: str, value: object, least: int, error: type[PgsrError]) -> int:
    """Return a whole number from `least` up, of Python or of NumPy, as an int; raise `error` if it is none."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise error(f"{name}={shown(value)}; give a whole number from {least} up")
    return number


def is_sparse(table: object) -> bool:
    """Say whether a table is one of SciPy's sparse ones. SciPy, a third of a second to import, stays unimported.

    Example:
        >>> from scipy import sparse
        >>> is_sparse(sparse.csr_array([[0, 1]])), is_sparse(np.array([[0, 1]]))
        (True, False)
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(table)


def require_source(source: object) -> None:
    """Raise `ArgumentError` unless `source` gives streams of bytes."""
    if isinstance(source, type) or not callable(getattr(source, "stream", None)):
        raise ArgumentError(f"source is {shown(source)}; give Secure(), or Seeded('key') for research")


def checked_limit(seconds: Any) -> float | None:
    """Check a time limit: None, or a number of seconds above 0."""
    if seconds is None:
        return None
    found = plain(seconds)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1e9:
        raise ArgumentError(f"time_limit is {shown(seconds)}; give seconds above 0 up to 1e9, or None for no limit")
    return float(found)


def what_to_lower(weights: np.ndarray) -> str:
    """Say what to make smaller where counts times weights times levels exceed 2^50: weights, unless all are 0 or 1."""
    return "scale the weights down" if int(weights.max()) > 1 else "give smaller counts"


def as_array(values: object) -> np.ndarray:
    """Make an array of anything; rows of different lengths give one without dimensions, which every check refuses."""
    require_places(values)
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None)


def require_places(values: object) -> None:
    """Raise `ArgumentError` for a pandas table with labels of rows, or of sizes, that are not 0, 1, 2, ..."""
    for axis in ("index", "columns"):
        given = getattr(values, axis, None)
        labels = np.asarray(given) if hasattr(given, "equals") else np.zeros(0)
        named = axis == "columns" and labels.dtype.kind not in "iuf"
        if not named and not np.array_equal(labels, np.arange(len(labels))):
            raise ArgumentError(
                f"the {axis} of a table are not 0, 1, 2, ..., and arrays are taken by place; order it, give .to_numpy()"
            )


def shown(value: object) -> str:
    """Write a value as sentences do, or its type where that would be long."""
    if isinstance(value, int) and value.bit_length() > 100:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"of type {type(value).__name__}"
