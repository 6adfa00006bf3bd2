"""Write the tables of a release in one canonical form, and read them back strictly."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from scipy import sparse

from pgsr import memory
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Totals, measured_regions
from pgsr.release.errors import ReleaseError
from pgsr.release.folder.artefact import REGIONS
from pgsr.release.folder.columns import Column, counts_columns, measurement_columns, regions_columns
from pgsr.release.terms import Terms
from pgsr.tables import path_of_id, read_long, region_id, to_long
from pgsr.tables.long import region_columns
from pgsr.views import View

_BLOCK_ROWS = 1 << 20
_ARROW = {"string": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}


def counts_table(counts: CountOfCounts, terms: Terms, facts: Mapping[str, str]) -> pa.Table:
    """The table of released counts, a row per region and size; see `pgsr.tables.to_long`."""
    names = terms.names(counts.hierarchy.n_levels)
    return to_long(counts, level_names=names).cast(_schema(counts_columns(terms, names), facts))


def write_counts(path: Path, table: pa.Table) -> None:
    """Write the table of `counts_table` as Parquet, or as CSV where the file's name ends so."""
    if path.suffix == ".csv":
        path.write_bytes(csv_bytes(table))
    else:
        pq.write_table(table, path, compression="zstd")


def read_counts(path: Path, tree: Hierarchy, terms: Terms, facts: Mapping[str, str]) -> Estimate:
    """Read what `write_counts` wrote as Parquet, in the order of `tree`. The numbers themselves are not judged here.

    Raises:
        ReleaseError, TableError: other columns, facts, regions or sizes than there should be.
    """
    expected = _schema(counts_columns(terms, terms.names(tree.n_levels)), facts)
    _require_schema(path, pq.read_schema(path), expected)
    found = read_long(path)
    if found.max_size != terms.max_size:
        raise ReleaseError(f"{path.name} has sizes 0..{found.max_size:,}, the manifest 0..{terms.max_size:,}")
    if set(found.hierarchy.paths) != set(tree.paths):
        raise ReleaseError(f"{path.name} has other regions than {REGIONS}")
    place = [found.hierarchy.index(region) for region in tree.paths]
    return Estimate(tree, View.COUNTS, found.values[place])


def csv_bytes(table: pa.Table) -> bytes:
    """Write a table as CSV, in the only form that a release has."""
    text = io.BytesIO()
    pa_csv.write_csv(table, text)
    return text.getvalue()


def require_plain(path: Path) -> None:
    """Raise `ReleaseError` if a Parquet file holds bytes of no column, or statistics that are not those of its values.

    Other readers skip rows by these statistics, and nobody would see what lies between the columns.
    """
    with pq.ParquetFile(path) as file:
        about = file.metadata
        end = 4  # after the magic number
        for group in range(about.num_row_groups):
            row_group = about.row_group(group)
            values = file.read_row_group(group)
            for place in range(row_group.num_columns):
                column = row_group.column(place)
                start = column.dictionary_page_offset or column.data_page_offset
                if start != end:
                    raise ReleaseError(f"{path.name} holds bytes that belong to no column")
                end = start + column.total_compressed_size
                if column.is_stats_set and not _true_statistics(column.statistics, values.column(place)):
                    raise ReleaseError(f"{path.name} has statistics that are not those of its values")
        with path.open("rb") as raw:
            raw.seek(-8, io.SEEK_END)
            footer = int.from_bytes(raw.read(4), "little")
            if raw.tell() + 4 - 8 - footer != end:
                raise ReleaseError(f"{path.name} holds bytes that belong to no column")


def _true_statistics(said: pq.Statistics, values: pa.ChunkedArray) -> bool:
    if said.has_null_count and said.null_count != values.null_count:
        return False
    if not said.has_min_max:
        return True
    found = pc.call_function("min_max", [values]).as_py()
    return (said.min, said.max) == (found["min"], found["max"])


def write_measurement(path: Path, values: np.ndarray, tree: Hierarchy, terms: Terms, facts: Mapping[str, str]) -> None:
    """Write the noisy values of every measured region and every size 0..K; `values` has shape (regions, K + 1)."""
    schema = _schema(measurement_columns(terms, terms.names(tree.n_levels)), facts)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        keys = region_columns(tree, terms.names(tree.n_levels))
        for regions in _blocks(_measured(tree, terms), terms.max_size):
            columns = [*_keys(keys, regions, terms.max_size), pa.array(values[regions].ravel())]
            writer.write_table(pa.table(columns, schema=schema))


