"""Many tables in one, told apart by columns: their cells stand beside each other, as sizes do."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pgsr.data.columns import ColumnFrame
from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import region_id
from pgsr.errors import ArgumentError, TableError
from pgsr.reconciling.regions import TableRegions
from pgsr.reconciling.sizes import SizeNames, sizes_of


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Tables:
    """The tables that are told apart by columns; the cells of one stand together, in the order of its sizes.

    Attributes:
        by: the columns that tell them apart.
        keys: what every table has in these.
        start: where the cells of every table begin among those of a region, and end; shape (tables + 1,).
        sizes: the size of every cell of a region; all "" where tables have no sizes.
    """

    by: tuple[str, ...]
    keys: tuple[tuple[int | str, ...], ...]
    start: np.ndarray
    sizes: SizeNames

    @property
    def slices(self) -> list[slice]:
        """The cells of every table among those of a region."""
        return [slice(*ends) for ends in pairwise(self.start.tolist())]

    @property
    def index(self) -> dict[str, list[Any]]:
        """The keys of all cells of a region, a list per column."""
        n_cells = np.diff(self.start).tolist()
        rows = [key for key, n in zip(self.keys, n_cells, strict=True) for _ in range(n)]
        return dict(zip(self.by, map(list, zip(*rows, strict=True)), strict=True))

    def name(self, table: int) -> str:
        """Name a table as sentences do."""
        return ", ".join(f"{column} {key!r}" for column, key in zip(self.by, self.keys[table], strict=True))

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The names of all cells of a region: the table's, and the size."""
        tables = np.repeat(np.arange(len(self.keys)), np.diff(self.start)).tolist()
        ends = ("" if size == "" else f", size {size!r}" for size in self.sizes)
        return tuple(self.name(table) + end for table, end in zip(tables, ends, strict=True))


def tables_of(
    frame: ColumnFrame, by: Sequence[str], sizes: SizeNames, row_size: np.ndarray, regions: TableRegions
) -> tuple[Tables, np.ndarray]:
    """Find the tables, and the place of every row's cell among those of its region.

    Raises:
        TableError: a row is of no table, or tables have different lowest regions.
    """
    names, codes = zip(*(sizes_of(frame, column, "leave the row out") for column in by), strict=True)
    shape = *map(len, names), len(sizes)
    cells, place = np.unique(np.ravel_multi_index((*codes, row_size), shape), return_inverse=True)
    tables, start, of_cell = np.unique(cells // len(sizes), return_index=True, return_inverse=True)
    keys = zip(*np.unravel_index(tables, shape[:-1]), strict=True)
    found = Tables(
        tuple(by),
        tuple(tuple(labels[int(i)] for labels, i in zip(names, key, strict=True)) for key in keys),
        np.append(start, len(cells)),
        tuple(sizes[int(i)] for i in cells % len(sizes)),  # pyright: ignore[reportArgumentType]
    )
    _require_one_tree(found, regions, of_cell[place])
    return found, place


def _require_one_tree(tables: Tables, regions: TableRegions, row_table: np.ndarray) -> None:
    """Raise `TableError` unless every table has rows of all lowest regions."""
    leaves = regions.tree.leaves
    n, leaf = leaves.stop - leaves.start, regions.of_row - leaves.start
    there = np.unique(row_table[leaf >= 0] * n + leaf[leaf >= 0])
    counts = np.bincount(there // n, minlength=len(tables.keys))
    if (counts < n).any():
        table = int(np.argmin(counts))
        missing = np.setdiff1d(np.arange(n), there[there // n == table] % n)[0]
        region = region_id(regions.tree.paths[leaves.start + missing])
        raise TableError(
            f"the table of {tables.name(table)} has no row of {region!r}, which others have; add it, with an empty "
            "value if nobody knows one, or reconcile that table alone"
        )


def require_apart(by: Sequence[str], others: Sequence[str | None], tied: dict[str, bool]) -> None:
    """Refuse columns that say something else already, and what ties the cells of one table to each other."""
    for column in by:
        if column in others:
            raise ArgumentError(f"by= names {column!r}, which says something else of the rows; leave it out of one")
    for words, given in tied.items():
        if given:
            raise ArgumentError(f"by= takes tables whose sizes do not meet, and {words}; reconcile every table alone")
