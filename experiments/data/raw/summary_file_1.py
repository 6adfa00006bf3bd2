"""Summary File 1 of the Censuses of 2000 and 2010: households by size, and people by race, of regions of one level.

A state's summary file is a geographic header, a line of fixed fields for every region of every summary level, and
numbered segments, comma-separated, a line for every region; a record number says which lines belong together. A table
lies in one segment, at the same fields for all regions.

Source:
    U.S. Census Bureau, Census 2000 and 2010 Census Summary File 1, technical documentation: record layout of the
    geographic header, and which tables a segment holds, in which order and of how many cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.census2000 import COUNTIES, SIZES, TRACTS
from pgsr.experiments.data.census2000_race import FILE as BLOCK_GROUPS
from pgsr.experiments.data.census2000_race import Race
from pgsr.experiments.data.census2010_race import FILE as BLOCKS
from pgsr.experiments.data.raw.files import members, reader, write_parquet
from pgsr.machine.extras import extra
from pgsr.machine.whole_files import replacing

if TYPE_CHECKING:
    import pandas as pd

COUNTY, BLOCK, TRACT, BLOCK_GROUP, WHOLE = b"050", b"101", b"140", b"150", b"00"
"""Codes of summary levels, and of the geographic component that is all of a region."""

SUMMARY_LEVEL, COMPONENT, RECORD = slice(8, 11), slice(11, 13), slice(18, 25)
"""Columns of a line of the geographic header that both censuses have, counted from 0."""

RECORD_FIELD, FIRST_FIELD = 4, 5
"""The fields of a line of a segment that hold its record number and the first cell, counted from 0."""

WATER, COUNTY_WITH_WATER = "000000", "36013"
"""The tract number of waters that no numbered tract holds. Our files leave them out, but for one county's, which nobody
lives in either; that one keeps the number of regions, and with it the published results."""

CALIFORNIA = "06"
"""The state whose tracts take the place of its block groups in our file of races."""


@dataclass(frozen=True)
class Year:
    """How the files of a census are called, and where a line of the geographic header has the codes of a region.

    Attributes:
        header, segment: names, to be filled with a state's two letters and the number of a segment.
        example: a header, and what it is packed in.
        left_out: states by their two letters that are no part of our files; "us" is the nation's own summary.
        codes: columns by the name of the code, counted from 0; a county's code begins with its state's.
    """

    header: str
    segment: str
    example: str
    left_out: tuple[str, ...]
    codes: Mapping[str, slice]


YEAR_2000 = Year(
    "{}geo.uf1",
    "{}{:05}.uf1",
    "algeo.uf1 (packed as algeo_uf1.zip)",
    ("us", "pr"),
    {"state": slice(29, 31), "county": slice(29, 34), "tract": slice(55, 61), "blkgrp": slice(61, 62)},
)
YEAR_2010 = Year(
    "{}geo2010.sf1", "{}{:05}2010.sf1", "algeo2010.sf1 (packed in al2010.sf1.zip)", ("us",), {"county": slice(27, 32)}
)


@dataclass(frozen=True)
class SummaryTable:
    """A table whose first cell is the sum of the others.

    Attributes:
        segment: the number of the segment that holds it.
        first: the field of its first cell, counted from 0.
        cells: the names of the cells after the first.
    """

    segment: int
    first: int
    cells: tuple[str, ...]


_CELLS_OF_H1_TO_H12 = (1, 6, 3, 3, 7, 8, 17, 7, 15, 1, 3, 3)
_CELLS_OF_P6 = 73
_RACES = (*map(str, Race), "two_or_more")

H13 = SummaryTable(37, FIRST_FIELD + sum(_CELLS_OF_H1_TO_H12), SIZES)
"""Households by size, 2000: segment 37, after tables H1 to H12."""

P7 = SummaryTable(2, FIRST_FIELD + _CELLS_OF_P6, _RACES)
"""People by race, 2000: segment 2, after table P6."""

P3 = SummaryTable(3, FIRST_FIELD, _RACES)
"""People by race, 2010: segment 3, whose first table it is."""


def counties_2000(raw: Sequence[Path], folder: Path) -> Path:
    """Write the households of every county by size, census2000_county_hhsize.csv.gz.

    Args:
        raw: folders, zip archives or files: the geographic header of every state, and its segment 37.
        folder: where to write.

    Raises:
        DataError: a file is absent, or not laid out as documented.
    """
    found = _joined(regions(raw, YEAR_2000, COUNTY, ("state", "county"), H13))
    path = folder / COUNTIES.file
    with replacing(path, DataError) as file:
        found.to_csv(file, index=False, compression={"method": "gzip", "mtime": 0})
    return path


def tracts_2000(raw: Sequence[Path], folder: Path) -> Path:
    """Write the households of every tract by size, census2000_tract_hhsize.parquet; arguments as of `counties_2000`."""
    found = _joined(regions(raw, YEAR_2000, TRACT, ("state", "county", "tract"), H13))
    return write_parquet(_without_water(found), folder / TRACTS.file)


def block_groups_2000(raw: Sequence[Path], folder: Path) -> Path:
    """Write the people of every block group (in California tract) by race, census2000_blockgroup_race_hhsize.parquet.

    Args:
        raw: folders, zip archives or files: the geographic header of every state, and its segment 2.
        folder: where to write.

    Raises:
        DataError: a file is absent, or not laid out as documented.
    """
    codes = ("state", "county", "tract")
    groups = _joined(regions(raw, YEAR_2000, BLOCK_GROUP, (*codes, "blkgrp"), P7))
    tracts = _joined(regions(raw, YEAR_2000, TRACT, codes, P7)).assign(blkgrp="")
    found = _joined(
        [
            groups.take(np.flatnonzero(groups["state"] != CALIFORNIA)),
            tracts.take(np.flatnonzero(tracts["state"] == CALIFORNIA)),
        ]
    )
    return write_parquet(_without_water(found), folder / BLOCK_GROUPS.file)


def blocks_2010(raw: Sequence[Path], folder: Path) -> Path:
    """Count the blocks of every county by race and size, and write census2010_block_race.parquet.

    Args:
        raw: folders, zip archives or files: the geographic header of every state, and its segment 3.
        folder: where to write.

    Raises:
        DataError: a file is absent, or not laid out as documented.

    Complexity: one pass; the largest state's two files are held at a time.
    """
    counted = [_blocks_by_size(found) for found in regions(raw, YEAR_2010, BLOCK, ("county",), P3)]
    return write_parquet(_joined(counted), folder / BLOCKS.file)


def regions(
    raw: Sequence[Path], year: Year, level: bytes, codes: Sequence[str], table: SummaryTable
) -> Iterator["pd.DataFrame"]:
    """Read the codes and the cells of a table of the regions of one level, state by state.

    Args:
        raw: folders, zip archives or files.
        year: the census.
        level: the code of the summary level.
        codes: the columns of codes that name a region of that level.
        table: what is read of every region.

    Returns:
        Data frames of the codes as text and the cells as whole numbers, in the order of the geographic header.

    Raises:
        DataError: a file is absent, or not laid out as documented.
    """
    with extra("release"):
        import pandas as pd

    found = members(raw)
    known = {name[:2] for name in found if fnmatch(name, year.header.format("??"))} - set(year.left_out)
    if not known:
        raise DataError(
            f"{', '.join(map(str, raw))} has no header file such as {year.example}; put the states' files of Summary "
            "File 1 there"
        )
    for state in sorted(known):
        header, segment = year.header.format(state), year.segment.format(state, table.segment)
        record, places = _header(found[header](), header, level, [year.codes[code] for code in codes])
        cells = _segment(reader(found, segment, raw)(), segment, table)
        order = np.argsort(cells[0], kind="stable")
        place = np.searchsorted(cells[0], record, sorter=order).clip(max=max(0, len(order) - 1))
        row = order[place] if len(order) else place
        if len(order) == 0 or (cells[0][row] != record).any():
            raise DataError(f"{segment} lacks records of {header}; download both again")
        columns = dict(zip(codes, places, strict=True))
        yield pd.DataFrame(columns | {name: cells[1 + i][row] for i, name in enumerate(table.cells)})


def _header(content: bytes, name: str, level: bytes, codes: Sequence[slice]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Read the record numbers and codes of the regions of a level from a geographic header.

    Its lines are equally long, its text is Latin-1, so that a character is a byte.
    """
    text = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(text[:2_000] == ord("\n"))
    width = int(ends[0]) + 1 if len(ends) else 0
    if not width or len(text) % width or (text[width - 1 :: width] != ord("\n")).any():
        raise DataError(f"{name} is no geographic header: its lines are not equally long; download it again")
    lines = text.reshape(-1, width)
    lines = lines[_is(lines, SUMMARY_LEVEL, level) & _is(lines, COMPONENT, WHOLE)]
    wanted = [np.ascontiguousarray(lines[:, columns]) for columns in (RECORD, *codes)]
    if any(((digits < ord("0")) | (digits > ord("9"))).any() for digits in wanted):
        raise DataError(f"{name} is no geographic header: a record number or code is no number; download it again")
    record, *found = (digits.view(f"S{digits.shape[1]}").ravel().astype(str) for digits in wanted)
    return record.astype(np.int64), found


