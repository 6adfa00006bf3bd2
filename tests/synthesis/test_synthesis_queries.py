"""Workloads and their answers, against loops over groups, persons and relatives."""

from collections.abc import Iterator
from itertools import combinations, pairwise, product
from math import prod

import numpy as np
import pytest
from instances import rng_of, scale
from listed_groups import random_population

from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Role, SynthesisError
from pgsr.synthesis.queries.answers import answers, counts
from pgsr.synthesis.queries.workload import Relative

RELATIVES = {
    Relative.SPOUSE: {"head": ["spouse"], "spouse": ["head"], "child": []},
    Relative.CHILD: {"head": ["child"], "spouse": ["child"], "child": []},
    Relative.PARENT: {"head": [], "spouse": [], "child": ["head", "spouse"]},
}


def random_domain(rng: np.random.Generator, *, household: bool) -> Domain:
    group = [Attribute(f"g{i}", range(rng.integers(1, 4))) for i in range(rng.integers(0, 3))]
    own = [Attribute(f"i{i}", range(rng.integers(1, 4))) for i in range(rng.integers(1, 3))]
    if household:
        return Domain.household(group, own, max_children=int(rng.integers(1, 4)))
    return Domain.plain(group, own, max_size=int(rng.integers(1, 5)))


def naive_counts(population: Population, workload: Workload, weights: np.ndarray) -> list[float]:
    """Every query on its own, by its definition."""
    domain, result = population.domain, []
    names = [role.name for role in domain.roles]

    def fits(values: np.ndarray, attributes: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
        return all(values[a] == w for a, w in zip(attributes, wanted, strict=True))

    for query in range(workload.n_queries):
        number, codes = workload.locate(query)
        m = workload.marginals[number]
        cut = len(m.group), len(m.group) + len(m.individual)
        of_group, own, theirs = codes[: cut[0]], codes[cut[0] : cut[1]], codes[cut[1] :]
        total = 0.0
        for g in range(population.n_groups):
            members = [p for p in range(population.n_persons) if population.group_of[p] == g]
            group = np.array([*population.groups[g], domain.sizes.index(len(members))])
            if not fits(group, m.group, of_group):
                continue
            matching = [p for p in members if fits(population.persons[p], m.individual, own)]
            if m.level is Level.GROUP:
                total += weights[g] * bool(matching or not m.individual)
            elif m.level is Level.INDIVIDUAL:
                total += weights[g] * len(matching)
            else:
                assert m.relation is not None
                for p in matching:
                    roles = RELATIVES[m.relation][names[population.role_of[p]]]
                    relatives = [q for q in members if names[population.role_of[q]] in roles]
                    total += weights[g] * any(fits(population.persons[q], m.relative, theirs) for q in relatives)
        result.append(total)
    return result


def all_marginals(rng: np.random.Generator, domain: Domain, k: int) -> Workload:
    """A k-way workload in which attributes also stand in another order than that of the domain."""
    levels = (Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if len(domain.roles) > 1 else []))
    marginals = list(Workload.k_way(domain, k, levels).marginals)
    for i, m in enumerate(marginals):
        parts = [tuple(int(v) for v in rng.permutation(part)) for part in (m.group, m.individual, m.relative)]
        marginals[i] = Marginal(m.level, parts[0], parts[1], m.relation, parts[2])
    extra = [Marginal(Level.GROUP), Marginal(Level.INDIVIDUAL)]
    if len(domain.roles) > 1:
        extra += [Marginal(Level.RELATION, relation=relation) for relation in Relative]
    chosen = rng.permutation(len(marginals))[:12]
    return Workload(domain, (*(marginals[i] for i in chosen), *extra))


@pytest.mark.parametrize("household", [False, True])
def test_counts_equal_loops_over_groups_persons_and_relatives(household: bool) -> None:
    rng = rng_of(41 + household)
    for _ in range(scale(20, 400)):
        domain = random_domain(rng, household=household)
        population = random_population(rng, domain, int(rng.integers(1, 7)))
        workload = all_marginals(rng, domain, int(rng.integers(1, min(4, len(domain.group) + 2))))
        ones = np.ones(population.n_groups)
        got = counts(population, workload)
        assert got.dtype == np.int64
        assert got.tolist() == naive_counts(population, workload, ones)
        weights = rng.integers(0, 5, population.n_groups) / 4
        weighted = counts(population, workload, weights)
        assert weighted.dtype == np.float64
        assert weighted.tolist() == naive_counts(population, workload, weights)


def test_answers_divide_by_groups_or_persons() -> None:
    rng = rng_of(43)
    for _ in range(scale(20, 200)):
        domain = random_domain(rng, household=True)
        population = random_population(rng, domain, 5)
        workload = all_marginals(rng, domain, 2)
        of_groups = workload.levels() == "group"
        weights = rng.random(5)
        for w in (None, weights):
            number = np.ones(5) if w is None else weights
            n_groups, n_persons = number.sum(), (number * population.sizes).sum()
            got = answers(population, workload, w)
            assert np.allclose(got, counts(population, workload, w) / np.where(of_groups, n_groups, n_persons))
            assert got.min() >= 0
            assert got.max() <= 1 + 1e-12
        whole = Workload(domain, (Marginal(Level.GROUP), Marginal(Level.INDIVIDUAL)))
        assert np.allclose(answers(population, whole, weights), 1)


