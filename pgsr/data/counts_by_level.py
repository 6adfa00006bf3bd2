"""The counts of groups by region and size where every level of regions has sizes of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.counts import LARGEST_TOTAL, CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import require_falling
from pgsr.errors import CountError

SIZE_CLASS = "size_class"
"""The column of tables that names classes of sizes, "3" or "7 or more"."""


@dataclass(frozen=True, eq=False)
class CountsByLevel:
    """The counts of groups by region and size, with sizes 0..K[l] in the regions of level l.

    K does not rise from the root down, and the last class of every level is "K[l] or more". Between a region with
    largest size K and its children with largest size k <= K counts add up if

        counts[region, s] = sum over children c of counts[c, s],  s < k,
        sum over s >= k of counts[region, s] = sum over children c of counts[c, k].

    Attributes:
        hierarchy: the regions.
        tables: one array per level, root first; int64 or int32, shape (regions of the level, K[l] + 1).
        max_quantity, private_groups: as in `CountOfCounts`; noise has to be made for them.

    Raises:
        CountError: a table of the wrong shape or kind, counts beyond 2^62, a K that rises from a level to the
            one below it, or a max_quantity below 1.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]])).max_sizes
        (3, 2)
    """

    hierarchy: Hierarchy
    tables: tuple[np.ndarray, ...]
    max_quantity: int = 1
    private_groups: bool = False

    def __post_init__(self) -> None:
        if type(self.max_quantity) is not int or self.max_quantity < 1:
            raise CountError(f"max_quantity={self.max_quantity!r}; give a public whole number from 1 up")
        tree, tables = self.hierarchy, tuple(map(np.asarray, self.tables))
        if len(tables) != tree.n_levels:
            raise CountError(f"{len(tables)} tables for {tree.n_levels} levels; give one table per level")
        for level, table in enumerate(tables):
            here = tree.level(level)
            n = here.stop - here.start
            if table.ndim != 2 or len(table) != n or not table.shape[1]:
                raise CountError(
                    f"the table of level {level} has shape {table.shape}; give a row for each of its {n} regions and a "
                    "column per size"
                )
            if table.dtype.kind not in "iu":
                raise CountError(f"the table of level {level} holds {table.dtype}; give integers")
            if table.dtype == np.uint64 and table.size and int(table.max()) > LARGEST_TOTAL:
                raise CountError(f"the table of level {level} holds {int(table.max()):,}; no count may exceed 2^62")
        sizes = [table.shape[1] - 1 for table in tables]
        require_falling(sizes)
        object.__setattr__(self, "tables", tuple(map(_numbers, tables)))

    @classmethod
    def of(cls, counts: CountOfCounts, max_sizes: Sequence[int]) -> "CountsByLevel":
        """Fold counts to a largest size per level: larger groups go to the last class.

        Example:
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
            >>> [table.tolist() for table in CountsByLevel.of(truth, (3, 2)).tables]
            [[[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]]
        """
        tree = counts.hierarchy
        if len(max_sizes) != tree.n_levels:
            raise CountError(f"{len(max_sizes)} largest sizes for {tree.n_levels} levels; give one per level")
        if min(max_sizes) < 0:
            raise CountError(f"largest size {min(max_sizes):,}; give 0 or more for every level")
        if max(max_sizes) > counts.max_size:
            raise CountError(
                f"largest size {max(max_sizes):,} for counts of sizes 0..{counts.max_size:,}; give at most that"
            )
        rows = (counts.rows(here.start, here.stop) for here in map(tree.level, range(tree.n_levels)))
        tables = tuple(folded(table, k) for table, k in zip(rows, max_sizes, strict=True))
        return cls(tree, tables, counts.max_quantity, counts.private_groups)

    @property
    def max_sizes(self) -> tuple[int, ...]:
        """The largest size of every level, root first."""
        return tuple(table.shape[1] - 1 for table in self.tables)

    @property
    def n_cells(self) -> int:
        return sum(table.size for table in self.tables)

    def missing(self) -> tuple[np.ndarray, ...]:
        """Compute what regions hold less than their children, per level with children; 0 where counts add up.

        Shape (regions of the level, K of the level below + 1) each.
        """
        tree, found = self.hierarchy, []
        for level in range(tree.n_levels - 1):
            here, below = tree.level(level), self.tables[level + 1]
            starts = tree.first_child[here] - here.stop
            of_children = np.add.reduceat(below, starts, axis=0, dtype=np.int64)
            found.append(of_children - folded(self.tables[level], below.shape[1] - 1))
        return tuple(found)


def _numbers(table: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(table, np.int32 if table.dtype == np.int32 else np.int64)


def folded(table: np.ndarray, k: int) -> np.ndarray:
    """Put all sizes of k or more into class k; shape (regions, k + 1).

    Example:
        >>> folded(np.array([[5, 4, 3, 2]]), 1)
        array([[5, 9]])
    """
    out = table[:, : k + 1].astype(np.int64)
    out[:, k] += table[:, k + 1 :].sum(axis=1, dtype=np.int64)
    return out


def folded_real(table: np.ndarray, k: int) -> np.ndarray:
    """Put all sizes of k or more into class k, in real numbers; shape (regions, k + 1).

    Example:
        >>> folded_real(np.array([[5.0, 4.0, 0.5, 2.0]]), 1)
        array([[5. , 6.5]])
    """
    return np.append(table[:, :k], table[:, k:].sum(axis=1, keepdims=True), axis=1)


def class_names(max_size: int) -> Iterator[str]:
    """Name the classes of sizes of a level.

    Example:
        >>> list(class_names(2))
        ['0', '1', '2 or more']
    """
    yield from map(str, range(max_size))
    yield f"{max_size} or more"
