"""A privacy ledger in a file: what may be spent on one data set, and every charge. If in doubt, it refuses."""

from pgsr.release.ledger.file import LedgerFile

__all__ = ["LedgerFile"]
