"""The counts of groups by region and size: the truth, or a finished release."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import is_sparse, require_kind, require_places, whole_number
from pgsr.data.hierarchy import Hierarchy, RegionNames
from pgsr.data.long_tables import tables_frame
from pgsr.data.sizes import Sizes, fold
from pgsr.data.views import View
from pgsr.errors import CountError
from pgsr.figures.numbers_table import NumbersTable, ShowsNumbers, numbers_table
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


class CountOfCounts(ShowsNumbers):
    """The counts `counts[r, s]` of groups of size s = 0..K in region r: non-negative integers that add up.

    Args:
        hierarchy: the regions.
        counts: shape (regions, K + 1), checked to add up, or (leaves, K + 1), summed upwards; in the order of
            `hierarchy.paths`. NumPy or SciPy sparse; a sparse table stays sparse. K must be public: never derive it
            from the data. Where levels have sizes of their own (`Sizes`), one table per level, root first, int64 or
            int32.
        name: the data set's name; research noise is keyed by it.
        max_quantity: public bound on what one entity adds to its group's size; sensitivities grow with it.
        private_groups: whether the table of groups is private, so that regions' totals must be measured with noise.

    Attributes:
        about: what a reader understood of the table that it read, for people; "" where nobody read one.

    Raises:
        CountError: wrong shape, or no whole numbers from 0 up that add up; it names the first region and size.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> truth.counts
        array([[0, 3, 1, 2],
               [0, 2, 0, 1],
               [0, 1, 1, 1]])
        >>> CountOfCounts(tree, ([[0, 3, 1, 2]], [[0, 3], [0, 3]])).max_sizes  # in the states "1 or more"
        (3, 1)
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
        max_quantity = whole_number("max_quantity", max_quantity, 1, CountError)
        require_kind(hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        table: Any = _checked_tables(hierarchy, counts) if _are_tables(counts) else _checked_table(hierarchy, counts)
        for part in table if isinstance(table, tuple) else (table,):
            if isinstance(part, np.ndarray):
                part.flags.writeable = False
        self.hierarchy = hierarchy
        self.name = name
        self.max_quantity = max_quantity
        self.private_groups = private_groups
        self.about = ""
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

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of every level."""
        return Sizes.of(self.hierarchy, self._table)

    @property
    def max_sizes(self) -> tuple[int, ...]:
        """The largest size of every level, root first."""
        return self.sizes.max_sizes

    @property
    def max_size(self) -> int:
        """The largest size, K, of the root."""
        return self.sizes.max_sizes[0]

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self._table)

    @property
    def stored(self) -> Any:
        """The counts as they are kept: a dense or sparse table, or one table per level, root first."""
        return self._table

    @property
    def counts(self) -> np.ndarray:
        """The counts as a dense array; shape (regions, K + 1), int64.

        Raises:
            CountError: levels have sizes of their own; read `tables`.
        """
        if isinstance(self._table, np.ndarray):
            return self._table
        if isinstance(self._table, tuple):
            if not self.sizes.equal:
                raise CountError("levels have sizes of their own here, so counts are no array; read the tables")
            return np.concatenate(self._table).astype(np.int64)
        rows, cells = self._table.shape
        memory.require(rows * cells * 8, f"a dense table of {rows:,} regions x {cells:,} sizes")
        return self._table.toarray()

    @property
    def values(self) -> np.ndarray | tuple[np.ndarray, ...]:
        """The counts as `Estimate` takes them: an array, or one table per level where these differ in sizes."""
        return self.counts if self.sizes.equal else self.tables

    @property
    def tables(self) -> tuple[np.ndarray, ...]:
        """The counts, one dense table per level, root first; shape (regions of the level, K + 1) each."""
        if isinstance(self._table, tuple):
            return self._table
        tree, table = self.hierarchy, self.counts
        return tuple(table[tree.level(level)] for level in range(tree.n_levels))

    def folded(self, max_sizes: Sequence[int]) -> "CountOfCounts":
        """Give every level a largest size of its own: groups that are larger go to its last class.

        Args:
            max_sizes: of every level, root first; they do not rise, and are no larger than those of these counts.

        Raises:
            CountError: they are not so.

        Example:
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> truth = CountOfCounts(tree, [[0, 2, 0, 1], [0, 1, 1, 1]])
            >>> [table.tolist() for table in truth.folded((3, 2)).tables]
            [[[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]]
        """
        tree, sizes = self.hierarchy, Sizes(self.hierarchy, tuple(max_sizes)).max_sizes
        for level, (k, largest) in enumerate(zip(sizes, self.max_sizes, strict=True)):
            if k > largest:
                raise CountError(
                    f"largest size {k:,} of level {level} for counts of sizes 0..{largest:,}; give at most that"
                )
        here = map(tree.level, range(tree.n_levels))
        tables = (self.rows(regions.start, regions.stop) for regions in here)
        folded = tuple(fold(table, k) for table, k in zip(tables, sizes, strict=True))
        about: dict[str, Any] = {"max_quantity": self.max_quantity, "private_groups": self.private_groups}
        return CountOfCounts(tree, folded, self.name, **about)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Give the dense counts of regions start..stop-1, so that large sparse tables can be read in blocks.

        Where levels have sizes of their own, the regions are of one level.
        """
        level_of = self.hierarchy.level_of
        if isinstance(self._table, tuple) and level_of[start] < level_of[stop - 1]:
            return self.counts[start:stop]
        block = self.sizes.block(self._table, start, stop)
        return block if isinstance(block, np.ndarray) else block.toarray()

    def row(self, region: int) -> np.ndarray:
        """Give the dense counts of one region; shape (K + 1,)."""
        return self.rows(region, region + 1)[0]

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """The counts in long form, one row per region and size, as `pgsr.tables.long.to_long` explains.

        Example:
            >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA"], [-1, 0]), [[0, 2, 1]])
            >>> truth.to_frame()[["region_id", "group_size", "n_groups"]].tail(3)
              region_id  group_size  n_groups
            3     US/GA           0         0
            4     US/GA           1         2
            5     US/GA           2         1
        """
        return tables_frame(self.sizes, self.rows, level_names)

    def plot(self, region: int | Sequence[str] | None = None) -> "Figure":
        """Draw the counts of one region by size, by its path or index; the root's if None."""
        place = self.hierarchy.find(region)
        curve = Curve("counts", self.row(place), COUNTED)
        return sizes_figure(" / ".join(self.hierarchy.paths[place]), [curve], cumulative=False)

    @cached_property
    def totals(self) -> np.ndarray:
        """The number of groups of every region; shape (regions,)."""
        tables = self._table if isinstance(self._table, tuple) else (self._table,)
        found = np.concatenate([np.asarray(table.sum(axis=1, dtype=np.int64)).ravel() for table in tables])
        found.flags.writeable = False
        return found

    def __repr__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        about = f"; {self.about}" if self.about else ""
        sizes = f"sizes {self.sizes.text}"
        return f"CountOfCounts({name}{self.hierarchy!r}, {sizes}, {int(self.totals[0]):,} groups{about})"

    def numbers_table(self) -> NumbersTable:
        """Give the counts of the first regions by size."""
        facts = {
            "read": self.about or None,
            "regions by level, root first": self.hierarchy.levels_text,
            "groups": int(self.totals[0]),
            "kept as": "a sparse table" if self.is_sparse else None,
        }
        title = f"groups of {self.name}" if self.name else "groups"
        return numbers_table(title, RegionNames(self.hierarchy), range(self.max_size + 1), self.row, facts)


def _are_tables(counts: object) -> TypeGuard[Sequence[Any]]:
    """Say whether counts are one table per level, and not one table of all regions."""
    return isinstance(counts, list | tuple) and len(counts) > 0 and all(np.ndim(table) == 2 for table in counts)


def _checked_table(hierarchy: Hierarchy, counts: object) -> Any:
    """Check a table of all regions, or make it of one of the leaves."""
    table: Any = (_checked_sparse if is_sparse(counts) else _checked_dense)(hierarchy, counts)
    n_missing = hierarchy.n_regions - table.shape[0]
    _check_total(table[hierarchy.n_inner - n_missing :])
    if n_missing:
        return hierarchy.sum_up_sparse(table) if is_sparse(table) else hierarchy.sum_up(table)
    _check_adds_up(hierarchy, table)
    return table


def _checked_tables(hierarchy: Hierarchy, counts: Sequence[Any]) -> np.ndarray | tuple[np.ndarray, ...]:
    """Check one table per level; one of all regions where all have the same sizes and are of int64.

    Tables are not copied otherwise, and stay int32, since those of a nation are large.
    """
    if len(counts) != hierarchy.n_levels:
        raise CountError(f"{len(counts)} tables for {hierarchy.n_levels} levels; give one table per level")
    tables = tuple(_checked_level(hierarchy, level, table) for level, table in enumerate(counts))
    sizes = Sizes(hierarchy, tuple(table.shape[1] - 1 for table in tables))
    _check_total(tables[-1])
    for level in range(hierarchy.n_levels - 1):
        below, first = sizes.children_sums(tables, level), hierarchy.level(level).start
        off = below - sizes.folded(tables[level], level, View.COUNTS)
        if off.any():
            region, size = np.unravel_index(int(np.flatnonzero(off)[0]), off.shape)
            have, wanted = int((below - off)[region, size]), int(below[region, size])
            more = " or more" if size == sizes.max_sizes[level + 1] < sizes.max_sizes[level] else ""
            raise _not_adding_up(hierarchy, first + int(region), f"{size}{more}", have, wanted)
    wide = all(table.dtype == np.int64 for table in tables)
    return np.concatenate(tables) if sizes.equal and wide else tables


def _checked_level(hierarchy: Hierarchy, level: int, counts: Any) -> np.ndarray:
    """Check the table of a level; int64 or int32, a view of what was given if it was so."""
    array, here = _as_array(counts), hierarchy.level(level)
    n = here.stop - here.start
    if array.ndim != 2 or len(array) != n or not array.shape[1]:
        raise CountError(
            f"the table of level {level} has shape {array.shape}; give a row for each of its {n} regions and a column "
            "per size"
        )
    if array.dtype not in (np.int64, np.int32) or array.min(initial=0) < 0 or array.max(initial=0) > LARGEST_TOTAL:
        width = array.shape[1]
        place = lambda i: _cell(hierarchy, here.start + i // width, i % width)  # noqa: E731
        return _checked_integers(array.ravel(), place).reshape(array.shape)
    return np.ascontiguousarray(array).view()


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
    require_places(counts)
    try:
        array = np.asarray(counts)
    except ValueError:
        raise CountError("the rows of counts differ in length; give every region the sizes 0..K") from None
    if np.ma.is_masked(counts):
        raise CountError("counts hold masked entries; fill missing counts with 0 if that is what they mean")
    if array.dtype == object and any(isinstance(value, int) and abs(value) > LARGEST_TOTAL for value in array.flat):
        raise CountError("counts hold whole numbers beyond 64 bits; no count may be larger than 2^62")
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
    if not signed:
        refuse(values < 0, "negative; counts start at 0")
    refuse(values > LARGEST_TOTAL, "larger than 2^62; no count may be")
    if signed and values.dtype.kind in "if":
        refuse(values < -LARGEST_TOTAL, "smaller than -2^62; no count may be")
    if values.dtype.kind == "f":
        refuse(np.abs(values) >= 2.0**53, "too large for a float to hold exactly; give integers")
    return values.astype(np.int64)


def _cell(hierarchy: Hierarchy, region: int, size: int | str) -> str:
    return f"count of region {' / '.join(hierarchy.paths[region])}, size {size}"


def _check_total(leaf_counts: Any) -> None:
    if float(leaf_counts.sum(dtype=np.float64)) >= LARGEST_TOTAL:
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
                raise _not_adding_up(hierarchy, region, size, have, have + int(off[size]))


def _not_adding_up(hierarchy: Hierarchy, region: int, size: int | str, have: int, wanted: int) -> CountError:
    return CountError(
        f"{_cell(hierarchy, region, size)} is {have}, but its children add up to {wanted}; give leaf rows only, or "
        "mend the sums"
    )


def _row(table: Any, region: int) -> np.ndarray:
    return table[region] if isinstance(table, np.ndarray) else table[[region]].toarray().ravel()
