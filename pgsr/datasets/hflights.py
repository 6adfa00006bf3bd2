"""The departures of aircraft from the two airports of Houston, 2011, for those who have the R package hflights."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.files import DataFile, Total
from pgsr.datasets.parameters import whole_number
from pgsr.datasets.table import count_of_counts

FILE = DataFile(
    "hflights2011.parquet",
    text=("Origin", "TailNum"),
    may_miss=("TailNum",),
    totals=(Total("flights", 227_496), Total("airports", 2, distinct="Origin")),
)


def hflights(folder: str | os.PathLike[str] | None = None, max_size: int = 1_000) -> CountOfCounts:
    """Read aircraft at an airport, counted by number of departures: Houston / HOU, IAH.

    A group is an aircraft (a tail number) at an airport, its size its departures from there in 2011. Flights without a
    tail number are left out. No group has size 0, by construction of the data. `pgsr.datasets.flights` has the same of
    New York.

    Args:
        folder: holds hflights2011.parquet, which `python -m pgsr.datasets convert` makes; by default the folder that
            PGSR_DATA names.
        max_size: K, larger sizes count as K. The default is that of `pgsr.datasets.flights`.

    Returns:
        3 regions x (K + 1) sizes, named "hflights/K=1000".

    Raises:
        DataError: no such folder or file, a file with other columns, or a `max_size` that is no whole number from 1 up.

    Source:
        U.S. Bureau of Transportation Statistics, on-time performance of domestic flights, as in the R package hflights
        (CC0).
    """
    max_size = whole_number("max_size", max_size, least=1)
    flown = FILE.read(folder)
    known = flown["TailNum"] != ""
    airports, airport = np.unique(flown["Origin"][known], return_inverse=True)
    aircraft, tail_number = np.unique(flown["TailNum"][known], return_inverse=True)
    # One cell per (airport, tail number); those that never met are no groups.
    departures = np.bincount(airport * len(aircraft) + tail_number)
    group = np.flatnonzero(departures)
    leaves, one_each = [("Houston", str(code)) for code in airports], np.ones(len(group), np.int64)
    return count_of_counts(
        leaves, group // len(aircraft), departures[group], one_each, max_size, f"hflights/K={max_size}"
    )
