"""The long table of counts with sizes per level, one row per region and class of sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pgsr.data.counts_by_level import SIZE_CLASS, CountsByLevel, class_names
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.errors import HierarchyError, TableError
from pgsr.machine import memory
from pgsr.tables.long import WHAT, order_of_rows, read_rows, region_columns
from pgsr.tables.session import Limits


def to_long_by_level(
    counts: CountsByLevel,
    *,
    level_names: Sequence[str] | None = None,
    beside: Mapping[str, Sequence[np.ndarray]] | None = None,
    zeros: bool = False,
) -> pa.Table:
    """Make a table of one row per region and class of sizes, but for counts of 0 unless `zeros`.

    The columns of `to_long`, and before `n_groups` `size_class`: "3", or "7 or more" for the last class of a level. Add
    up rows of one level only: the same size may be a class of its own on one level, and part of the last on the next.
    Two kinds of rows stay where the count is 0, so that the table says which regions and sizes exist: size 0 of every
    region, and the last class of the first region of every level.

    Args:
        counts: with sizes per level.
        level_names: names of the columns of places, root first; those of the hierarchy if None.
        beside: further columns of numbers, such as ends of intervals: one table per level each, in the shapes of the
            counts. Then rows that would hold 0 in all these columns, too, are left out, and no others.
        zeros: keep all rows.

    Raises:
        ArgumentError: the names of levels are too few or many, repeated, or those of other columns.
        HierarchyError: a region stands above a copy of itself, whose rows would count its groups twice.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> counts = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> to_long_by_level(counts).to_pandas()[["region_id", "size_class", "n_groups"]].tail(3)
          region_id size_class  n_groups
        7     US/MI          0         0
        8     US/MI          1         1
        9     US/MI  2 or more         2
    """
    tree, regions, sizes, classes = counts.hierarchy, [], [], []
    columns = {"n_groups": counts.tables, **(beside or {})}
    values: dict[str, list[np.ndarray]] = {name: [] for name in columns}
    if tree.padded.any():
        region = region_id(tree.paths[int(np.argmax(tree.padded))])
        raise HierarchyError(f"region {region} stands above a copy of itself; give every branch the same depth")
    for level, table in enumerate(counts.tables):
        here = {name: tables[level] for name, tables in columns.items()}
        keep = np.logical_or.reduce([part != 0 for part in here.values()])
        keep[:, 0] = keep[0, -1] = True
        keep |= zeros
        region, size = np.nonzero(keep)
        regions.append(region + tree.level(level).start)
        sizes.append(size)
        for name, part in here.items():
            values[name].append(part[keep].astype(np.int64))
        classes.append(pa.array(list(class_names(table.shape[1] - 1))).take(pa.array(size)))
    described = region_columns(tree, level_names)
    place = pa.array(np.concatenate(regions))
    return pa.table(
        {
            **{name: column.take(place) for name, column in described.items()},
            "group_size": np.concatenate(sizes),
            SIZE_CLASS: pa.chunked_array(classes).combine_chunks(),
            **{name: np.concatenate(parts) for name, parts in values.items()},
        }
    )


def read_long_by_level(table: Any, *, limits: Limits | None = None) -> CountsByLevel:
    """Read what `to_long_by_level` wrote. Absent rows count 0, and the largest size of a level is its last class.

    Args:
        table: anything `source` takes.
        limits: of memory, threads and disk.

    Raises:
        TableError: a missing column, a row without size from 0 up or whole count, or given twice.
        HierarchyError, CountError: the regions form no tree, or sizes rise from a level to the one below it.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> counts = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> read_long_by_level(to_long_by_level(counts)).max_sizes
        (3, 2)
    """
    found = read_rows(table, limits, by_level=True)
    if not found.whole:
        raise TableError(f"counts of {WHAT} are no whole numbers; with sizes per level they have to be")
    tree = Hierarchy.from_paths(found.paths)
    position = np.empty(len(found.paths), np.int64)
    position[order_of_rows(tree)] = np.arange(tree.n_regions)
    region = position[found.region]
    level_of, tables = tree.level_of[region], []
    for level in range(tree.n_levels):
        here, rows = tree.level(level), level_of == level
        shape = here.stop - here.start, int(found.size[rows].max()) + 1
        memory.require(17 * shape[0] * shape[1], f"the counts of level {level}")
        values, times = np.zeros(shape, np.int64), np.zeros(shape, np.int8)
        place = region[rows] - here.start, found.size[rows]
        np.add.at(times, place, 1)
        if times.max(initial=0) > 1:
            raise TableError(f"a region and size have two rows in {WHAT}; give each once")
        values[place] = found.count[rows]
        tables.append(values)
    return CountsByLevel(tree, tuple(tables))
