"""The errors of this package. Every message names the item and the remedy."""

from collections.abc import Sequence

from pgsr.errors import PgsrError


class ConfigError(PgsrError, ValueError):
    """A key of the configuration is missing, unknown, or of the wrong kind."""


class ReleaseError(PgsrError):
    """A release cannot be made or written; the message says whether epsilon was spent."""


class ManifestError(PgsrError, ValueError):
    """A manifest is not what `pgsr release` writes."""


class SignatureError(PgsrError, ValueError):
    """A key or a signature is missing, malformed, wrong or somebody else's."""


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
