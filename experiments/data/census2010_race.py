"""The people of one race by census block, Census of 2010: the data sets White and Hawaiian of Kuo et al. 2018.

The Bureau's Summary File 1 is five gigabytes of text, so
`python -m pgsr.experiments data convert census2010_block_race` counts its blocks once, and `census2010_race` reads the
small table that it writes.
"""

import os

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import CensusRegions, count_of_counts, one_of, whole_number
from pgsr.experiments.data.census2000_race import Race, leaves_of
from pgsr.experiments.data.files import DataFile, Total

FILE = DataFile(
    "census2010_block_race.parquet",
    text=("county", "race"),
    whole=("size", "n_groups"),
    totals=(
        Total("counties", 3_221, distinct="county"),
        Total("blocks", 11_155_486, of=("n_groups",), where=("race", "white")),
        Total("white", 226_378_365, of=("size", "n_groups"), where=("race", "white")),
        Total("nhpi", 540_383, of=("size", "n_groups"), where=("race", "nhpi")),
    ),
)
"""Its numbers of blocks and people are those that Kuo et al. 2018 print."""


def census2010_race(
    race: Race | str,
    regions: CensusRegions | str = CensusRegions.STATES,
    folder: str | os.PathLike[str] | None = None,
    max_size: int = 25_000,
) -> CountOfCounts:
    """Read census blocks of 2010 by their people of one race: nation / 52 states / 3,221 counties.

    A group is a block, its size the number of people of the race who live in it: 11,155,486 groups, most of them empty.
    The 52 states are 50, the District of Columbia and Puerto Rico.

    Args:
        race: "white" (226,378,365 people by Kuo et al. 2018), "black", "aian", "asian", "nhpi" (540,383) or "other".
        regions: "states" or "counties", the last level.
        folder: holds census2010_block_race.parquet, which `python -m pgsr.experiments data` makes; by
            default the folder that PGSR_DATA names.
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
    regions = one_of("regions", regions, (CensusRegions.STATES, CensusRegions.COUNTIES))
    max_size = whole_number("max_size", max_size, least=1)
    columns = FILE.read(folder)
    kept = columns["race"] == str(race)
    leaves, leaf = leaves_of(columns["county"][kept], regions)
    name = f"census2010-race/{race}/{regions}/K={max_size}"
    return count_of_counts(leaves, leaf, columns["size"][kept], columns["n_groups"][kept], max_size, name)
