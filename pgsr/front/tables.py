"""The counts of a table of one's own: a row per member, a row per group, or a count per region and size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.checks import require_kind, whole_number
from pgsr.comparison.wording import and_list
from pgsr.data.columns import ColumnFrame, column_names
from pgsr.data.counts import LARGEST_DENSE, LARGEST_TOTAL, CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import ABOVE_ALL, notes_of_names
from pgsr.errors import ArgumentError, TableError
from pgsr.machine import memory

LARGEST_REGIONS = 10_000_000
"""Most regions; columns that name more are no columns of regions."""


def read(
    table: Any,
    regions: Sequence[str],
    *,
    max_size: int | Sequence[int],
    group: str | Sequence[str] | None = None,
    size: str | None = None,
    count: str | None = None,
    hierarchy: Hierarchy | None = None,
    name: str = "",
) -> CountOfCounts:
    """Read a table as counts of groups by region and size; the result shows what was understood, `CountOfCounts.about`.

    | rows                        | to give                     |
    |-----------------------------|-----------------------------|
    | a member each               | `group="household"`         |
    | a group each, with its size | `size="members"`            |
    | a region and a size each    | `size="members", count="n"` |

    Rows of one region and size add up, and groups larger than `max_size` count as of that size. Where a row is a
    member, a group disappears with its last one, so numbers of groups are private, and `pgsr.measure` spends a tenth of
    epsilon on them. In the other two forms groups are a public list, as in the papers: one without members is in it.

    Regions and the largest size are taken for public. The rows say which regions there are unless a `hierarchy` does;
    to publish, give it, or use `pgsr release`, which also reads tables that are larger than the memory.

    Args:
        table: a pandas, Polars or Arrow table, anything else that Narwhals reads, a DuckDB relation, a dictionary of
            arrays, or a CSV or Parquet file, by its path or as `pgsr.tables.Csv(...)`. Names in CSV files are text, so
            "01" stays.
        regions: the columns that name the region of a row, from the largest regions down. Where the first has several
            names, the region "(all)" is put above them.
        max_size: K, public; or one per level, root first, which do not rise.
        group: the column that names the group of a member, or several that do together.
        size: the column of sizes, whole numbers from 0 up.
        count: the column of numbers of groups.
        hierarchy: the public regions, with a leaf for every path of names.
        name: of the data set; research noise is keyed by it.

    Raises:
        ArgumentError: an argument is of the wrong kind, or they do not say what a row is.
        TableError: the table or a column is missing or malformed, a row has no region or size, or a region that
            `hierarchy` lacks, or a group lies in several regions. No message quotes rows.
        CountError, MemoryNeededError: the counts are too many, or do not fit.

    Complexity: O(rows) dictionary look-ups and memory, then O(regions x sizes).

    Example:
        >>> homes = {"state": ["GA", "GA", "MI"], "county": ["Cobb", "Bibb", "Wayne"], "members": [2, 5, 1]}
        >>> truth = read(homes, ["state", "county"], size="members", max_size=3)
        >>> truth.hierarchy.paths[:3]
        (('(all)',), ('(all)', 'GA'), ('(all)', 'MI'))
        >>> truth.row(0)
        array([0, 1, 1, 1])
        >>> truth
        CountOfCounts(Hierarchy(6 regions, levels 1 / 2 / 3), sizes 0..3, 3 groups; a row per group, regions by state \
(2) and county (3), sizes by members, 1 above 3)
        >>> counts = {"state": ["GA", "MI"], "members": [1, 2], "n": [5, 6]}
        >>> read(counts, ["state"], size="members", count="n", max_size=2).totals
        array([11,  5,  6])
    """
    columns = column_names("regions", regions)
    groups = () if group is None else column_names("group", [group] if isinstance(group, str) else group)
    _require_form(groups, size, count)
    sizes = tuple(max_size) if isinstance(max_size, Sequence) and not isinstance(max_size, str) else (max_size,)
    largest = max((whole_number("max_size", each, 1, ArgumentError) for each in sizes), default=0)
    frame = _frame(table, [*columns, *groups], [column for column in (size, count) if column is not None])
    tree, leaf = _located(frame, columns, hierarchy)
    if groups:
        leaf, size_of = _sizes_of_groups(frame, groups, leaf)
    else:
        size_of = _whole(frame, size or "")
    n = np.ones(len(leaf), np.int64) if count is None else _whole(frame, count)
    counts = CountOfCounts(
        tree, _leaf_counts(tree, leaf, np.minimum(size_of, largest), n, largest), name, private_groups=bool(groups)
    )
    counts = counts if len(sizes) == 1 else counts.folded(sizes)
    sizes_by = f"groups by {and_list(groups)}" if groups else f"sizes by {size}"
    above = int(n[size_of > largest].sum())
    n_regions = tree.regions_per_level[-len(columns) :]
    counts.about = ", ".join(
        (
            f"a row per {'member' if groups else 'group' if count is None else 'region and size'}",
            f"regions by {and_list([f'{column} ({n:,})' for column, n in zip(columns, n_regions, strict=True)])}",
            sizes_by,
            *([f"numbers by {count}"] if count is not None else []),
            *([f"{above:,} above {largest:,}"] if above else []),
            *(["numbers of groups private"] if groups else []),
            *(note for column in columns for note in notes_of_names(frame.spelled[column])),
        )
    )
    return counts


def _require_form(groups: tuple[str, ...], size: object, count: object) -> None:
    """Refuse arguments that do not say what a row is."""
    for key, value in (("size", size), ("count", count)):
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"{key}={value!r}; give the name of a column")
    if bool(groups) is (size is not None) or (count is not None and size is None):
        raise ArgumentError(
            'say what a row is: group="household" if a member, size="members" if a group, or size="members", '
            'count="n" if a region and a size'
        )


def _frame(table: Any, names: list[str], numbers: list[str]) -> ColumnFrame:
    """Look at a table, or read these columns of a file."""
    if not isinstance(table, str | Path) and type(table).__module__ != "pgsr.tables.source":
        return ColumnFrame.of(table)
    from pgsr.tables.frames import columns_of

    return columns_of(table, "the table", names, numbers, [])


def _named(frame: ColumnFrame, columns: Sequence[str], what: str) -> tuple[np.ndarray, list[list[str]]]:
    """Read columns that name something of every row: codes, shape (rows, columns), and the names by their codes."""
    codes, labels = zip(*(frame.codes(column) for column in columns), strict=True)
    for column, code in zip(columns, codes, strict=True):
        if (code < 0).any():
            raise TableError(f"some rows name no {what} in column {column!r}; fill them in, or leave the rows out")
    return np.stack(codes, axis=1), list(labels)


def _located(frame: ColumnFrame, columns: tuple[str, ...], hierarchy: Hierarchy | None) -> tuple[Hierarchy, np.ndarray]:
    """Find the regions, and the leaf of every row as a place among the leaves."""
    codes, labels = _named(frame, columns, "region")
    if not frame.n_rows:
        raise TableError("the table has no rows; give at least one")
    keys, row = np.unique(codes, axis=0, return_inverse=True)
    if len(keys) > LARGEST_REGIONS:
        raise TableError(f"the columns {', '.join(map(repr, columns))} name more than {LARGEST_REGIONS:,} regions")
    top = (ABOVE_ALL,) if len(np.unique(keys[:, 0])) > 1 else ()
    if hierarchy is not None:
        require_kind(hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...), or leave it out")
        top = hierarchy.paths[0] if hierarchy.n_levels == len(columns) + 1 else ()
    paths = [(*top, *(label[code] for label, code in zip(labels, key, strict=True))) for key in keys.tolist()]
    if hierarchy is None:
        hierarchy = Hierarchy.from_paths(sorted(paths), level_names=("all", *columns) if top else columns)
    place = {path: i for i, path in enumerate(hierarchy.paths[hierarchy.n_inner :])}
    leaf = np.array([place.get(path, -1) for path in paths], np.int64)
    if (leaf < 0).any():
        raise TableError(
            f"some rows are of regions that are no leaves of {hierarchy!r}; give a hierarchy with all regions, or none"
        )
    return hierarchy, leaf[row.ravel()]


def _sizes_of_groups(frame: ColumnFrame, columns: tuple[str, ...], leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the members of every group; the leaf and the size of each, shape (groups,)."""
    codes, _ = _named(frame, columns, "group")
    _, first, group, size = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if (leaf[first][group.ravel()] != leaf).any():
        named = list(columns) if columns[1:] else columns[0]
        raise TableError(
            f"some groups of {named!r} have members in several regions; if their names repeat from region to region, "
            'say so by group=["county", "household"]'
        )
    return leaf[first], size


