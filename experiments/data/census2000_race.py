"""The people of one race by neighbourhood, Census of 2000."""

import os
from enum import StrEnum

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import CensusRegions, count_of_counts, one_of, whole_number
from pgsr.experiments.data.files import DataFile, Total


class Race(StrEnum):
    """A column of the file: one of the census's six races, each alone.

    AIAN: American Indian and Alaska Native. NHPI: Native Hawaiian and other Pacific Islander. OTHER: some other race.
    """

    WHITE = "white"
    BLACK = "black"
    AIAN = "aian"
    ASIAN = "asian"
    NHPI = "nhpi"
    OTHER = "other"


FILE = DataFile(
    "census2000_blockgroup_race_hhsize.parquet",
    text=("county", "tract", "blkgrp"),
    whole=tuple(map(str, Race)),
    totals=(
        Total("block groups, in California tracts", 193_585),
        Total("counties", 3_141, distinct="county"),
        Total("white", 211_460_626, of=("white",)),
        Total("black", 34_658_190, of=("black",)),
        Total("aian", 2_475_956, of=("aian",)),
        Total("asian", 10_242_998, of=("asian",)),
        Total("nhpi", 398_835, of=("nhpi",)),
        Total("other", 15_359_073, of=("other",)),
    ),
    content="6d187bf36d97038b41c6699e0b29b15f3ab2b7b8b4706310fa49cf5783118345",
)


def census2000_race(
    race: Race | str,
    regions: CensusRegions | str = CensusRegions.STATES,
    folder: str | os.PathLike[str] | None = None,
    max_size: int = 25_000,
) -> CountOfCounts:
    """Read block groups (in California tracts) by their people of one race: nation / 51 states / 3,141 counties.

    A group is a block group, its size the number of people of the race who live in it: 193,585 groups, many of them
    empty. Kuo et al. 2018 count the same in census blocks of 2010, of which there are 11,155,486; this is a stand-in
    with fewer and larger groups.

    Args:
        race: "white" (211,460,626 people), "black" (34,658,190), "aian" (2,475,956), "asian" (10,242,998), "nhpi"
            (398,835 people; 137,218 groups of size 0) or "other" (15,359,073).
        regions: "states" or "counties", the last level.
        folder: holds census2000_blockgroup_race_hhsize.parquet; by default the folder that PGSR_DATA names.
        max_size: K; larger sizes count as K. The default is a round number; the paper's experiments use 100,000.

    Returns:
        All regions x (K + 1) sizes. Regions are named by their zero-padded codes, ("United States", "06", "06001"). The
        data set is named "census2000-race/white/states/K=25000".

    Raises:
        DataError: an unknown word, no such folder or file, a file with other columns, or no whole `max_size` from 1 up.

    Source:
        U.S. Census Bureau, Census 2000 Summary File 1 (public domain).
    """
    race = one_of("race", race, tuple(Race))
    regions = one_of("regions", regions, (CensusRegions.STATES, CensusRegions.COUNTIES))
    max_size = whole_number("max_size", max_size, least=1)
    columns = FILE.read(folder, ["county", race])
    leaves, leaf = leaves_of(columns["county"], regions)
    one_each = np.ones(len(leaf), np.int64)
    name = f"census2000-race/{race}/{regions}/K={max_size}"
    return count_of_counts(leaves, leaf, columns[race], one_each, max_size, name)


def leaves_of(county: np.ndarray, regions: CensusRegions) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Make the paths of the states or counties that occur, and find each row's position among them.

    Args:
        county: five digits, of which the first two are the state's; shape (rows,).
        regions: states or counties.

    Example:
        >>> leaves_of(np.array(["06001", "41003", "06003"]), CensusRegions.STATES)
        ([('United States', '06'), ('United States', '41')], array([0, 1, 0]))
    """
    states = regions is CensusRegions.STATES
    codes, leaf = np.unique(county.astype("U2") if states else county, return_inverse=True)
    return [("United States", str(c)) if states else ("United States", str(c)[:2], str(c)) for c in codes], leaf
