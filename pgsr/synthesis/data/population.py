"""The representation of groups and their members as arrays of codes."""

from dataclasses import dataclass

import numpy as np

from pgsr.checks import as_array
from pgsr.synthesis.data.domain import Domain, SynthesisError


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
