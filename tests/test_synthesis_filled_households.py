"""Groups filled by a mixture: answers against the enumeration of all groups, public facts, balanced draws, files."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from instances import scale
from test_synthesis_mixture import full_workload, random_population

from pgsr.synthesis import Attribute, Domain, FilledHouseholds, Impossible, Level, Population, Workload
from pgsr.synthesis.data.domain import Neighbours, Role, SynthesisError
from pgsr.synthesis.data.impossible import blocks_of, implied, violations
from pgsr.synthesis.marginals.balanced_draws import spread
from pgsr.synthesis.marginals.filled_households import logit_shapes
from pgsr.synthesis.marginals.filling import Filling
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.answers import answers

AREA, SEX = Attribute("area", ("urban", "rural")), Attribute("sex", ("female", "male"))
AGE, DRIVER = Attribute("age", (0, 15, 65)), Attribute("driver", ("yes", "no"))
PLAIN = Domain.plain([AREA, Attribute("g", range(3))], [SEX, AGE, DRIVER], max_size=2)
HOUSEHOLD = Domain.household([AREA], [SEX, DRIVER], max_children=2)
OTHER = Domain((AREA,), (SEX, DRIVER), (Role("guest", 0, 2), Role("host", 1, 2)))
BARE = Domain.plain([], [SEX], max_size=3)
NO_CHILD_DRIVES = Impossible({"age": (0,), "driver": ("yes",)})
NO_CHILD_OF_THE_HEAD_DRIVES = Impossible({"role": ("child",), "driver": ("yes",)})

CASES = [
    (PLAIN, ()),
    (PLAIN, (NO_CHILD_DRIVES, Impossible({"age": (65,), "sex": ("male",)}))),
    (HOUSEHOLD, ()),
    (HOUSEHOLD, (NO_CHILD_OF_THE_HEAD_DRIVES,)),
    (OTHER, ()),
    (BARE, ()),
]


def random_model(
    domain: Domain, impossible: tuple[Impossible, ...], neighbours: Neighbours, k: int = 3, n_groups: int = 12
) -> FilledHouseholds:
    rng = np.random.default_rng(5)
    households = PublicHouseholds.of(random_population(domain, n_groups, 1), neighbours)
    shapes = logit_shapes(Filling(domain, blocks_of(domain, impossible), households.with_sizes), k)
    return FilledHouseholds(households, impossible, *(rng.normal(size=shape) for shape in shapes.values()))


def one_group_at_a_time(model: FilledHouseholds) -> Iterator[tuple[float, Population]]:
    """Every way to fill every kind of group, and its weight: slow and obvious."""
    domain, households = model.domain, model.households
    first = np.cumsum([0, *map(len, domain.individual)])
    for row, (kind, number) in enumerate(zip(households.kinds, households.numbers, strict=True)):
        for k in range(model.n_components):
            ways = []
            for at, way in enumerate(model.filling.ways):
                if not households.with_sizes or way.sum() == kind[-1] + domain.min_size:
                    ways.append((np.exp(model.of_ways[at, k]), way))
            whole = sum(weight for weight, _ in ways)
            for weight, way in ways:
                chance = number / households.n_groups * model.components[row, k] * weight / whole
                slots = [slot for role, n in enumerate(way) for slot in list(domain.slots(role))[:n]]
                roles = [role for role, n in enumerate(way) for _ in range(n)]
                for members in product(
                    *(persons(model, first, slot, role, k) for slot, role in zip(slots, roles, strict=True))
                ):
                    p = chance * float(np.prod([m[0] for m in members]))
                    codes = np.array([m[1] for m in members], int).reshape(len(slots), len(domain.individual))
                    groups = kind[None, : len(domain.group)]
                    yield p, Population(domain, groups, codes, np.zeros(len(slots), int), np.array(roles, int))


def persons(model: FilledHouseholds, first: np.ndarray, slot: int, role: int, k: int) -> list:
    """The persons that a member in this slot can be, and their chances."""
    domain, found = model.domain, []
    for codes in product(*(range(len(a)) for a in domain.individual)):
        row = {a.name: [a.values[c]] for a, c in zip(domain.individual, codes, strict=True)}
        row["role"] = [domain.roles[role].name]
        if not violations(row, model.impossible):
            logit = sum(model.of_members[first[i] + c, slot, k] for i, c in enumerate(codes))
            found.append((np.exp(logit), codes))
    whole = sum(weight for weight, _ in found)
    return [(weight / whole, codes) for weight, codes in found]


@pytest.mark.drawn(4)
@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE, Neighbours.ADD_REMOVE])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_answers_are_those_of_all_groups_weighted_by_their_chance(case: int, neighbours: Neighbours) -> None:
    domain, impossible = CASES[case]
    few = 3 if domain is PLAIN else 12  # of the public groups, for time
    model = random_model(domain, impossible, neighbours, k=2, n_groups=few)
    workload = full_workload(domain, min(3, len(domain.group) + len(domain.individual)))
    listed = list(one_group_at_a_time(model))
    weights = np.array([p for p, _ in listed])
    assert weights.sum() == pytest.approx(1)
    parts = [group for _, group in listed]
    everyone = Population(
        domain,
        np.concatenate([p.groups for p in parts]),
        np.concatenate([p.persons for p in parts]),
        np.repeat(np.arange(len(parts)), [p.n_persons for p in parts]),
        np.concatenate([p.role_of for p in parts]),
    )
    assert model.answers(workload) == pytest.approx(answers(everyone, workload, weights), abs=1e-12)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_public_facts_are_exact(case: int) -> None:
    domain, impossible = CASES[case]
    truth = random_population(domain, 300, 2)
    model = random_model(domain, impossible, Neighbours.REPLACE)
    model = replace(model, households=PublicHouseholds.of(truth, Neighbours.REPLACE))
    sample = model.sample(300, seed=3)
    table = [np.column_stack([p.groups, p.sizes]) for p in (truth, sample)]
    assert sorted(map(tuple, table[0])) == sorted(map(tuple, table[1]))
    assert sample.n_persons == truth.n_persons == model.households.n_persons
    people = {a.name: [a.values[c] for c in sample.persons[:, i]] for i, a in enumerate(domain.individual)}
    people["role"] = [domain.roles[role].name for role in sample.role_of]
    assert violations(people, impossible) == 0
    of_groups = Workload.k_way(domain, 1, [Level.GROUP])
    by_groups = [m for m in of_groups.marginals if not m.individual]
    workload = Workload(domain, tuple(by_groups))
    assert model.answers(workload) == pytest.approx(answers(truth, workload), abs=1e-12)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE, Neighbours.ADD_REMOVE])
@pytest.mark.parametrize("domain", [PLAIN, HOUSEHOLD, OTHER], ids=["plain", "household", "other"])
def test_samples_stay_near_the_answers(domain: Domain, neighbours: Neighbours) -> None:
    """Independent draws of 4,000 groups scatter by 0.008 at a standard deviation; these stay well below it."""
    model = random_model(domain, (), neighbours)
    workload = Workload.k_way(domain, 2)
    off = [np.abs(answers(model.sample(4_000, seed), workload) - model.answers(workload)) for seed in range(3)]
    assert max(o.max() for o in off) < 0.012
    assert np.mean([o.mean() for o in off]) < 0.0025
    assert model.sample(50, 4).persons.tobytes() == model.sample(50, 4).persons.tobytes()


def test_other_numbers_of_groups_keep_proportions() -> None:
    numbers = np.array([5, 1, 14])
    assert np.bincount(spread(numbers, 20, 0)).tolist() == [5, 1, 14]
    for n, seed in product((1, 7, 40, 203), range(5)):
        found = np.bincount(spread(numbers, n, seed), minlength=3)
        assert found.sum() == n
        assert (np.abs(found - n * numbers / 20) < 1).all()


def test_files(tmp_path: Path) -> None:
    for neighbours in (Neighbours.REPLACE, Neighbours.MOVE):
        model = random_model(PLAIN, (NO_CHILD_DRIVES,), neighbours)
        model.save(tmp_path / "model.npz")
        again = FilledHouseholds.load(tmp_path / "model.npz")
        workload = Workload.k_way(PLAIN, 2)
        assert (again.answers(workload) == model.answers(workload)).all()
        assert again.impossible == model.impossible
        assert again.sample(100, 1).persons.tobytes() == model.sample(100, 1).persons.tobytes()
    with pytest.raises(SynthesisError, match="give a file that"):
        FilledHouseholds.load(__file__)


def test_damaged_files_are_refused_or_read_the_same(tmp_path: Path) -> None:
    model, path, workload = random_model(PLAIN, (), Neighbours.MOVE), tmp_path / "model.npz", Workload.k_way(PLAIN, 1)
    model.save(path)
    whole, wanted, refused = path.read_bytes(), model.answers(workload), 0
    for at in range(0, len(whole), scale(40, 5)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                again = FilledHouseholds.load(path)
            except SynthesisError:
                refused += 1
            else:  # an unused field of the container
                assert (again.answers(workload) == wanted).all()
    assert refused > 20


def test_implications() -> None:
    rule = implied(PLAIN, {"age": [0]}, {"driver": ["no"]})
    assert rule == NO_CHILD_DRIVES
    for when, then, words in [
        ({"age": [0]}, {"driver": ["yes", "no"]}, "nothing is implied"),
        ({"age": [0]}, {"area": ["urban"]}, "one attribute of persons"),
        ({"age": [0]}, {"age": [0]}, "none of those"),
    ]:
        with pytest.raises(SynthesisError, match=words):
            implied(PLAIN, when, then)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "give values by the name"),
        ({"age": "0"}, "list at least one"),
        ({"age": ()}, "list at least one"),
        ({"income": (1,)}, "names income"),
        ({"age": (7,)}, "no value 7"),
        ({"role": ("person",)}, "a role alone"),
        ({"age": (0, 15, 65)}, "leave no values of age"),
    ],
)
def test_refusals_of_impossible_combinations(values: dict, words: str) -> None:
    with pytest.raises(SynthesisError, match=words):
        blocks_of(PLAIN, [Impossible(values)])


def test_blocks_join_what_combinations_tie_together() -> None:
    many = Domain.plain([], [Attribute(name, range(30)) for name in "abcd"], 2)
    tied = [Impossible({"a": (0,), "c": (1,)}), Impossible({"d": (0,), "c": (2,)})]
    assert [block.attributes for block in blocks_of(many, tied[:1])] == [(0, 2), (1,), (3,)]
    with pytest.raises(SynthesisError, match="27,000 combinations"):
        blocks_of(many, tied)
