"""Arrays that nobody can write to, since what was proved of them would not hold of what is written."""

from dataclasses import fields
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from pgsr.checks import is_sparse

Class = TypeVar("Class", bound=type)


def read_only_arrays(made: Class) -> Class:
    """Make the arrays of a class of data read-only: its fields, tuples of arrays among them, and cached properties.

    It stands below `@dataclass`, since fields are made so after the class's own `__post_init__`.
    """
    check = made.__dict__.get("__post_init__", lambda _: None)

    @wraps(check)
    def __post_init__(self: Any) -> None:
        check(self)
        for one in fields(self):
            value = getattr(self, one.name, None)
            if isinstance(value, tuple) or hasattr(value, "dtype"):
                object.__setattr__(self, one.name, _read_only(value))

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        vars(self).update({name: _read_only(value) for name, value in state.items()})  # a pickle forgets it

    setattr(made, "__post_init__", __post_init__)  # noqa: B010
    setattr(made, "__setstate__", __setstate__)  # noqa: B010
    for value in vars(made).values():
        if isinstance(value, cached_property):
            value.func = _giving_read_only(value.func)
    return made


def _giving_read_only(compute: Any) -> Any:
    return wraps(compute)(lambda self: _read_only(compute(self)))


def _read_only(value: Any) -> Any:
    """View arrays so that they cannot be written to; other values stay as they are."""
    if type(value) is tuple:
        return tuple(_read_only(part) for part in value) if any(hasattr(part, "dtype") for part in value) else value
    if is_sparse(value):
        value.data.flags.writeable = False
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value
