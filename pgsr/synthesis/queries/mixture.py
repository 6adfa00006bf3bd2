"""The result of an HPD fit, a mixture of products, which answers, samples and is stored with NumPy alone.

All queries of a workload are answered marginal by marginal.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgsr.synthesis.data.domain import Domain, Population, SynthesisError, require_whole
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


@dataclass(frozen=True, eq=False)
class Mixture:
    """A uniform mixture of K components, in each of which all attributes and the size of every role are independent.

    Attributes:
        domain: public.
        group: per group attribute, P(value) in component k; shape (K, |G_i|).
        slots: per individual attribute, P(value) of the member in slot m of component k; shape (K, M, |I_j|).
        sizes: per role, P(n members); shape (K, most + 1), zero below least.

    Raises:
        SynthesisError: a table has another shape, is negative, or does not sum to 1.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Level, Marginal, Workload
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> mixture = Mixture(
        ...     domain,
        ...     group=(np.array([[0.8, 0.2]]),),
        ...     slots=(np.array([[[0.5, 0.5], [0.4, 0.6]]]),),
        ...     sizes=(np.array([[0, 0.25, 0.75]]),),
        ... )
        >>> workload = Workload(domain, (Marginal(Level.GROUP, (0,), (0,)), Marginal(Level.INDIVIDUAL, (0,), (0,))))
        >>> mixture.answers(workload)[[0, 4]].round(6)  # urban with a woman; women in urban groups
        array([0.52    , 0.365714])

    Source: Liu & Wu 2022, hierarchical product distributions; how many people a component expects divides answers on
    persons, which is our reading.
    """

    domain: Domain
    group: tuple[np.ndarray, ...]
    slots: tuple[np.ndarray, ...]
    sizes: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        for name in ("group", "slots", "sizes"):
            object.__setattr__(self, name, tuple(np.asarray(table, np.float64) for table in getattr(self, name)))
        domain, n_components = self.domain, len(self.sizes[0]) if self.sizes else 0
        expected = {
            "group": [(attribute.name, (n_components, len(attribute))) for attribute in domain.group],
            "slots": [(a.name, (n_components, domain.max_size, len(a))) for a in domain.individual],
            "sizes": [(role.name, (n_components, role.most + 1)) for role in domain.roles],
        }
        for name, shapes in expected.items():
            tables = getattr(self, name)
            if n_components < 1 or len(tables) != len(shapes):
                raise SynthesisError(
                    f"{name} holds {len(tables)} tables; the domain needs {len(shapes)}, K >= 1 rows each"
                )
            for table, (what, shape) in zip(tables, shapes, strict=True):
                if table.shape != shape:
                    raise SynthesisError(f"the table of {what} has shape {table.shape}; it should have {shape}")
                if not (table >= 0).all() or not np.allclose(table.sum(-1), 1, rtol=0, atol=1e-5):
                    raise SynthesisError(f"the table of {what} holds no probabilities; give rows >= 0 that sum to 1")
            exact = tuple(table / table.sum(-1, keepdims=True) for table in tables)
            object.__setattr__(self, name, exact)
        for table, role in zip(self.sizes, domain.roles, strict=True):
            if table[:, : role.least].any():
                raise SynthesisError(f"role {role.name} has at least {role.least} members; the sizes below get 0")

    @classmethod
    def of(cls, tables: ComponentTables) -> "Mixture":
        """Make the mixture from tables of NumPy or torch."""
        domain = tables.domain
        first = {"group": starts(map(len, domain.group)), "slots": starts(map(len, domain.individual))}
        whole = {"group": as_numpy(tables.group), "slots": as_numpy(tables.slots)}
        parts = {name: [whole[name][a:b] for a, b in pairwise(rows)] for name, rows in first.items()}
        return cls(
            domain,
            group=tuple(table.T for table in parts["group"]),
            slots=tuple(table.transpose(2, 1, 0) for table in parts["slots"]),
            sizes=tuple(as_numpy(table).T for table in tables.sizes),
        )

    @property
    def n_components(self) -> int:
        """The number of components, K."""
        return len(self.sizes[0])

    @property
    def tables(self) -> ComponentTables:
        """The tables with the same numbers, in which components are the last axis."""
        k = self.n_components
        return ComponentTables(
            self.domain,
            np.concatenate([*(table.T for table in self.group), np.ones((1, k))]),
            np.concatenate(
                [*(table.transpose(2, 1, 0) for table in self.slots), np.ones((1, self.domain.max_size, k))]
            ),
            tuple(np.ascontiguousarray(table.T) for table in self.sizes),
        )

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute expected shares, one per query, float64; those of individuals are a ratio of two expectations.

        Raises:
            SynthesisError: the workload has another domain.
        """
        if workload.domain != self.domain:
            raise SynthesisError("the mixture and the workload have different domains; make both from one Domain")
        return all_answers(self.tables, workload)

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw independent groups: first a component, then from it the sizes of roles, the attributes and the members.

        All parts of a group come from one component, without which samples would not have the answers of `answers`.

        Source: Liu & Wu 2022, algorithm 2; the shared component is our reading.
        """
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        rng = np.random.default_rng(seed)
        component = rng.integers(self.n_components, size=n_groups)
        numbers = np.stack([draw(table, component, rng) for table in self.sizes], axis=1)
        domain = self.domain
        slot_of = np.concatenate([domain.slots(role) for role in range(len(domain.roles))])
        role_of = np.repeat(np.arange(len(domain.roles)), [role.most for role in domain.roles])
        within = np.concatenate([np.arange(role.most) for role in domain.roles])
        group_of, slot = np.nonzero(within < numbers[:, role_of])
        groups = [draw(table, component, rng) for table in self.group]
        where = component[group_of] * domain.max_size + slot_of[slot]
        persons = [draw(table.reshape(-1, table.shape[-1]), where, rng) for table in self.slots]
        return Population(
            domain,
            np.stack(groups, axis=1) if groups else np.zeros((n_groups, 0), np.int64),
            np.stack(persons, axis=1),
            group_of,
            role_of[slot],
        )

    def __repr__(self) -> str:
        return f"Mixture({self.n_components:,} components, groups of {self.domain.min_size}..{self.domain.max_size})"


def draw(table: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one value per entry of `rows`, in proportion to the weights in that row of `table`.

    Rows without weight may exist, and must not be drawn from.
    """
    u = rng.random(len(rows))
    upto = table.cumsum(axis=1)
    total = upto[:, -1:]
    upto /= np.where(
        total > 0, total, 1
    )  # the last bound is exactly 1 and u < 1, so that no value of probability 0 is drawn
    code = np.zeros(len(rows), np.int64)
    for column in upto.T[:-1]:
        code += u >= column[rows]
    return code


CHUNK = 2**18
"""How many probabilities of members are handled at a time, so that they stay in the cache."""


def all_answers(tables: ComponentTables, workload: Workload) -> np.ndarray:
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
        chunks = [[as_numpy(x @ factors.T) for x in curve] for curve in _member_chunks(tables, asked)]
        table = np.concatenate([np.stack(chunk) for chunk in chunks], axis=1)  # sizes x cells of members x of groups
        scale = 1 / tables.n_components if asked.level is Level.GROUP else persons
        for number, given, start, stop in zip(numbers, sets, splits, splits[1:], strict=False):
            cells = _ordered(domain, workload.marginals[number], given, table[..., start:stop])
            out[first[number] : first[number + 1]] = cells * scale
    return out.clip(0, 1)  # sums of floats may lie a rounding error outside


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


def _member_chunks(tables: ComponentTables, asked: _Asked) -> Iterator[Curve]:
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
        curve = persons_factor(tables.domain, asked.level, asked.relation, own, relative)
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
