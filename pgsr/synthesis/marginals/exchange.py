"""Exchange moves: values of drawn members change where that brings tables nearer to the model's answers.

Balanced draws look back only: they mend what has fallen behind so far. When all members are drawn, a few sweeps over
them look at all tables of three attributes at once, of persons and of groups. The model proposes another value for one
attribute of one member, given all the others of the member that it is tied to; it is taken if the sum of fourth powers
of all differences between the tables and the model's answers becomes smaller, which the largest differences dominate.
What is public stays as it is, and so do sizes; a value of probability 0 is never proposed.

Source: local search after a rounding, as in controlled tabular adjustment; the measure of nearness is ours.
"""

from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np

from pgsr.synthesis.data.domain import Domain
from pgsr.synthesis.data.population import Population
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.answers import counts
from pgsr.synthesis.queries.workload import Level, Marginal, Workload

SWEEPS = 3
"""How often every attribute of every member gets a proposal."""

LARGEST = 20_000
"""Cells of the largest tables that are looked at, as many as a fit measures."""

MEMBERS_AT_ONCE = 100_000
"""Members whose random numbers are in memory together."""


class Filled(Protocol):
    """The interface of a model that fills public groups: what draws read of `FilledHouseholds`; see there."""

    @property
    def households(self) -> PublicHouseholds: ...
    @property
    def domain(self) -> Domain: ...
    @property
    def n_components(self) -> int: ...
    @property
    def filling(self) -> Any: ...
    @property
    def components(self) -> Any: ...
    @property
    def slot_tables(self) -> Any: ...
    @property
    def way_table(self) -> Any: ...
    def expected(self, workload: Workload, kind_of: np.ndarray) -> np.ndarray: ...


def exchange(
    model: Filled, kind_of: np.ndarray, component: np.ndarray, drawn: Population, rng: np.random.Generator
) -> Population:
    """Move the tables of a drawn population nearer to what the model expects of groups of these kinds.

    Args:
        kind_of: per group, its row of `model.households.kinds`; component: per group.
        drawn: the population, whose attributes of members are changed.

    Cost: per sweep O(members attributes pairs), with all pairs of the other attributes, and once all expected counts.
    """
    from pgsr.synthesis.marginals.exchange_kernel import Drawn, Proposing, TripleTables, sweep

    domain = model.domain
    sets = _sets(domain)
    if not sets or not SWEEPS:
        return drawn
    off_persons, off_groups = (_off(model, kind_of, drawn, level, sets) for level in (Level.INDIVIDUAL, Level.GROUP))
    own = np.array([len(a) for a in domain.individual], np.int64)
    proposing = Proposing(own, *_blocks(model))
    codes = np.column_stack([drawn.groups, drawn.sizes - domain.min_size]).astype(np.int64)
    persons, weight = np.array(drawn.persons, np.int64, order="C"), (drawn.n_persons / drawn.n_groups) ** 4
    first, group_of = drawn.first.astype(np.int64), np.asarray(drawn.group_of, np.int64)
    members = Drawn(first, codes, persons, group_of, _slots(drawn), component)
    tables = TripleTables(*_tables_of(domain, sets), weight, off_persons, off_groups)
    for _ in range(SWEEPS):
        order = rng.permutation(len(persons))
        for start in range(0, len(order), MEMBERS_AT_ONCE):
            part = order[start : start + MEMBERS_AT_ONCE]
            uniforms = rng.random((len(part), len(own)))
            sweep(part, uniforms, members, proposing, tables)
    return Population(domain, drawn.groups, persons, drawn.group_of, drawn.role_of)


def _sets(domain: Domain) -> list[tuple[int, ...]]:
    """List the sets of up to three attributes, some of them of members, whose tables are small enough.

    Numbers are those of group attributes, the size, and then the attributes of members. Where the domain has fewer than
    three attributes, they are one set.
    """
    n_groups = len(domain.group) + 1
    lengths = [*map(domain.group_values, range(n_groups)), *map(len, domain.individual)]
    found = combinations(range(len(lengths)), min(3, len(lengths)))
    return [s for s in found if s[-1] >= n_groups and prod(lengths[column] for column in s) <= LARGEST]


def _marginal(domain: Domain, level: Level, columns: tuple[int, ...]) -> Marginal:
    n_groups = len(domain.group) + 1
    of_groups = tuple(column for column in columns if column < n_groups)
    return Marginal(level, of_groups, tuple(column - n_groups for column in columns if column >= n_groups))


def _off(
    model: Filled, kind_of: np.ndarray, drawn: Population, level: Level, sets: list[tuple[int, ...]]
) -> np.ndarray:
    """Compute by how much drawn counts are above expected ones, per cell of all sets."""
    workload = Workload(model.domain, tuple(_marginal(model.domain, level, columns) for columns in sets))
    return counts(drawn, workload) - model.expected(workload, kind_of)


def _tables_of(domain: Domain, sets: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """List the tables of every attribute of members as the kernel reads them (`set_starts`, `sets`)."""
    n_groups = len(domain.group) + 1
    lengths = [*map(domain.group_values, range(n_groups)), *map(len, domain.individual)]
    rows: list[list[list[int]]] = [[] for _ in domain.individual]
    start = 0
    for columns in sets:
        shape = [lengths[column] for column in columns]
        strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
        for place, column in enumerate(columns):
            if column >= n_groups:
                others = [(c, s) for c, s in zip(columns, strides, strict=True) if c != column]
                others += [(0, 0)] * (2 - len(others))  # a column whose code does not matter
                rows[column - n_groups].append([*others[0], *others[1], strides[place], start])
        start += prod(shape)
    set_starts = np.cumsum([0, *map(len, rows)])
    return set_starts, np.array([row for part in rows for row in part], np.int64).reshape(-1, 6)


def _blocks(model: Filled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stack the tables of blocks, and say where every attribute's begins and how far its values are apart."""
    n_own = len(model.domain.individual)
    starts, strides, start = np.zeros(n_own, np.int64), np.zeros((n_own, n_own), np.int64), 0
    for block, table in zip(model.filling.blocks, model.slot_tables, strict=True):
        for own in block.attributes:
            starts[own] = start
            for place, other in enumerate(block.attributes):
                strides[own, other] = prod(block.shape[place + 1 :])
        start += len(table)
    return starts, strides, np.concatenate(model.slot_tables)


def _slots(drawn: Population) -> np.ndarray:
    """Number the slot of every member: its place among those of its role in its group."""
    domain = drawn.domain
    key = np.asarray(drawn.group_of, np.int64) * len(domain.roles) + np.asarray(drawn.role_of, np.int64)
    starts = np.array([domain.slots(role).start for role in range(len(domain.roles))], np.int64)
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    within = np.arange(len(key)) - np.repeat(begins, np.diff(begins, append=len(key)))
    return starts[np.asarray(drawn.role_of)] + within
