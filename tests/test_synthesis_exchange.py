"""Exchange moves against a slow twin that counts all tables anew for every proposal, and what they leave alone."""

from itertools import combinations

import numpy as np
import pytest
from test_synthesis_balanced_draws import inverted
from test_synthesis_filled_households import CASES, PLAIN, random_model

from pgsr.synthesis import FilledHouseholds, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.data.impossible import violations
from pgsr.synthesis.data.linked_tables import to_tables
from pgsr.synthesis.marginals import balanced_draws as exchanges
from pgsr.synthesis.marginals.balanced_draws import spread
from pgsr.synthesis.queries.answers import answers, counts


def all_tables(model: FilledHouseholds) -> Workload:
    """All sets of three attributes (or of all, if there are fewer), one of members at least, at both levels."""
    domain = model.domain
    n_groups = len(domain.group) + 1
    columns = range(n_groups + len(domain.individual))
    listed = [s for s in combinations(columns, min(3, len(columns))) if s[-1] >= n_groups]
    return Workload(
        domain,
        tuple(
            Marginal(level, [c for c in s if c < n_groups], [c - n_groups for c in s if c >= n_groups])
            for level in (Level.INDIVIDUAL, Level.GROUP)
            for s in listed
        ),
    )


def distance(people: Population, workload: Workload, expected: np.ndarray) -> float:
    """Compute the sum of fourth powers, in which a group weighs as much as its share of the persons."""
    off = counts(people, workload) - expected
    scale = np.where(workload.levels() == "group", people.n_persons / people.n_groups, 1.0)
    return float(((off * scale) ** 4).sum())


def one_by_one(model: FilledHouseholds, kind_of, component, drawn: Population, rng, n_sweeps: int) -> list[list[int]]:
    domain, workload = model.domain, all_tables(model)
    expected = model.expected(workload, kind_of)
    slots = []
    for g in range(drawn.n_groups):
        roles = drawn.role_of[drawn.group_of == g].tolist()
        slots += [domain.slots(role).start + roles[:place].count(role) for place, role in enumerate(roles)]

    def with_(persons: np.ndarray) -> Population:
        return Population(domain, drawn.groups, persons, drawn.group_of, drawn.role_of)

    now = drawn
    for _ in range(n_sweeps):
        order = rng.permutation(drawn.n_persons)
        for member, us in zip(order, rng.random((drawn.n_persons, len(domain.individual))), strict=True):
            for j, u in enumerate(us):
                [block] = [b for b in model.filling.blocks if j in b.attributes]
                rest = tuple(i for i in block.attributes if i != j)
                joint = model.filling.of_members(model.slot_tables, (*rest, j))
                joint = joint[:, slots[member], component[drawn.group_of[member]]]
                joint = joint.reshape(*(len(domain.individual[i]) for i in rest), -1)
                chance = joint[tuple(now.persons[member, i] for i in rest)].tolist()
                persons = now.persons.copy()
                persons[member, j] = inverted(chance, u)
                if distance(with_(persons), workload, expected) < distance(now, workload, expected) * (1 - 1e-12):
                    now = with_(persons)
    return now.persons.tolist()


def drawn_by_chance(model: FilledHouseholds, seed: int) -> tuple[np.ndarray, np.ndarray, Population]:
    """Draw kinds, components and members without any balance; some of the members' values are improbable then."""
    rng = np.random.default_rng(seed)
    kind_of = spread(model.households.numbers, model.households.n_groups, seed)
    component = rng.integers(0, model.n_components, len(kind_of))
    balanced = model.sample(len(kind_of), seed)
    return kind_of, component, balanced


@pytest.mark.drawn(2)
@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE, Neighbours.ADD_REMOVE])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_moves_equal_counting_anew(case: int, neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, impossible = CASES[case]
    model = random_model(domain, impossible, neighbours)
    monkeypatch.setattr(exchanges, "SWEEPS", 0)
    kind_of, component, drawn = drawn_by_chance(model, 1)
    monkeypatch.setattr(exchanges, "SWEEPS", 2)
    monkeypatch.setattr(exchanges, "MEMBERS_AT_ONCE", 10**6)
    found = exchanges.exchange(model, kind_of, component, drawn, np.random.default_rng(7))
    twin = one_by_one(model, kind_of, component, drawn, np.random.default_rng(7), 2)
    assert found.persons.tolist() == twin
    assert twin != drawn.persons.tolist() or len(domain.individual) == 1
    assert found.groups.tolist() == drawn.groups.tolist()
    assert found.role_of.tolist() == drawn.role_of.tolist()
    assert found.group_of.tolist() == drawn.group_of.tolist()


@pytest.mark.parametrize("case", range(len(CASES)))
def test_samples_come_nearer_and_stay_possible(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, impossible = CASES[case]
    model = random_model(domain, impossible, Neighbours.REPLACE, n_groups=300)
    workload = all_tables(model)
    expected = model.answers(workload)
    off = {}
    for sweeps in (0, 6):
        monkeypatch.setattr(exchanges, "SWEEPS", sweeps)
        sample = model.sample(300, seed=2)
        off[sweeps] = np.abs(answers(sample, workload) - expected).max()
        _, people = to_tables(sample)
        columns = {name: people[name].tolist() for zero in impossible for name in zero.values}
        assert not violations(columns, impossible)
    assert off[6] < off[0]


def test_tables_that_are_too_large_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no table left nothing moves."""
    model = random_model(PLAIN, (), Neighbours.REPLACE)
    monkeypatch.setattr(exchanges, "SWEEPS", 0)
    before = model.sample(12, seed=3)
    monkeypatch.setattr(exchanges, "SWEEPS", 6)
    assert model.sample(12, seed=3).persons.tolist() != before.persons.tolist()
    monkeypatch.setattr(exchanges, "LARGEST", 1)
    assert model.sample(12, seed=3).persons.tolist() == before.persons.tolist()
