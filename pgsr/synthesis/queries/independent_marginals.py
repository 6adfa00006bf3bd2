"""The baseline of a method for households that has no correlations: histograms of single attributes and of role sizes.

All cells of a histogram are measured at once, with discrete Gaussian noise. It spends exactly the rho of an
`AdaptiveBudget`, so that it compares with a fit of the same budget; what it guarantees is `Privacy.of(budget,
neighbours, source)`. With the curator of adaptive fits, this is where true populations are counted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr.privacy.random import Source, StreamId
from pgsr.synthesis.data.domain import Domain, Neighbours, Population, SynthesisError
from pgsr.synthesis.queries.curator import require_fit
from pgsr.synthesis.queries.mixture import Mixture
from pgsr.synthesis.queries.noise import noise_of, with_noise
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
            sizes=tuple(table[None] for table in tables_of_sizes(domain, shares)),
        )


def tables_of_sizes(domain: Domain, shares: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Compute P(n members) of every role from noisy shares: 0 below `least`, and 1 where the domain fixes n."""
    for role in domain.roles:
        table = np.zeros(role.most + 1)
        table[role.least :] = 1 if role.least == role.most else next(shares)
        yield table


@dataclass(frozen=True, eq=False)
class Histogram:
    """A count of disjoint cells, with its sensitivity.

    Attributes:
        name: what is counted; keys the noise.
        counts: int64, one per cell. Not private.
        squared_sensitivity: largest sum over cells of the squared change between neighbours.
    """

    name: str
    counts: np.ndarray
    squared_sensitivity: int


def of_groups(population: Population) -> list[Histogram]:
    """Count the groups by each of their attributes.

    Groups and their attributes do not differ between any of our neighbours. They are measured as if one group could
    change its value, squared sensitivity 2, as adaptive fits measure them with the noise of all other queries.
    """
    columns = zip(population.domain.group, population.groups.T, strict=True)
    return [Histogram(f"groups by {a.name}", np.bincount(codes, minlength=len(a)), 2) for a, codes in columns]


def of_persons(population: Population, neighbours: Neighbours) -> list[Histogram]:
    """Count the persons by each of their attributes. Squared sensitivity: 1 to add or remove, 2 to replace a person."""
    squared = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    columns = zip(population.domain.individual, population.persons.T, strict=True)
    return [Histogram(f"persons by {a.name}", np.bincount(codes, minlength=len(a)), squared) for a, codes in columns]


def of_sizes(population: Population, neighbours: Neighbours) -> list[Histogram]:
    """Count the groups by their number of members of each role whose number varies; cells are least..most.

    One person more or less moves a group by one cell: squared sensitivity 2. A moved person moves two groups, which may
    leave the same cell: (-2)^2 + 1 + 1 = 6. A replaced one may change roles within the group, 2 per role.
    """
    domain = population.domain
    squared = 6 if neighbours is Neighbours.MOVE else 2
    found = []
    for number, role in enumerate(domain.roles):
        if role.least < role.most:
            members = np.bincount(population.group_of[population.role_of == number], minlength=population.n_groups)
            counts = np.bincount(members - role.least, minlength=role.most - role.least + 1)
            found.append(Histogram(f"groups by number of {role.name}", counts, squared))
    return found


def noisy_shares(
    histograms: Sequence[Histogram], rho: Fraction, source: Source, ledger: RhoLedger, name: str
) -> list[np.ndarray]:
    """Measure the shares of every histogram's cells by noisy counts, with rho-zCDP divided equally among histograms.

    Noise of variance squared_sensitivity / (2 part) is added to each cell; shares are the nearest ones to the noisy
    counts over their sum (see `nearest_shares`).

    Raises:
        SynthesisError: there is nothing to measure.
        BudgetError: the ledger has less than rho left; nothing is drawn then.

    Source: Canonne, Kamath & Steinke 2020, theorem 14, for several cells.
    """
    if not histograms:
        raise SynthesisError("there is no histogram to measure")
    ledger.require(rho, f"{len(histograms)} histograms")
    part, shares, named = rho / len(histograms), [], Counter()
    laws = [noise_of(histogram.squared_sensitivity / (2 * part)) for histogram in histograms]
    for histogram, law in zip(histograms, laws, strict=True):
        ledger.charge(part, f"histogram of {histogram.name}")
        # Histograms may share a name (an attribute "number of child"), so a number keeps their noise apart.
        stream = source.stream(StreamId(name, "histogram", named[histogram.name], (histogram.name,)))
        named[histogram.name] += 1
        shares.append(nearest_shares(with_noise(histogram.counts, law, stream).astype(np.float64)))
    return shares


def nearest_shares(noisy: np.ndarray) -> np.ndarray:
    """Find the distribution nearest to noisy / sum(noisy) by least squares; the uniform one if the sum is not positive.

    Example:
        >>> nearest_shares(np.array([6.0, -2.0, 4.0]))
        array([0.625, 0.   , 0.375])
    """
    total = noisy.sum()
    if total <= 0:
        return np.full(len(noisy), 1 / len(noisy))
    shares = noisy / total
    largest = np.sort(shares)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(shares) + 1)
    level = excess[np.flatnonzero(largest > excess)[-1]]
    kept = np.maximum(shares - level, 0)
    return kept / kept.sum()
