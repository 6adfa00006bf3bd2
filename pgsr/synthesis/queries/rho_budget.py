"""The budgets of syntheses in zCDP: how the rounds of an adaptive fit share rho, and how much of it is spent."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.zcdp import Conversion, exact_delta, exact_small, rho_of
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.enclosure import root_below


@dataclass(frozen=True)
class AdaptiveBudget:
    """A budget (epsilon, delta) over `rounds` rounds, each of which selects one query and measures it.

    With eps0^2 = 2 rho / (T (alpha^2 + (1 - alpha)^2)), a round's selection costs (alpha eps0)^2 / 2 and its
    measurement ((1 - alpha) eps0)^2 / 2; T rounds cost exactly rho.

    Attributes:
        delta: far below 1 / N_I, for it is the chance of no guarantee at all; 1 / N_I^2 is customary.
        rounds: T.
        alpha: weight of selection, strictly between 0 and 1.

    Raises:
        BudgetError: a number is malformed.

    Example:
        >>> budget = AdaptiveBudget(1, "1e-8", rounds=50)
        >>> round(float(budget.eps0_squared) ** 0.5, 6), 50 * (budget.selection + budget.measurement) == budget.rho
        (0.032515, True)

    Source: Liu & Wu 2022, algorithm 3; Cesar & Rogers 2021 for the selection's cost.
    """

    epsilon: Number
    delta: Number
    rounds: int
    alpha: Number = Fraction(1, 2)
    conversion: Conversion = Conversion.CLOSED

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "delta", exact_delta(self.delta))
        object.__setattr__(self, "alpha", exact(self.alpha, "alpha"))
        if self.conversion not in set(Conversion):
            raise BudgetError(f"conversion={self.conversion!r} is unknown; use Conversion.CLOSED or Conversion.TIGHT")
        object.__setattr__(self, "conversion", Conversion(self.conversion))
        if exact(self.alpha) >= 1:
            raise BudgetError(f"alpha is {self.alpha}, which leaves nothing to measure with; keep it below 1")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise BudgetError(f"rounds is {self.rounds!r}; give a whole number of at least 1")

    @cached_property
    def rho(self) -> Fraction:
        """The rho of all rounds together."""
        return rho_of(self.epsilon, self.delta, self.conversion)

    @property
    def eps0_squared(self) -> Fraction:
        alpha = exact(self.alpha)
        return 2 * self.rho / (self.rounds * (alpha**2 + (1 - alpha) ** 2))

    @property
    def selection(self) -> Fraction:
        """The rho of one selection."""
        return exact(self.alpha) ** 2 * self.eps0_squared / 2

    @property
    def measurement(self) -> Fraction:
        """The rho of one measurement."""
        return (1 - exact(self.alpha)) ** 2 * self.eps0_squared / 2

    @property
    def selection_rate(self) -> Fraction:
        """A lower bound of alpha eps0: an exponential mechanism with this rate costs at most what it is charged."""
        return root_below(2 * self.selection)


@dataclass
class RhoLedger:
    """An account of what may be spent on one data set in zCDP, and what was. It is charged before any noise is drawn.

    Example:
        >>> ledger = RhoLedger("1/100")
        >>> ledger.charge(Fraction(1, 400), "round 1")
        >>> ledger.left
        Fraction(3, 400)
    """

    rho: Number
    spent: list[tuple[Fraction, str]] = field(default_factory=list, init=False)
    left: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self.rho = self.left = exact_small(self.rho, "rho")

    def charge(self, amount: Fraction, what: str) -> None:
        """Spend `amount` on `what`.

        Raises:
            BudgetError: less than `amount` is left, or it is no positive number; nothing is spent then.
        """
        amount = exact_small(amount, f"the charge for {what}")
        self.require(amount, what)
        self.left -= amount
        self.spent.append((amount, what))

    def require(self, amount: Fraction, what: str) -> None:
        """Raise `BudgetError` unless `amount` is left."""
        if amount > self.left:
            raise BudgetError(
                f"{what} would spend rho = {float(amount):.6g}, and {float(self.left):.6g} of {float(self.rho):.6g} "
                f"is left; lower its epsilon"
            )
