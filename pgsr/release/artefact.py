"""The files of a release: three tables in one canonical form, read back strictly, and the digests of all."""

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from pgsr import memory
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.hierarchy import Path as RegionPath
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Totals, measured_regions
from pgsr.release.errors import ReleaseError
from pgsr.release.terms import Terms
from pgsr.tables import read_long, to_long
from pgsr.tables.regions import real_paths
from pgsr.views import View

COUNTS, MEASUREMENT, HIERARCHY = "counts.parquet", "measurement.parquet", "hierarchy.csv"
MANIFEST, README, SUMS = "manifest.json", "README.txt", "SHA256SUMS"
DIGESTED = (COUNTS, MEASUREMENT, HIERARCHY, README)
"""Files whose digests the manifest holds."""

FILES = (COUNTS, HIERARCHY, MANIFEST, MEASUREMENT, README, SUMS)

_BLOCK_ROWS = 1 << 20


def write_counts(path: Path, counts: CountOfCounts, facts: dict[str, str]) -> None:
    """Released counts: level_0, level_1, ..., size, count; rows of 0 are left out (see `pgsr.tables.to_long`)."""
    pq.write_table(counts_table(counts, facts), path, compression="zstd")


def counts_table(counts: CountOfCounts, facts: dict[str, str]) -> pa.Table:
    return to_long(counts).replace_schema_metadata(facts)


def read_counts(path: Path, tree: Hierarchy, max_size: int, facts: dict[str, str]) -> Estimate:
    """What `write_counts` wrote, in the order of `tree`; any numbers, to be judged by the caller.

    Raises:
        ReleaseError, TableError: other columns, facts, regions or sizes than there should be.
    """
    levels = [(f"level_{level}", pa.string()) for level in range(tree.n_levels)]
    expected = pa.schema([*levels, ("size", pa.int64()), ("count", pa.int64())], metadata=facts)
    if not pq.read_schema(path).equals(expected, check_metadata=True):
        raise ReleaseError(f"the columns or the metadata of {path.name} are not those of a release with this manifest")
    found = read_long(path)
    if found.max_size != max_size:
        raise ReleaseError(f"{path.name} has sizes 0..{found.max_size:,}, the manifest 0..{max_size:,}")
    if set(found.hierarchy.paths) != set(tree.paths):
        raise ReleaseError(f"{path.name} has other regions than {HIERARCHY}")
    place = [found.hierarchy.index(region) for region in tree.paths]
    return Estimate(tree, View.COUNTS, found.values[place])


def write_measurement(path: Path, values: np.ndarray, tree: Hierarchy, terms: Terms, facts: dict[str, str]) -> None:
    """Noisy values: level_0, level_1, ..., size, value, of every measured region and every size 0..K."""
    measured = _measured(tree, terms)
    with pq.ParquetWriter(path, _measurement_schema(tree, facts), compression="zstd") as writer:
        for regions in _blocks(measured, terms.max_size):
            columns = [*_keys(tree, regions, terms.max_size), pa.array(values[regions].ravel())]
            writer.write_table(pa.table(columns, schema=_measurement_schema(tree, facts)))


def read_measurement(path: Path, tree: Hierarchy, terms: Terms, facts: dict[str, str]) -> np.ndarray:
    """What `write_measurement` wrote; shape (regions, K + 1), int64.

    Raises:
        ReleaseError: anything but the values differs from what should be there.
        MemoryNeededError: the values do not fit.
    """
    measured = _measured(tree, terms)
    with pq.ParquetFile(path) as file:
        if not file.schema_arrow.equals(_measurement_schema(tree, facts), check_metadata=True):
            raise ReleaseError(f"the columns or the metadata of {path.name} are not those of this release")
        if file.metadata.num_rows != len(measured) * (terms.max_size + 1):
            raise ReleaseError(
                f"{path.name} has {file.metadata.num_rows:,} rows; {len(measured):,} measured regions x "
                f"{terms.max_size + 1:,} sizes need {len(measured) * (terms.max_size + 1):,}"
            )
        memory.require(8 * tree.n_regions * (terms.max_size + 1), "the measurement")
        values = np.zeros((tree.n_regions, terms.max_size + 1), np.int64)
        for group, regions in enumerate(_blocks(measured, terms.max_size)):
            table = file.read_row_group(group)
            keys = _keys(tree, regions, terms.max_size)
            if any(not column.combine_chunks().equals(key) for column, key in zip(table.columns, keys, strict=False)):
                raise ReleaseError(f"the regions or sizes of {path.name} are not those of the hierarchy, in its order")
            if table["value"].null_count:
                raise ReleaseError(f"{path.name} has rows without a value")
            values[regions] = table["value"].to_numpy().reshape(len(regions), -1)
    return values


