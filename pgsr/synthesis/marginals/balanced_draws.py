"""Draws of members for given groups that stay near the model's answers: controlled rounding in place of chance.

Independent draws scatter every table by the square root of its counts. Here every value is the best of a few candidates
that the model proposes: the one whose cells, in the tables of it with all pairs of what is known of the member so far,
have fallen behind their expectation most. So tables of up to three attributes stay within a few counts of what the
model expects, while a value of probability 0 is never drawn.

Balanced draws look back only: they mend what has fallen behind so far. So **exchange moves** follow (`exchange`): when
all members are drawn, a few sweeps over them look at all tables of three attributes at once, of persons and of groups.
The model proposes another value for one attribute of one member, given all the others of the member that it is tied to;
it is taken if the sum of fourth powers of all differences between the tables and the model's answers becomes smaller,
which the largest differences dominate. What is public stays as it is, and so do sizes; a value of probability 0 is
never proposed.

Source: balanced sampling after Deville and Tille 2004; best of several proposals after Azar et al. 1994; local search
after a rounding, as in controlled tabular adjustment; the measure of nearness is ours.
"""

from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np

from pgsr.synthesis.data.domain import Domain, Population
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.answers import counts
from pgsr.synthesis.queries.workload import Level, Marginal, Workload

CANDIDATES = 4
"""How many values the model proposes for each draw; more hold tables nearer, and follow the model less."""

GROUPS_AT_ONCE = 50_000
"""Groups whose random numbers are in memory together."""

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


