"""The record in memory of what may be spent on one data set, and what was."""

from dataclasses import dataclass, field
from fractions import Fraction

from pgsr.accounting.loss import Approximate, Loss, PureEpsilon, Rho
from pgsr.accounting.noise_rho import rho_of_pure
from pgsr.budget import Number, exact
from pgsr.errors import BudgetError


@dataclass
class Ledger:
    """A record of what may be spent on one data set, and what was. It is charged before any noise is drawn.

    Args:
        total: of pure epsilon, as a number or `PureEpsilon`; or of `Rho`, into which pure epsilon counts as
            epsilon tanh(epsilon / 2). For epsilon with delta keep a file, `pgsr.ledger.LedgerFile`.

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

    def __post_init__(self) -> None:
        if isinstance(self.total, Approximate):
            raise BudgetError(
                f"a ledger of {self.total} does not fit into memory's plain sums; keep a file, "
                "pgsr.ledger.LedgerFile.create(...)"
            )
        if not isinstance(self.total, Loss):
            self.total = PureEpsilon(exact(self.total))

    @property
    def left(self) -> Fraction:
        """What may still be spent, in the currency of the total."""
        return self._amount(self.total) - sum((amount for amount, _ in self.spent), Fraction(0))

    def charge(self, amount: Number | Loss, what: str) -> None:
        """Spend `amount` on `what`; a plain number is of the total's currency.

        Raises:
            BudgetError: less than `amount` is left, it is no positive number, or of a currency that the total cannot
                hold; nothing is spent then.
        """
        number = self._amount(amount) if isinstance(amount, Loss) else exact(amount, f"the charge for {what}")
        if number > self.left:
            name = "rho" if isinstance(self.total, Rho) else "epsilon"
            raise BudgetError(
                f"{what} would spend {name} {number}, and {self.left} of {self._amount(self.total)} is left; lower its "
                f"{name}"
            )
        self.spent.append((number, what))

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
            "is charged, or keep a file, pgsr.ledger.LedgerFile"
        )