def write_hierarchy(path: Path, tree: Hierarchy, totals: np.ndarray) -> None:
    """Regions, parents first, with their public numbers of groups; empty where it is not public."""
    path.write_text(hierarchy_text(tree, totals), encoding="utf-8", newline="")


def hierarchy_text(tree: Hierarchy, totals: np.ndarray) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*(f"level_{level}" for level in range(tree.n_levels)), "groups"])
    for region, path in _listed(tree):
        total = str(int(totals[region])) if region < len(totals) else ""
        lines.writerow([*path, *[""] * (tree.n_levels - len(path)), total])
    return text.getvalue()


def read_hierarchy(path: Path, public: Totals) -> tuple[Hierarchy, np.ndarray]:
    """The tree and its public totals, shape (regions,), or (1,) where only the root's is public.

    Raises:
        ReleaseError, HierarchyError: the file is not what `write_hierarchy` writes.
    """
    text = path.read_bytes().decode("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    listed = [(tuple(name for name in row[:-1] if name), row[-1]) for row in rows[1:]]
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
    if hierarchy_text(tree, totals) != text:
        raise ReleaseError(f"{path.name} is not in the form that a release has; lines were changed or moved")
    return tree, totals


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(folder: Path, names: tuple[str, ...] = FILES) -> str:
    """What SHA256SUMS has to hold; `sha256sum -c SHA256SUMS` reads it."""
    return "".join(f"{digest(folder / name)}  {name}\n" for name in names if name != SUMS)


def digest_of(folder: Path) -> str:
    """SHA-256 of SHA256SUMS, and so of the whole release: to be announced elsewhere."""
    return digest(folder / SUMS)


def dense(estimate: Estimate) -> np.ndarray:
    """The counts as an array; shape (regions, K + 1)."""
    table = estimate.as_counts
    if not sparse.issparse(table):
        return table
    memory.require(8 * table.shape[0] * table.shape[1], "the released counts")
    return table.toarray()


def _listed(tree: Hierarchy) -> Iterator[tuple[int, RegionPath]]:
    """Every region that is no copy made by padding. The topmost of its copies stands for it, to keep the order."""
    for region, parent in enumerate(tree.parent):
        if parent < 0 or not tree.padded[parent]:
            yield region, tree.paths[region]


def _measured(tree: Hierarchy, terms: Terms) -> np.ndarray:
    return np.flatnonzero(measured_regions(tree, terms.budget(tree.n_levels).levels))


def _blocks(regions: np.ndarray, max_size: int) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_ROWS // (max_size + 1))
    for start in range(0, len(regions), step):
        yield regions[start : start + step]


def _measurement_schema(tree: Hierarchy, facts: dict[str, str]) -> pa.Schema:
    levels = [(f"level_{level}", pa.string()) for level in range(tree.n_levels)]
    return pa.schema([*levels, ("size", pa.int64()), ("value", pa.int64())], metadata=facts)


def _keys(tree: Hierarchy, regions: np.ndarray, max_size: int) -> list[pa.Array]:
    paths = real_paths(tree)
    row = pa.array(np.repeat(np.arange(len(regions)), max_size + 1))
    columns = []
    for level in range(tree.n_levels):
        names = [paths[r][level] if level < len(paths[r]) else None for r in regions]
        columns.append(pa.array(names, pa.string()).take(row))
    return [*columns, pa.array(np.tile(np.arange(max_size + 1), len(regions)))]
