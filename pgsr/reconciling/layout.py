"""The tree on which the cells of a table are stated as a problem, and the place of every cell there.

A problem has one whole value per cell and one weight per region. A table may have fractions, and other weights and
missing values at every size. Both become a tree of more regions, without a new kind of problem:

- **Chains.** w (x - 2.25)^2 is 3/4 w (x - 2)^2 + 1/4 w (x - 3)^2 and a constant: a fraction is two measurements of one
  number. Two regions, one the only child of the other, hold the same number and have a measurement each.
- **Branches.** Sizes meet in totals alone, so each may be a branch of its own below one region above all: a tree of
  `sizes` times as many regions and one size, whose regions have one weight each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.data.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Layout:
    """The tree of a problem that is made of another tree.

    Attributes:
        tree: the tree of the problem.
        n_columns: the sizes of the problem, 1 where sizes are branches.
        blocks: of every level of the given tree, the first regions of its chain here, from above.
        of: the given tree.
        n_sizes: its sizes.
    """

    tree: Hierarchy
    n_columns: int
    blocks: tuple[tuple[int, ...], ...]
    of: Hierarchy
    n_sizes: int

    @classmethod
    def made(cls, tree: Hierarchy, sizes: Sequence[Any], chains: Sequence[int], branches: bool) -> "Layout":
        """Make the layout with chains of so many regions on every level, sizes as branches or as columns.

        Example:
            >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
            >>> Layout.made(tree, (1, 2), (1, 2), branches=True).tree
            Hierarchy(11 regions, levels 1 / 2 / 4 / 4)
            >>> Layout.made(tree, (1, 2), (1, 2), branches=False).tree
            Hierarchy(5 regions, levels 1 / 2 / 2)
        """
        n_branches = len(sizes) if branches else 1
        parents, starts = ([np.full(1, -1)], [0, 1]) if n_branches > 1 else ([], [0])
        blocks: list[tuple[int, ...]] = []
        for level, length in enumerate(chains):
            here = tree.level(level)
            n = here.stop - here.start
            block = []
            for link in range(length):
                if link:
                    parent = starts[-2] + np.arange(n_branches * n)
                elif level:
                    above = tree.level(level - 1)
                    branch = starts[-2] + (above.stop - above.start) * np.arange(n_branches)
                    parent = (branch[:, None] + tree.parent[here] - above.start).ravel()
                else:
                    parent = np.full(n_branches, 0 if parents else -1)
                block.append(starts[-1])
                parents.append(parent)
                starts.append(starts[-1] + len(parent))
            blocks.append(tuple(block))
        parent = np.concatenate(parents)
        total, n_inner = starts[-1], starts[-2]
        first_child = np.append(
            np.searchsorted(parent[1:], np.arange(n_inner)) + 1, np.full(total - n_inner + 1, total)
        )
        paths = _Paths(tree, tuple(blocks), tuple(starts), tuple(sizes) if n_branches > 1 else ())
        nothing = np.zeros(total, bool)
        made = Hierarchy(paths, parent, first_child, np.array(starts), np.full(total, -1), nothing)  # pyright: ignore
        return cls(made, 1 if branches else len(sizes), tuple(blocks), tree, len(sizes))

    @property
    def branches(self) -> bool:
        """Whether sizes are branches."""
        return self.n_columns < self.n_sizes

    def table(self, links: Sequence[np.ndarray]) -> np.ndarray:
        """Make the table of the problem's regions of one given table per link, regions by sizes, from below.

        A level with chains of one link takes the first table alone.
        """
        made = np.zeros((self.tree.n_regions, self.n_columns), links[0].dtype)
        for level, block in enumerate(self.blocks):
            rows = self.of.level(level)
            for table, start in zip(links, reversed(block), strict=False):
                part = table[rows].T.reshape(-1, 1) if self.branches else table[rows]
                made[start : start + len(part)] = part
        return made

    @property
    def place(self) -> np.ndarray:
        """The place among the problem's cells, row by row, of every given cell, region by region; shape (cells,)."""
        n_cells = self.of.n_regions * self.n_sizes
        numbers = self.table([np.arange(1, n_cells + 1).reshape(-1, self.n_sizes)]).ravel()
        at, found = np.flatnonzero(numbers), np.empty(n_cells, np.int64)
        found[numbers[at] - 1] = at
        return found


@dataclass(frozen=True, eq=False)
class _Paths(Sequence[tuple[str, ...]]):
    """The paths of a layout's regions: that of the given region, its size, and which link of a chain."""

    tree: Hierarchy
    blocks: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    sizes: tuple[Any, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        index = range(len(self))[index]
        if self.sizes and not index:
            return ("every size",)
        level, link, start = max(
            (level, link, start)
            for level, block in enumerate(self.blocks)
            for link, start in enumerate(block)
            if start <= index
        )
        rows = self.tree.level(level)
        size, region = divmod(index - start, rows.stop - rows.start)
        path = self.tree.paths[rows.start + region]
        if self.sizes:
            path = (f"size {self.sizes[size]}", *path)
        return path if link == len(self.blocks[level]) - 1 else (*path, "again")
