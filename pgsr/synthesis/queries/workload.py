"""The linear queries about groups, individuals and their relations, and workloads of them.

A query asks for the share of groups, or of individuals, that satisfy a conjunction of conditions on distinct attributes
(Liu & Wu 2022, section 3 and table 1; relations: table 2). Queries come by the set of attributes they use: a `Marginal`
is a set with all combinations of values, and a workload is a list of marginals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations

import numpy as np

from pgsr.checks import member_of
from pgsr.synthesis.data.domain import COUNT, Domain, SynthesisError, require_whole


class Level(StrEnum):
    """The kind of thing that a query counts.

    GROUP: groups that satisfy the group conditions and hold at least one member who satisfies all individual ones.
    INDIVIDUAL: members who satisfy the individual conditions and live in a group that satisfies the group ones.
    RELATION: members as in INDIVIDUAL who also have a relative who satisfies the relative's conditions.
    """

    GROUP = "group"
    INDIVIDUAL = "individual"
    RELATION = "relation"


class Relative(StrEnum):
    """The relative that a query asks for: head and spouse are married; both are parents of every child."""

    SPOUSE = "spouse"
    CHILD = "child"
    PARENT = "parent"


PAIRS: dict[Relative, tuple[tuple[str, str], ...]] = {
    Relative.SPOUSE: (("head", "spouse"), ("spouse", "head")),
    Relative.CHILD: (("head", "child"), ("spouse", "child")),
    Relative.PARENT: (("child", "head"), ("child", "spouse")),
}
"""(own role, relative's role) of every relation. Source: Liu & Wu 2022, table 2."""


def relatives(domain: Domain, relation: Relative | None) -> np.ndarray:
    """Build the matrix whose entry [a, b] says whether members of role b are relatives of a member of role a."""
    pairs = () if relation is None else PAIRS[relation]
    return np.array([[(own.name, other.name) in pairs for other in domain.roles] for own in domain.roles])


@dataclass(frozen=True)
class Marginal:
    """The set of all queries over one set of attributes.

    Its cells are numbered in C order over (group, individual, relative).

    Attributes:
        group: numbers of group attributes; `domain.count` is the size of the group.
        individual: numbers of individual attributes; the conditions are on one and the same member.
        relative: numbers of individual attributes of the relative; only with `relation`.
    """

    level: Level
    group: tuple[int, ...] = ()
    individual: tuple[int, ...] = ()
    relation: Relative | None = None
    relative: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", member_of(Level, self.level, "level", SynthesisError))
        if self.relation is not None:
            object.__setattr__(self, "relation", member_of(Relative, self.relation, "relation", SynthesisError))
        for name in ("group", "individual", "relative"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if (self.level is Level.RELATION) != (self.relation is not None) or bool(self.relative) > bool(self.relation):
            raise SynthesisError(
                "a relationship query names its relation, and no other query does; give relation=... where the level "
                "is Level.RELATION, and there alone relative=..."
            )
        for numbers in (self.group, self.individual, self.relative):
            if len(set(numbers)) < len(numbers):
                raise SynthesisError(
                    f"a query uses an attribute once, and {numbers} names one twice; leave the second out"
                )

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """List the number of values of every attribute that is used."""
        of_persons = (len(domain.individual[i]) for i in (*self.individual, *self.relative))
        return (*(domain.group_values(g) for g in self.group), *of_persons)

    def cells(self, domain: Domain) -> int:
        return int(np.prod(self.shape(domain), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Workload:
    """A list of marginals over a domain; their cells, one after the other, are the queries 0 .. n_queries - 1.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], 3)
        >>> workload = Workload.k_way(domain, k=2)
        >>> workload.n_queries, workload.describe(0)
        (32, 'groups with area=urban, COUNT=1')
    """

    domain: Domain
    marginals: tuple[Marginal, ...]

    def __post_init__(self) -> None:
        if not self.marginals:
            raise SynthesisError("a workload needs at least one marginal")
        roles = {role.name for role in self.domain.roles}
        n_group, n_own = len(self.domain.group) + 1, len(self.domain.individual)
        for marginal in self.marginals:
            of_persons = (*marginal.individual, *marginal.relative)
            if any(not 0 <= g < n_group for g in marginal.group) or any(not 0 <= i < n_own for i in of_persons):
                raise SynthesisError(
                    f"{marginal} names an attribute that the domain does not have; group attributes have the numbers 0 "
                    f"to {n_group - 1}, those of persons 0 to {n_own - 1}"
                )
            if marginal.relation is not None and not {"head", "spouse", "child"} <= roles:
                raise SynthesisError("relationship queries need roles; make the domain by Domain.household")
        object.__setattr__(self, "marginals", tuple(self.marginals))

    @classmethod
    def k_way(cls, domain: Domain, k: int, levels: Sequence[Level] = (Level.GROUP, Level.INDIVIDUAL)) -> "Workload":
        """Make the workload of all sets of k attributes at all levels; the size of the group is one of the attributes.

        A set of group attributes alone is asked at both levels: of groups, and of the persons who live in them.

        Raises:
            SynthesisError: fewer than k attributes, or relations without roles.
        """
        require_whole(k=k)
        listed = [levels] if isinstance(levels, str) else levels
        asked = [member_of(Level, level, "level", SynthesisError) for level in listed]
        return cls(domain, tuple(m for level in asked for m in _sets(domain, k, level)))

    @cached_property
    def starts(self) -> np.ndarray:
        """The first query of every marginal, and the number of queries at the end; a read-only array."""
        starts = np.concatenate([[0], np.cumsum([m.cells(self.domain) for m in self.marginals])]).astype(np.int64)
        starts.flags.writeable = False
        return starts

    @property
    def n_queries(self) -> int:
        return int(self.starts[-1])

    def locate(self, query: int) -> tuple[int, tuple[int, ...]]:
        """Find the number of the marginal of a query, and its value codes in the order group, individual, relative."""
        starts = self.starts
        number = int(np.searchsorted(starts, query, side="right")) - 1
        if not 0 <= query < starts[-1]:
            raise SynthesisError(
                f"query {query} of a workload of {starts[-1]:,}; give a number from 0 to {starts[-1] - 1}"
            )
        shape = self.marginals[number].shape(self.domain)
        return number, tuple(int(c) for c in np.unravel_index(query - starts[number], shape))

    def describe(self, query: int) -> str:
        """Describe a query in words."""
        number, codes = self.locate(query)
        marginal, domain, values = self.marginals[number], self.domain, iter(codes)
        group = [_condition(domain, g, next(values)) for g in marginal.group]
        own = [f"{domain.individual[i].name}={domain.individual[i].values[next(values)]}" for i in marginal.individual]
        theirs = [f"{domain.individual[i].name}={domain.individual[i].values[next(values)]}" for i in marginal.relative]
        if marginal.level is Level.GROUP:
            parts = [*group, *([f"a member with {', '.join(own)}"] if own else [])]
            return f"groups with {', '.join(parts)}"
        parts = [*own, *([f"in a group with {', '.join(group)}"] if group else [])]
        if marginal.relation is not None:
            parts.append(f"with a {marginal.relation}" + (f" with {', '.join(theirs)}" if theirs else ""))
        return f"persons {', '.join(parts)}"

    def levels(self) -> np.ndarray:
        """List the level of every query, as an array of texts."""
        return np.repeat([m.level.value for m in self.marginals], np.diff(self.starts))

    def __repr__(self) -> str:
        return f"Workload({self.n_queries:,} queries, {len(self.marginals):,} marginals)"


def _condition(domain: Domain, attribute: int, code: int) -> str:
    if attribute == domain.count:
        return f"{COUNT}={domain.sizes[code]}"
    return f"{domain.group[attribute].name}={domain.group[attribute].values[code]}"


def _sets(domain: Domain, k: int, level: Level) -> Iterator[Marginal]:
    n_group, n_own = len(domain.group) + 1, len(domain.individual)
    n_relative = n_own if level is Level.RELATION else 0
    total = n_group + n_own + n_relative
    if not 1 <= k <= total:
        raise SynthesisError(f"{k}-way queries over {total} attributes; k is at least 1 and at most {total}")
    for attributes in combinations(range(total), k):
        group = tuple(i for i in attributes if i < n_group)
        own = tuple(i - n_group for i in attributes if n_group <= i < n_group + n_own)
        relative = tuple(i - n_group - n_own for i in attributes if i >= n_group + n_own)
        if level is not Level.RELATION:
            yield Marginal(level, group, own)
        elif relative:  # without a condition on the relative it would repeat for every k
            for relation in Relative:
                yield Marginal(level, group, own, relation, relative)
