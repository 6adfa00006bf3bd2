"""The cells that rows of a table measure: their values and weights, several of one cell combined, and known ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pgsr.checks import whole_number
from pgsr.data.columns import ColumnFrame, exact_floats
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import region_id
from pgsr.errors import ArgumentError, ProblemError, TableError
from pgsr.reconciling.regions import (
    SizeNames,
    TableRegions,
    Tables,
    regions_of_levels,
    regions_of_parents,
    sizes_of,
    tables_of,
)

SUMS = "make sizes the last column of hierarchy= and leave size= out, since sums over sizes are not taken"


@dataclass(frozen=True, eq=False)
@read_only_arrays
class MeasuredCells:
    """The cells of a table, regions by sizes, and what its rows say of them.

    Attributes:
        tree: the regions.
        sizes: the names of sizes, or whole numbers, in their order; one where the table has no sizes. Of many tables,
            the sizes of all, by names of cells.
        row_cell: the cell of every row, region * sizes + size; shape (rows,).
        row_value: the value of every row, NaN where there is none; shape (rows,).
        row_weight: the weight of every row, 0 where it has no value; shape (rows,).
        value: the mean of each cell's values by their weights, NaN without any; shape (regions, sizes).
        weight: the sum of each cell's weights; shape (regions, sizes).
        lower, upper: numbers that cells are known to be between, or None if nothing is known; shape (regions, sizes).
        tables: which sizes are those of which table; None of one table.
    """

    tree: Hierarchy
    sizes: SizeNames
    row_cell: np.ndarray
    row_value: np.ndarray
    row_weight: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    tables: Tables | None

    @property
    def starts(self) -> np.ndarray:
        """The first size of every table."""
        return np.zeros(1, np.int64) if self.tables is None else self.tables.start[:-1]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of regions and of sizes."""
        return self.value.shape  # pyright: ignore[reportReturnType]

    def of_sizes(self, kept: np.ndarray) -> "MeasuredCells":
        """Leave sizes out that no row measures; kept, shape (sizes,), says which stay."""
        sizes = tuple(size for size, stays in zip(self.sizes, kept, strict=True) if stays)
        region, size = np.divmod(self.row_cell, len(self.sizes))
        cell = np.where(kept[size], region * len(sizes) + np.cumsum(kept)[size] - 1, -1)
        of_cells = {"value": self.value[:, kept], "weight": self.weight[:, kept]}
        return replace(self, sizes=sizes, row_cell=cell, **of_cells)

    def cell_name(self, cell: int) -> str:
        """Name a cell as sentences do."""
        region, size = divmod(cell, len(self.sizes))
        where = repr(region_id(self.tree.paths[region]))
        if self.tables is not None:
            return f"{where} at {self.sizes[size]}"
        return where if len(self.sizes) == 1 else f"{where} at size {self.sizes[size]!r}"

    def first_row(self, cell: int) -> str:
        """Name a cell and the first row that is about it, if one is."""
        rows = np.flatnonzero(self.row_cell == cell)
        return f"row {rows[0]} ({self.cell_name(cell)})" if len(rows) else self.cell_name(cell)

    def in_multiples(self, base: int, restricted: bool) -> "MeasuredCells":
        """State the table in units of a base, so that whole numbers there are multiples here: controlled rounding.

        Args:
            base: such as 5.
            restricted: whether every measured cell is one of the two multiples next to its value, and a multiple stays.

        Raises:
            ArgumentError: the base is no whole number from 2 on.
            ProblemError: a fixed cell is no multiple.
        """
        base = whole_number("base", base, 2, ArgumentError)
        value, row_value = self.value / base, self.row_value / base
        low = np.full(self.shape, -np.inf) if self.lower is None else self.lower / base
        high = np.full(self.shape, np.inf) if self.upper is None else self.upper / base
        wrong = np.isfinite(low) & (low != np.floor(low))
        if wrong.any():
            name = self.first_row(int(np.argmax(wrong.ravel())))
            raise ProblemError(f"{name} is fixed at no multiple of {base}; leave it out of fixed=")
        if restricted:
            there = (self.weight > 0) & ~np.isfinite(low)
            low, high = np.where(there, np.floor(value), low), np.where(there, np.ceil(value), high)
        weights = {"weight": self.weight * base**2, "row_weight": self.row_weight * base**2}
        return replace(self, value=value, row_value=row_value, lower=low, upper=high, **weights)

    def evened(self, integer: bool) -> "MeasuredCells":
        """Scale the weights of every table by a power of 2, so that the largest are alike; it moves no answer.

        Raises:
            TableError: a table has no value, or the real numbers of one are too small beside those of another.
        """
        if self.tables is None:
            return self
        largest = np.maximum.reduceat(self.weight.max(axis=0), self.starts)
        if not largest.all():
            name = self.tables.name(int(np.argmin(largest)))
            raise TableError(f"no row of {name} has a value, so there is nothing to be near to; give values")
        most = np.fmax.reduceat(np.fmax.reduce(np.abs(self.value), axis=0), self.starts)
        if not integer and (low := np.where(most > 0, most, np.inf)).min() < 1e-6 * most.max():
            small, large = self.tables.name(int(np.argmin(low))), self.tables.name(int(np.argmax(most)))
            raise TableError(
                f"values reach {low.min():g} in {small} and {most.max():g} in {large}, and real numbers of both lose "
                "digits in one call; scale them, or reconcile them apart"
            )
        scale = np.repeat(2.0 ** -np.frexp(largest)[1], np.diff(self.tables.start))
        row_weight = self.row_weight * scale[self.row_cell % len(self.sizes)]
        return replace(self, weight=self.weight * scale, row_weight=row_weight)