def _is(lines: np.ndarray, place: slice, word: bytes) -> np.ndarray:
    return (lines[:, place] == np.frombuffer(word, np.uint8)).all(axis=1)


def _segment(content: bytes, name: str, table: SummaryTable) -> list[np.ndarray]:
    """Read the record numbers and the cells of a table after its first, and see that they add up to that."""
    with extra("release"):
        import pyarrow as pa
        from pyarrow import csv

    names = [f"f{field}" for field in (RECORD_FIELD, *range(table.first, table.first + 1 + len(table.cells)))]
    try:
        found = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            convert_options=csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, "int64")),
        )
    except (KeyError, pa.ArrowException) as fault:
        raise DataError(
            f"{name} cannot be read as segment {table.segment} of Summary File 1 ({fault}); download it again"
        ) from fault
    record, total, *cells = (found[column].to_numpy() for column in names)
    if (sum(cells) != total).any():
        raise DataError(
            f"{name} is no segment {table.segment} of Summary File 1: {table.cells[0]} to {table.cells[-1]} do not add "
            "up; download it again"
        )
    return [record, *cells]


def _without_water(found: "pd.DataFrame") -> "pd.DataFrame":
    return found.take(np.flatnonzero((found["tract"] != WATER) | (found["county"] == COUNTY_WITH_WATER)))


def _blocks_by_size(found: "pd.DataFrame") -> "pd.DataFrame":
    """Count the blocks of a state: a data frame of county, race, size and n_groups."""
    with extra("release"):
        import pandas as pd

    county, counted = found["county"].to_numpy(), []
    for race in map(str, Race):
        keys, n_groups = np.unique(np.rec.fromarrays([county, found[race].to_numpy()]), return_counts=True)
        columns = {"county": keys["f0"], "race": race, "size": keys["f1"], "n_groups": n_groups}
        counted.append(pd.DataFrame(columns))
    return _joined(counted)


def _joined(frames: "Iterator[pd.DataFrame] | Sequence[pd.DataFrame]") -> "pd.DataFrame":
    with extra("release"):
        import pandas as pd

    return pd.concat(list(frames), ignore_index=True)
