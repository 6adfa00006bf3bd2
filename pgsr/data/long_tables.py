"""The long form of tables whose levels may have sizes of their own: one row per region and size."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.long_form import SIZE_CLASS, long_frame
from pgsr.data.sizes import Sizes
from pgsr.machine import memory
from pgsr.machine.blocks import row_blocks

if TYPE_CHECKING:
    import pandas as pd

Reading = Callable[[int, int], np.ndarray]
"""Gives the dense values of regions start..stop - 1 of a level; shape (regions, K + 1)."""


def tables_cells(sizes: Sizes, columns: Sequence[Reading], zeros: bool, every_level: bool) -> tuple[np.ndarray, ...]:
    """List the cells of tables: the region and the size of every row, then its value in every column.

    Rows that are 0 in all columns are left out unless `zeros`, but for two kinds, so that the rows say which regions
    and sizes exist: size 0 of every region, and the largest size of the root, or of the first region of every level
    (`every_level`). A region that padding repeats has one set of rows,
    that of a leaf.

    Raises:
        MemoryNeededError: the rows do not fit.
    """
    tree = sizes.hierarchy
    if zeros:
        n_cells = int(np.diff(sizes.first_cell)[tree.listed].sum())
        memory.require(16 * (2 + len(columns)) * n_cells, f"{n_cells:,} rows")
    found, first = [], True
    for level, k in enumerate(sizes.max_sizes):
        first = first or every_level
        for rows in row_blocks(tree.level(level), k + 1):
            regions = np.arange(rows.start, rows.stop)[~tree.padded[rows]]
            if not len(regions):
                continue
            values = [read(rows.start, rows.stop)[regions - rows.start] for read in columns]
            if zeros:
                sizes_of_all = np.tile(np.arange(k + 1), len(regions))
                found.append((np.repeat(regions, k + 1), sizes_of_all, *(part.ravel() for part in values)))
                continue
            keep = np.logical_or.reduce([part != 0 for part in values])
            keep[:, 0] = True
            keep[0, -1] |= first
            first = False
            place, size = np.nonzero(keep)
            found.append((regions[place], size, *(part[place, size] for part in values)))
    region, size, *values = map(np.concatenate, zip(*found, strict=True))
    return region, size, *(part.astype(np.result_type(part, np.int64), copy=False) for part in values)


def tables_frame(
    sizes: Sizes,
    counts: Reading,
    level_names: Sequence[str] | None,
) -> "pd.DataFrame":
    """Make a data frame of the rows of `tables_cells`, no zeros: the region, its size, the class of sizes, the count.

    Classes are named where levels have sizes of their own.
    """
    region, size, values = tables_cells(sizes, [counts], zeros=False, every_level=not sizes.equal)
    frame = long_frame(sizes.hierarchy.region_columns(level_names), (region, size, values), "n_groups", "group_size")
    if not sizes.equal:
        frame.insert(list(frame.columns).index("n_groups"), SIZE_CLASS, class_of_cells(sizes, region, size))
    return frame


def class_of_cells(sizes: Sizes, region: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Name the class of sizes of every row; the regions ascend."""
    levels = range(len(sizes.max_sizes))
    ends = np.searchsorted(region, [sizes.hierarchy.level(level).stop for level in levels])
    parts = zip(levels, np.split(size, ends[:-1]), strict=True)
    return np.concatenate([np.array(sizes.class_names(level), object)[part] for level, part in parts])
