"""The errors of what is published, and several of them at once. Every message names the item and the remedy."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pgsr.errors import PgsrError

Made = TypeVar("Made")
"""The type of what a check returns."""


class ConfigError(PgsrError, ValueError):
    """A key of the configuration is missing, unknown, or of the wrong kind."""


class ReleaseError(PgsrError):
    """A release cannot be made or written; the message says whether epsilon was spent."""


class ManifestError(PgsrError, ValueError):
    """A manifest is not what `pgsr release` writes."""


class SignatureError(PgsrError, ValueError):
    """A key or a signature is missing, malformed, wrong or somebody else's."""


class Faults:
    """The faults of several checks, so that a user sees all of them at once.

    Example:
        >>> def wrong(number: int) -> None:
        ...     raise ConfigError(f"groups is {number}; give a whole number from 1 up")
        >>> faults = Faults()
        >>> faults.tried(lambda: wrong(0))
        >>> faults.tried(lambda: wrong(-1))
        >>> faults.raise_all()
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ConfigError: 2 errors in the configuration:
          - groups is 0; give a whole number from 1 up
          - groups is -1; give a whole number from 1 up
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
            self.keep(error)
            return None

    def keep(self, error: PgsrError) -> None:
        """Keep a fault that was found elsewhere."""
        self._found.append(error)

    def raise_all(self) -> None:
        """Raise the fault as it is if there is one, and a `ConfigError` that lists them if there are more."""
        said = list(dict.fromkeys(map(str, self._found)))
        if len(said) > 1:
            raise ConfigError(listed(said))
        if said:
            raise self._found[0]


def listed(faults: Sequence[str]) -> str:
    """Say everything that is wrong with a configuration at once: one fault as it is, several in a list.

    Example:
        >>> print(listed(["the key 'colour' is unknown", "the key 'ledger' is missing"]))
        2 errors in the configuration:
          - the key 'colour' is unknown
          - the key 'ledger' is missing
    """
    if len(faults) == 1:
        return faults[0]
    return "\n".join([f"{len(faults)} errors in the configuration:", *(f"  - {fault}" for fault in faults)])
