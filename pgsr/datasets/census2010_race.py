"""The people of one race by census block, Census of 2010: the data sets White and Hawaiian of Kuo et al. 2018.

The Bureau's Summary File 1 is five gigabytes of text, so `convert` counts its blocks once, and `census2010_race` reads
the small table that it writes.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.datasets.census2000_race import Race, leaves_of
from pgsr.datasets.files import locate, read
from pgsr.datasets.parameters import Regions, one_of, whole_number
from pgsr.datasets.table import count_of_counts
from pgsr.errors import DataError
from pgsr.histogram import CountOfCounts

if TYPE_CHECKING:
    import pandas as pd

FILE = "census2010_block_race.parquet"

BLOCK, WHOLE = b"101", b"00"
"""Codes of a summary level and of a geographic component: a census block, all of it."""

SUMMARY_LEVEL, COMPONENT, RECORD, COUNTY = slice(8, 11), slice(11, 13), slice(18, 25), slice(27, 32)
"""Columns of a line of the geographic header file, counted from 0."""

RECORD_FIELD, TOTAL_FIELD, RACE_FIELDS, MIXED_FIELD = 4, 5, range(6, 12), 12
"""Fields of a line of segment 3, counted from 0: record number, then table P3, all people, six races, two or more."""


def census2010_race(
    race: Race | str,
    regions: Regions | str = Regions.STATES,
    folder: str | os.PathLike[str] | None = None,
    max_size: int = 25_000,
) -> CountOfCounts:
    """Read census blocks of 2010 by their people of one race: nation / 52 states / 3,221 counties.

    A group is a block, its size the number of people of the race who live in it: 11,155,486 groups, most of them empty.
    The 52 states are 50, the District of Columbia and Puerto Rico.

    Args:
        race: "white" (226,378,365 people by Kuo et al. 2018), "black", "aian", "asian", "nhpi" (540,383) or "other".
        regions: "states" or "counties", the last level.
        folder: holds census2010_block_race.parquet, which `convert` writes; by default the folder that PGSR_DATA names.
        max_size: K; larger sizes count as K. The paper's experiments use 100,000.

    Returns:
        All regions x (K + 1) sizes. Regions are named by their zero-padded codes, ("United States", "06", "06001"). The
        data set is named "census2010-race/white/states/K=25000".

    Raises:
        DataError: an unknown word, no such folder or file, a file with other columns, or no whole `max_size` from 1 up.

    Source:
        U.S. Census Bureau, 2010 Census Summary File 1, table P3 by block (public domain).
    """
    race = one_of("race", race, tuple(Race))
    regions = one_of("regions", regions, (Regions.STATES, Regions.COUNTIES))
    max_size = whole_number("max_size", max_size, least=1)
    columns = read(locate(FILE, folder), text=["county", "race"], whole=["size", "n_groups"])
    kept = columns["race"] == str(race)
    leaves, leaf = leaves_of(columns["county"][kept], regions)
    name = f"census2010-race/{race}/{regions}/K={max_size}"
    return count_of_counts(leaves, leaf, columns["size"][kept], columns["n_groups"][kept], max_size, name)


def convert(summary_file: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Count the blocks of Summary File 1 by county, race and size, and write census2010_block_race.parquet.

    Args:
        summary_file: a folder with the unpacked files of every state: its geographic header, such as algeo2010.sf1, and
            its third segment, al000032010.sf1.
        folder: where to write.

    Returns:
        The file.

    Raises:
        DataError: there is no header file, a segment is absent, or a file is not laid out as documented.

    Complexity: one pass; the largest state's two files are held at a time.

    Source:
        U.S. Census Bureau, 2010 Census Summary File 1, technical documentation: record layout of the geographic header,
        and table P3 in segment 3.
    """
    import pandas as pd

    headers = sorted(Path(summary_file).glob("??geo2010.sf1"))
    if not headers:
        raise DataError(
            f"{summary_file} has no header file such as algeo2010.sf1; unpack the states' files of Summary File 1 there"
        )
    found = pd.concat([_of_state(header) for header in headers], ignore_index=True)
    path = Path(folder) / FILE
    found.to_parquet(path, index=False, compression="zstd")
    return path


def _of_state(header: Path) -> "pd.DataFrame":
    """Count the blocks of one state: a data frame of county, race, size and n_groups."""
    import pandas as pd

    record, county = _blocks(header)
    segment = header.with_name(f"{header.name[:2]}000032010.sf1")
    fields = _fields(segment)
    order = np.argsort(fields[RECORD_FIELD], kind="stable")
    place = np.searchsorted(fields[RECORD_FIELD], record, sorter=order).clip(max=max(0, len(order) - 1))
    row = order[place] if len(order) else place
    if len(order) == 0 or (fields[RECORD_FIELD][row] != record).any():
        raise DataError(f"{segment} lacks records of {header.name}; fetch both again")
    counted = []
    for race, field in zip(Race, RACE_FIELDS, strict=True):
        keys, n = np.unique(np.rec.fromarrays([county, fields[field][row]]), return_counts=True)
        codes = keys["f0"].astype(str)
        counted.append(pd.DataFrame({"county": codes, "race": str(race), "size": keys["f1"], "n_groups": n}))
    return pd.concat(counted, ignore_index=True)


def _blocks(header: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the record numbers and county codes of the blocks of a geographic header file, whose lines are equally long.

    Its text is Latin-1, so that a character is a byte.
    """
    text = np.fromfile(header, np.uint8)
    ends = np.flatnonzero(text[:2_000] == ord("\n"))
    width = int(ends[0]) + 1 if len(ends) else 0
    if not width or len(text) % width or (text[width - 1 :: width] != ord("\n")).any():
        raise DataError(f"{header} is no geographic header: its lines are not equally long; fetch it again")
    lines = text.reshape(-1, width)
    kept = _is(lines, SUMMARY_LEVEL, BLOCK) & _is(lines, COMPONENT, WHOLE)
    blocks = lines[kept]
    digits = blocks[:, RECORD].astype(np.int64) - ord("0")
    codes = np.ascontiguousarray(blocks[:, COUNTY])
    wrong = (digits < 0) | (digits > 9)
    if wrong.any() or ((codes < ord("0")) | (codes > ord("9"))).any():
        raise DataError(f"{header} is no geographic header: a record number or county is no number; fetch it again")
    return digits @ 10 ** np.arange(6, -1, -1), codes.view("S5").ravel()


def _is(lines: np.ndarray, place: slice, word: bytes) -> np.ndarray:
    return (lines[:, place] == np.frombuffer(word, np.uint8)).all(axis=1)


def _fields(segment: Path) -> dict[int, np.ndarray]:
    """Read the record numbers and table P3 of a segment, and see that the races add up."""
    import pyarrow
    from pyarrow import csv

    wanted = [RECORD_FIELD, TOTAL_FIELD, *RACE_FIELDS, MIXED_FIELD]
    names = [f"f{field}" for field in wanted]
    try:
        table = csv.read_csv(
            segment,
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            convert_options=csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, "int64")),
        )
    except (OSError, KeyError, pyarrow.ArrowInvalid) as fault:
        raise DataError(f"{segment} cannot be read as segment 3 of Summary File 1 ({fault}); fetch it again") from fault
    fields = {field: table[name].to_numpy() for field, name in zip(wanted, names, strict=True)}
    if (sum(fields[field] for field in (*RACE_FIELDS, MIXED_FIELD)) != fields[TOTAL_FIELD]).any():
        raise DataError(f"{segment} is no segment 3 of Summary File 1: its races do not add up; fetch it again")
    return fields
