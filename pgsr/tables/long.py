"""The long table of counts, one row per region and size, written to and read from Parquet or CSV."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from pgsr.checks import require_kind
from pgsr.data.counts import LARGEST_DENSE, CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import SIZE_CLASS
from pgsr.data.long_tables import Reading, class_of_cells, tables_cells
from pgsr.data.region_ids import path_of_id, region_id
from pgsr.data.views import View
from pgsr.errors import HierarchyError, TableError
from pgsr.machine import memory
from pgsr.tables.frames import columns_of

WHAT = "the long table"


def to_long(
    table: CountOfCounts | Estimate,
    *,
    zeros: bool = False,
    level_names: Sequence[str] | None = None,
    beside: Mapping[str, Sequence[np.ndarray]] | None = None,
    classes: bool | None = None,
) -> pa.Table:
    """Make a table of one row per region and size.

    Columns: `region_id`, `level` (0 for the root), `level_name`, `is_leaf`, one column of names per level (empty below
    the region), `group_size`, and `n_groups`. Groups are also in the rows of every region above, so sum over one level
    only: `is_leaf` marks the rows in which every group occurs once. Where levels have sizes of their own, `size_class`
    stands before `n_groups`: "3", or "7 or more" for the last class of a level. The truth is private in this form too.

    Args:
        table: finished or true counts, or an estimate, whose counts may be fractional.
        zeros: keep rows whose count is 0. Without them size 0 of every region stays, and the largest size of the root,
            or where levels have sizes of their own of the first region of every level.
        level_names: columns of names, root first; those of the hierarchy if None.
        beside: further columns of numbers, one table per level each, in the shapes of the counts. Then rows that would
            hold 0 in all these columns, too, are left out, and no others.
        classes: whether there is a column `size_class`; if None, where levels have sizes of their own.

    Raises:
        ArgumentError: the names of levels are too few or many, repeated, or those of other columns.
        HierarchyError: with classes of sizes, a region stands above a copy of itself.
        MemoryNeededError: the rows do not fit.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> counts = CountOfCounts(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> to_long(counts).to_pandas()[["region_id", "is_leaf", "size_class", "n_groups"]].tail(4)
          region_id  is_leaf size_class  n_groups
        6     US/GA     True  2 or more         1
        7     US/MI     True          0         0
        8     US/MI     True          1         1
        9     US/MI     True  2 or more         2
    """
    require_kind(table, (CountOfCounts, Estimate), "the table", "give CountOfCounts or Estimate")
    tree, sizes = table.hierarchy, table.sizes
    columns: dict[str, Reading] = {"n_groups": table.rows}
    classes = not sizes.equal if classes is None else classes
    if classes and tree.padded.any():
        copied = region_id(tree.paths[int(np.argmax(tree.padded))])
        raise HierarchyError(f"region {copied!r} stands above a copy of itself; give every branch the same depth")
    for name_of_column, tables in (beside or {}).items():
        columns[name_of_column] = partial(sizes.block, tables)
    region, size, *values = tables_cells(sizes, list(columns.values()), zeros, every_level=classes)
    place = pa.array(region)
    found = {key: column.take(place) for key, column in region_columns(tree, level_names).items()}
    found["group_size"] = size
    if classes:
        found[SIZE_CLASS] = pa.array(class_of_cells(sizes, region, size), pa.string())
    return pa.table(found | dict(zip(columns, values, strict=True)))


def region_columns(tree: Hierarchy, level_names: Sequence[str] | None) -> dict[str, pa.Array]:
    """Make `Hierarchy.region_columns` as Arrow arrays."""
    columns = tree.region_columns(level_names)
    types = {"level": pa.int64(), "is_leaf": pa.bool_()}
    return {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}


def read_long(table: Any) -> Estimate:
    """Read the estimate of counts that `to_long` wrote; `.counts()` is the `CountOfCounts` if it is one.

    Regions and sizes are those that occur; absent rows count 0. A table with a column `size_class` has sizes per level:
    the largest size of a level is its last class. Only `region_id`, `group_size` and `n_groups` are read: the other
    columns follow from the ids.

    Args:
        table: a frame of `to_long` of any kind, or a file of it.

    Raises:
        TableError: a missing column, or a row without size from 0 up or finite count, or given twice.
        HierarchyError: an id is none, or the regions form no tree; with sizes per level, branches differ in depth.
        CountError: sizes rise from a level to the one below it.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> read_long(to_long(CountOfCounts(tree, [[0, 2], [1, 0]]))).counts().counts
        array([[1, 2],
               [0, 2],
               [1, 0]])
    """
    frame = columns_of(table, WHAT, ["region_id"], ["group_size", "n_groups"], [SIZE_CLASS])
    if "number" in frame.kinds("region_id"):
        raise TableError(f"ids of regions of {WHAT} are numbers; read them as text, else '01001' becomes 1001")
    region, ids = frame.codes("region_id")
    size, count = frame.numbers("group_size"), frame.numbers("n_groups")
    bad = (region < 0) | ~(size >= 0) | (size != np.floor(size)) | ~np.isfinite(count)
    if bad.any() or not frame.n_rows:
        raise TableError(
            f"{np.count_nonzero(bad):,} rows of {WHAT} have no region, size from 0 up or finite count; mend or add rows"
        )
    if count.dtype.kind == "f" and (count == np.floor(count)).all() and np.abs(count).max() < 2**53:
        count = count.astype(np.int64)
    size, by_level = size.astype(np.int64), SIZE_CLASS in frame.columns
    if len(np.unique(region * (int(size.max()) + 1) + size)) < len(size):
        raise TableError(f"a region and size have two rows in {WHAT}; give each once")
    tree = Hierarchy.from_paths(list(map(path_of_id, ids)), pad_ragged=not by_level)
    return Estimate(tree, View.COUNTS, (_tables if by_level else _values)(tree, region, size, count))


def _values(tree: Hierarchy, region: np.ndarray, size: np.ndarray, count: np.ndarray) -> Any:
    """Put the rows, whose regions are numbered in their own order, into one table."""
    order, n_sizes = _order_of_rows(tree), int(size.max()) + 1
    shape, dense = (int(region.max()) + 1, n_sizes), 8 * tree.n_regions * n_sizes
    memory.require(min(dense, 16 * len(size) + 32 * n_sizes), f"a table of {tree.n_regions:,} regions")
    table = sparse.csr_array(sparse.csr_array((count, (region, size)), shape=shape)[order])
    return table if dense > LARGEST_DENSE else table.toarray()


def _tables(tree: Hierarchy, region: np.ndarray, size: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, ...]:
    """Put the rows into one table per level."""
    position = np.empty(int(region.max()) + 1, np.int64)
    position[_order_of_rows(tree)] = np.arange(tree.n_regions)
    region, tables = position[region], []
    for level in range(tree.n_levels):
        here, rows = tree.level(level), tree.level_of[region] == level
        shape = here.stop - here.start, int(size[rows].max()) + 1
        memory.require(16 * shape[0] * shape[1], f"the counts of level {level}")
        values = np.zeros(shape, count.dtype)
        values[region[rows] - here.start, size[rows]] = count[rows]
        tables.append(values)
    return tuple(tables)


def _order_of_rows(tree: Hierarchy) -> np.ndarray:
    """Give the place of every region among those that have rows; shape (regions,).

    Raises:
        TableError: a region has none.
    """
    if (tree.order < 0).any():
        missing = int(np.argmax(tree.order < 0))
        raise TableError(
            f"{WHAT} has no rows of {' / '.join(tree.paths[missing])!r}; add them, a row of size 0 will do"
        )
    return tree.order