def spread(numbers: np.ndarray, n: int, seed: int) -> np.ndarray:
    """List n kinds in proportion to `numbers`, in increasing order; exactly these numbers if n is their sum.

    Example:
        >>> spread(np.array([2, 1]), 3, seed=0), spread(np.array([200, 100]), 3, seed=0)
        (array([0, 0, 1]), array([0, 0, 1]))
    """
    total = int(numbers.sum())
    if n == total:
        return np.repeat(np.arange(len(numbers)), numbers)
    start = int(np.random.default_rng([seed, 1]).integers(total))
    # Every total-th of the n total positions, from a random one: whole numbers, so the same everywhere.
    at = np.array([(start + place * total) // n for place in range(n)])
    return np.searchsorted(np.cumsum(numbers), at, side="right")


def fill(model: Filled, kind_of: np.ndarray, seed: int) -> Population:
    """Fill groups of these kinds with members, in the order given.

    Args:
        kind_of: rows of `model.households.kinds`, shape (groups,).

    Cost: O(groups pairs K) for components, with pairs of group attributes; O(pairs values) per member and attribute.
    """
    from pgsr.synthesis.marginals.balanced_kernel import draw_values

    domain, filling = model.domain, model.filling
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(kind_of))
    kinds = model.households.kinds[kind_of]
    columns = [*range(len(domain.group)), *([domain.count] if filling.with_sizes else [])]
    lengths = np.array([domain.group_values(a) for a in columns], np.int64)
    component = np.zeros(len(kind_of), np.int64)
    contexts, of_contexts = _with_one(kinds, lengths)
    uniforms = rng.random((len(order), CANDIDATES))
    draw_values(contexts, of_contexts, _pairs(len(of_contexts)), model.components, kind_of, order, uniforms, component)
    if filling.forced:
        way = kinds[:, -1]
    else:
        way = np.zeros(len(kind_of), np.int64)
        chances, row_of = _ways(model, kinds, component)
        contexts = np.column_stack([kinds, component])
        of_contexts = np.append(lengths, model.n_components)
        pairs = _pairs(len(of_contexts))
        uniforms = rng.random((len(order), CANDIDATES))
        draw_values(contexts, of_contexts, pairs, chances, row_of, order, uniforms, way)
    drawn = _members(model, kinds, component, filling.ways[way], order, rng)
    return exchange(model, kind_of, component, drawn, rng)


def _members(
    model: Filled,
    kinds: np.ndarray,
    component: np.ndarray,
    numbers: np.ndarray,
    order: np.ndarray,
    rng: np.random.Generator,
) -> Population:
    """Draw the members of groups with given components and numbers of members per role."""
    from pgsr.synthesis.marginals.balanced_kernel import draw_members

    domain = model.domain
    sizes = numbers.sum(1)
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    role_of = np.repeat(np.tile(np.arange(len(domain.roles)), len(sizes)), numbers.ravel())
    first_of_role = np.concatenate([[0], np.cumsum(numbers.ravel())])[:-1]
    within = np.arange(len(group_of)) - np.repeat(first_of_role, numbers.ravel())
    slot_of = np.array([domain.slots(role).start for role in range(len(domain.roles))])[role_of] + within
    drawn_in = [attribute for block in model.filling.blocks for attribute in block.attributes]
    own = np.array([len(domain.individual[a]) for a in drawn_in], np.int64)
    # Component and slot are contexts too: what they make likely stays on course, and so does what follows from it.
    contexts = np.column_stack([kinds[:, : len(domain.group)], sizes - domain.min_size, component])
    given = [*map(len, domain.group), len(domain.sizes), model.n_components, domain.max_size]
    lengths = np.array([*given, *own], np.int64)
    before = [lengths[: len(given) + j].tolist() for j in range(len(own))]
    behind_starts = np.cumsum([0, *(sum(prod(pair) for pair in combinations(n, 2)) for n in before)])
    of_persons, of_groups = np.zeros((2, behind_starts[-1], own.max()))
    table_starts, tables, prefixes = _prefix_tables(model)
    first = np.concatenate([[0], np.cumsum(sizes)])
    persons = np.zeros((len(group_of), len(own)), np.int64)
    for start in range(0, len(order), GROUPS_AT_ONCE):
        part = order[start : start + GROUPS_AT_ONCE]
        uniforms = rng.random((int(sizes[part].sum()), len(own), CANDIDATES))
        draw_members(
            first, contexts, lengths, component, slot_of, part, own, prefixes, table_starts, tables, uniforms,
            behind_starts, of_persons, of_groups, persons,
        )  # fmt: skip
    return Population(domain, kinds[:, : len(domain.group)], persons[:, np.argsort(drawn_in)], group_of, role_of)


def _prefix_tables(model: Filled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stack, by attributes in the order of drawing, the chances of each with those before it in its block.

    Returns:
        The first row of every attribute, the tables (rows, M, K), and how many attributes are before each.
    """
    tables, prefixes = [], []
    for block, table in zip(model.filling.blocks, model.slot_tables, strict=True):
        whole = table.reshape(*block.shape, *table.shape[1:])
        for n_before in range(len(block.shape)):
            rest = tuple(range(n_before + 1, len(block.shape)))
            tables.append(whole.sum(rest).reshape(-1, *table.shape[1:]))
            prefixes.append(n_before)
    starts = np.cumsum([0, *map(len, tables)])
    return starts, np.concatenate(tables), np.array(prefixes, np.int64)


def _ways(model: Filled, kinds: np.ndarray, component: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List the chances of ways by component, and by size where it is given; and the row of every group."""
    filling, table = model.filling, model.way_table.T
    if not filling.with_sizes:
        return np.ascontiguousarray(table), component
    of_size = filling.size_of == np.arange(len(model.domain.sizes))[:, None]
    chances = (of_size[:, None, :] * table[None]).reshape(-1, table.shape[1])
    return chances, kinds[:, -1] * len(table) + component


def _with_one(contexts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the contexts, or a single one that is the same for all where there are none."""
    if contexts.shape[1]:
        return np.ascontiguousarray(contexts), lengths
    return np.zeros((len(contexts), 1), np.int64), np.ones(1, np.int64)


def _pairs(n: int) -> np.ndarray:
    """List all pairs of n contexts; of one context, the pair with itself."""
    return np.array(list(combinations(range(n), 2)) or [(0, 0)], np.int64)


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