def read_measurement(path: Path, tree: Hierarchy, terms: Terms, facts: Mapping[str, str]) -> np.ndarray:
    """Read what `write_measurement` wrote; shape (regions, K + 1), int64.

    Raises:
        ReleaseError: anything but the values differs from what should be there.
        MemoryNeededError: the values do not fit.
    """
    measured = _measured(tree, terms)
    columns = measurement_columns(terms, terms.names(tree.n_levels))
    with pq.ParquetFile(path) as file:
        _require_schema(path, file.schema_arrow, _schema(columns, facts))
        if file.metadata.num_rows != len(measured) * (terms.max_size + 1):
            raise ReleaseError(
                f"{path.name} has {file.metadata.num_rows:,} rows; {len(measured):,} measured regions x "
                f"{terms.max_size + 1:,} sizes need {len(measured) * (terms.max_size + 1):,}"
            )
        memory.require(8 * tree.n_regions * (terms.max_size + 1), "the measurement")
        values = np.zeros((tree.n_regions, terms.max_size + 1), np.int64)
        described = region_columns(tree, terms.names(tree.n_levels))
        for group, regions in enumerate(_blocks(measured, terms.max_size)):
            table = file.read_row_group(group)
            keys = _keys(described, regions, terms.max_size)
            if any(not column.combine_chunks().equals(key) for column, key in zip(table.columns, keys, strict=False)):
                raise ReleaseError(f"the regions or sizes of {path.name} are not those of {REGIONS}, in its order")
            noisy = table.columns[-1]
            if noisy.null_count:
                raise ReleaseError(f"{path.name} has rows without a value")
            values[regions] = noisy.to_numpy().reshape(len(regions), -1)
    return values


def write_regions(path: Path, tree: Hierarchy, totals: np.ndarray, terms: Terms) -> None:
    """Write regions.csv: the regions, parents first, with their numbers of groups where these are published."""
    path.write_text(regions_text(tree, totals, terms), encoding="utf-8", newline="")


def regions_text(tree: Hierarchy, totals: np.ndarray, terms: Terms) -> str:
    """The text of regions.csv."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    names = terms.names(tree.n_levels)
    lines.writerow([column.name for column in regions_columns(names)])
    for region, path in _listed(tree):
        leaf = bool(region >= tree.n_inner or tree.padded[region])
        total = str(int(totals[region])) if region < len(totals) else ""
        place = [*path, *[""] * (tree.n_levels - len(path))]
        above = region_id(path[:-1]) if len(path) > 1 else ""
        lines.writerow([region_id(path), above, len(path) - 1, str(leaf).lower(), *place, total])
    return text.getvalue()


def read_regions(path: Path, terms: Terms) -> tuple[Hierarchy, np.ndarray]:
    """Read the tree and its public totals, shape (regions,), or (1,) where only the root's is public.

    Raises:
        ReleaseError, HierarchyError: the file is not what `write_regions` writes.
    """
    public = terms.public
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
    if regions_text(tree, totals, terms) != text:
        raise ReleaseError(f"{path.name} is not in the form that a release has; lines were changed or moved")
    return tree, totals


def dense(estimate: Estimate) -> np.ndarray:
    """The counts as an array; shape (regions, K + 1)."""
    table = estimate.as_counts
    if not sparse.issparse(table):
        return table
    memory.require(8 * table.shape[0] * table.shape[1], "the released counts")
    return table.toarray()


def _schema(columns: list[Column], facts: Mapping[str, str]) -> pa.Schema:
    """Make a schema: the descriptions of columns are the metadata of its fields, the facts those of the file."""
    fields = [
        pa.field(column.name, _ARROW[column.kind], metadata={"description": column.description}) for column in columns
    ]
    return pa.schema(fields, metadata=dict(facts))


def _require_schema(path: Path, found: pa.Schema, expected: pa.Schema) -> None:
    # Parquet numbers its fields in their metadata.
    plain = pa.schema(
        [
            field.with_metadata({k: v for k, v in (field.metadata or {}).items() if k != b"PARQUET:field_id"})
            for field in found
        ],
        metadata=found.metadata,
    )
    if not plain.equals(expected, check_metadata=True):
        raise ReleaseError(f"the columns or the metadata of {path.name} are not those of a release with this manifest")


def _listed(tree: Hierarchy) -> Iterator[tuple[int, tuple[str, ...]]]:
    """List every region once: of one that padding copied down, the topmost copy, which keeps the order."""
    paths = tree.real_paths
    for region, parent in enumerate(tree.parent):
        if parent < 0 or not tree.padded[parent]:
            yield region, paths[region]


def _measured(tree: Hierarchy, terms: Terms) -> np.ndarray:
    return np.flatnonzero(measured_regions(tree, terms.budget(tree.n_levels).levels))


def _blocks(regions: np.ndarray, max_size: int) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_ROWS // (max_size + 1))
    for start in range(0, len(regions), step):
        yield regions[start : start + step]


def _keys(columns: dict[str, pa.Array], regions: np.ndarray, max_size: int) -> list[pa.Array]:
    row = pa.array(np.repeat(regions, max_size + 1))
    return [
        *(column.take(row) for column in columns.values()),
        pa.array(np.tile(np.arange(max_size + 1), len(regions))),
    ]
