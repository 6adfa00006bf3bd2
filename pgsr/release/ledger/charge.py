"""The charge for one thing that costs privacy, and the errors of the ledger that refuses it."""

from dataclasses import dataclass

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.neighbours import Relation, Unit


class LedgerError(BudgetError):
    """An error of a ledger that refuses a charge, or cannot be read or written; nothing was charged."""


class BrokenLedgerError(LedgerError):
    """An error of a ledger that is empty, torn, shortened or edited, so that nobody knows what was spent.

    Nothing was charged.
    """


@dataclass(frozen=True)
class Charge:
    """The cost of a release, and the relation that it protects.

    Args:
        loss: the amount, above 0.
        what: it is spent on; any text.
        relation: between which data sets the loss bounds what can be told.
        unit: of privacy.

    Raises:
        LedgerError: nothing is spent.

    Example:
        >>> from pgsr.privacy.accounting import PureEpsilon
        >>> Charge(PureEpsilon("1/2"), "kuo into release")
        Charge(loss=PureEpsilon(epsilon 1/2), what='kuo into release', relation=<Relation.ADD_REMOVE: 'add_remove'>,
               unit=Unit.ENTITY)
    """

    loss: Loss
    what: str
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = Unit.ENTITY

    def __post_init__(self) -> None:
        if not self.loss.positive:
            raise LedgerError(f"the charge for {self.what} is 0; a charge is greater than 0")
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "unit", Unit.parse(self.unit))
