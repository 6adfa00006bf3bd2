"""Sensitivities of whole marginals against the enumeration of all neighbours of all small populations."""

from itertools import product

import numpy as np
import pytest
from test_synthesis_sensitivity import HOUSEHOLD, PLAIN, answer, groups, marginals, with_one_more, without

from pgsr.privacy.neighbours import Unit
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Workload
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity
from pgsr.synthesis.queries.workload import Relative

SMALL = [d for d in (*PLAIN, *HOUSEHOLD) if len(groups(d)) <= 140]


def changes(domain: Domain, workload: Workload, neighbours: Neighbours) -> np.ndarray:
    """List every change of the vector of all counts between neighbours, one per row."""
    value = {group: answer(domain, group, workload, pairs=False) for group in groups(domain)}
    shrink = [value[s] - value[g] for g in value for s in without(g) if s in value]
    grow = [value[b] - value[g] for g in value for b in with_one_more(domain, g) if b in value]
    within = [value[r] - value[g] for g in value for s in without(g) for r in with_one_more(domain, s) if r in value]
    found = {
        Neighbours.REPLACE: within,
        Neighbours.ADD_REMOVE: shrink + grow,
        Neighbours.MOVE: within + [less + more for less in _distinct(shrink) for more in _distinct(grow)],
    }[neighbours]
    return np.array([np.zeros(workload.n_queries, int), *found])


def _distinct(rows: list[np.ndarray]) -> list[np.ndarray]:
    return list(np.unique(np.array(rows), axis=0)) if rows else []


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("domain", SMALL, ids=lambda d: f"{len(d.roles)}-{len(d.individual)}-{d.max_size}")
@pytest.mark.drawn(5)
def test_no_neighbours_differ_by_more(domain: Domain, neighbours: Neighbours) -> None:
    workload = Workload(domain, tuple(marginals(domain)))
    found = changes(domain, workload, neighbours)
    for number, marginal in enumerate(workload.marginals):
        cells = found[:, workload.starts[number] : workload.starts[number + 1]]
        squared, absolute = int((cells**2).sum(1).max()), int(np.abs(cells).sum(1).max())
        claimed = marginal_sensitivity(domain, marginal, neighbours)
        assert squared <= claimed.squared, (marginal, squared, claimed)
        assert absolute <= claimed.absolute, (marginal, absolute, claimed)
        by_size = bool(marginal.group) and neighbours is Neighbours.MOVE  # then cells may be too few to reach it
        if marginal.level is not Level.RELATION and marginal.individual and not by_size and len(domain.sizes) > 1:
            assert absolute == claimed.absolute, (marginal, absolute, claimed)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("largest", [2, 3, 4])
def test_the_table_of_the_docstring_is_attained(largest: int) -> None:
    """With a member's attribute of as many values as members move, every number of the table is reached."""
    domain = Domain.plain([], [Attribute("kind", tuple(range(largest)))], largest)
    asked = {
        "groups with a member who": Marginal(Level.GROUP, (), (0,)),
        "persons who": Marginal(Level.INDIVIDUAL, (), (0,)),
        "groups by COUNT": Marginal(Level.GROUP, (0,)),
        "persons who, by COUNT": Marginal(Level.INDIVIDUAL, (0,), (0,)),
    }
    m = largest
    inner = max(6 * (m - 1) ** 2 + 2, 2 * (m**2 + (m - 1) ** 2)) if m > 2 else 2 * (m**2 + (m - 1) ** 2)
    table = {
        "groups with a member who": [(2, 2), (1, 1), (2, 2)],
        "persons who": [(2, 2), (1, 1), (2, 2)],
        "groups by COUNT": [(0, 0), (2, 2), (6 if m > 2 else 4, 4)],
        "persons who, by COUNT": [(2, 2), (m**2 + (m - 1) ** 2, 2 * m - 1), (inner, 4 * m - 2)],
    }
    for (name, marginal), neighbours in product(asked.items(), Neighbours):
        expected = table[name][list(Neighbours).index(neighbours)]
        claimed = marginal_sensitivity(domain, marginal, neighbours)
        assert (claimed.squared, claimed.absolute) == expected, (name, neighbours)
        found = changes(domain, Workload(domain, (marginal,)), neighbours)
        if name == "groups by COUNT" and neighbours is Neighbours.MOVE and m == 2:
            continue  # with two sizes one group's growth undoes the other's shrinking
        assert int((found**2).sum(1).max()) == claimed.squared, (name, neighbours)
        assert int(np.abs(found).sum(1).max()) == claimed.absolute, (name, neighbours)


