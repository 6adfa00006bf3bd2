"""The public description of what groups and members can look like, and groups with their members as arrays of codes.

The universe of Liu & Wu 2022, section 3, is X_G x (X_I with a blank)^M: one value of every group attribute, and up to M
members with one value of every individual attribute each. Roles divide the M slots; the plain universe has one role,
the one with relationships (section 6 of the paper) has a head, a spouse and children.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from pgsr.checks import as_array, whole_number
from pgsr.errors import PgsrError
from pgsr.machine.extras import extra

COUNT = "COUNT"
"""Name of the attribute that every group has: its number of members."""

LARGEST_VALUE = 2**63 - 1
"""The largest whole number that a column of a table holds."""

Value = str | int


@dataclass(frozen=True)
class Attribute:
    """A named attribute with finitely many public values; codes 0, 1, ... stand for them in the order given.

    Example:
        >>> len(Attribute("sex", ("female", "male")))
        2
    """

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name == COUNT:
            raise SynthesisError(f"an attribute cannot be called {self.name!r}; {COUNT} is the size of the group")
        values = () if isinstance(self.values, str) or not isinstance(self.values, Iterable) else tuple(self.values)
        if not values or not all(isinstance(value, Value | np.integer) for value in values):
            raise SynthesisError(f"attribute {self.name} has values {self.values!r}; give texts or whole numbers")
        object.__setattr__(self, "values", values)
        if any(isinstance(value, int) and not -LARGEST_VALUE <= value <= LARGEST_VALUE for value in values):
            raise SynthesisError(
                f"attribute {self.name} has a value of more than 64 bits, which no table holds; write it in quotes"
            )
        if len(set(values)) < len(values):
            raise SynthesisError(f"attribute {self.name} has values {values}; give each once")

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Role:
    """A kind of member, of which every group has at least `least` and at most `most`.

    Example:
        >>> Role("child", 0, 3)
        Role(name='child', least=0, most=3)
    """

    name: str
    least: int
    most: int

    def __post_init__(self) -> None:
        require_whole(least=0, **{f"least of role {self.name}": self.least, f"most of role {self.name}": self.most})
        if not self.name or not 0 <= self.least <= self.most or self.most < 1:
            raise SynthesisError(
                f"role {self.name!r} takes {self.least} to {self.most} members; give a name and 0 <= least <= most"
            )


@dataclass(frozen=True)
class Domain:
    """The attributes of groups and of individuals, and the roles that fill a group.

    Attributes:
        group: attributes of a group; the size, `COUNT`, comes on its own as number `len(group)`.
        individual: attributes of a member.
        roles: in the order of slots; slots of the first role come first.

    Example:
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> domain.max_size, domain.min_size, domain.universe
        (4, 1, 60)
    """

    group: tuple[Attribute, ...]
    individual: tuple[Attribute, ...]
    roles: tuple[Role, ...]

    def __post_init__(self) -> None:
        for name in ("group", "individual", "roles"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not all(isinstance(attribute, Attribute) for attribute in (*self.group, *self.individual)):
            raise SynthesisError("a domain is made of attributes; write Attribute(name, values)")
        names = [attribute.name for attribute in (*self.group, *self.individual)]
        if len(set(names)) < len(names):
            raise SynthesisError(f"attributes {names} repeat a name; group and individual attributes share one list")
        if not self.individual or not self.roles:
            raise SynthesisError("a domain needs at least one individual attribute and one role")
        roles = [role.name for role in self.roles]
        if len(set(roles)) < len(roles):
            raise SynthesisError(f"roles {roles} repeat a name; rename one")

    @classmethod
    def plain(cls, group: Sequence[Attribute], individual: Sequence[Attribute], max_size: int) -> "Domain":
        """Make a domain of groups of 1 to `max_size` members that are all of one kind."""
        return cls(tuple(group), tuple(individual), (Role("person", 1, max_size),))

    @classmethod
    def household(cls, group: Sequence[Attribute], individual: Sequence[Attribute], max_children: int) -> "Domain":
        """Make a domain of one head, at most one spouse, and up to `max_children` children.

        Source: Liu & Wu 2022, section 6.
        """
        roles = (Role("head", 1, 1), Role("spouse", 0, 1), Role("child", 0, max_children))
        return cls(tuple(group), tuple(individual), roles)

    @property
    def max_size(self) -> int:
        """The largest number of members of a group, M."""
        return sum(role.most for role in self.roles)

    @property
    def min_size(self) -> int:
        return sum(role.least for role in self.roles)

    @property
    def sizes(self) -> range:
        """The sizes that a group can have, which are the values of `COUNT`."""
        return range(self.min_size, self.max_size + 1)

    @property
    def count(self) -> int:
        """The number of the group attribute `COUNT`, which stands for the size and follows all others."""
        return len(self.group)

    def slots(self, role: int) -> range:
        """The slots of a role, a range within 0..M-1."""
        start = sum(other.most for other in self.roles[:role])
        return range(start, start + self.roles[role].most)

    def group_values(self, attribute: int) -> int:
        """Count the values of group attribute number `attribute`; `COUNT` included."""
        return len(self.sizes) if attribute == self.count else len(self.group[attribute])

    @property
    def universe(self) -> int:
        """The number of kinds of groups with ordered members, |X_M| = |X_G| prod_roles sum_n |X_I|^n."""
        of_group = prod(len(attribute) for attribute in self.group)
        of_person = prod(len(attribute) for attribute in self.individual)
        return of_group * prod(sum(of_person**n for n in range(r.least, r.most + 1)) for r in self.roles)


@dataclass(frozen=True, eq=False)
class Population:
    """A multiset of groups with their members, real or synthetic.

    Attributes:
        domain: public.
        groups: N_G x k_G codes of group attributes.
        persons: N_I x k_I codes of individual attributes, group by group, roles in the order of the domain.
        group_of: N_I row numbers of `groups`, not decreasing.
        role_of: N_I role numbers, not decreasing within a group.
    """

    domain: Domain
    groups: np.ndarray
    persons: np.ndarray
    group_of: np.ndarray
    role_of: np.ndarray

    def __post_init__(self) -> None:
        for name in ("groups", "persons", "group_of", "role_of"):
            object.__setattr__(self, name, as_array(getattr(self, name)))
        domain = self.domain
        if self.groups.shape[1:] != (len(domain.group),) or self.persons.shape[1:] != (len(domain.individual),):
            raise SynthesisError(
                "codes do not have one column per attribute of the domain; give groups "
                f"{len(domain.group)} and persons {len(domain.individual)}"
            )
        n_groups, n_persons = len(self.groups), len(self.persons)
        for name in ("groups", "persons", "group_of", "role_of"):
            table = getattr(self, name)
            if table.size and table.dtype.kind not in "biu":
                raise SynthesisError(f"{name} holds {table.dtype} entries; codes and row numbers are whole numbers")
        for name, table, attributes in (
            ("groups", self.groups, domain.group),
            ("persons", self.persons, domain.individual),
        ):
            for column, attribute in enumerate(attributes):
                codes = table[:, column]
                if len(codes) and not (codes.min() >= 0 and codes.max() < len(attribute)):
                    raise SynthesisError(f"{name}: a code of {attribute.name} is outside 0..{len(attribute) - 1}")
        if self.group_of.shape != (n_persons,) or self.role_of.shape != (n_persons,):
            raise SynthesisError("group_of and role_of need one entry per person")
        self._check_structure(n_groups)

    def _check_structure(self, n_groups: int) -> None:
        roles = self.domain.roles
        if not len(self.group_of):
            keys = np.zeros(0, np.int64)
        else:
            if self.group_of.min() < 0 or self.group_of.max() >= n_groups:
                raise SynthesisError(
                    "a person belongs to a group that is not there; group_of numbers the rows of groups from 0 up"
                )
            if self.role_of.min() < 0 or self.role_of.max() >= len(roles):
                raise SynthesisError(
                    "a person has a role that the domain does not know; role_of numbers its "
                    f"{len(roles)} roles from 0 up"
                )
            keys = self.group_of.astype(np.int64) * len(roles) + self.role_of
            if (np.diff(keys) < 0).any():
                raise SynthesisError(
                    "persons are not sorted by group, and by role within it; sort persons, group_of and role_of alike"
                )
        numbers = np.bincount(keys, minlength=n_groups * len(roles)).reshape(n_groups, len(roles))
        for number, role in zip(numbers.T, roles, strict=True):
            wrong = np.flatnonzero((number < role.least) | (number > role.most))
            if len(wrong):
                raise SynthesisError(
                    f"group {wrong[0]} has {number[wrong[0]]} members of role {role.name}; "
                    f"the domain allows {role.least} to {role.most}"
                )

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    @property
    def n_persons(self) -> int:
        return len(self.persons)

    @property
    def sizes(self) -> np.ndarray:
        """The number of members of each group, shape (groups,)."""
        return np.bincount(self.group_of, minlength=self.n_groups)

    @property
    def first(self) -> np.ndarray:
        """The row of the first member of each group, and the number of persons N_I at the end; shape (groups + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def __repr__(self) -> str:
        return f"Population({self.n_groups:,} groups, {self.n_persons:,} persons)"


class Neighbours(StrEnum):
    """A relation of neighbouring populations. Groups, their attributes and the domain are the same in both, and public.

    REPLACE: the attribute values of one person differ, and the role where the domain leaves a choice.
    ADD_REMOVE: one person more or less.
    MOVE: one person is removed and another inserted, in the same group or elsewhere; REPLACE is a part of it.
    """

    REPLACE = "replace"
    ADD_REMOVE = "add_remove"
    MOVE = "move"


class SynthesisError(PgsrError, ValueError):
    """An error in a domain, a population, a query or a setting of data synthesis."""


def require_whole(*, least: int = 1, **numbers: object) -> None:
    """Raise `SynthesisError` unless all values are whole numbers from `least` up.

    Example:
        >>> require_whole(n_groups=3)
    """
    for name, number in numbers.items():
        whole_number(name, number, least, SynthesisError)


def torch() -> Any:
    """Import and return the module torch, with which HPD-Fixed and HPD-Gen are fitted.

    Raises:
        MissingPackageError: it is not installed.
    """
    with extra("synthesis"):
        return import_module("torch")
