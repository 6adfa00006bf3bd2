"""The checks of arguments of data sets: regions and whole numbers."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TypeVar

from pgsr import checks
from pgsr.errors import DataError

Member = TypeVar("Member", bound=StrEnum)


class CensusRegions(StrEnum):
    """The levels of a census data set, named after the finest one; `DIVISIONS` after the one in the middle.

    DIVISIONS: nation / 9 census divisions / 51 states (50 and the District of Columbia).
    STATES: nation / 51 states.
    COUNTIES: nation / 51 states / counties.
    TRACTS: nation / 51 states / counties / tracts.
    """

    DIVISIONS = "divisions"
    STATES = "states"
    COUNTIES = "counties"
    TRACTS = "tracts"


def one_of(name: str, value: object, valid: Sequence[Member]) -> Member:
    """Find the member of `valid` that `value` is or spells, or raise a `DataError` that lists them.

    Example:
        >>> one_of("regions", "states", [CensusRegions.STATES, CensusRegions.COUNTIES])
        <CensusRegions.STATES: 'states'>
    """
    for member in valid:
        if value == member:
            return member
    raise DataError(f"{name}={value!r} is unknown; use {', '.join(repr(str(member)) for member in valid)}")


whole_number = partial(checks.whole_number, error=DataError)
"""Read a whole number from `least` up, or raise a `DataError`."""
