"""The fields of a published JSON file: those that may be there, each once, and the versions that made it."""

import platform
import re

from pgsr.machine.version import version_of
from pgsr.release.publishing.errors import ManifestError


def require_fields(found: object, fields: tuple[str, ...], what: str) -> None:
    """Raise `ManifestError` unless a table read from JSON has these fields and no others.

    Args:
        found: what was read.
        fields: their names.
        what: the table, for the sentence.

    Example:
        >>> require_fields({"a": 1}, ("a", "b"), "the manifest")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ManifestError: the manifest lacks the field 'b'
    """
    if not isinstance(found, dict):
        raise ManifestError(f"{what} is no table of fields")
    for name in found:
        if name not in fields:
            raise ManifestError(f"{what} has a field {name!r}, which no release may publish")
    for name in fields:
        if name not in found:
            raise ManifestError(f"{what} lacks the field {name!r}")


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Look up the versions of Python and of these packages."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in packages}}


def require_versions(found: object, packages: tuple[str, ...], what: str) -> None:
    """Raise `ManifestError` unless these are versions of Python and of these packages, in order, and nothing else."""
    names = ("python", *packages)
    if not isinstance(found, dict) or tuple(found) != names:
        raise ManifestError(f"versions of {what} are not those of {', '.join(names)}")
    for name, value in found.items():
        if not isinstance(value, str) or re.fullmatch("[0-9A-Za-z.+_-]{1,40}", value) is None:
            raise ManifestError(f"the version of {name} in {what} is {value!r}, no version")  # README.txt prints it
