"""What was measured besides the cells of the hierarchy: totals over all sizes, and regions of a second hierarchy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.data.region_ids import region_id
from pgsr.errors import TableError
from pgsr.problems.sums import leaves_below
from pgsr.reconciling.frames import ColumnFrame
from pgsr.reconciling.measured import MeasuredCells, values_of, weights_of
from pgsr.reconciling.regions import regions_of_levels
from pgsr.reconciling.sizes import sizes_of


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of cells that rows measure.

    Attributes:
        matrix: which cells each adds up, region by region and size by size; shape (sums, regions * sizes).
        value, weight: of each; shape (sums,).
        names: of each, for sentences.
    """

    matrix: Any
    value: np.ndarray
    weight: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, eq=False)
class Other:
    """A table of a second hierarchy over the same lowest regions.

    Attributes:
        frame: the table.
        matrix: the cells that every row adds up; shape (rows, regions * sizes).
        value, weight: of every row, weight 0 where it has no value; shape (rows,).
        names: of the rows' regions.
    """

    frame: ColumnFrame
    matrix: Any
    value: np.ndarray
    weight: np.ndarray
    names: tuple[str, ...]


def totals_over_sizes(found: MeasuredCells) -> Sums:
    """Find the rows that have a region and no size: sums over its sizes."""
    n_sizes = found.shape[1]
    rows = np.flatnonzero((found.row_cell < 0) & (found.row_weight > 0))
    regions = found.row_region[rows]
    columns = (regions[:, None] * n_sizes + np.arange(n_sizes)).ravel()
    pointers = np.arange(len(rows) + 1) * n_sizes
    matrix = scipy.sparse.csr_array(
        (np.ones(len(columns), np.int64), columns, pointers), shape=(len(rows), found.value.size)
    )
    names = tuple(f"total({region_id(found.tree.paths[region])})" for region in regions)
    return Sums(matrix, found.row_value[rows], found.row_weight[rows], names)


def other_table(
    found: MeasuredCells,
    table: Any,
    hierarchy: Sequence[str],
    value: str,
    size: str | None,
    weights: Any,
    variance: Any,
) -> Other:
    """Read a table of a second hierarchy, whose lowest regions have the last names of lowest regions of the first.

    Raises:
        TableError: a row is malformed, or names a lowest region or a size that the first table does not have.
    """
    frame = ColumnFrame.of(table)
    regions = regions_of_levels(frame, list(hierarchy))
    here = _leaf_by_name(found)
    tree = regions.tree
    leaf = np.array([here.get(path[-1], -1) for path in tree.paths[tree.leaves]], np.int64)
    if (leaf < 0).any():
        lost = int(np.argmax(leaf < 0)) + tree.leaves.start
        row = np.flatnonzero(regions.of_row == lost)  # a lowest region is there because a row names it
        raise TableError(
            f"row {row[0]} of the other table, {region_id(tree.paths[lost])!r}, is no lowest region "
            "of the first table by its last name; name every lowest region as there, each once"
        )
    n_sizes = found.shape[1]
    sizes, row_size = sizes_of(frame, size)
    place = {name: i for i, name in enumerate(found.sizes)}
    strange = [name for name in sizes if name not in place]
    if strange:
        raise TableError(f"the other table has the size {strange[0]!r}, which the first has not; give both the same")
    column = np.array([*(place[name] for name in sizes), -1])[row_size]
    below = scipy.sparse.csr_array(leaves_below(tree, 1))[regions.of_row].tocoo()
    row, cell = below.row, leaf[below.col] * n_sizes
    over_all = column[row] < 0
    rows = np.concatenate([row[~over_all], np.repeat(row[over_all], n_sizes)])
    cells = np.concatenate(
        [cell[~over_all] + column[row[~over_all]], (cell[over_all, None] + np.arange(n_sizes)).ravel()]
    )
    ones = np.ones(len(rows), np.int64)
    matrix = scipy.sparse.csr_array((ones, (rows, cells)), shape=(frame.n_rows, found.value.size))
    values = values_of(frame, value)
    names = tuple(region_id(tree.paths[region]) for region in regions.of_row)
    return Other(frame, matrix, values, weights_of(frame, weights, variance, values), names)


def joined_sums(totals: Sums, others: Sequence[Other]) -> Sums | None:
    """Put all measured sums below each other; None where there are none."""
    parts = [totals]
    for other in others:
        rows = np.flatnonzero(other.weight > 0)
        names = tuple(other.names[row] for row in rows)
        parts.append(Sums(other.matrix[rows], other.value[rows], other.weight[rows], names))
    if not any(map(len, parts)):
        return None
    return Sums(
        scipy.sparse.csr_array(scipy.sparse.vstack([part.matrix for part in parts])),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.weight for part in parts]),
        tuple(name for part in parts for name in part.names),
    )


def _leaf_by_name(found: MeasuredCells) -> dict[str, int]:
    """Find the lowest regions by their last names; -1 where several have the same."""
    tree, made = found.tree, {}
    for region in range(tree.leaves.start, tree.leaves.stop):
        name = tree.paths[region][-1]
        made[name] = -1 if name in made else region
    return made
