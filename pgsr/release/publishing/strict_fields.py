"""The fields of a published JSON file: those that may be there, each once, and the versions that made it."""

import platform
import re

from pgsr.errors import PgsrError
from pgsr.machine.version import version_of


def require_fields(found: object, fields: tuple[str, ...], what: str, kind: str, error: type[PgsrError]) -> None:
    """Raise `error` unless a table read from JSON has these fields and no others.

    Args:
        found: what was read.
        fields: their names.
        what: the table, for the sentence.
        kind: what the folder holds, "release" or "synthesis".
        error: the class to raise.

    Example:
        >>> require_fields({"a": 1}, ("a", "b"), "the manifest", "release", PgsrError)
        Traceback (most recent call last):
        pgsr.errors.PgsrError: the manifest lacks the field 'b'
    """
    if not isinstance(found, dict):
        raise error(f"{what} is no table of fields")
    for name in found:
        if name not in fields:
            raise error(f"{what} has a field {name!r}, which no {kind} may publish")
    for name in fields:
        if name not in found:
            raise error(f"{what} lacks the field {name!r}")


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Look up the versions of Python and of these packages."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in packages}}


def require_versions(found: object, packages: tuple[str, ...], what: str, error: type[PgsrError]) -> None:
    """Raise `error` unless these are versions of Python and of these packages, in order, and nothing else."""
    names = ("python", *packages)
    if not isinstance(found, dict) or tuple(found) != names:
        raise error(f"versions of {what} are not those of {', '.join(names)}")
    for name, value in found.items():
        if not isinstance(value, str) or re.fullmatch("[0-9A-Za-z.+_-]{1,40}", value) is None:
            raise error(f"the version of {name} in {what} is {value!r}, no version")  # README.txt prints it