def test_female_and_white_is_one_member() -> None:
    """The joint reading: a white man and a black woman do not make a group with a white woman."""
    domain = Domain.plain([], [Attribute("sex", ("f", "m")), Attribute("race", ("black", "white"))], 2)
    couple = Population(domain, np.zeros((1, 0), int), np.array([[1, 1], [0, 0]]), np.zeros(2, int), np.zeros(2, int))
    workload = Workload(domain, (Marginal(Level.GROUP, (), (0, 1)),))
    assert counts(couple, workload).tolist() == [1, 0, 0, 1]  # (f, black), (f, white), (m, black), (m, white)


def test_a_child_with_two_old_parents() -> None:
    domain = Domain.household([], [Attribute("age", ("young", "old"))], 2)
    home = Population(
        domain, np.zeros((1, 0), int), np.array([[1], [1], [0], [0]]), np.zeros(4, int), np.array([0, 1, 2, 2])
    )
    workload = Workload(domain, (Marginal(Level.RELATION, (), (), Relative.PARENT, (0,)),))
    assert counts(home, workload).tolist() == [0, 2]
    assert answers(home, workload).tolist() == [0, 0.5]


def naive_sets(domain: Domain, k: int, level: Level) -> Iterator[Marginal]:
    """All attribute sets, by filtering all triples of subsets."""
    group = range(len(domain.group) + 1)
    own = range(len(domain.individual))

    def subsets(items: range) -> list[tuple[int, ...]]:
        return [c for n in range(len(items) + 1) for c in combinations(items, n)]

    relatives = subsets(own) if level is Level.RELATION else [()]
    relations = list(Relative) if level is Level.RELATION else [None]
    for g, i, r in product(subsets(group), subsets(own), relatives):
        if len(g) + len(i) + len(r) == k and (r or level is not Level.RELATION):
            for relation in relations:
                yield Marginal(level, g, i, relation, r)


def test_k_way_takes_every_set_once() -> None:
    rng = rng_of(45)
    for _ in range(30):
        domain = random_domain(rng, household=True)
        for k, level in product((1, 2, 3), Level):
            wanted = set(naive_sets(domain, k, level))
            if k > len(domain.group) + 1 + len(domain.individual) * (1 + (level is Level.RELATION)):
                with pytest.raises(SynthesisError, match="way queries"):
                    Workload.k_way(domain, k, [level])
            elif wanted:
                got = Workload.k_way(domain, k, [level]).marginals
                assert len(got) == len(wanted)
                assert set(got) == wanted


def test_queries_are_numbered_marginal_by_marginal() -> None:
    rng = rng_of(46)
    domain = random_domain(rng, household=True)
    workload = Workload.k_way(domain, 2, list(Level))
    sizes = [prod(m.shape(domain)) for m in workload.marginals]
    assert np.array_equal(np.diff(workload.starts), sizes)
    located = [workload.locate(q) for q in range(workload.n_queries)]
    assert located == [(i, c) for i, m in enumerate(workload.marginals) for c in product(*map(range, m.shape(domain)))]
    assert all(a <= b for a, b in pairwise(number for number, _ in located))
    assert list(workload.levels()) == [workload.marginals[number].level.value for number, _ in located]
    with pytest.raises(SynthesisError, match="of a workload of"):
        workload.locate(workload.n_queries)


def test_descriptions_are_sentences() -> None:
    area, sex = Attribute("area", ("urban", "rural")), Attribute("sex", ("f", "m"))
    domain = Domain.household([area], [sex], 1)
    marginals = (
        Marginal(Level.GROUP, (0,), (0,)),
        Marginal(Level.INDIVIDUAL, (1,), (0,)),
        Marginal(Level.RELATION, (0,), (0,), Relative.SPOUSE, (0,)),
    )
    workload = Workload(domain, marginals)
    assert workload.describe(1) == "groups with area=urban, a member with sex=m"
    assert workload.describe(4) == "persons sex=f, in a group with COUNT=1"
    assert workload.describe(int(workload.starts[2])) == (
        "persons sex=f, in a group with area=urban, with a spouse with sex=f"
    )


def test_groups_without_members_count_only_as_groups() -> None:
    domain = Domain((), (Attribute("sex", ("f", "m")),), (Role("person", 0, 2),))
    population = Population(domain, np.zeros((3, 0), int), np.array([[0]]), np.array([1]), np.array([0]))
    workload = Workload(
        domain, (Marginal(Level.GROUP, (0,)), Marginal(Level.INDIVIDUAL, (0,)), Marginal(Level.GROUP, (), (0,)))
    )
    assert counts(population, workload).tolist() == [2, 1, 0, 0, 1, 0, 1, 0]
