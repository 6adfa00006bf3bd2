"""The budgets of syntheses in zCDP, and the record that leaves the curator: noisy answers and the privacy paid."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from pgsr.checks import member_of, whole_number
from pgsr.errors import BudgetError
from pgsr.privacy.accounting.zcdp import Conversion, exact_delta, exact_small, rho_of
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.enclosure import root_below
from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Domain, Neighbours, SynthesisError, require_whole
from pgsr.synthesis.queries.workload import Workload


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
        object.__setattr__(self, "conversion", member_of(Conversion, self.conversion, "conversion", BudgetError))
        whole_number("rounds", self.rounds, 1, BudgetError)
        if exact(self.alpha) >= 1:
            raise BudgetError(f"alpha is {self.alpha}, which leaves nothing to measure with; keep it below 1")

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


IN_WORDS = {
    Neighbours.REPLACE: "one person's attribute values differ; groups, group attributes and all sizes are public",
    Neighbours.ADD_REMOVE: "one person more or less, in a group whose size stays in the domain; "
    "groups and group attributes are public",
    Neighbours.MOVE: "one person is removed and another inserted elsewhere, sizes staying in the domain; "
    "groups and group attributes are public",
}


@dataclass(frozen=True)
class MeasuredQuery:
    """A query of the workload and its noisy answer, a share in [0, 1]."""

    query: int
    value: float


@dataclass(frozen=True)
class Privacy:
    """The guarantee of a fit. All numbers are exact.

    Attributes:
        rounds, alpha: of the budget; they mean nothing to a method without rounds.
        neighbours: in words.
        secure: whether the noise has no seed; without it nothing is guaranteed.

    Example:
        >>> from pgsr.privacy import Secure, Seeded
        >>> budget = AdaptiveBudget(1, "1e-8", rounds=50)
        >>> Privacy.of(budget, Neighbours.REPLACE, Seeded("demo")).claim
        'none (seeded)'
        >>> Privacy.of(budget, Neighbours.REPLACE, Secure()).claim[:44]
        '(1, 1/100000000)-differential privacy, neigh'
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    rounds: int
    alpha: Fraction
    conversion: Conversion
    neighbours: str
    secure: bool

    @classmethod
    def of(cls, budget: AdaptiveBudget, neighbours: Neighbours, source: Source) -> "Privacy":
        """Make the guarantee of any method that spends `budget.rho` with noise of this source."""
        return cls(
            epsilon=Fraction(budget.epsilon),
            delta=Fraction(budget.delta),
            rho=budget.rho,
            rounds=budget.rounds,
            alpha=Fraction(budget.alpha),
            conversion=budget.conversion,
            neighbours=IN_WORDS[member_of(Neighbours, neighbours, "neighbours", SynthesisError)],
            secure=source.secure,
        )

    @property
    def claim(self) -> str:
        """The guarantee in words; noise that can be repeated guarantees nothing."""
        if not self.secure:
            return "none (seeded)"
        return f"({self.epsilon}, {self.delta})-differential privacy, neighbours: {self.neighbours}"


@dataclass(frozen=True, eq=False)
class Transcript:
    """The record of all that post-processing may see; `replay` of `adaptive` makes the distribution of it again.

    Attributes:
        n_groups: N_G, public.
        n_persons: N_I, public; the denominator of shares of individuals.
        measured: one per round.

    Raises:
        SynthesisError: a measurement of no query of the workload, or that is no share; no public total.
    """

    workload: Workload
    n_groups: int
    n_persons: int
    measured: tuple[MeasuredQuery, ...]
    privacy: Privacy

    def __post_init__(self) -> None:
        require_whole(n_groups=self.n_groups, n_persons=self.n_persons)
        for m in self.measured:
            require_whole(least=0, query=m.query)
            if m.query >= self.workload.n_queries or not 0 <= m.value <= 1:
                raise SynthesisError(f"{m} is no share of a query among {self.workload.n_queries:,}; mend or drop it")

    @property
    def domain(self) -> Domain:
        return self.workload.domain

    def __repr__(self) -> str:
        return (
            f"Transcript({len(self.measured):,} of {self.workload.n_queries:,} queries, privacy: {self.privacy.claim})"
        )
