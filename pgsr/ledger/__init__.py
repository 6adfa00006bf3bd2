"""A privacy ledger in a file: what may be spent on one data set, and every charge. If in doubt, it refuses."""

from pgsr.ledger.adding import counted, fits, spent
from pgsr.ledger.charge import Charge
from pgsr.ledger.contents import Contents, Entry
from pgsr.ledger.errors import BrokenLedgerError, LedgerError
from pgsr.ledger.file import LedgerFile
from pgsr.ledger.relation import steps
from pgsr.privacy.neighbours import Relation, Unit

__all__ = [
    "BrokenLedgerError",
    "Charge",
    "Contents",
    "Entry",
    "LedgerError",
    "LedgerFile",
    "Relation",
    "Unit",
    "counted",
    "fits",
    "spent",
    "steps",
]
