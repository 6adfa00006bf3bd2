"""The counts of groups by region and size: the truth, or a finished release."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import is_sparse, require_kind
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.long_form import long_cells, long_frame
from pgsr.errors import CountError
from pgsr.figures.html import facts_table
from pgsr.figures.region_figure import COUNTED, Curve, sizes_figure
from pgsr.machine import memory

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse
    from matplotlib.figure import Figure

LARGEST_TOTAL = 2**62
"""Most groups a hierarchy may hold, so that no sum of counts can wrap in 64 bits."""


LARGEST_DENSE = 500_000_000
"""Bytes up to which readers hand out tables of counts as dense arrays; larger ones stay sparse."""


class CountOfCounts:
    """The counts `counts[r, s]` of groups of size s = 0..K in region r: non-negative integers that add up.

    Args:
        hierarchy: the regions.
        counts: shape (regions, K + 1), checked to add up, or (leaves, K + 1), summed upwards; in the order of
            `hierarchy.paths`. NumPy or SciPy sparse; a sparse table stays sparse (K = 100,000 over 3,196 regions is
            2.6 GB dense). K, the largest size, must be public: never derive it from the data.
        name: the data set's name; research noise is keyed by it.
        max_quantity: public bound on what one entity adds to its group's size; sensitivities grow with it.
        private_groups: whether the table of groups is private, so that regions' totals must be measured with noise.

    Raises:
        CountError: wrong shape, or counts that are negative, fractional, not finite, not numbers, too large, or do
            not add up; the message names the first region and size.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> truth.counts
        array([[0, 3, 1, 2],
               [0, 2, 0, 1],
               [0, 1, 1, 1]])
        >>> truth.totals
        array([6, 3, 3])
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        counts: object,
        name: str = "",
        *,
        max_quantity: int = 1,
        private_groups: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise CountError(f"the name is {name!r}, not text; it keys the noise, write {str(name)!r}")
        if isinstance(max_quantity, bool) or not isinstance(max_quantity, int) or max_quantity < 1:
            raise CountError(f"max_quantity={max_quantity!r}; give a public whole number from 1 up")
        require_kind(hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        check = _checked_sparse if is_sparse(counts) else _checked_dense
        table: Any = check(hierarchy, counts)
        n_missing = hierarchy.n_regions - table.shape[0]
        _check_total(table[hierarchy.n_inner - n_missing :])
        if n_missing:
            table = hierarchy.sum_up_sparse(table) if is_sparse(table) else hierarchy.sum_up(table)
        else:
            _check_adds_up(hierarchy, table)
        if isinstance(table, np.ndarray):
            table.flags.writeable = False
        self.hierarchy = hierarchy
        self.name = name
        self.max_quantity = max_quantity
        self.private_groups = private_groups
        self._table = table

    @classmethod
    def from_listed(cls, hierarchy: Hierarchy, counts: object, name: str = "") -> "CountOfCounts":
        """Make counts from rows in the order of the caller's leaves, as in `Hierarchy.from_paths(leaves)`.

        A hierarchy keeps siblings together, so its rows may be in another order than the caller's list.

        Example:
            >>> tree = Hierarchy.from_paths([("US", "GA", "Fulton"), ("US", "MI", "Wayne"), ("US", "GA", "Cobb")])
            >>> CountOfCounts.from_listed(tree, [[1, 0], [2, 0], [3, 0]]).counts[:, 0]
            array([6, 4, 2, 1, 3, 2])

        Raises:
            CountError: there is not one row per listed leaf.
        """
        require_kind(hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        rows = np.atleast_1d(_as_array(counts))
        order = hierarchy.order[hierarchy.leaves]
        if len(rows) != len(order) or sorted(order) != list(range(len(order))):
            raise CountError(f"{len(rows)} rows for {len(order)} leaves; list leaves alone, and give one row for each")
        return cls(hierarchy, rows[order], name)

    @property
    def max_size(self) -> int:
        """The largest size, K."""
        return self._table.shape[1] - 1

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self._table)

    @property
    def counts(self) -> np.ndarray:
        """The counts as a dense array; shape (regions, K + 1), int64."""
        if isinstance(self._table, np.ndarray):
            return self._table
        rows, cells = self._table.shape
        memory.require(rows * cells * 8, f"a dense table of {rows:,} regions x {cells:,} sizes")
        return self._table.toarray()

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Give the dense counts of regions start..stop-1, so that large sparse tables can be read in blocks."""
        block = self._table[start:stop]
        return block if isinstance(block, np.ndarray) else block.toarray()

    def row(self, region: int) -> np.ndarray:
        """Give the dense counts of one region; shape (K + 1,)."""
        return self.rows(region, region + 1)[0]

    def to_frame(self, *, zeros: bool = False, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The counts in long form, one row per region and size, as `pgsr.tables.to_long` explains.

        Example:
            >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA"], [-1, 0]), [[0, 2, 1]])
            >>> truth.to_frame()[["region_id", "group_size", "n_groups"]].tail(3)
              region_id  group_size  n_groups
            3     US/GA           0         0
            4     US/GA           1         2
            5     US/GA           2         1
        """
        tree = self.hierarchy
        cells = long_cells(self.row, tree.listed, self.max_size + 1, zeros)
        return long_frame(tree.region_columns(level_names), cells, "n_groups")

    def plot(self, region: int | Sequence[str] | None = None, *, cumulative: bool = False) -> "Figure":
        """Draw the counts of one region by size, by its path or index; the root's if None."""
        place = self.hierarchy.find(region)
        values = self.row(place).cumsum() if cumulative else self.row(place)
        return sizes_figure(" / ".join(self.hierarchy.paths[place]), [Curve("counts", values, COUNTED)], cumulative)

    @cached_property
    def totals(self) -> np.ndarray:
        """The number of groups of every region; shape (regions,)."""
        return np.asarray(self._table.sum(axis=1)).ravel()

    def __repr__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        return f"CountOfCounts({name}{self.hierarchy!r}, sizes 0..{self.max_size:,}, {int(self.totals[0]):,} groups)"

    def _repr_html_(self) -> str:
        return facts_table(
            "CountOfCounts",
            {
                "name": self.name or None,
                "regions by level, root first": self.hierarchy.levels_text,
                "sizes": f"0..{self.max_size:,}",
                "groups": int(self.totals[0]),
                "kept as": "a sparse table" if self.is_sparse else "a dense table",
            },
        )


def _checked_dense(hierarchy: Hierarchy, counts: object) -> np.ndarray:
    array = _as_array(counts)
    _check_shape(hierarchy, array.shape)
    first = hierarchy.n_regions - array.shape[0]
    return _checked_integers(
        array.ravel(), lambda i: _cell(hierarchy, first + i // array.shape[1], i % array.shape[1])
    ).reshape(array.shape)


def _checked_sparse(hierarchy: Hierarchy, counts: Any) -> "scipy.sparse.csr_array":
    _check_kind(counts.dtype)
    if counts.ndim == 2:
        memory.require(32 * counts.shape[1], f"a row of {counts.shape[1]:,} sizes")
    # Wide integers first: entries of one cell are added up below, and 300 groups in uint8 would wrap.
    narrow = counts.dtype.kind in "iu" and counts.dtype.itemsize < 8
    table: Any = scipy.sparse.csr_array(counts.astype(np.int64) if narrow else counts, copy=True)
    _check_shape(hierarchy, table.shape)
    table.sum_duplicates()
    first = hierarchy.n_regions - table.shape[0]

    def place(i: int) -> str:
        return _cell(hierarchy, first + int(np.searchsorted(table.indptr, i, "right")) - 1, int(table.indices[i]))

    table.data = _checked_integers(table.data, place)
    return table


def checked_counts(values: object, what: str) -> np.ndarray:
    """Convert to int64, or raise a `CountError` that names the first entry that is no integer below 2^62 in size."""
    array = _as_array(values)
    return _checked_integers(
        array.ravel(), lambda i: f"{what}[{', '.join(map(str, np.unravel_index(i, array.shape)))}]", signed=True
    ).reshape(array.shape)


def _as_array(counts: object) -> np.ndarray:
    try:
        array = np.asarray(counts)
    except ValueError:
        raise CountError("the rows of counts differ in length; give every region the sizes 0..K") from None
    if np.ma.is_masked(counts):
        raise CountError("counts hold masked entries; fill missing counts with 0 if that is what they mean")
    _check_kind(array.dtype)
    return array


def _check_kind(dtype: np.dtype) -> None:
    if dtype.kind == "b":
        raise CountError("counts are booleans; give the number of groups of each size")
    if dtype.kind not in "iuf":
        raise CountError(f"counts have dtype {dtype}, not integers; convert the column to int64")


def _check_shape(hierarchy: Hierarchy, shape: tuple[int, ...]) -> None:
    n_leaves = hierarchy.n_regions - hierarchy.n_inner
    if len(shape) != 2:
        raise CountError(f"counts have {len(shape)} dimensions; give a table of regions x sizes")
    if shape[1] < 2:
        raise CountError(f"counts have {shape[1]} size columns; sizes run 0..K with K at least 1, size 0 included")
    if shape[0] not in (hierarchy.n_regions, n_leaves):
        raise CountError(
            f"counts have {shape[0]} rows; give one per region ({hierarchy.n_regions}) or one per leaf ({n_leaves})"
        )


def _checked_integers(values: np.ndarray, place: Callable[[int], str], signed: bool = False) -> np.ndarray:
    def refuse(bad: np.ndarray, fault: str) -> None:
        if bad.any():
            first = int(np.argmax(bad))
            raise CountError(f"{place(first)} is {values[first]}: {fault}")

    if values.dtype.kind == "f":
        if values.dtype.itemsize < 8:
            values = values.astype(np.float64)  # 2^53 overflows half precision
        refuse(~np.isfinite(values), "not a finite number; fill missing counts with 0 if that is what they mean")
        refuse(values != np.rint(values), "not a whole number; counts are integers")
        refuse(np.abs(values) > 2.0**53, "too large for a float to hold exactly; give integers")
    if not signed:
        refuse(values < 0, "negative; counts start at 0")
    refuse(values > LARGEST_TOTAL, "larger than 2^62; no count may be")
    if signed and values.dtype.kind == "i":
        refuse(values < -LARGEST_TOTAL, "smaller than -2^62; no count may be")
    return values.astype(np.int64)


def _cell(hierarchy: Hierarchy, region: int, size: int) -> str:
    return f"count of region {' / '.join(hierarchy.paths[region])}, size {size}"


def _check_total(leaf_counts: Any) -> None:
    if float(leaf_counts.astype(np.float64).sum()) >= LARGEST_TOTAL:
        raise CountError("the counts of all leaves add up to more than 2^62; no release is that large")


def _check_adds_up(hierarchy: Hierarchy, table: Any) -> None:
    for level in range(hierarchy.n_levels - 1):
        here = hierarchy.level(level)
        for region in range(here.start, here.stop):
            below = hierarchy.children(region)
            off = np.asarray(table[below.start : below.stop].sum(axis=0)).ravel() - _row(table, region)
            if off.any():
                size = int(np.flatnonzero(off)[0])
                have = int(_row(table, region)[size])
                raise CountError(
                    f"{_cell(hierarchy, region, size)} is {have}, but its children add up to {have + int(off[size])}; "
                    "give leaf rows only, or mend the sums"
                )


def _row(table: Any, region: int) -> np.ndarray:
    return table[region] if isinstance(table, np.ndarray) else table[[region]].toarray().ravel()
