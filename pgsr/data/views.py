"""The three equivalent views of a region's groups, and conversions between them.

With H[s] groups of size s = 0..K and G = sum H:

- counts      H[s];
- cumulative  Hc[s] = sum over t <= s of H[t], non-decreasing, Hc[K] = G;
- ranked      Hg[i] = size of the i-th smallest group, i = 0..G-1, non-decreasing.

Source: Kuo et al. 2018, section 3; Fioretto and Van Hentenryck 2019 call the cumulative view c.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.machine.memory import require


@runtime_checkable
class AnyView(Protocol):
    """The interface of what may be measured of a region: `View`, `Split`, or a view of your own.

    A view makes a region's vector, and knows its length, its parts and how far it changes between neighbouring data
    sets. All else follows: noise, privacy loss, tables of noisy values. What makes estimates reads the first values, as
    many as `ranked_from` says, as cumulative counts of sizes from 0 up, and the others as what the largest groups have
    beyond these sizes, in increasing order. (`View.COUNTS` alone is read as counts.)

    Attributes:
        value: the view in words.
        has_a_cell_per_size: whether vectors have a cell per size, so that no length tells a number of groups.
        mixed: whether sizes below a threshold have cells, and groups beyond it ranks.
    """

    @property
    def value(self) -> str: ...

    @property
    def has_a_cell_per_size(self) -> bool: ...

    @property
    def mixed(self) -> bool: ...

    def on(self, max_size: int) -> "AnyView":
        """Give the view that this is where sizes are 0..max_size."""
        ...

    def possible(self, max_size: int) -> "tuple[AnyView, ...]":
        """List the views that a region with sizes 0..max_size may get."""
        ...

    def ranked_from(self, max_size: int) -> int:
        """Give the size from which on groups are measured rank by rank; max_size + 1 where none are."""
        ...

    def n_values(self, groups: int, max_size: int) -> int:
        """Count the values of a region with this number of groups."""
        ...

    def vector(self, counts: np.ndarray, total: int | None) -> np.ndarray:
        """Make a fresh array of a region's values, int64; see `View.vector`."""
        ...

    def parts(self, values: np.ndarray) -> "Iterator[tuple[View, np.ndarray]]":
        """Yield the values that get their noise together, and the view whose stream it is drawn from."""
        ...

    def cumulative(self, values: np.ndarray, groups: int, max_size: int) -> np.ndarray:
        """Read noisy values of one region, with this number of groups, as noisy cumulative counts; shape (K + 1,)."""
        ...

    def change_by_entity(self, groups: int, quantity: int, moved: bool) -> tuple[int, ...]:
        """List the largest changes of cells, largest first, by an entity in this many groups; see `Sensitivity`.

        Args:
            groups: m, that the entity is in.
            quantity: M, the most that it adds to the size of one of them.
            moved: whether it moves from some groups to others, in place of coming or going.
        """
        ...

    def change_by_group(self, max_size: int, moved: bool, replaced: bool) -> tuple[int, ...]:
        """List the largest changes of cells, largest first, by a group that comes, goes, moves or is replaced."""
        ...


