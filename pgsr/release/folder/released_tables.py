"""Write the tables of a release in one canonical form, and read them back strictly."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from scipy import sparse

from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import path_of_id, region_id
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.machine import memory
from pgsr.noise.measurement import Measurement, Totals, first_cells, measured_regions, view_of
from pgsr.release.folder.artefact import REGIONS, require_same
from pgsr.release.folder.columns import counts_schema, measurement_schema
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.parquet_pages import without_numbers
from pgsr.release.terms.excess import counts_by_size, with_sizes_below
from pgsr.release.terms.kinds import MeasuredView
from pgsr.release.terms.plan import Plan
from pgsr.tables.long import SIZE_CLASS, read_long, region_columns, to_long

Found = TypeVar("Found")

_BLOCK_ROWS, _ROW_BYTES = 1 << 20, 100


@dataclass(frozen=True, eq=False)
class Ends:
    """The ends of the intervals of released counts, which belong to them; int64.

    Attributes:
        lower, upper: of all cells, the rows of all regions one after another (`Sizes`); shape (cells,).
    """

    lower: np.ndarray
    upper: np.ndarray


def counts_table(counts: CountOfCounts, plan: Plan, secure: bool, ends: Ends | None) -> pa.Table:
    """The table of released counts, a row per region and size; see `pgsr.tables.long.to_long`.

    The plan says whether rows of 0 are left out. With the ends of intervals, those that would hold 0 in all three
    columns are, and no others that hold 0.

    Args:
        counts: released, by excess over `Terms.min_size`, and so are the ends.
        plan, secure: of the release.
        ends: of the intervals, or None.
    """
    beside, least = {}, plan.terms.min_size
    if ends is not None:
        sides = {name: counts.sizes.tables(side) for name, side in vars(ends).items()}
        beside = {name: [with_sizes_below(table, least) for table in side] for name, side in sides.items()}
    by_size, classes = counts_by_size(counts, least), plan.terms.max_sizes is not None
    table = to_long(by_size, level_names=plan.names, beside=beside, zeros=plan.zeros, classes=classes)
    return table.cast(counts_schema(plan, secure))


def _of_whole_files(read: Callable[..., Found]) -> Callable[..., Found]:
    """Make what reads a Parquet file say of one that is cut off or damaged what it is, and what to do."""

    @wraps(read)
    def said(path: Path, *about: Any) -> Found:
        try:
            return read(path, *about)
        except (pa.ArrowException, EOFError, OSError) as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            raise ReleaseError(f"{path.name} is no whole Parquet file ({error}); get the folder anew") from None

    return said


@_of_whole_files
def read_counts(path: Path, tree: Hierarchy, plan: Plan, secure: bool) -> Estimate:
    """Read a table of `counts_table` from its Parquet file, by excess and in the order of `tree`.

    The numbers themselves are not judged here, but for those of sizes below `Terms.min_size`.

    Raises:
        ReleaseError, TableError: other columns, facts, regions or sizes than there should be, or groups at sizes that
            none has.
    """
    terms, expected = plan.terms, counts_schema(plan, secure)
    _require_schema(path, pq.read_schema(path), expected)
    n_rows, most = pq.read_metadata(path).num_rows, sum(level.regions * (level.max_size + 1) for level in plan.levels)
    if n_rows > most:
        raise ReleaseError(f"{path.name} has {n_rows:,} rows; its regions and sizes have {most:,} at most")
    memory.require(_ROW_BYTES * n_rows, path.name)
    listed = [name for name in ("region_id", "group_size", "n_groups", SIZE_CLASS) if name in expected.names]
    found = read_long(pq.read_table(path, columns=listed))
    if set(found.hierarchy.paths) != set(tree.paths):
        raise ReleaseError(f"{path.name} has other regions than {REGIONS}")
    sizes = Sizes(tree, tuple(level.max_size for level in plan.levels))
    if found.sizes.max_sizes != sizes.max_sizes:
        raise ReleaseError(f"{path.name} has sizes {found.sizes.text}, the manifest {sizes.text}")
    if terms.max_sizes is not None and found.hierarchy.paths != tree.paths:
        raise ReleaseError(f"{path.name} has the regions of {REGIONS} in another order")
    if not sizes.equal:
        return Estimate(tree, View.COUNTS, tuple(_by_excess(path, table, terms.min_size) for table in found.tables))
    place = [found.hierarchy.index(region) for region in tree.paths]
    return Estimate(tree, View.COUNTS, _by_excess(path, found.values[place], terms.min_size))


def _by_excess(path: Path, table: Any, least: int) -> Any:
    """Take off the columns of sizes below the least one; shape (regions, K + 1), dense or sparse.

    Raises:
        ReleaseError: there are groups of these sizes.
    """
    if abs(table[:, :least]).sum():
        raise ReleaseError(f"{path.name} has groups with fewer than {least:,} members, which no group has")
    return table[:, least:] if least else table


def read_ends(path: Path, tree: Hierarchy, plan: Plan) -> Ends:
    """Read the columns `lower` and `upper` of a table that `read_counts` accepts, by excess; other cells have 0.

    Raises:
        ReleaseError: a row lacks an end.
    """
    table = pq.read_table(path, columns=["region_id", "group_size", "lower", "upper"])
    if table["lower"].null_count or table["upper"].null_count:
        raise ReleaseError(f"{path.name} has rows without lower or upper")
    listed = pa.array([region_id(tree.real_paths[place]) for place in tree.listed])
    place = pc.call_function("index_in", [table["region_id"]], pc.SetLookupOptions(listed)).to_numpy()
    memory.require(16 * plan.n_cells, "the intervals")
    # Where the cells of a region begin if those of all regions stand one after another.
    n_sizes = np.array([level.max_excess + 1 for level in plan.levels])[tree.level_of]
    excess = table["group_size"].to_numpy() - plan.terms.min_size
    cell = (np.cumsum(n_sizes) - n_sizes)[tree.listed[place]] + excess
    lower, upper = np.zeros((2, plan.n_cells), np.int64)
    for name, side in (("lower", lower), ("upper", upper)):
        side[cell[excess >= 0]] = table[name].to_numpy()[excess >= 0]
    return Ends(lower, upper)


def csv_bytes(table: pa.Table) -> bytes:
    """Write a table as CSV in UTF-8, in the only form that a release has."""
    text = io.BytesIO()
    pa_csv.write_csv(table, text)
    return text.getvalue()


def write_measurement(file: IO[bytes], measurement: Measurement, plan: Plan) -> None:
    """Write the noisy values of every measured region: of every size 0..K, or of every rank where sizes are ranked."""
    rows = _Rows(measurement.hierarchy, measurement.totals, plan, measurement.secure)
    with pq.ParquetWriter(file, rows.schema, compression="zstd") as writer:
        for regions, part in rows.blocks():
            whole = [measurement.row(region) for region in regions.tolist()]
            values = whole[0][part] if len(whole) == 1 else np.concatenate(whole)
            writer.write_table(pa.table(rows.columns(regions, part, values), schema=rows.schema))


@_of_whole_files
def read_measurement(path: Path, tree: Hierarchy, totals: np.ndarray, plan: Plan, secure: bool) -> np.ndarray:
    """Read the values that `write_measurement` wrote, in the form of `Measurement.cells`.

    Raises:
        ReleaseError: anything but the values differs from what should be there.
        MemoryNeededError: the values do not fit.
    """
    terms, rows = plan.terms, _Rows(tree, totals, plan, secure)
    with pq.ParquetFile(path) as file:
        _require_schema(path, file.schema_arrow, rows.schema)
        wanted = int(rows.lengths[rows.measured].sum())
        if file.metadata.num_rows != wanted:
            raise ReleaseError(
                f"{path.name} has {file.metadata.num_rows:,} rows; {len(rows.measured):,} measured regions and their "
                f"sizes, at most {terms.min_size:,}..{terms.largest:,}, need {wanted:,}"
            )
        memory.require(8 * int(rows.lengths.sum()), "the measurement")
        found, start = np.empty(wanted, np.int64), 0
        for group, (regions, part) in enumerate(rows.blocks()):
            table = file.read_row_group(group)
            noisy = table.columns[-1].combine_chunks()
            if rows.ragged:  # of the two columns of values one is empty
                noisy = pc.call_function("coalesce", [noisy, table.columns[-3].combine_chunks()])
            if noisy.null_count:
                raise ReleaseError(f"{path.name} has rows without a value")
            values = noisy.to_numpy()
            expected = rows.columns(regions, part, values)
            if any(not have.combine_chunks().equals(w) for have, w in zip(table.columns, expected, strict=True)):
                raise ReleaseError(
                    f"the regions, sizes or ranks of {path.name} are not those of {REGIONS}, in its order"
                )
            found[start : start + len(values)] = values
            start += len(values)
    return rows.with_unmeasured(found)


def regions_text(tree: Hierarchy, totals: np.ndarray, plan: Plan) -> str:
    """Write the text of regions.csv: the regions, parents first, with numbers of groups where these are public."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    names = plan.names
    lines.writerow(["region_id", "parent_id", "level", "level_name", "is_leaf", *names, "groups"])
    for region, path in _listed(tree):
        leaf = bool(region >= tree.n_inner or tree.padded[region])
        total = str(int(totals[region])) if region < len(totals) else ""
        place = [*path, *[""] * (tree.n_levels - len(path))]
        above = region_id(path[:-1]) if len(path) > 1 else ""
        lines.writerow([region_id(path), above, len(path) - 1, names[len(path) - 1], str(leaf).lower(), *place, total])
    return text.getvalue()


