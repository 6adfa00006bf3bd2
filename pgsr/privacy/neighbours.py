"""Neighbouring data sets: the unit of privacy, and the relation that says what may become of one unit."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pgsr.errors import ArgumentError


class Relation(StrEnum):
    """A relation of neighbouring data sets: what becomes of one unit of privacy, by default one row of a private table.

    ADD_REMOVE: one has one unit more.
    ADD_REMOVE_OR_EMPTY_GROUP: one has one unit more, with groups that exist for its sake alone, or one empty group
        more; of releases with noisy totals.
    REPLACE: one unit has other values, and stays where it is: a row in its group, a group in its region.
    MOVE: one unit is removed and another inserted, in the same place or elsewhere.

    Example:
        >>> Relation("replace") is Relation.REPLACE
        True
    """

    ADD_REMOVE = "add_remove"
    ADD_REMOVE_OR_EMPTY_GROUP = "add_remove_or_empty_group"
    REPLACE = "replace"
    MOVE = "move"


ONE_ENTITY = (Relation.ADD_REMOVE, Relation.ADD_REMOVE_OR_EMPTY_GROUP)
"""The relations under which one entity joins or leaves one group, where the unit is `Unit.ENTITY`."""

IN_WORDS = {
    Relation.ADD_REMOVE: "one row more or less",
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: "one row, or one empty group, more or less",
    Relation.REPLACE: "one row whose values change",
    Relation.MOVE: "one row removed and another inserted",
}


MOST_GROUPS = 1_000_000
"""The most groups to which one entity may contribute."""


@dataclass(frozen=True)
class Unit:
    """The unit whose presence or values are hidden: an entity in at most so many groups, or a group with all its rows.

    `Unit.ENTITY` is one row of the table of entities; whoever has five rows is hidden five times less well.
    `Unit.entity_in_groups(5)` is everything that one entity contributes, to at most five groups: a customer with all
    the taxis that he or she took. `Unit.GROUP` is a group (household, taxi) with all its rows.

    Args:
        groups: the most groups that one entity contributes to, a public whole number from 1 up; None where the unit is
            a group.

    Raises:
        ArgumentError: it is no such number, or above a million.

    Example:
        >>> Unit.entity_in_groups(5), Unit.entity_in_groups(1) == Unit.ENTITY
        (Unit.entity_in_groups(5), True)
        >>> print(Unit.GROUP, Unit.ENTITY, Unit.entity_in_groups(5), sep=", ")
        group, entity, entity in 5 groups
    """

    groups: int | None

    ENTITY: ClassVar["Unit"]
    GROUP: ClassVar["Unit"]

    def __post_init__(self) -> None:
        if self.groups is not None and type(self.groups) is int and self.groups > MOST_GROUPS:
            raise ArgumentError(
                f"an entity in {self.groups:,} groups cannot be hidden: noise for it drowns any count; give the most "
                f"groups that one entity contributes to, at most {MOST_GROUPS:,}"
            )
        if self.groups is not None and (type(self.groups) is not int or self.groups < 1):
            raise ArgumentError(
                f"an entity in {self.groups!r} groups is no unit of privacy; give the most groups that one entity "
                "contributes to, a public whole number from 1 up"
            )

    @classmethod
    def entity_in_groups(cls, most: int) -> "Unit":
        """Make the unit of an entity with contributions to at most this many groups."""
        if most is None:
            raise ArgumentError("give the most groups that one entity contributes to, a whole number from 1 up")
        return cls(most)

    @classmethod
    def parse(cls, value: "Unit | str") -> "Unit":
        """Read a unit from its text, as ledgers and configurations write it.

        Raises:
            ArgumentError: it is no text of a unit.

        Example:
            >>> Unit.parse("entity in 5 groups")
            Unit.entity_in_groups(5)
        """
        if isinstance(value, Unit):
            return value
        if value in ("entity", "group"):
            return cls.ENTITY if value == "entity" else cls.GROUP
        found = _IN_GROUPS.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise ArgumentError(f"unit={value!r} is unknown; use 'entity', 'group' or 'entity in 5 groups'")
        return cls(int(found[1]))

    @property
    def is_group(self) -> bool:
        """Whether whole groups are hidden."""
        return self.groups is None

    def __str__(self) -> str:
        if self.is_group:
            return "group"
        return "entity" if self.groups == 1 else f"entity in {self.groups} groups"

    def __repr__(self) -> str:
        if self.is_group:
            return "Unit.GROUP"
        return "Unit.ENTITY" if self.groups == 1 else f"Unit.entity_in_groups({self.groups})"


Unit.ENTITY = Unit(1)
Unit.GROUP = Unit(None)

_IN_GROUPS = re.compile(r"entity in ([2-9]|[1-9][0-9]{1,8}) groups")
