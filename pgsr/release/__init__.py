"""From confidential tables to a published, checkable folder. What that protects, and what not: `THREATS.md`."""

from pgsr.release.artefact import digest_of
from pgsr.release.checking import Finding, Outcome, Report, check
from pgsr.release.config import ReleaseConfig
from pgsr.release.errors import ConfigError, LedgerError, ManifestError, ReleaseError, SignatureError
from pgsr.release.example import EXAMPLE
from pgsr.release.forecast import forecast
from pgsr.release.ledger_file import LedgerFile
from pgsr.release.making import Release, finish, publish
from pgsr.release.selftest import selftest
from pgsr.release.signature import fingerprint, new_key
from pgsr.release.terms import Kind, Terms

__all__ = [
    "EXAMPLE",
    "ConfigError",
    "Finding",
    "Kind",
    "LedgerError",
    "LedgerFile",
    "ManifestError",
    "Outcome",
    "Release",
    "ReleaseConfig",
    "ReleaseError",
    "Report",
    "SignatureError",
    "Terms",
    "check",
    "digest_of",
    "fingerprint",
    "finish",
    "forecast",
    "new_key",
    "publish",
    "selftest",
]