def measured(
    frame: ColumnFrame,
    hierarchy: Sequence[str] | Mapping[str, str],
    value: str,
    size: str | None,
    by: Sequence[str],
    weights: Any,
    variance: Any,
    fixed: str | None,
    nonnegative: bool,
) -> MeasuredCells:
    """Find the cells of a table and what is measured of them; arguments are those of `reconcile`.

    Raises:
        TableError: the table is empty, or a row is malformed; the message names the row.
    """
    if not frame.n_rows:
        raise TableError("the table has no rows; give one with a row per cell")
    if isinstance(hierarchy, Mapping):
        ((ids, parents),) = hierarchy.items()
        regions = regions_of_parents(frame, ids, parents)
    else:
        regions = regions_of_levels(frame, [hierarchy] if isinstance(hierarchy, str) else list(hierarchy))
    sizes, row_size = sizes_of(frame, size, SUMS)
    tables = None
    if by:
        tables, row_size, row_table = tables_of(frame, by, sizes, row_size)
        _require_one_tree(tables, row_table, regions)
        sizes = tables.cell_names
    n_sizes = len(sizes)
    row_cell = regions.of_row * n_sizes + row_size
    row_value = values_of(frame, value)
    row_weight = weights_of(frame, weights, variance, row_value)
    kept = row_weight > 0
    cell, w = row_cell[kept], row_weight[kept]
    n_cells = regions.tree.n_regions * n_sizes
    weight = np.bincount(cell, w, n_cells).astype(float)  # of integers where there is no row
    if len(cell) == np.count_nonzero(weight):  # no cell has two values, and a mean would round what is there
        mean = np.full(n_cells, np.nan)
        mean[cell] = row_value[kept]
    else:
        with np.errstate(invalid="ignore"):
            mean = np.bincount(cell, w * row_value[kept], n_cells) / weight
    shape = regions.tree.n_regions, n_sizes
    of_cells = mean.reshape(shape), weight.reshape(shape)
    found = MeasuredCells(regions.tree, sizes, row_cell, row_value, row_weight, *of_cells, None, None, tables)
    return found if fixed is None else _with_fixed(found, frame, fixed, value, nonnegative)


def _require_one_tree(tables: Tables, row_table: np.ndarray, regions: TableRegions) -> None:
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


def values_of(frame: ColumnFrame, value: str) -> np.ndarray:
    """Read the values, NaN where one is missing."""
    values = exact_floats(frame.numbers(value), value)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise TableError(f"row {row} has an infinite {value!r}; correct it, or leave it empty")
    most = float(np.nanmax(np.abs(values), initial=0.0))
    if most and not 1e-100 <= most <= 1e100:  # squares of others are no numbers of 64 bits
        row = int(np.nanargmax(np.abs(values)))
        raise TableError(f"row {row} has the largest {value!r}, {most:g}; scale all to between 1e-100 and 1e100")
    return values


def weights_of(frame: ColumnFrame, weights: Any, variance: Any, values: np.ndarray) -> np.ndarray:
    """Find the weight of every row; 0 where its value is missing."""
    if weights is not None and variance is not None:
        raise TableError("weights and variance are given; give one of them, weights are 1 / variance")
    given, name = (variance, "variance") if weights is None else (weights, "weight")
    if given is None:
        return np.where(np.isnan(values), 0.0, 1.0)
    numbers = frame.row_numbers(given, name)
    there = ~np.isnan(values)
    bad = there & ~(np.isfinite(numbers) & (numbers >= 0 if weights is not None else numbers > 0))
    if bad.any():
        row = int(np.argmax(bad))
        remedy = "from 0 on" if weights is not None else "above 0"
        raise TableError(
            f"row {row} has the {name} {numbers[row]:g}; give a finite number {remedy}, and hold a number that is "
            "known exactly by fixed="
        )
    w = numbers if weights is not None else 1.0 / np.where(there, numbers, 1.0)
    if np.isinf(w).any():
        raise TableError(f"row {int(np.argmax(np.isinf(w)))} has a variance too near 0; hold its value by fixed=")
    return np.where(there, w, 0.0)


def _with_fixed(found: MeasuredCells, frame: ColumnFrame, fixed: str, value: str, nonnegative: bool) -> MeasuredCells:
    """Hold the cells of rows whose column `fixed` is true at their values."""
    rows = np.flatnonzero(frame.truths(fixed))
    values = found.row_value[rows]
    bad = (values != np.floor(values)) | (nonnegative & (values < 0))
    if bad.any():
        row = rows[int(np.argmax(bad))]
        raise TableError(
            f"row {row} is fixed and {value!r} is {found.row_value[row]:g}; a fixed cell has a whole "
            f"value{', not negative' * nonnegative}"
        )
    n_regions, n_sizes = found.shape
    low, high = np.full(n_regions * n_sizes, -np.inf), np.full(n_regions * n_sizes, np.inf)
    cells = found.row_cell[rows]
    np.maximum.at(low, cells, values)
    np.minimum.at(high, cells, values)
    if (low > high).any():
        cell = int(np.argmax(low > high))
        raise TableError(f"{found.first_row(cell)} is fixed at two values, {high[cell]:g} and {low[cell]:g}; give one")
    low, high = low.reshape(found.shape), high.reshape(found.shape)
    return replace(found, lower=low, upper=high)
