"""The baseline of a method for households that has no correlations.

It spends exactly the rho of an `AdaptiveBudget`, so that it compares with a fit of the same budget; what it guarantees
is `Privacy.of(budget, neighbours, source)`.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Domain, Neighbours, Population
from pgsr.synthesis.queries.curator import require_fit
from pgsr.synthesis.queries.mixture import Mixture
from pgsr.synthesis.queries.noisy_histograms import noisy_shares, of_groups, of_persons, of_sizes
from pgsr.synthesis.queries.transcript import AdaptiveBudget, RhoLedger


@dataclass(frozen=True)
class IndependentMarginals:
    """A product distribution of noisy histograms: one of every attribute, and one of the members of every role.

    All histograms get the same part of rho; cells of one histogram are measured at once. Nothing is selected.

    Example:
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.synthesis import Attribute, Domain, Level, Workload
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.empty((200, 0), int), np.zeros((200, 1), int)  # two hundred women who live alone
        >>> population = Population(domain, homes, members, np.arange(200), np.zeros(200, int))
        >>> budget = AdaptiveBudget(5, "1e-5", rounds=4)
        >>> model = IndependentMarginals().fit(population, budget, source=Seeded("demo"))
        >>> model.n_components, model.answers(Workload.k_way(domain, k=1, levels=[Level.INDIVIDUAL])).round(1)
        (1, array([1., 0., 1., 0.]))
    """

    def fit(
        self,
        population: Population,
        budget: AdaptiveBudget,
        *,
        source: Source,
        neighbours: Neighbours = Neighbours.REPLACE,
        ledger: RhoLedger | None = None,
        name: str = "population",
    ) -> Mixture:
        """Fit a mixture of one component. The budget's rounds and alpha are not used.

        Raises:
            ArgumentError: an argument is of the wrong kind.
            BudgetError: the ledger has less than `budget.rho` left; nothing is drawn then.
        """
        neighbours, ledger = require_fit(population, budget, source, neighbours, ledger)
        domain = population.domain
        histograms = [*of_groups(population), *of_persons(population, neighbours), *of_sizes(population, neighbours)]
        shares = iter(noisy_shares(histograms, budget.rho, source, ledger, name))
        return Mixture(
            domain,
            group=tuple(next(shares)[None] for _ in domain.group),
            slots=tuple(np.tile(next(shares), (1, domain.max_size, 1)) for _ in domain.individual),
            sizes=tuple(table[None] for table in tables_of_sizes(domain, list(shares))),
        )


def tables_of_sizes(domain: Domain, shares: list[np.ndarray]) -> list[np.ndarray]:
    """Compute P(n members) of every role from noisy shares: 0 below `least`, and 1 where the domain fixes n."""
    measured, tables = iter(shares), []
    for role in domain.roles:
        table = np.zeros(role.most + 1)
        if role.least == role.most:
            table[role.most] = 1
        else:
            table[role.least :] = next(measured)
        tables.append(table)
    return tables
