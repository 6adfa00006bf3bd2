"""A baseline for tables without households: a tree of two-way marginals, fitted by the package mbi.

Mechanisms for one table know no households. They are given one row per person, or one row per household in which every
slot for a member has columns of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.random import Source
from pgsr.synthesis.baselines import table_of_persons
from pgsr.synthesis.checks import chosen, require_whole
from pgsr.synthesis.domain import Attribute, Domain, SynthesisError
from pgsr.synthesis.marginal_curator import MarginalCurator, MeasuredMarginal
from pgsr.synthesis.mixture import draw
from pgsr.synthesis.noisy_histograms import nearest_shares, noisy_shares, of_sizes
from pgsr.synthesis.optional import mbi
from pgsr.synthesis.population import Population
from pgsr.synthesis.queries import Level, Marginal
from pgsr.synthesis.rho_budget import AdaptiveBudget, RhoLedger
from pgsr.synthesis.sensitivity import Neighbours

FOR_SIZES = Fraction(1, 10)
"""The share of rho for the sizes of households, where rows are persons."""

Edge = tuple[int, int]


class Rows(StrEnum):
    """The rows of the table that is fitted.

    PERSONS: one per person, with the attributes of the household copied. Afterwards persons with equal attributes of
        the household are put together at random, to sizes drawn from a noisy histogram.
    HOUSEHOLDS: one per household: its attributes, its size, and the attributes of the member in every slot, which have
        a value for nobody. Members are in the order of the table.
    """

    PERSONS = "persons"
    HOUSEHOLDS = "households"


@dataclass(frozen=True, kw_only=True)
class MarkovTree:
    """A tree of two-way marginals (MST): a third of rho each for single columns, the choice of the tree, and its edges.

    The tree grows edge by edge, by the exponential mechanism with the L1 distance between a pair's counts and those of
    independent columns. mbi finds the tree distribution nearest to all that was measured.

    Args:
        rows: what a row of the table is.
        iterations: of mirror descent.

    Raises:
        SynthesisError: a setting is out of range.

    Source: McKenna, Miklau and Sheldon 2021, MST; the two tables are ours.
    """

    rows: Rows = Rows.PERSONS
    iterations: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", chosen(Rows, self.rows, "rows"))
        require_whole(iterations=self.iterations)

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
        """Fit the tree with neighbours by replacement of one person, and draw a population from it.

        Args:
            budget: its rounds and alpha are not used.
            source: of noise.
            seed: of the draw; public.
            ledger: of all that is done with this data set.
            name: of the data set; keys the noise of a seeded source.

        Raises:
            ArgumentError: an argument is of the wrong kind.
            SynthesisError: members have roles, which one table does not know.
            MbiMissingError: without mbi; nothing is drawn then.
            BudgetError: the ledger has less than `budget.rho` left; nothing is drawn then.
        """
        require_kind(population, Population, "the population", "give Population(domain, groups, persons, ...)")
        require_kind(budget, AdaptiveBudget, "the budget", "give AdaptiveBudget(epsilon, delta, rounds)")
        require_source(source)
        require_whole(least=0, seed=seed)
        mbi()
        if len(population.domain.roles) > 1:
            raise SynthesisError("a table of single rows knows no roles; take WholeMarginals()")
        ledger = RhoLedger(budget.rho) if ledger is None else ledger
        ledger.require(budget.rho, "a Markov tree")
        by_person, rng = self.rows is Rows.PERSONS, np.random.default_rng([seed, 4])
        sizes = of_sizes(population, Neighbours.MOVE) if by_person else []
        rho, shares = budget.rho, np.ones(1)
        if sizes:
            [shares] = noisy_shares(sizes, FOR_SIZES * rho, source, ledger, name)
            rho -= FOR_SIZES * rho
        table = table_of_persons(population) if by_person else table_of_households(population)
        columns = range(len(table.domain.individual))
        pairs = list(combinations(columns, 2))
        candidates = [(c,) for c in columns] + pairs
        curator = MarginalCurator(
            table,
            tuple(Marginal(Level.INDIVIDUAL, (), c) for c in candidates),
            source,
            neighbours=Neighbours.REPLACE,
            ledger=ledger,
            name=f"{name}, {self.rows} as rows",
        )
        n_rows, domain = table.n_persons, table.domain
        del table
        measured = curator.measure_all(columns, rho / 3 if pairs else rho)
        edges: list[Edge] = []
        if pairs:
            chosen_ones = _tree(curator, measured, n_rows, rho / 3)
            measured += curator.measure_all(chosen_ones, rho / 3)
            edges = [pairs[number - len(columns)] for number in chosen_ones]
        rows = _drawn(domain, measured, edges, n_rows, self.iterations, rng)
        if by_person:
            return _together(population.domain, rows, shares, rng)
        return _apart(population.domain, rows, _nearest(measured), rng)


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


def _nearest(measured: list[MeasuredMarginal]) -> dict[int, np.ndarray]:
    """Find the shares of single columns."""
    single = [m for m in measured if len(m.marginal.individual) == 1]
    return {m.marginal.individual[0]: nearest_shares(m.noisy.astype(float)) for m in single}


def _tree(curator: MarginalCurator, measured: list[MeasuredMarginal], n_rows: int, rho: Fraction) -> list[int]:
    """Select the pairs of a spanning tree; return their numbers among the candidates."""
    shares = _nearest(measured)
    asked = [m.individual for m in curator.candidates]
    estimates = [
        n_rows * (shares[c[0]] if len(c) == 1 else np.outer(shares[c[0]], shares[c[1]]).ravel()) for c in asked
    ]
    part_of, found = list(range(len(shares))), []
    exact = np.zeros(len(asked))  # distances alone, whatever the noise
    for _ in range(len(shares) - 1):
        within = frozenset(n for n, c in enumerate(asked) if len(c) == 1 or part_of[c[0]] == part_of[c[1]])
        number = curator.select(estimates, exact, rho / (len(shares) - 1), within)
        one, other = (part_of[column] for column in asked[number])
        part_of = [one if part == other else part for part in part_of]
        found.append(number)
    return found


def _drawn(
    domain: Domain,
    measured: list[MeasuredMarginal],
    edges: list[Edge],
    n_rows: int,
    iterations: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Fit the tree, and draw rows from it: the first column, and then every column given its parent."""
    package, names = mbi(), [str(column) for column in range(len(domain.individual))]
    told = [
        package.LinearMeasurement(m.noisy, tuple(names[c] for c in m.marginal.individual), float(m.variance) ** 0.5)
        for m in measured
    ]
    whole = package.Domain(names, [len(a) for a in domain.individual])
    model = package.estimation.MirrorDescent().estimate(whole, told, known_total=float(n_rows), iters=iterations)

    def counts(*columns: int) -> np.ndarray:
        table = np.asarray(model.project(tuple(names[c] for c in columns)).datavector(flatten=False), np.float64)
        return np.maximum(table, 1e-9)  # rounding of floats; a row without weight cannot be drawn from

    rows = np.zeros((n_rows, len(names)), np.int64)
    rows[:, 0] = draw(counts(0)[None], np.zeros(n_rows, np.int64), rng)
    for parent, child in _outwards(edges):
        rows[:, child] = draw(counts(parent, child), rows[:, parent], rng)
    return rows


def _outwards(edges: list[Edge]) -> Iterator[Edge]:
    """Yield the edges of a tree as (parent, child), from column 0 outwards."""
    reached, left = {0}, list(edges)
    while left:
        for edge in left:
            if len(reached.intersection(edge)) == 1:
                parent, child = edge if edge[0] in reached else edge[::-1]
                yield parent, child
                reached.add(child)
                left.remove(edge)
                break


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
