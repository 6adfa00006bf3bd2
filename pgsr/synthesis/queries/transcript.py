"""The record that leaves the curator: noisy answers in order, public facts, and the privacy that was paid."""

from dataclasses import dataclass
from fractions import Fraction

from pgsr.privacy.accounting.zcdp import Conversion
from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Source
from pgsr.synthesis.data.checks import SynthesisError, chosen, require_whole
from pgsr.synthesis.data.domain import Domain
from pgsr.synthesis.queries.rho_budget import AdaptiveBudget
from pgsr.synthesis.queries.sensitivity import Neighbours
from pgsr.synthesis.queries.workload import Workload

IN_WORDS = {
    Neighbours.REPLACE: "one person's attribute values differ; groups, group attributes and all sizes are public",
    Neighbours.ADD_REMOVE: "one person more or less, in a group whose size stays in the domain; "
    "groups and group attributes are public",
    Neighbours.MOVE: "one person is removed and another inserted elsewhere, sizes staying in the domain; "
    "groups and group attributes are public",
}


IN_WORDS_OF_GROUPS = {
    Neighbours.REPLACE: "the attribute values of all members of one group differ; groups, group attributes and all "
    "sizes are public",
}
"""The same where a whole group is the unit of privacy; under the other relations none is hidden."""


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
    def of(cls, budget: AdaptiveBudget, neighbours: Neighbours, source: Source, unit: Unit = Unit.ENTITY) -> "Privacy":
        """Make the guarantee of any method that spends `budget.rho` with noise of this source."""
        words = IN_WORDS_OF_GROUPS if unit.is_group else IN_WORDS
        return cls(
            epsilon=Fraction(budget.epsilon),
            delta=Fraction(budget.delta),
            rho=budget.rho,
            rounds=budget.rounds,
            alpha=Fraction(budget.alpha),
            conversion=budget.conversion,
            neighbours=words[chosen(Neighbours, neighbours, "neighbours")],
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
