"""The errors of this package. Every message names the item and the remedy."""

from pgsr.errors import PgsrError


class ConfigError(PgsrError, ValueError):
    """A key of the configuration is missing, unknown, or of the wrong kind."""


class ReleaseError(PgsrError):
    """A release cannot be made or written; the message says whether epsilon was spent."""


class ManifestError(PgsrError, ValueError):
    """A manifest is not what `pgsr release` writes."""


class SignatureError(PgsrError, ValueError):
    """A key or a signature is missing, malformed, wrong or somebody else's."""
