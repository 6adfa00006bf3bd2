"""The baseline of a method for households that knows no households: persons one by one, put into them at random.

It spends exactly the rho of an `AdaptiveBudget`, so that it compares with an adaptive fit of the same budget; what it
guarantees is `Privacy.of(budget, neighbours, source)`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pgsr.errors import BudgetError
from pgsr.experiments.others.random_households import RandomHouseholds
from pgsr.machine import memory
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Domain, Neighbours, Population, SynthesisError
from pgsr.synthesis.queries.adaptive import Family, fit
from pgsr.synthesis.queries.curator import require_fit
from pgsr.synthesis.queries.independent_marginals import tables_of_sizes
from pgsr.synthesis.queries.noisy_histograms import noisy_shares, of_sizes
from pgsr.synthesis.queries.transcript import AdaptiveBudget, RhoLedger
from pgsr.synthesis.queries.workload import Level, Marginal, Workload


@dataclass(frozen=True)
class PersonsAlone:
    """A method that synthesises persons one by one with copied group attributes, and then puts them into groups.

    The table of persons is fitted to all sets of k attributes, individual and group ones alike, by an adaptive fit in
    which every person is a group of one. Then groups are filled at random among persons with equal group attributes
    (see `RandomHouseholds`), to noisy numbers of members per role.

    Args:
        family: method for the table of persons: HPDFixed(), or MWEM() where it is small.
        k: attributes per query on persons; all of them where there are fewer.
        share: part of epsilon for the table of persons. rho grows like epsilon^2 where epsilon is small, so that 0.95
            leaves about a tenth of rho to the sizes.

    Example:
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.synthesis import MWEM, Attribute, Domain, Workload
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.empty((200, 0), int), np.zeros((200, 1), int)  # two hundred women who live alone
        >>> population = Population(domain, homes, members, np.arange(200), np.zeros(200, int))
        >>> budget = AdaptiveBudget(5, "1e-5", rounds=2)
        >>> model = PersonsAlone(MWEM()).fit(population, budget, source=Seeded("demo"))
        >>> model.sizes[0].round(1)
        array([0., 1., 0.])
    """

    family: Family
    k: int = 3
    share: Number = "0.95"

    def __post_init__(self) -> None:
        if exact(self.share, "share") >= 1:
            raise BudgetError(f"share={self.share} leaves nothing for the sizes; keep it below 1")

    def fit(
        self,
        population: Population,
        budget: AdaptiveBudget,
        *,
        source: Source,
        neighbours: Neighbours = Neighbours.REPLACE,
        seed: int = 0,
        ledger: RhoLedger | None = None,
        name: str = "population",
    ) -> RandomHouseholds:
        """Fit to persons with the budget's rounds, alpha and conversion; there are at most as many rounds as queries.

        Raises:
            ArgumentError: an argument is of the wrong kind.
            SynthesisError: persons may be added or removed, so that their number is private.
            BudgetError: the ledger has less than `budget.rho` left; nothing is drawn then.
            MemoryNeededError: the table of all kinds of persons does not fit in memory; nothing is drawn then.
        """
        neighbours, ledger = require_fit(population, budget, source, neighbours, ledger)
        if neighbours is Neighbours.ADD_REMOVE:
            raise SynthesisError(
                "a table of persons has a public number of rows; use Neighbours.REPLACE or Neighbours.MOVE"
            )
        ledger.require(budget.rho, "persons and sizes")
        domain, persons = population.domain, table_of_persons(population)
        n_kinds = persons.domain.universe
        memory.require(32 * n_kinds, f"a table of {n_kinds:,} kinds of persons", "use fewer or coarser attributes")
        sizes = of_sizes(population, neighbours)
        part = exact(self.share) if sizes else Fraction(1)
        attributes = tuple(range(len(persons.domain.individual)))
        workload = Workload.k_way(persons.domain, min(self.k, len(attributes)), [Level.INDIVIDUAL], count=False)
        rounds = min(budget.rounds, workload.n_queries)
        for_persons = replace(budget, epsilon=part * exact(budget.epsilon), rounds=rounds)
        # A moved person's row changes its copied attributes too, which is a replaced row of the table.
        fitted = fit(
            persons,
            workload,
            self.family,
            for_persons,
            source=source,
            seed=seed,
            ledger=ledger,
            name=f"{name}, persons",
        )
        shares = noisy_shares(sizes, budget.rho - for_persons.rho, source, ledger, name) if sizes else []
        everything = Workload(persons.domain, (Marginal(Level.INDIVIDUAL, (), attributes),))
        joint = fitted.distribution.answers(everything)
        d_group = int(np.prod([len(a) for a in domain.group], dtype=np.int64))
        return RandomHouseholds(
            domain, (joint / joint.sum()).reshape(d_group, -1), tuple(tables_of_sizes(domain, shares))
        )


def table_of_persons(population: Population) -> Population:
    """Make every person a group of one, whose member has the group's attributes first and then its own."""
    domain = population.domain
    alone = Domain.plain((), (*domain.group, *domain.individual), max_size=1)
    rows = np.column_stack([population.groups[population.group_of], population.persons])
    n = len(rows)
    return Population(alone, np.zeros((n, 0), np.int64), rows, np.arange(n), np.zeros(n, np.int64))
