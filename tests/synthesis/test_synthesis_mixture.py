"""Mixtures: their answers against enumeration, sampling and worked examples; samples, files."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from instances import rng_of, scale

from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Role
from pgsr.synthesis.queries import mixture as by_marginals
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.batch_answers import answers_of, batches
from pgsr.synthesis.queries.mixture import Mixture

AREA = Attribute("area", ("urban", "rural"))
SEX = Attribute("sex", ("female", "male"))
PLAIN = Domain.plain([AREA, Attribute("g", range(3))], [SEX, Attribute("i", range(2))], max_size=3)
HOUSEHOLD = Domain.household([AREA], [SEX, Attribute("i", range(2))], max_children=2)
OTHER = Domain((AREA,), (SEX, Attribute("i", range(3))), (Role("guest", 0, 2), Role("host", 1, 2)))


def random_mixture(domain: Domain, k: int, seed: int) -> Mixture:
    rng = rng_of(seed)
    return Mixture(
        domain,
        tuple(rng.dirichlet(np.ones(len(a)), k) for a in domain.group),
        tuple(rng.dirichlet(np.ones(len(a)), (k, domain.max_size)) for a in domain.individual),
        tuple(
            np.concatenate([np.zeros((k, r.least)), rng.dirichlet(np.ones(r.most - r.least + 1), k)], axis=1)
            for r in domain.roles
        ),
    )


def random_population(domain: Domain, n_groups: int, seed: int) -> Population:
    return random_mixture(domain, 5, seed).sample(n_groups, seed)


def full_workload(domain: Domain, k: int) -> Workload:
    related = {"head", "spouse", "child"} <= {role.name for role in domain.roles}
    return Workload.k_way(domain, k, list(Level) if related else [Level.GROUP, Level.INDIVIDUAL])


def one_group_at_a_time(mixture: Mixture) -> Iterator[tuple[float, Population]]:
    """Every group that a mixture can make, and its probability: slow and obvious."""
    domain = mixture.domain
    of_person = list(product(*(range(len(a)) for a in domain.individual)))
    for k in range(mixture.n_components):
        for group in product(*(range(len(a)) for a in domain.group)):
            for numbers in product(*(range(r.least, r.most + 1) for r in domain.roles)):
                slots = [j for r, n in enumerate(numbers) for j in list(domain.slots(r))[:n]]
                roles = [r for r, n in enumerate(numbers) for _ in range(n)]
                chance = 1 / mixture.n_components
                for table, code in zip(mixture.group, group, strict=True):
                    chance *= table[k, code]
                for table, n in zip(mixture.sizes, numbers, strict=True):
                    chance *= table[k, n]
                for persons in product(of_person, repeat=len(slots)):
                    p = chance
                    for slot, person in zip(slots, persons, strict=True):
                        for table, code in zip(mixture.slots, person, strict=True):
                            p *= table[k, slot, code]
                    rows = np.array(persons, int).reshape(len(slots), len(domain.individual))
                    groups = np.array([group], int).reshape(1, len(domain.group))
                    yield p, Population(domain, groups, rows, np.zeros(len(slots), int), np.array(roles, int))


def joined(parts: list[Population]) -> Population:
    return Population(
        parts[0].domain,
        np.concatenate([p.groups for p in parts]),
        np.concatenate([p.persons for p in parts]),
        np.repeat(np.arange(len(parts)), [p.n_persons for p in parts]),
        np.concatenate([p.role_of for p in parts]),
    )


@pytest.mark.parametrize("domain", [PLAIN, HOUSEHOLD, OTHER], ids=["plain", "household", "other"])
def test_answers_are_those_of_all_groups_weighted_by_their_chance(domain: Domain) -> None:
    mixture = random_mixture(domain, 2, 3)
    chances, groups = zip(*one_group_at_a_time(mixture), strict=True)
    assert sum(chances) == pytest.approx(1, abs=1e-12)
    everyone = joined(list(groups))
    for k in (1, 2, 3, 4):
        workload = full_workload(domain, k)
        expected = answers(everyone, workload, np.array(chances))
        np.testing.assert_allclose(mixture.answers(workload), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("domain", [PLAIN, HOUSEHOLD, OTHER], ids=["plain", "household", "other"])
@pytest.mark.parametrize("k", [1, 4])
def test_a_batch_has_the_answers_of_all(domain: Domain, k: int) -> None:
    mixture, workload = random_mixture(domain, 3, 4), full_workload(domain, k)
    found = np.full(workload.n_queries, np.nan)
    queries = rng_of(5).permutation(workload.n_queries)
    for batch in batches(workload, queries.tolist(), lambda x: x):
        found[queries[batch.place]] = answers_of(mixture.tables, batch)
    np.testing.assert_allclose(found, mixture.answers(workload), rtol=0, atol=1e-14)
    chosen = rng_of(6).random(len(queries)) < 0.3
    for batch in batches(workload, queries.tolist(), lambda x: x):
        part = batch.take(chosen)
        if part is None:
            assert not chosen[batch.place].any()
        else:
            np.testing.assert_array_equal(part.place, batch.place[chosen[batch.place]])
            np.testing.assert_allclose(answers_of(mixture.tables, part), found[queries[part.place]], rtol=0, atol=1e-14)


def test_order_of_attributes_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marginals may list attributes in any order, COUNT first or in the middle."""
    mixture = random_mixture(PLAIN, 3, 7)
    count = PLAIN.count
    for level in (Level.GROUP, Level.INDIVIDUAL):
        sorted_ = Workload(PLAIN, (Marginal(level, (0, 1, count), (0, 1)),))
        shuffled = Workload(PLAIN, (Marginal(level, (1, count, 0), (1, 0)),))
        cube = mixture.answers(sorted_).reshape(2, 3, 3, 2, 2)
        other = mixture.answers(shuffled).reshape(3, 3, 2, 2, 2)
        np.testing.assert_allclose(other, cube.transpose(1, 2, 0, 4, 3), rtol=0, atol=1e-15)
    workloads = [full_workload(HOUSEHOLD, 3), full_workload(HOUSEHOLD, 4)]
    household = random_mixture(HOUSEHOLD, 3, 8)
    before = [household.answers(w) for w in workloads]
    monkeypatch.setattr(by_marginals, "CHUNK", 1)
    for workload, expected in zip(workloads, before, strict=True):
        np.testing.assert_allclose(household.answers(workload), expected, rtol=0, atol=1e-15)