def test_spouses() -> None:
    """Attained where one is added; where one is replaced, the bound adds what is lost and what is gained, 8 for 6."""
    domain = Domain.household([], [Attribute("bit", (0, 1))], 1)
    marginal = Marginal(Level.RELATION, (), (0,), Relative.SPOUSE, (0,))
    for neighbours, claimed, reached in ((Neighbours.ADD_REMOVE, (4, 2), 4), (Neighbours.REPLACE, (8, 4), 6)):
        found = changes(domain, Workload(domain, (marginal,)), neighbours)
        bound = marginal_sensitivity(domain, marginal, neighbours)
        assert (bound.squared, bound.absolute) == claimed
        assert int((found**2).sum(1).max()) == reached
        assert int(np.abs(found).sum(1).max()) == bound.absolute


def test_household_attributes_alone_are_public() -> None:
    domain = Domain.plain([Attribute("area", (0, 1))], [Attribute("sex", (0, 1))], 3)
    for neighbours in Neighbours:
        assert marginal_sensitivity(domain, Marginal(Level.GROUP, (0,)), neighbours).squared == 0
    of_size = Marginal(Level.GROUP, (0, 1))
    assert [marginal_sensitivity(domain, of_size, n).squared > 0 for n in Neighbours] == [False, True, True]


def replaced_groups(domain: Domain, workload: Workload) -> np.ndarray:
    """List every change where all members of one group are exchanged for as many others that the domain allows."""
    value = {group: answer(domain, group, workload, pairs=False) for group in groups(domain)}
    found = [value[b] - value[a] for a in value for b in value if len(a) == len(b)]
    return np.unique(np.array(found), axis=0)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("domain", SMALL, ids=lambda d: f"{len(d.roles)}-{len(d.individual)}-{d.max_size}")
def test_no_replaced_group_changes_more(domain: Domain) -> None:
    workload = Workload(domain, tuple(marginals(domain)))
    found = replaced_groups(domain, workload)
    for number, marginal in enumerate(workload.marginals):
        cells = found[:, workload.starts[number] : workload.starts[number + 1]]
        squared, absolute = int((cells**2).sum(1).max()), int(np.abs(cells).sum(1).max())
        claimed = marginal_sensitivity(domain, marginal, Neighbours.REPLACE, Unit.GROUP)
        assert squared <= claimed.squared, (marginal, squared, claimed)
        assert absolute <= claimed.absolute, (marginal, absolute, claimed)
        if marginal.level is not Level.RELATION and len(domain.roles) == 1:
            assert (squared, absolute) == (claimed.squared, claimed.absolute), marginal


@pytest.mark.drawn(1)
@pytest.mark.parametrize("values", [2, 3, 5, 9])
def test_the_table_of_replaced_groups_is_attained(values: int) -> None:
    domain = Domain.plain([], [Attribute("kind", tuple(range(values)))], 3)
    for level, expected in ((Level.GROUP, (min(6, values),) * 2), (Level.INDIVIDUAL, (18, 6))):
        marginal = Marginal(level, (), (0,))
        found = replaced_groups(domain, Workload(domain, (marginal,)))
        claimed = marginal_sensitivity(domain, marginal, Neighbours.REPLACE, Unit.GROUP)
        assert (claimed.squared, claimed.absolute) == expected
        assert (int((found**2).sum(1).max()), int(np.abs(found).sum(1).max())) == expected
    spouses = Marginal(Level.RELATION, (), (0,), Relative.SPOUSE, (0,))
    couples = Domain.household([], [Attribute("bit", (0, 1))], 1)
    found = marginal_sensitivity(couples, spouses, Neighbours.REPLACE, Unit.GROUP)
    assert (found.squared, found.absolute) == (8, 4)


def test_units_that_cannot_be_hidden() -> None:
    domain, marginal = SMALL[0], Marginal(Level.INDIVIDUAL, (), (0,))
    for neighbours in (Neighbours.ADD_REMOVE, Neighbours.MOVE):
        with pytest.raises(SynthesisError, match="which households there are"):
            marginal_sensitivity(domain, marginal, neighbours, Unit.GROUP)
    with pytest.raises(SynthesisError, match="one household"):
        marginal_sensitivity(domain, marginal, Neighbours.REPLACE, Unit.entity_in_groups(2))
