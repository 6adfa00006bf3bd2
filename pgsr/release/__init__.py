"""From confidential tables to a published, checkable folder. What that protects, and what not: `THREATS.md`."""

from pgsr.ledger import LedgerError, LedgerFile
from pgsr.release.artefact import digest_of
from pgsr.release.check import Finding, Outcome, Report, check
from pgsr.release.config import ReleaseConfig
from pgsr.release.errors import ConfigError, ManifestError, ReleaseError
from pgsr.release.example import EXAMPLE
from pgsr.release.forecast import forecast
from pgsr.release.making import Release, publish
from pgsr.release.selftest import selftest
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
    "Terms",
    "check",
    "digest_of",
    "forecast",
    "publish",
    "selftest",
]