def test_samples_have_these_answers() -> None:
    """Within 4 standard errors, Bonferroni apart: groups are independent, so errors are those of ratios of means."""
    domain = HOUSEHOLD
    mixture, workload = random_mixture(domain, 4, 9), full_workload(domain, 2)
    n = scale(20_000, 400_000)
    sample, expected = mixture.sample(n, 10), mixture.answers(workload)
    assert sample.n_groups == n
    found = answers(sample, workload)
    per_group = np.where(workload.levels() == Level.GROUP.value, 1.0, n / sample.n_persons * domain.max_size)
    error = 4 * np.sqrt(per_group * expected * (1 - expected) / n) + 1e-9
    assert (np.abs(found - expected) <= error).all()
    assert np.abs(found - expected).max() > 0


@pytest.mark.parametrize("domain", [PLAIN, HOUSEHOLD, OTHER], ids=["plain", "household", "other"])
def test_enough_components_represent_any_population(domain: Domain) -> None:
    """K = N_G components of certainties, taken from the groups, answer everything exactly."""
    population = random_population(domain, 60, 11)
    n = population.n_groups
    group = [np.eye(len(a))[population.groups[:, i]] for i, a in enumerate(domain.group)]
    slots = [np.full((n, domain.max_size, len(a)), 1 / len(a)) for a in domain.individual]
    sizes = [np.zeros((n, role.most + 1)) for role in domain.roles]
    for g in range(n):
        for r, table in enumerate(sizes):
            rows = np.flatnonzero((population.group_of == g) & (population.role_of == r))
            table[g, len(rows)] = 1
            for slot, row in zip(domain.slots(r), rows, strict=False):
                for i, a in enumerate(domain.individual):
                    slots[i][g, slot] = np.eye(len(a))[population.persons[row, i]]
    mixture = Mixture(domain, tuple(group), tuple(slots), tuple(sizes))
    for k in (1, 2, 3):
        workload = full_workload(domain, k)
        np.testing.assert_allclose(mixture.answers(workload), answers(population, workload), rtol=0, atol=1e-13)