def read_regions(path: Path, plan: Plan) -> tuple[Hierarchy, np.ndarray]:
    """Read the tree and its public totals, shape (regions,), or (1,) where only the root's is public.

    Raises:
        ReleaseError, HierarchyError: the file does not hold what `regions_text` writes.
    """
    public = plan.terms.totals
    text = path.read_bytes().decode("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    listed = [(path_of_id(row[0]), row[-1]) for row in rows[1:]]
    tree = Hierarchy.from_paths([names for names, _ in listed], pad_ragged=True)
    known = [total for _, total in listed if total]
    if not all(total.isdecimal() and len(total) < 20 for total in known):
        raise ReleaseError(f"{path.name} has totals that are no whole numbers from 0 up")
    if len(known) != (1 if public is Totals.ROOT else len(listed)):
        whose = "the root's total alone" if public is Totals.ROOT else "every region's total"
        raise ReleaseError(f"{path.name} has {len(known):,} totals; {whose} is public")
    if public is Totals.ROOT:
        totals = np.array([int(known[0])], np.int64)
    else:
        totals = np.array([int(listed[place][1]) for place in tree.order], np.int64)
    require_same(path, regions_text(tree, totals, plan).encode())
    return tree.with_level_names(plan.names), totals


def dense(estimate: Estimate) -> np.ndarray:
    """The counts as an array; shape (regions, K + 1)."""
    table = estimate.as_counts
    if not sparse.issparse(table):
        return table
    memory.require(8 * table.shape[0] * table.shape[1], "the released counts")
    return table.toarray()


def _require_schema(path: Path, found: pa.Schema, expected: pa.Schema) -> None:
    if not without_numbers(found).equals(expected, check_metadata=True):
        raise ReleaseError(f"the columns or the metadata of {path.name} are not those of a release with this manifest")


def _listed(tree: Hierarchy) -> Iterator[tuple[int, tuple[str, ...]]]:
    """List every region once: of one that padding copied down, the topmost copy, which keeps the order."""
    paths = tree.real_paths
    for region, parent in enumerate(tree.parent):
        if parent < 0 or not tree.padded[parent]:
            yield region, paths[region]


class _Rows:
    """The rows of the table of noisy values, which public facts determine but for the values.

    A region has rows of sizes first, with cumulative or single counts, and then rows of ranks, where it has some.

    Attributes:
        schema: of the table, with its facts.
        measured: the measured regions, in order.
        ragged: whether the table has columns of ranks.
        sizes, ranks: the number of rows of sizes, and of ranks, of every region.
        lengths: the number of values of every region.
    """

    def __init__(self, tree: Hierarchy, totals: np.ndarray, plan: Plan, secure: bool) -> None:
        terms = plan.terms
        self.schema = measurement_schema(plan, secure)
        self._tree, self._plan, self._described = tree, plan, region_columns(tree, plan.names)
        self.measured = np.flatnonzero(measured_regions(tree, tuple(level.noise for level in plan.levels)))
        self.ragged = terms.view is MeasuredView.SPLIT
        self.sizes = np.array([level.max_excess + 1 for level in plan.levels])[tree.level_of]
        self.ranks = np.zeros(tree.n_regions, np.int64)
        if self.ragged:
            views = plan.views_on(tree, totals)
            for region, (rows, groups) in enumerate(zip(self.sizes.tolist(), totals.tolist(), strict=True)):
                view = view_of(views, tree, region)
                self.sizes[region] = view.ranked_from(rows - 1)
                self.ranks[region] = view.n_values(groups, rows - 1) - self.sizes[region]
        self.lengths, self._totals = self.sizes + self.ranks, totals

    def with_unmeasured(self, found: np.ndarray) -> np.ndarray:
        """Put zeros where regions were not measured, among the values of those that were; see `Measurement.cells`."""
        measured = np.zeros(len(self.lengths), bool)
        measured[self.measured] = True
        about = self._plan.sizes_on(self._tree), self._plan.views_on(self._tree, self._totals)
        first = first_cells(*about, self._totals, measured)
        if first[-1] == len(found):
            return found
        cells = np.zeros(first[-1], np.int64)
        cells[np.repeat(measured, np.diff(first))] = found
        return cells

    def blocks(self) -> Iterator[tuple[np.ndarray, slice]]:
        """The measured regions block by block, and which of their rows: all, or a part of those of one long region.

        Each block has at least one row, at most `_BLOCK_ROWS`, and one level where sizes differ by level.
        """
        alike = [self.measured]
        if self._plan.terms.max_sizes is not None:
            alike = [np.r_[self._tree.level(level)] for level in range(self._tree.n_levels)]
        for measured in alike:
            regions = measured[self.lengths[measured] > 0]
            ends, start = np.append(0, np.cumsum(self.lengths[regions])), 0  # rows before every region, and all
            while start < len(regions):
                stop = int(np.searchsorted(ends, ends[start] + _BLOCK_ROWS, side="right")) - 1
                stop = max(stop, start + 1)
                n_rows = int(ends[stop] - ends[start])
                for first in range(0, n_rows, _BLOCK_ROWS):
                    yield regions[start:stop], slice(first, min(first + _BLOCK_ROWS, n_rows))
                start = stop

    def columns(self, regions: np.ndarray, part: slice, values: np.ndarray) -> list[pa.Array]:
        """The columns of a block, which has these values; they name sizes, not excesses."""
        row, cell = self._cells(regions, part)
        places = [column.take(pa.array(row)) for column in self._described.values()]
        least = self._plan.terms.min_size
        if not self.ragged:
            return [*places, pa.array(cell + least), pa.array(values)]
        is_rank = cell >= self.sizes[row]
        cell = np.where(is_rank, cell - self.sizes[row], cell + least)
        return [*places, *(pa.array(c, mask=empty) for empty in (is_rank, ~is_rank) for c in (cell, values))]

    def _cells(self, regions: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """The region of every row of a block, and its place among the rows of this region."""
        if len(regions) == 1:
            cell = np.arange(part.start, part.stop)
            return np.full(len(cell), regions[0]), cell
        lengths = self.lengths[regions]
        row = np.repeat(regions, lengths)
        return row, np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
