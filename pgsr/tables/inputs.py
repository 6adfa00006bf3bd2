"""The descriptions of the papers' tables: which source they are in, and which columns play which part."""

from dataclasses import dataclass, field
from typing import Any

from pgsr.checks import plain
from pgsr.errors import ArgumentError
from pgsr.tables.regions import column_tuple
from pgsr.tables.source import source

Region = str | tuple[str, ...]
"""One column of region ids, or one column of names per level, root first."""


@dataclass(frozen=True, eq=False)
class Entities:
    """The table Entities(entity, group), private: one row per entity; a group's size is its number of rows.

    Args:
        table: anything `source` takes.
        entity: the column of entity ids, each once; None if every row is an entity of its own.
        group: the column of group ids.
        region: where the row lies, for tables that say so; it has to agree with the group's region.

    Source: Kuo et al. 2018, section 3.
    """

    table: Any
    entity: str | None = "entity"
    group: str = "group"
    region: Region | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", source(self.table))
        _check_region(self, self.region)


@dataclass(frozen=True, eq=False)
class Quantities:
    """The table of (user, unit, region, quantity z), private: a unit is a group, its size is the sum of its z.

    One tuple more or less moves a size by up to `max_quantity`, so cumulative and ranked views have that sensitivity
    and counts still 2; `Geometric(..., max_quantity=...)` adds the noise for it.

    Args:
        table: anything `source` takes.
        max_quantity: a public bound on z, at least 1; never derived from the data.
        clip: count z above the bound as the bound; False refuses the table.
        user: the column of users, each once; None if every tuple is an entity of its own.
        unit: the column of group ids.
        region: where the tuple lies; all tuples of a unit in one leaf.
        quantity: the column of z = 0, 1, 2, ...

    Source: Fioretto and Van Hentenryck 2019, section 2; there z is 0 or 1, and the sensitivity is ours.
    """

    table: Any
    max_quantity: int
    clip: bool = False
    user: str | None = "user"
    unit: str = "unit"
    region: Region | None = "region"
    quantity: str = "quantity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", source(self.table))
        largest = plain(self.max_quantity)
        object.__setattr__(self, "max_quantity", largest)
        if isinstance(largest, bool) or not isinstance(largest, int) or not 1 <= largest <= 2**31:
            raise ArgumentError(
                f"max_quantity={largest!r}; give the public largest quantity, a whole number of 1..2^31"
            )
        _check_region(self, self.region)

    @property
    def entity(self) -> str | None:
        return self.user

    @property
    def group(self) -> str:
        return self.unit


@dataclass(frozen=True, eq=False)
class Groups:
    """The table Groups(group, region), one row per group, also without entities. Public, unless `count_groups` is told.

    Args:
        table: anything `source` takes.
        group: the column of group ids.
        region: where the group lies, a leaf.

    Source: Kuo et al. 2018, section 3.
    """

    table: Any
    group: str = "group"
    region: Region = "region"

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", source(self.table))
        _check_region(self, self.region)


@dataclass
class PrivateLog:
    """A log of what reading found out about private rows. It is not for publication, and `repr` does not show it.

    Numbers are None until they are counted, as in a table that was refused.

    Attributes:
        entities: rows.
        clipped_groups: groups larger than K, which count as K.
        clipped_quantities: quantities above `max_quantity`, which count as that.
        faults: numbers of bad rows, and where the first is, which the message of a refusal leaves out.
    """

    entities: int | None = field(default=None, init=False)
    clipped_groups: int | None = field(default=None, init=False)
    clipped_quantities: int | None = field(default=None, init=False)
    faults: list[str] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return "PrivateLog(not for publication)"


def columns_of(region: Region) -> tuple[str, ...]:
    return (region,) if isinstance(region, str) else region


def _check_region(table: object, region: Region | None) -> None:
    if region is not None and not isinstance(region, str):
        object.__setattr__(table, "region", column_tuple(region))
