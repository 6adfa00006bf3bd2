"""A privacy ledger in a file: what may be spent on one data set, and every charge. If in doubt, it refuses."""

from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger.adding import counted, fits, spent
from pgsr.release.ledger.charge import Charge
from pgsr.release.ledger.contents import LedgerContents, LedgerEntry
from pgsr.release.ledger.errors import BrokenLedgerError, LedgerError
from pgsr.release.ledger.file import LedgerFile
from pgsr.release.ledger.relation import steps

__all__ = [
    "BrokenLedgerError",
    "Charge",
    "LedgerContents",
    "LedgerEntry",
    "LedgerError",
    "LedgerFile",
    "Relation",
    "Unit",
    "counted",
    "fits",
    "spent",
    "steps",
]
