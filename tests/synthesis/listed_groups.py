"""Groups as tuples, which tests of synthesis list, count and compare, and random populations."""

import numpy as np

from pgsr.synthesis import Domain, Population

Group = tuple[tuple[int, ...], tuple[tuple[tuple[int, ...], ...], ...]]
"""Codes of the group, and per role the codes of its members in order."""


def groups_of(population: Population) -> list[Group]:
    first, n_roles = population.first, len(population.domain.roles)
    found = []
    for g, codes in enumerate(population.groups):
        members = range(first[g], first[g + 1])
        roles = [
            tuple(tuple(map(int, population.persons[i])) for i in members if population.role_of[i] == r)
            for r in range(n_roles)
        ]
        found.append((tuple(map(int, codes)), tuple(roles)))
    return found


def population_of(domain: Domain, groups: list[Group] | tuple[Group, ...]) -> Population:
    rows = [(g, r, *person) for g, (_, roles) in enumerate(groups) for r, who in enumerate(roles) for person in who]
    table = np.array(rows, int).reshape(-1, 2 + len(domain.individual))
    codes = np.array([codes for codes, _ in groups], int).reshape(len(groups), len(domain.group))
    return Population(domain, codes, table[:, 2:], table[:, 0], table[:, 1])


def collapsed(group: Group) -> Group:
    return group[0], tuple(tuple(sorted(members)) for members in group[1])


def random_population(rng: np.random.Generator, domain: Domain, n_groups: int) -> Population:
    numbers = np.array([[rng.integers(r.least, r.most + 1) for r in domain.roles] for _ in range(n_groups)], int)
    group_of = np.repeat(np.arange(n_groups), numbers.sum(axis=1))
    role_of = np.concatenate([np.repeat(np.arange(len(domain.roles)), row) for row in numbers])
    return Population(
        domain,
        np.column_stack([np.zeros((n_groups, 0), int), *(rng.integers(0, len(a), n_groups) for a in domain.group)]),
        np.column_stack([rng.integers(0, len(a), len(group_of)) for a in domain.individual]),
        group_of,
        role_of,
    )
