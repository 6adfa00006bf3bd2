"""The answers of a mixture of products to all queries of a workload, computed marginal by marginal."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.synthesis.data.domain import Domain
from pgsr.synthesis.queries.tables import (
    Array,
    ComponentTables,
    Curve,
    Members,
    expected_size,
    joined,
    persons_factor,
    starts,
)
from pgsr.synthesis.queries.workload import Level, Marginal, Relative, Workload

CHUNK = 2**18
"""How many probabilities of members are handled at a time, so that they stay in the cache."""


def all_answers(tables: ComponentTables, workload: Workload, *, pairs: bool = False) -> np.ndarray:
    """Compute the answers of all queries, float64, shape (queries,).

    Marginals that ask the same of members share it: what members contribute is computed once per cell and component,
    and one matrix product with the tables of all group attributes asked beside it sums over components. Time is
    O(K M) per cell of members and O(K) per query, in matrix products.
    """
    domain, groups = tables.domain, _GroupTables(tables)
    out, first = np.empty(workload.n_queries), workload.starts
    persons = 1 / float(as_numpy(expected_size(tables)))
    for asked, numbers in _shared(workload).items():
        sets = [tuple(g for g in workload.marginals[m].group if g != domain.count) for m in numbers]
        factors, splits = groups.below(sets)
        chunks = [[as_numpy(x @ factors.T) for x in curve] for curve in _member_chunks(tables, asked, pairs)]
        table = np.concatenate([np.stack(chunk) for chunk in chunks], axis=1)  # sizes x cells of members x of groups
        scale = 1 / tables.n_components if asked.level is Level.GROUP else persons
        for number, given, start, stop in zip(numbers, sets, splits, splits[1:], strict=False):
            cells = _ordered(domain, workload.marginals[number], given, table[..., start:stop])
            out[first[number] : first[number + 1]] = cells * scale
    return out if pairs else out.clip(0, 1)  # sums of floats may lie a rounding error outside


@dataclass(frozen=True)
class _Asked:
    """The part of a marginal that concerns members."""

    level: Level
    relation: Relative | None
    individual: tuple[int, ...]
    relative: tuple[int, ...]
    by_size: bool


def _shared(workload: Workload) -> dict[_Asked, list[int]]:
    shared: dict[_Asked, list[int]] = defaultdict(list)
    for number, m in enumerate(workload.marginals):
        shared[_Asked(m.level, m.relation, m.individual, m.relative, workload.domain.count in m.group)].append(number)
    return shared


class _GroupTables:
    """The products of group attributes for all combinations of their values, shape (cells, K)."""

    def __init__(self, tables: ComponentTables) -> None:
        self._rows = tables.group
        self._starts = starts(len(attribute) for attribute in tables.domain.group)
        self._known: dict[tuple[int, ...], Array] = {(): tables.group[-1:]}

    def below(self, sets: Sequence[tuple[int, ...]]) -> tuple[Array, list[int]]:
        """Stack the tables of several sets of attributes, and say in which row each starts."""
        tables = [self._of(given) for given in sets]
        return joined(tables), starts(len(table) for table in tables)

    def _of(self, given: tuple[int, ...]) -> Array:
        if given not in self._known:
            block = self._rows[self._starts[given[-1]] : self._starts[given[-1] + 1]]
            self._known[given] = _outer(self._of(given[:-1]), block) if given[:-1] else block
        return self._known[given]


def _member_chunks(tables: ComponentTables, asked: _Asked, pairs: bool) -> Iterator[Curve]:
    """Yield the factors of members by size, each (cells, K), in pieces of whole values of the first attribute."""
    group_level = asked.level is Level.GROUP
    relative = None
    if asked.relation is not None:
        [r] = _conditions(tables, asked.relative, chunk=None)
        relative = Members.of(tables, r, by_size=asked.by_size, own=False)
    for p in _conditions(tables, asked.individual, CHUNK):
        own = Members.of(tables, p, by_size=asked.by_size, own=not group_level, none=group_level)
        if relative is not None and p is not None:
            own = Members(own.sizes, [[None if x is None else x[:, None] for x in curve] for curve in own.own], [])
        curve = persons_factor(tables.domain, asked.level, asked.relation, own, relative, pairs=pairs)
        yield [x.reshape(-1, tables.n_components) for x in curve if x is not None]


def _conditions(tables: ComponentTables, attributes: tuple[int, ...], chunk: int | None) -> Iterator[Array | None]:
    """Yield P(slot j of component k has these values) for all combinations, (cells, M, K); None without attributes."""
    if not attributes:
        yield None
        return
    first = starts(len(attribute) for attribute in tables.domain.individual)
    blocks = [tables.slots[first[i] : first[i + 1]] for i in attributes]
    rest = blocks[1] if len(blocks) > 1 else None
    for block in blocks[2:]:
        rest = _outer(rest, block)
    n_rest = 1 if rest is None else len(rest)
    step = len(blocks[0]) if chunk is None else max(1, chunk // (n_rest * tables.domain.max_size * tables.n_components))
    for start in range(0, len(blocks[0]), step):
        head = blocks[0][start : start + step]
        yield head if rest is None else _outer(head, rest)


def _ordered(domain: Domain, marginal: Marginal, given: tuple[int, ...], table: np.ndarray) -> np.ndarray:
    """Reorder cells (sizes, members, groups) as the marginal has them: group attributes with COUNT, own, relative."""
    by_size, n_persons = domain.count in marginal.group, len(marginal.individual) + len(marginal.relative)
    shape = marginal.shape(domain)
    of_persons = shape[len(marginal.group) :]
    of_groups = [domain.group_values(g) for g in given]
    split = table.reshape(*([len(table)] if by_size else []), *of_persons, *of_groups)
    axis_of = {g: by_size + n_persons + i for i, g in enumerate(given)} | {domain.count: 0}
    return split.transpose([*(axis_of[g] for g in marginal.group), *(by_size + i for i in range(n_persons))]).ravel()


def _outer(a: Array, b: Array) -> Array:
    """Multiply every row of one table with every row of the other."""
    return (a[:, None] * b[None]).reshape(-1, *a.shape[1:])


def as_numpy(x: Array) -> np.ndarray:
    """Convert to an array of NumPy: 64 bits, on the CPU and without gradients if it comes from torch."""
    return x.detach().double().cpu().numpy() if hasattr(x, "detach") else x
