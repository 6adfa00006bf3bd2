"""What can go wrong with a ledger. Every message names the item and the remedy."""

from pgsr.errors import BudgetError


class LedgerError(BudgetError):
    """The ledger refuses a charge, or cannot be read or written; nothing was charged."""


class BrokenLedgerError(LedgerError):
    """The ledger is empty, torn, shortened or edited, so that nobody knows what was spent; nothing was charged."""