class View(Enum):
    """The kind of vector that is measured of a region. Every view holds the same information.

    COUNTS: H[s], how many groups have size s; shape (K + 1,).
    CUMULATIVE: Hc[s], how many groups have size at most s; shape (K + 1,).
    RANKED: Hg[i], the size of the i-th smallest group; one number per group.

    Example:
        >>> counts = np.array([0, 2, 1])
        >>> cumulative(counts).tolist(), ranked(counts).tolist()
        ([0, 2, 3], [1, 1, 2])
    """

    COUNTS = "counts"
    CUMULATIVE = "cumulative"
    RANKED = "ranked"

    @property
    def sensitivity(self) -> int:
        """The largest L1 change of one region's vector when one entity joins or leaves a group.

        A group moves from size s to s + 1: two cells of the counts change by one, one cell of the other views. This
        needs a cell for size 0 (else a group would vanish and every cumulative cell change).
        Shown by `test_privacy_sensitivity.py::test_every_neighbour_of_small_worlds`.
        """
        return 2 if self is View.COUNTS else 1

    @property
    def has_a_cell_per_size(self) -> bool:
        """Whether the vector has a cell per size, so that no length tells a number of groups."""
        return self is not View.RANKED

    @property
    def mixed(self) -> bool:
        """Whether there are both cells and ranks: never."""
        return False

    def on(self, max_size: int) -> "View":
        """Give the view that this is where sizes are 0..max_size: itself."""
        del max_size
        return self

    def possible(self, max_size: int) -> "tuple[View, ...]":
        """List the views that a region with sizes 0..max_size may get: this one."""
        return (self.on(max_size),)

    def ranked_from(self, max_size: int) -> int:
        """Give the size from which on groups are measured rank by rank; max_size + 1 where none are."""
        return max_size + 1 if self.has_a_cell_per_size else 0

    def n_values(self, groups: int, max_size: int) -> int:
        """Count the values of a region with this number of groups."""
        return max_size + 1 if self.has_a_cell_per_size else groups

    def vector(self, counts: np.ndarray, total: int | None) -> np.ndarray:
        """Make a fresh array of a region's values, int64.

        Args:
            counts: of the region, shape (K + 1,).
            total: its noisy number of groups, or None where the true one is public. With a noisy one cumulative counts
                are measured from above, as numbers of larger groups, and there are as many ranks as it says, empty
                groups first.
        """
        if self is View.COUNTS:
            return counts.astype(np.int64, copy=True)
        if self is View.CUMULATIVE:
            return cumulative(counts) if total is None else int(counts.sum()) - cumulative(counts)
        sizes = ranked(counts)
        if total is None:
            return sizes
        return np.concatenate([np.zeros(max(0, total - len(sizes)), np.int64), sizes[max(0, len(sizes) - total) :]])

    def parts(self, values: np.ndarray) -> "Iterator[tuple[View, np.ndarray]]":
        """Yield the values that get their noise together, and the view whose stream it is drawn from."""
        yield self, values

    def cumulative(self, values: np.ndarray, groups: int, max_size: int) -> np.ndarray:
        """Read noisy values of one region, with this number of groups, as noisy cumulative counts; shape (K + 1,)."""
        if self is View.RANKED:
            return cumulative_of_ranks(values, groups, max_size)
        return cumulative(values) if self is View.COUNTS else values

    def change_by_entity(self, groups: int, quantity: int, moved: bool) -> tuple[int, ...]:
        """List the largest changes of cells by an entity; `pgsr.privacy.sensitivity.sensitivity_of` derives them."""
        if self is View.COUNTS:
            return (2 * groups, groups, groups) if moved else (groups, groups)
        cells, change = (quantity, groups) if self is View.CUMULATIVE else (groups, quantity)
        return (change,) * (2 * cells if moved else cells)

    def change_by_group(self, max_size: int, moved: bool, replaced: bool) -> tuple[int, ...]:
        """List the largest changes of cells by a group, from `pgsr.privacy.sensitivity.sensitivity_of`."""
        if self is View.COUNTS:
            return (1, 1) if moved or replaced else (1,)
        if self is View.CUMULATIVE:
            require(
                16 * max_size, f"the change of {max_size:,} cumulative counts by a group", "lower the largest size K"
            )
            return (1,) * (2 * (max_size + 1) if moved else max_size)
        return (max_size, max_size) if moved else (max_size,)

    def __repr__(self) -> str:
        return f"View.{self.name}"


def cumulative(counts: np.ndarray) -> np.ndarray:
    """Add up over sizes (last axis), size by size; shape kept.

    Example:
        >>> cumulative(np.array([0, 2, 1, 2]))
        array([0, 2, 3, 5])
    """
    return np.cumsum(counts, axis=-1)


def counts_of_cumulative(values: np.ndarray) -> np.ndarray:
    """Take first differences over sizes (last axis); the inverse of `cumulative`.

    Example:
        >>> counts_of_cumulative(np.array([0, 2, 3, 5]))
        array([0, 2, 1, 2])
    """
    return np.diff(values, axis=-1, prepend=values.dtype.type(0))


def cumulative_of_ranks(beyond: np.ndarray, groups: int, largest: int) -> np.ndarray:
    """Read noisy sizes beyond a threshold as noisy numbers of groups that have no more; shape (largest + 1,).

    Groups without a rank have nothing beyond the threshold.

    Example:
        >>> cumulative_of_ranks(np.array([-1, 0, 1, 4]), groups=5, largest=2)
        array([3, 4, 4])
    """
    beyond = np.sort(beyond)
    return groups - len(beyond) + np.searchsorted(beyond, np.arange(largest + 1), side="right")


def ranked(counts: np.ndarray) -> np.ndarray:
    """List the sizes of all groups of one region in increasing order; shape (G,).

    Example:
        >>> ranked(np.array([0, 2, 1, 2]))
        array([1, 1, 2, 3, 3])
    """
    return np.repeat(np.arange(len(counts)), counts)


def counts_of_ranked(sizes: np.ndarray, max_size: int) -> np.ndarray:
    """Count the groups of every size 0..max_size; larger sizes count as max_size. The inverse of `ranked`.

    Example:
        >>> counts_of_ranked(np.array([1, 1, 2, 3, 3]), 3)
        array([0, 2, 1, 2])
    """
    return np.bincount(np.minimum(sizes, max_size), minlength=max_size + 1)
