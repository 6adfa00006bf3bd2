"""The record in memory of what may be spent on one data set, and what was."""

from dataclasses import dataclass, field
from fractions import Fraction

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.loss import Approximate, Loss, PureEpsilon, Rho
from pgsr.privacy.accounting.noise_rho import rho_of_pure
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.neighbours import Relation, Unit


@dataclass
class Ledger:
    """A record of what may be spent on one data set, and what was. It is charged before any noise is drawn.

    Charges of noise add up under one unit and relation alone, those of the first: epsilon of persons and epsilon of
    households have no sum. A charge that also hides an empty group adds to charges that do not; their sum hides none.

    Args:
        total: of pure epsilon, as a number or `PureEpsilon`; or of `Rho`, into which pure epsilon counts as
            epsilon tanh(epsilon / 2). For epsilon with delta keep a file, `pgsr.release.ledger.LedgerFile`.

    Raises:
        BudgetError: the total is malformed, or epsilon with delta.

    Example:
        >>> ledger = Ledger("1")
        >>> ledger.charge(Fraction(3, 4), "first release")
        >>> ledger.left
        Fraction(1, 4)
        >>> ledger = Ledger(Rho("1/2"))
        >>> ledger.charge(PureEpsilon("1/2"), "first release")
        >>> round(float(ledger.left), 4)
        0.3775
    """

    total: Number | Loss
    spent: list[tuple[Fraction, str]] = field(default_factory=list, init=False)
    _protects: tuple[Unit, Relation] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.total, Approximate):
            raise BudgetError(
                f"a ledger of {self.total} does not fit into memory's plain sums; keep a file, "
                "pgsr.release.ledger.LedgerFile.create(...)"
            )
        if not isinstance(self.total, Loss):
            self.total = PureEpsilon(exact(self.total))

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the currency of the total."""
        return self._amount(self.total) - sum((amount for amount, _ in self.spent), Fraction(0))

    def charge(
        self, amount: Number | Loss, what: str, unit: Unit | None = None, relation: Relation | None = None
    ) -> None:
        """Spend `amount` on `what`; a plain number is of the total's currency.

        Args:
            amount: of privacy.
            what: any text.
            unit, relation: what the amount protects; None where only you know that it is what the others do.

        Raises:
            BudgetError: less than `amount` is left, it is no positive number, of a currency that the total cannot
                hold, or protects something else than what was charged before; nothing is spent then.
        """
        protects = self._protects if unit is None or relation is None else (unit, _counted_under(relation))
        if self._protects is not None and protects is not None and protects != self._protects:
            (new, under), (old, before) = protects, self._protects
            raise BudgetError(
                f"{what} protects one {new} under {under}, and what was charged before one {old} under {before}; keep "
                "a ledger of its own"
            )
        number = self._amount(amount) if isinstance(amount, Loss) else exact(amount, f"the charge for {what}")
        if number > self.left:
            name = "rho" if isinstance(self.total, Rho) else "epsilon"
            raise BudgetError(
                f"{what} would spend {name} {number}, and {self.left} of {self._amount(self.total)} is left; lower its "
                f"{name}"
            )
        self.spent.append((number, what))
        self._protects = protects

    def _amount(self, loss: Number | Loss) -> Fraction:
        match self.total, loss:
            case PureEpsilon(), PureEpsilon():
                return loss.epsilon
            case Rho(), Rho():
                return loss.rho
            case Rho(), PureEpsilon():
                return rho_of_pure(loss.epsilon)
        raise BudgetError(
            f"{loss} cannot be counted in a ledger of {self.total}; give Ledger(...) a total in the currency of what "
            "is charged, or keep a file, pgsr.release.ledger.LedgerFile"
        )


def _counted_under(relation: Relation) -> Relation:
    """The relation under which a charge adds to others: what hides an empty group as well is one step of add_remove."""
    return Relation.ADD_REMOVE if relation is Relation.ADD_REMOVE_OR_EMPTY_GROUP else relation