def _whole(frame: ColumnFrame, column: str) -> np.ndarray:
    """Read a column of whole numbers from 0 up; int64, shape (rows,)."""
    found = frame.numbers(column)
    if not np.isfinite(found).all() or (found < 0).any() or (found != np.floor(found)).any():
        wrong = f"column {column!r} holds text, fractions, numbers below 0 or nothing"
        raise TableError(f"{wrong}; give whole numbers from 0 up, or leave the rows out")
    if (found > LARGEST_TOTAL).any():
        raise TableError(f"column {column!r} holds numbers above {LARGEST_TOTAL:,}; give smaller ones")
    if found.dtype.kind == "f" and (found >= 2**53).any():
        raise TableError(f"column {column!r} holds real numbers from 2^53 up, which may be rounded; read whole numbers")
    return found.astype(np.int64)


def _leaf_counts(tree: Hierarchy, leaf: np.ndarray, size: np.ndarray, n: np.ndarray, largest: int) -> Any:
    """Add up the groups of every leaf and size; sparse where a dense table would be large."""
    if float(n.sum(dtype=float)) > LARGEST_TOTAL:
        raise TableError(f"there are more than {LARGEST_TOTAL:,} groups; give fewer")
    shape = tree.n_regions - tree.n_inner, largest + 1
    dense = 8 * tree.n_regions * (largest + 1)
    memory.require(min(dense, 32 * len(leaf) * tree.n_levels), f"a table of {tree.n_regions:,} regions")
    table = sparse.csr_array((n, (leaf, size)), shape=shape)
    return table if dense > LARGEST_DENSE else table.toarray()
