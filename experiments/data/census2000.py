"""The household sizes of the Census of 2000, as published."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import CensusRegions, count_of_counts, one_of
from pgsr.experiments.data.files import DataFile, Total

SIZES = ("hh1", "hh2", "hh3", "hh4", "hh5", "hh6", "hh7p")
"""The columns of households by size. The last holds those of 7 or more people."""

NATION = (27_230_075, 34_418_046, 17_439_027, 14_973_089, 6_936_886, 2_636_134, 1_846_844)
"""Households of the nation by size."""

_TOTALS = (
    Total("states", 51, distinct="state"),
    Total("counties", 3_141, distinct="county"),
    *(Total(size, n, of=(size,)) for size, n in zip(SIZES, NATION, strict=True)),
)

COUNTIES = DataFile(
    "census2000_county_hhsize.csv.gz",
    text=("state", "county"),
    whole=SIZES,
    totals=(Total("rows", 3_141), *_TOTALS),
    content="ef06c7abc15e1a26e29fbd6e73124f6300ef0de6ea0ef20bdc34d43ff3f646a3",
)
TRACTS = DataFile(
    "census2000_tract_hhsize.parquet",
    text=("state", "county", "tract"),
    whole=SIZES,
    totals=(Total("tracts", 65_322), *_TOTALS),
    content="172408ff512ae73b4df1bd567886bb30c1fac8a266c619abfbbf05fa2b1a7016",
)


def census2000(
    regions: CensusRegions | str = CensusRegions.COUNTIES, folder: str | os.PathLike[str] | None = None
) -> CountOfCounts:
    """Read households by size in the nation, 51 states, 3,141 counties and 65,322 tracts; K = 7 means 7 or more.

    A group is a household, its size its people. The census publishes sizes 1 to 6 and one class of 7 or more, so size
    7 here holds every larger household too: they are clipped, not left out. 105,480,101 households in all; no
    household is empty, so size 0 has none. People in group quarters are not included; for a long tail of sizes see
    `census_like`.

    Args:
        regions: "states", "counties" or "tracts": the last level, below the nation and the levels before.
        folder: holds census2000_county_hhsize.csv.gz and census2000_tract_hhsize.parquet; by default the folder that
            PGSR_DATA names.

    Returns:
        All regions x 8 sizes. Regions are named by their zero-padded codes: ("United States", "01", "01001",
        "01001020100") is tract 0201.00 of Autauga County, Alabama. The data set is named "census2000/counties".

    Raises:
        DataError: unknown `regions`, no such folder or file, or a file with other columns.

    Source:
        U.S. Census Bureau, Census 2000 Summary File 1, table H13 (public domain).
    """
    regions = one_of("regions", regions, (CensusRegions.STATES, CensusRegions.COUNTIES, CensusRegions.TRACTS))
    if regions is CensusRegions.TRACTS:
        columns = TRACTS.read(folder)
        # The published tract code repeats from county to county; the full code of 11 digits does not.
        codes = zip(columns["state"], columns["county"], np.char.add(columns["county"], columns["tract"]), strict=True)
    else:
        columns = COUNTIES.read(folder)
        codes = zip(columns["state"], columns["county"], strict=True)
    paths = [("United States", *map(str, path)) for path in codes]
    if regions is CensusRegions.STATES:
        paths = [path[:2] for path in paths]
    # Counties of one state share a leaf where states are the leaves.
    leaf_of = {path: leaf for leaf, path in enumerate(dict.fromkeys(paths))}
    leaf = np.array([leaf_of[path] for path in paths], np.int64)
    n_groups = np.concatenate([columns[column] for column in SIZES])
    size = np.repeat(np.arange(1, len(SIZES) + 1), len(paths))
    return count_of_counts(
        list(leaf_of), np.tile(leaf, len(SIZES)), size, n_groups, len(SIZES), f"census2000/{regions}"
    )
