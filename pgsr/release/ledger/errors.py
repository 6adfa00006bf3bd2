"""The errors of a ledger. Every message names the item and the remedy."""

from pgsr.errors import BudgetError


class LedgerError(BudgetError):
    """An error of a ledger that refuses a charge, or cannot be read or written; nothing was charged."""


class BrokenLedgerError(LedgerError):
    """An error of a ledger that is empty, torn, shortened or edited, so that nobody knows what was spent.

    Nothing was charged.
    """
