"""The base of mechanisms for one table, which know no households: households become rows, and rows households again."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.experiments.others.graphical_model import Columns, GraphicalModel
from pgsr.experiments.others.persons_alone import table_of_persons
from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Attribute, Domain, Neighbours, Population, SynthesisError, chosen, require_whole
from pgsr.synthesis.marginals.marginal_curator import MarginalCurator, MeasuredMarginal
from pgsr.synthesis.queries.mixture import draw
from pgsr.synthesis.queries.noisy_histograms import nearest_shares, noisy_shares, of_sizes
from pgsr.synthesis.queries.transcript import AdaptiveBudget, RhoLedger
from pgsr.synthesis.queries.workload import Level, Marginal

FOR_SIZES = Fraction(1, 10)
"""The share of rho for the sizes of households, where rows are persons."""


class TableRows(StrEnum):
    """The rows of the table that is fitted.

    PERSONS: one per person, with the attributes of the household copied. Afterwards persons with equal attributes of
        the household are put together at random, to sizes drawn from a noisy histogram.
    HOUSEHOLDS: one per household: its attributes, its size, and the attributes of the member in every slot, which have
        a value for nobody. Members are in the order of the table.
    """

    PERSONS = "persons"
    HOUSEHOLDS = "households"


@dataclass(frozen=True, kw_only=True)
class TableMechanism(ABC):
    """A mechanism for one table, fitted by the package mbi.

    Args:
        rows: what a row of the table is.
        iterations: of mirror descent in the last fit.

    Raises:
        SynthesisError: a setting is out of range.
    """

    rows: TableRows = TableRows.PERSONS
    iterations: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", chosen(TableRows, self.rows, "rows"))
        require_whole(iterations=self.iterations)

    @abstractmethod
    def candidates(self, model: GraphicalModel) -> list[Columns]:
        """List the marginals that may be measured, those of single columns first.

        Raises:
            SynthesisError: a setting does not fit these columns.
        """

    @abstractmethod
    def measure(self, curator: MarginalCurator, model: GraphicalModel, rho: Fraction) -> list[MeasuredMarginal]:
        """Measure candidates for `rho` together, and leave the model fitted to them."""

    def fit(
        self,
        population: Population,
        budget: AdaptiveBudget,
        *,
        source: Source,
        seed: int = 0,
        ledger: RhoLedger | None = None,
        name: str = "population",
    ) -> Population:
        """Fit a model of rows with neighbours by replacement of one person, and draw a population from it.

        Args:
            budget: its rounds and alpha are not used.
            source: of noise.
            seed: of the draw; public.
            ledger: of all that is done with this data set.
            name: of the data set; keys the noise of a seeded source.

        Raises:
            ArgumentError: an argument is of the wrong kind.
            SynthesisError: there are no persons, members have roles, which one table does not know, or a setting does
                not fit the columns; nothing is drawn then.
            MissingPackageError: without mbi; nothing is drawn then.
            BudgetError: the ledger has less than `budget.rho` left; nothing is drawn then.
        """
        require_kind(population, Population, "the population", "give Population(domain, groups, persons, ...)")
        require_kind(budget, AdaptiveBudget, "the budget", "give AdaptiveBudget(epsilon, delta, rounds)")
        require_source(source)
        require_whole(least=0, seed=seed)
        lengths = row_lengths(population.domain, self.rows)
        n_rows = population.n_persons if self.rows is TableRows.PERSONS else population.n_groups
        if not population.n_persons:
            raise SynthesisError("a population without persons has nothing to fit; give one with a person or more")
        if len(population.domain.roles) > 1:
            raise SynthesisError("a table of single rows knows no roles; take WholeMarginals()")
        model = GraphicalModel(lengths, n_rows)
        candidates = self.candidates(model)
        ledger = RhoLedger(budget.rho) if ledger is None else ledger
        ledger.require(budget.rho, type(self).__name__)
        by_person, rng = self.rows is TableRows.PERSONS, np.random.default_rng([seed, 4])
        sizes = of_sizes(population, Neighbours.MOVE) if by_person else []
        rho, shares = budget.rho, np.ones(1)
        if sizes:
            [shares] = noisy_shares(sizes, FOR_SIZES * rho, source, ledger, name)
            rho -= FOR_SIZES * rho
        curator = MarginalCurator(
            table_of_persons(population) if by_person else table_of_households(population),
            tuple(Marginal(Level.INDIVIDUAL, (), columns) for columns in candidates),
            source,
            neighbours=Neighbours.REPLACE,
            weights=[len(columns) for columns in candidates],
            ledger=ledger,
            name=f"{name}, {self.rows} as rows",
        )
        domain = population.domain
        del population
        measured = self.measure(curator, model, rho)
        rows = model.network.draw(n_rows, rng)
        return _together(domain, rows, shares, rng) if by_person else _apart(domain, rows, single_shares(measured), rng)


def row_lengths(domain: Domain, rows: TableRows) -> list[int]:
    """List the number of values of every column of the table.

    Example:
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=3)
        >>> row_lengths(domain, TableRows.PERSONS), row_lengths(domain, TableRows.HOUSEHOLDS)
        ([2, 2], [2, 3, 3, 3, 3])
    """
    of_group, own = [len(a) for a in domain.group], [len(a) for a in domain.individual]
    if rows is TableRows.PERSONS:
        return [*of_group, *own]
    return [*of_group, len(domain.sizes), *domain.max_size * [n + 1 for n in own]]


def table_of_households(population: Population) -> Population:
    """Make every household a row: its attributes, its size, and the attributes of every slot, or a code for nobody.

    A replaced person changes one row.

    Example:
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=3)
        >>> homes, members = np.array([[1], [0]]), np.array([[0], [1], [1]])
        >>> population = Population(domain, homes, members, np.array([0, 0, 1]), np.zeros(3, int))
        >>> table_of_households(population).persons.tolist()
        [[1, 1, 0, 1, 2], [0, 0, 1, 2, 2]]
    """
    domain, n = population.domain, population.n_groups
    slots = [
        Attribute(f"{a.name} of member {slot + 1}", tuple(range(len(a) + 1)))
        for slot in range(domain.max_size)
        for a in domain.individual
    ]
    size = Attribute("number of members", tuple(domain.sizes))
    row = Domain.plain((), (*domain.group, size, *slots), max_size=1)
    lengths = np.array([len(a) for a in domain.individual])
    members = np.tile(lengths, (n, domain.max_size, 1))
    within = np.arange(population.n_persons) - population.first[population.group_of]
    members[population.group_of, within] = population.persons
    codes = np.column_stack([population.groups, population.sizes - domain.min_size, members.reshape(n, -1)])
    return Population(row, np.zeros((n, 0), np.int64), codes, np.arange(n), np.zeros(n, np.int64))


def single_shares(measured: list[MeasuredMarginal]) -> dict[int, np.ndarray]:
    """Find the shares of the values of every column that was measured alone; of several times, the first counts."""
    single = [m for m in measured if len(m.marginal.individual) == 1]
    return {m.marginal.individual[0]: nearest_shares(m.noisy.astype(float)) for m in reversed(single)}


def _together(domain: Domain, rows: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> Population:
    """Put persons with equal attributes of the household together, at random; the last of a kind get what is left."""
    rows, n_group = rng.permutation(rows), len(domain.group)
    rows = rows[np.lexsort(rows[:, :n_group].T[::-1])] if n_group else rows
    new_kind = np.any(np.diff(rows[:, :n_group], axis=0, prepend=-1), axis=1)
    new_kind[0] = True
    starts = np.append(np.flatnonzero(new_kind), len(rows))
    first = []
    for start, stop in pairwise(starts):
        sizes = rng.choice(np.array(domain.sizes), stop - start, p=shares)
        upto = start + np.concatenate([[0], np.cumsum(sizes)])
        first.append(upto[upto < stop])
    begins = np.concatenate(first)
    group_of = np.searchsorted(begins, np.arange(len(rows)), side="right") - 1
    return Population(domain, rows[begins, :n_group], rows[:, n_group:], group_of, np.zeros(len(rows), np.int64))


def _apart(domain: Domain, rows: np.ndarray, shares: dict[int, np.ndarray], rng: np.random.Generator) -> Population:
    """Take members from rows of households: as many as the size says, with a value drawn alone where nobody is said."""
    n_group, n_own = len(domain.group), len(domain.individual)
    sizes = rows[:, n_group] + domain.min_size
    group_of, slot = np.nonzero(np.arange(domain.max_size) < sizes[:, None])
    persons = np.zeros((len(group_of), n_own), np.int64)
    for own, attribute in enumerate(domain.individual):
        columns = n_group + 1 + slot * n_own + own
        codes = rows[group_of, columns]
        tables = np.array([shares[n_group + 1 + s * n_own + own][:-1] for s in range(domain.max_size)]) + 1e-9
        absent = codes == len(attribute)
        codes[absent] = draw(tables, slot[absent], rng)
        persons[:, own] = codes
    return Population(domain, rows[:, :n_group], persons, group_of, np.zeros(len(group_of), np.int64))
