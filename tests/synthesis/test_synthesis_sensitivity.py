"""Sensitivities against the enumeration of all neighbours of all small populations."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from pgsr.privacy.neighbours import Relation as Neighbouring
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.queries.answers import counts
from pgsr.synthesis.queries.noise import change_of_count, sensitivity
from pgsr.synthesis.queries.workload import Relative

Row = tuple[int, ...]
"""Role and attribute codes of a person."""
Group = tuple[Row, ...]
"""Persons in order; the order has no meaning."""

BIT, OTHER = Attribute("bit", (0, 1)), Attribute("other", (0, 1))
PLAIN = [Domain.plain([], [BIT], most) for most in (1, 2, 3, 4)] + [Domain.plain([], [BIT, OTHER], 3)]
HOUSEHOLD = [Domain.household([], [BIT], most) for most in (1, 2, 3)] + [Domain.household([], [BIT, OTHER], 1)]


def rows(domain: Domain) -> list[Row]:
    return list(product(range(len(domain.roles)), *(range(len(a)) for a in domain.individual)))


def groups(domain: Domain) -> list[Group]:
    """All groups the domain allows."""
    found = []
    for size in domain.sizes:
        for group in combinations_with_replacement(rows(domain), size):
            numbers = [sum(row[0] == r for row in group) for r in range(len(domain.roles))]
            if all(role.least <= n <= role.most for role, n in zip(domain.roles, numbers, strict=True)):
                found.append(group)
    return found


def sensitivities(workload: Workload, neighbours: Neighbours) -> np.ndarray:
    """Largest change of the count of every query."""
    of_marginals = [change_of_count(workload.domain, m, neighbours) for m in workload.marginals]
    return np.repeat(of_marginals, np.diff(workload.starts))


def answer(domain: Domain, group: Group, workload: Workload) -> np.ndarray:
    table = np.array(group)
    members = np.zeros(len(group), int)
    population = Population(domain, np.zeros((1, 0), int), table[:, 1:], members, table[:, 0])
    return counts(population, workload)


def without(group: Group) -> Iterator[Group]:
    return (group[:i] + group[i + 1 :] for i in range(len(group)))


def with_one_more(domain: Domain, group: Group) -> Iterator[Group]:
    return (tuple(sorted((*group, row))) for row in rows(domain))


def enumerated(domain: Domain, workload: Workload, neighbours: Neighbours) -> np.ndarray:
    """Largest change of every query. Counts add over groups, so groups that stay as they are need no enumeration."""
    value = {group: answer(domain, group, workload) for group in groups(domain)}
    shrink = [value[s] - value[g] for g in value for s in without(g) if s in value]
    grow = [value[b] - value[g] for g in value for b in with_one_more(domain, g) if b in value]
    within = [value[r] - value[g] for g in value for s in without(g) for r in with_one_more(domain, s) if r in value]
    changes = {
        Neighbours.REPLACE: within,
        Neighbours.ADD_REMOVE: shrink + grow,
        Neighbours.MOVE: within + [less + more for less in shrink for more in grow],
    }[neighbours]
    return np.abs(np.array([np.zeros(workload.n_queries), *changes])).max(axis=0)


def marginals(domain: Domain) -> list[Marginal]:
    own = range(len(domain.individual))
    sets = [(), *((i,) for i in own), tuple(own)]
    found = [Marginal(lv, c, i) for lv in (Level.GROUP, Level.INDIVIDUAL) for c in ((), (0,)) for i in set(sets)]
    if len(domain.roles) > 1:
        found += [
            Marginal(Level.RELATION, c, i, relation, r)
            for relation, c, i, r in product(Relative, ((), (0,)), set(sets), set(sets))
        ]
    return found


def conditions_on_everyone(marginal: Marginal) -> bool:
    return bool(marginal.individual) and (bool(marginal.relative) or marginal.relation is None)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(
    "domain", [*PLAIN, *HOUSEHOLD], ids=lambda d: f"{len(d.roles)}-{len(d.individual)}-{d.max_size}"
)
@pytest.mark.few(8)
def test_sensitivities_by_enumeration(domain: Domain, neighbours: Neighbours) -> None:
    workload = Workload(domain, tuple(marginals(domain)))
    largest = enumerated(domain, workload, neighbours)
    claimed = sensitivities(workload, neighbours)
    assert (largest <= claimed).all()
    for number, marginal in enumerate(workload.marginals):
        cells = slice(workload.starts[number], workload.starts[number + 1])
        if conditions_on_everyone(marginal) and (len(domain.sizes) > 1 or neighbours is not Neighbours.ADD_REMOVE):
            assert largest[cells].max() == claimed[cells].max(), marginal


@pytest.mark.parametrize("most", range(2, 7))
def test_table_without_relations(most: int) -> None:
    """The table of the docstring."""
    domain = Domain.plain([], [BIT], most)
    for level, of_count in ((Level.GROUP, (1, 1, 2)), (Level.INDIVIDUAL, (1, most, 2 * (most - 1)))):
        plain, count = (Workload(domain, (Marginal(level, c, (0,)),)) for c in ((), (0,)))
        for neighbours, expected in zip(Neighbours, of_count, strict=True):
            wanted = 1 if (level, neighbours, most) == (Level.GROUP, Neighbours.MOVE, 2) else expected
            assert set(sensitivities(count, neighbours)) == {wanted}
            assert set(sensitivities(plain, neighbours)) == {1}


@pytest.mark.parametrize("children", range(1, 6))
def test_table_of_relations(children: int) -> None:
    domain = Domain.household([], [BIT], children)
    for relation, reach, added, moved in (
        (Relative.SPOUSE, 2, 2, 4),
        (Relative.CHILD, 2, 2, 4 if children > 1 else 2),
        (Relative.PARENT, children, children, 2 * children),
    ):
        plain, count = (Workload(domain, (Marginal(Level.RELATION, c, (0,), relation, (0,)),)) for c in ((), (0,)))
        for neighbours, with_count in zip(Neighbours, (reach, added, moved), strict=True):
            assert set(sensitivities(plain, neighbours)) == {reach}
            assert set(sensitivities(count, neighbours)) == {with_count}


def test_delta_is_the_largest_ratio() -> None:
    domain = Domain.household([], [BIT], 5)
    workload = Workload.k_way(domain, 2, list(Level))
    for neighbours in Neighbours:
        of_queries = sensitivities(workload, neighbours)
        for n_groups, n_persons in ((10, 10), (10, 23), (3, 60)):
            ratios = [
                Fraction(int(s), n_groups if level == "group" else n_persons)
                for s, level in zip(of_queries, workload.levels(), strict=True)
            ]
            assert sensitivity(workload, n_groups, n_persons, neighbours) == max(ratios)


@pytest.mark.parametrize("domain", [*PLAIN, *HOUSEHOLD], ids=lambda d: f"{len(d.roles)}-{d.max_size}")
def test_add_remove_protects_values_too(domain: Domain) -> None:
    """Noise for one person more or less also hides other values of one, and a move is at most two steps.

    The person may be a head or live alone. A ledger of another relation relies on this where a step would leave the
    domain.
    """
    workload = Workload(domain, tuple(marginals(domain)))
    of = {neighbours: sensitivities(workload, neighbours) for neighbours in Neighbours}
    assert (of[Neighbours.REPLACE] <= of[Neighbours.ADD_REMOVE]).all()
    assert (of[Neighbours.MOVE] <= 2 * of[Neighbours.ADD_REMOVE]).all()


def test_neighbours_are_relations_of_a_ledger() -> None:
    assert {str(neighbours) for neighbours in Neighbours} <= {str(relation) for relation in Neighbouring}
