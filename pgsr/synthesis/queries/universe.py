"""The explicit universe of a domain: every kind of group once, members of a role as a multiset.

No query tells members of one role apart, so all orderings of them are one type; a type weighs as many orderings as it
has, which makes the collapsed universe equivalent to the uniform one over ordered members. MWEM finds a probability for
every type.
"""

from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from pgsr.errors import MemoryNeededError
from pgsr.machine import memory
from pgsr.synthesis.data.domain import Domain, Population, Role, SynthesisError, require_whole
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.workload import Workload

MOST_TYPES = 2_000_000
"""Types built unless told otherwise; MWEM touches all of them for every query of every round."""


@dataclass(frozen=True, eq=False)
class Universe:
    """The set X_G x prod_roles {multisets of least..most members}, each element with its share of the ordered universe.

    The ordered universe has one element per value of the group attributes and per tuple of members of every role; it
    has `domain.universe` elements. Type x stands for prod_roles n! / prod_v m_v! of them, n members of which m_v have
    value v.

    Attributes:
        types: one group per type; its row number is the type's number.
        prior: the share of the ordered universe that a type stands for; shape (types,), sums to 1.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain
        >>> universe = Universe.of(Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2))
        >>> universe.types, universe.prior * universe.types.domain.universe  # f, m, ff, fm, mm
        (Population(5 groups, 8 persons), array([1., 1., 1., 2., 1.]))

    Source: Liu & Wu 2022, section 3 and algorithm 4.
    """

    types: Population
    prior: np.ndarray

    @classmethod
    def of(cls, domain: Domain, max_types: int = MOST_TYPES) -> "Universe":
        """List all types of a domain, in O(types * M) time.

        Raises:
            MemoryNeededError: there are more than `max_types` types, or they do not fit in memory; nothing was built.
        """
        n = n_types(domain)
        n_bytes = _bytes_of(domain, n)
        if n > max_types:
            raise MemoryNeededError(
                f"the universe has {_shown(n)} types of groups, {_shown(n_bytes >> 30)} GiB of memory, and the limit "
                f"is {max_types:,} types; merge values, lower the largest size, use HPD, or raise max_types"
            )
        remedy = "use fewer attributes or a smaller max_size"
        memory.require(n_bytes, f"a universe of {_shown(n)} types of groups", remedy)
        d_group, d_person = _values(domain)
        parts = [_multisets(role, d_person) for role in domain.roles]
        of_group, *chosen = np.unravel_index(np.arange(n), (d_group, *(len(orderings) for _, orderings in parts)))
        slots = np.concatenate([codes[rows] for (codes, _), rows in zip(parts, chosen, strict=True)], axis=1)
        orderings = np.prod([part[rows] for (_, part), rows in zip(parts, chosen, strict=True)], axis=0)
        group_of, slot = np.nonzero(slots >= 0)
        role_of_slot = np.repeat(np.arange(len(domain.roles)), [role.most for role in domain.roles])
        types = Population(
            domain,
            groups=_codes(of_group, [len(attribute) for attribute in domain.group]),
            persons=_codes(slots[group_of, slot], [len(attribute) for attribute in domain.individual]),
            group_of=group_of,
            role_of=role_of_slot[slot],
        )
        return cls(types, orderings / orderings.sum())


def n_types(domain: Domain) -> int:
    """Compute the number of types, |X_G| prod_roles sum_{n=least}^{most} C(|X_I| + n - 1, n), without building them.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain
        >>> n_types(Domain.household([], [Attribute("age", range(8))], max_children=4))  # 8 * 9 * (1 + 8 + 36 + ...)
        35640
    """
    d_group, d_person = _values(domain)
    return d_group * prod(
        sum(comb(d_person + n - 1, n) for n in range(role.least, role.most + 1)) for role in domain.roles
    )


def _values(domain: Domain) -> tuple[int, int]:
    """Compute |X_G| and |X_I|."""
    return prod(len(attribute) for attribute in domain.group), prod(len(attribute) for attribute in domain.individual)


def _shown(n: int) -> str:
    """Write a number in full up to 10^12, and by its magnitude beyond."""
    return f"{n:,}" if n < 10**12 else f"{Decimal(n):.1e}"


def _bytes_of(domain: Domain, n: int) -> int:
    """Bound from above the memory to build the universe: per slot a code, masks, row numbers and attributes, twice."""
    return 16 * n * (domain.max_size * (len(domain.individual) + 4) + len(domain.group) + len(domain.roles) + 4)


def _multisets(role: Role, d_person: int) -> tuple[np.ndarray, np.ndarray]:
    """List all multisets of least..most of 0..d_person-1, filled up with -1, and how many orderings each has."""
    rows, orderings = [], []
    for n in range(role.least, role.most + 1):
        count = comb(d_person + n - 1, n)
        members = chain.from_iterable(combinations_with_replacement(range(d_person), n))
        table = np.full((count, role.most), -1)
        table[:, :n] = np.fromiter(members, np.int64, count * n).reshape(count, n)
        rows.append(table)
        orderings.append(factorial(n) / _repetitions(table[:, :n]))
    return np.concatenate(rows), np.concatenate(orderings)


def _repetitions(table: np.ndarray) -> np.ndarray:
    """Compute prod_v m_v! of every sorted row: an entry that is the j-th of its kind contributes the factor j."""
    product, run = np.ones(len(table)), np.ones(len(table))
    for left, right in zip(table.T[:-1], table.T[1:], strict=True):
        run = np.where(left == right, run + 1, 1)
        product *= run
    return product


def _codes(numbers: np.ndarray, lengths: list[int]) -> np.ndarray:
    """Compute the mixed-radix digits of each number, one column per length, most significant first."""
    if not lengths:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, lengths), axis=1)


@dataclass(frozen=True, eq=False)
class TypeDistribution:
    """A distribution A over the types of a universe; the members of a role are in random order within a type.

    Attributes:
        types: one group per type, as in `Universe`.
        probabilities: A, one per type.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain
        >>> from pgsr.synthesis.queries.universe import Universe
        >>> universe = Universe.of(Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2))
        >>> TypeDistribution(universe.types, universe.prior).sample(1_000, seed=0).n_groups
        1000
    """

    types: Population
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        a = np.asarray(self.probabilities, np.float64)
        if a.shape != (self.types.n_groups,) or not (a >= 0).all() or abs(a.sum() - 1) > 1e-9:
            raise SynthesisError(f"a distribution over {self.types.n_groups:,} types is as many shares that sum to 1")
        object.__setattr__(self, "probabilities", a)

    @property
    def domain(self) -> Domain:
        return self.types.domain

    def __repr__(self) -> str:
        return f"TypeDistribution({self.types.n_groups:,} types)"

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute the shares of all queries: <phi, A> of groups, <phi, A> / <size, A> of individuals."""
        return answers(self.types, workload, self.probabilities)

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw independent groups, the members of each role in random order, in O(types + persons log persons) time."""
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        rng = np.random.default_rng(seed)
        drawn = rng.choice(self.types.n_groups, size=n_groups, p=self.probabilities / self.probabilities.sum())
        sizes = self.types.sizes[drawn]
        group_of = np.repeat(np.arange(n_groups), sizes)
        place = np.arange(len(group_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self.types.first[drawn][group_of] + place
        role_of = self.types.role_of[rows]
        shuffled = rows[np.lexsort((rng.random(len(rows)), role_of, group_of))]
        return Population(self.types.domain, self.types.groups[drawn], self.types.persons[shuffled], group_of, role_of)
