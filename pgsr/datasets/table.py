"""The tables of data sets as counts, and the checks of their parameters."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse

from pgsr import checks
from pgsr.data.counts import LARGEST_DENSE, CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import DataError


def count_of_counts(
    leaves: Sequence[Sequence[str]], leaf: np.ndarray, size: np.ndarray, n_groups: np.ndarray, max_size: int, name: str
) -> CountOfCounts:
    """Add up `n_groups[i]` groups of size `size[i]` in leaf `leaf[i]`; sizes above K count as K, cells may repeat.

    Sizes are clipped, not dropped: dropping would make the number of groups depend on the entities, and with it the
    sensitivity.

    Args:
        leaves: path of every leaf from the root down.
        leaf: positions in `leaves`; shape (cells,), as `size` and `n_groups`.
        size: sizes from 0 up.
        n_groups: how many groups the cell holds.
        max_size: K.
        name: the data set's name.

    Example:
        >>> leaves = [("NY", "A"), ("NY", "B")]
        >>> count_of_counts(leaves, np.array([0, 1]), np.array([1, 9]), np.array([4, 2]), 3, "taxis").counts
        array([[0, 4, 0, 2],
               [0, 4, 0, 0],
               [0, 0, 0, 2]])
    """
    tree = Hierarchy.from_paths(leaves)
    # The hierarchy puts siblings side by side, so its leaves may come in another order than the list.
    row = np.empty(len(leaves), np.int64)
    row[tree.order[tree.leaves]] = np.arange(len(leaves))
    cells = (row[leaf], np.minimum(size, max_size))
    counts = sparse.csr_array((n_groups, cells), shape=(len(leaves), max_size + 1))
    if tree.n_regions * (max_size + 1) * counts.dtype.itemsize > LARGEST_DENSE:
        return CountOfCounts(tree, counts, name)
    return CountOfCounts(tree, counts.toarray(), name)


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
