"""The sizes of every level of a hierarchy, and how the sizes of a region fold into those of its children."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.read_only import read_only_arrays
from pgsr.data.views import View
from pgsr.errors import CountError


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Sizes:
    """The sizes 0..K[l] of the regions of every level l; the last class of a level is "K[l] or more".

    K does not rise from the root down. Between a region with largest size K and its children with largest size k <= K
    values x add up if

        counts:      x[r, s] = sum over children c of x[c, s],  s < k,    sum over s >= k of x[r, s] = sum_c x[c, k];
        cumulative:  x[r, s] = sum over children c of x[c, s],  s < k,    x[r, K] = sum_c x[c, k].

    Values of all regions are *tables*, one per level, of shape (regions of the level, K + 1); or *cells*, the rows of
    all tables one after the other. Where all levels have the same largest size the cells are a matrix, row by row.

    Args:
        hierarchy: the regions.
        max_sizes: K of every level, root first.

    Raises:
        CountError: there is not one largest size per level, one is negative, or one rises from a level to the next.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> sizes = Sizes(tree, (3, 1))
        >>> sizes.n_cells, sizes.first_cell.tolist()
        (8, [0, 4, 6, 8])
        >>> [table.tolist() for table in sizes.tables(np.arange(8))]
        [[[0, 1, 2, 3]], [[4, 5], [6, 7]]]
        >>> sizes.folded(np.array([[5, 4, 3, 2]]), 0, View.COUNTS)
        array([[5, 9]])
    """

    hierarchy: Hierarchy
    max_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = tuple(int(k) for k in self.max_sizes)
        object.__setattr__(self, "max_sizes", sizes)
        if len(sizes) != self.hierarchy.n_levels:
            raise CountError(
                f"{len(sizes)} largest sizes for {self.hierarchy.n_levels} levels; give one per level, root first"
            )
        if min(sizes) < 0:
            raise CountError(f"largest size {min(sizes):,}; give 0 or more for every level")
        require_falling(sizes)

    @classmethod
    def alike(cls, hierarchy: Hierarchy, max_size: int) -> "Sizes":
        """Give all levels the same largest size."""
        return cls(hierarchy, (max_size,) * hierarchy.n_levels)

    @classmethod
    def of(cls, hierarchy: Hierarchy, values: Any) -> "Sizes":
        """Find the sizes of a matrix of all regions, or of one table per level."""
        if isinstance(values, Sequence):
            return cls(hierarchy, tuple(table.shape[1] - 1 for table in values))
        return cls.alike(hierarchy, values.shape[1] - 1)

    @property
    def equal(self) -> bool:
        """Whether all levels have the same largest size."""
        return self.max_sizes[0] == self.max_sizes[-1]

    @property
    def text(self) -> str:
        """The sizes in words: 0..20, or by level, root first, 0..20 / 0..5."""
        shown = self.max_sizes[:1] if self.equal else self.max_sizes
        return " / ".join(f"0..{k:,}" for k in shown)

    @property
    def n_cells(self) -> int:
        return int(self.first_cell[-1])

    @cached_property
    def first_cell(self) -> np.ndarray:
        """The place of every region's size 0 among the cells, and the number of cells; int64, shape (regions + 1,)."""
        widths = np.asarray(self.max_sizes, np.int64)[self.hierarchy.level_of] + 1
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])

    @property
    def last_cell(self) -> np.ndarray:
        """The place of every region's largest size among the cells; int64, shape (regions,)."""
        return self.first_cell[1:] - 1

    @property
    def region_of_cell(self) -> np.ndarray:
        """The region of every cell; shape (cells,)."""
        return np.repeat(np.arange(self.hierarchy.n_regions), np.diff(self.first_cell))

    @property
    def size_of_cell(self) -> np.ndarray:
        """The size that every cell stands for; shape (cells,)."""
        return np.arange(self.n_cells) - self.first_cell[self.region_of_cell]

    def class_names(self, level: int) -> list[str]:
        """Name the classes of sizes of a level.

        Example:
            >>> Sizes(Hierarchy.from_parents(["US", "GA"], [-1, 0]), (3, 2)).class_names(1)
            ['0', '1', '2 or more']
        """
        largest = self.max_sizes[level]
        return [*map(str, range(largest)), f"{largest} or more"]

    def cells_of(self, level: int) -> np.ndarray:
        """Give the places of a level's cells among all cells."""
        here = self.hierarchy.level(level)
        return np.arange(int(self.first_cell[here.start]), int(self.first_cell[here.stop]))

    def tables(self, cells: np.ndarray) -> tuple[np.ndarray, ...]:
        """View cells, or a matrix of equal sizes, as one table per level."""
        tree, cells = self.hierarchy, cells.reshape(-1)
        ends = self.first_cell[tree.level_start]
        parts = zip(ends[:-1].tolist(), ends[1:].tolist(), self.max_sizes, strict=True)
        return tuple(cells[start:stop].reshape(-1, k + 1) for start, stop, k in parts)

    def shaped(self, cells: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        """View cells as the values of problems and estimates: a matrix where sizes are equal, else tables."""
        return cells.reshape(-1, self.max_sizes[0] + 1) if self.equal else self.tables(cells)

    def table(self, cells: np.ndarray, regions: slice) -> np.ndarray:
        """View the cells of some regions of one level as a table.

        Example:
            >>> sizes = Sizes(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), (3, 1))
            >>> sizes.table(np.arange(8), slice(2, 3))
            array([[6, 7]])
        """
        part = cells[self.first_cell[regions.start] : self.first_cell[regions.stop]]
        return part.reshape(regions.stop - regions.start, -1)

    def block(self, values: Any, start: int, stop: int) -> Any:
        """View the values of regions start..stop-1 of an array of all, or of one level of a table per level."""
        if not isinstance(values, Sequence):
            return values[start:stop]
        level = int(self.hierarchy.level_of[start])
        first = self.hierarchy.level(level).start
        return values[level][start - first : stop - first]

    def rows(self, cells: np.ndarray) -> list[np.ndarray]:
        """View cells region by region."""
        return [row for table in self.tables(cells) for row in table]

    def folded(self, table: np.ndarray, level: int, view: View) -> np.ndarray:
        """Give a level's values in the sizes of the level below: classes beyond its largest size become one.

        The result is new, of shape (regions of the level, k + 1); int64 of any integers.
        """
        k = self.max_sizes[level + 1]
        out = table[:, : k + 1].astype(np.result_type(table, np.int64))
        if k < self.max_sizes[level]:
            out[:, k] = table[:, k:].sum(axis=1) if view is View.COUNTS else table[:, -1]
        return out

    def spread(self, prices: np.ndarray, level: int) -> np.ndarray:
        """Give every cell of a level the price of the sum that `folded` puts a count into.

        The adjoint of `folded`: sums of products with `folded(x)` are those of `spread(prices)` with x. Shape (regions
        of the level, K + 1) from (regions of the level, k + 1).
        """
        k, largest = self.max_sizes[level + 1], self.max_sizes[level]
        return prices if k == largest else prices[:, np.minimum(np.arange(largest + 1), k)]

    def children_sums(self, tables: Sequence[np.ndarray], level: int) -> np.ndarray:
        """Add up the values of the level below over the children of every region of a level."""
        return self.hierarchy.sum_below(tables[level + 1], level)


def fold(table: np.ndarray, k: int) -> np.ndarray:
    """Put all sizes of k or more into class k; int64, shape (regions, k + 1).

    Example:
        >>> fold(np.array([[5, 4, 3, 2]]), 1)
        array([[5, 9]])
    """
    out = table[:, : k + 1].astype(np.int64)
    out[:, k] += table[:, k + 1 :].sum(axis=1, dtype=np.int64)
    return out


def require_falling(max_sizes: Sequence[int]) -> None:
    """Raise unless largest sizes do not rise from the root down."""
    for level in range(1, len(max_sizes)):
        if max_sizes[level] > max_sizes[level - 1]:
            raise CountError(
                f"the largest size is {max_sizes[level]:,} at level {level} and {max_sizes[level - 1]:,} at level "
                f"{level - 1} above it; give numbers that do not rise, root first, as 20, 10, 5: sizes may only be "
                "merged from the root down"
            )
