"""The taxi trips of New York in 2014, for those who have them: Taxi of Fioretto and Van Hentenryck 2019."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.parameters import whole_number
from pgsr.datasets.table import count_of_counts
from pgsr.errors import DataError
from pgsr.experiments.data.files import DataFile, Total
from pgsr.machine.extras import extra

FILE = DataFile("tlc2014_trips.parquet", text=("medallion",), whole=("PULocationID",), may_miss=("PULocationID",))
ZONES = DataFile(
    "taxi_zone_lookup.csv",
    text=("Borough",),
    whole=("LocationID",),
    may_miss=("Borough",),
    totals=(Total("zones", 265), Total("zones in Manhattan", 69, where=("Borough", "Manhattan"))),
    content="6e53974a587fc9ee571537cdcfef1f71998906a0fd3a5b5a4ba15eae96aff4b1",
)
UNKNOWN = (264, 265)
"""The zones of places that are unknown or outside of the city; what the lookup calls them differs between versions."""


def tlc_trips(folder: str | os.PathLike[str] | None = None, max_size: int = 13_282) -> CountOfCounts:
    """Read pairs of a taxi and the zone of a pickup, counted by number of trips: New York / 6 boroughs / 263 zones.

    The paper does not say which trips of 2014 it takes, so whoever has some puts them into one file. The Commission's
    monthly files have zones without taxis, and its files by request have taxis with coordinates, so that one of both is
    to be joined beforehand. Trips from the unknown zones 264 and 265 are left out: this makes a benchmark, and is no
    step of a mechanism.

    Args:
        folder: holds tlc2014_trips.parquet, a row per trip with the columns medallion (the taxi) and PULocationID (the
            zone of the pickup), and taxi_zone_lookup.csv with LocationID and Borough; by default the folder that
            PGSR_DATA names.
        max_size: K; larger sizes count as K. The paper's is 13,282.

    Returns:
        270 regions x (K + 1) sizes, named "tlc-trips/K=13282"; regions ("New York", "Queens", "zone 2").

    Raises:
        DataError: no such folder or file, a file with other columns, a zone that the lookup lacks, or a `max_size` that
            is no whole number from 1 up.

    Source:
        New York City Taxi and Limousine Commission, trip records and taxi zone lookup table.
    """
    with extra("release"):
        import duckdb

    max_size = whole_number("max_size", max_size, least=1)
    lookup = ZONES.read(folder)
    known = ~np.isin(lookup["LocationID"], UNKNOWN)
    zones, boroughs = lookup["LocationID"][known], lookup["Borough"][known]
    path = FILE.path(folder)
    try:
        with duckdb.connect() as connection:
            pairs = connection.execute(
                "SELECT zone, medallion IS NULL AS none, count(*) AS trips "
                "FROM (SELECT CAST(coalesce(PULocationID, 0) AS BIGINT) AS zone, medallion FROM read_parquet(?)) "
                f"WHERE zone NOT IN {UNKNOWN} GROUP BY medallion, zone",
                [str(path)],
            ).fetchnumpy()
    except duckdb.Error as fault:
        first = str(fault).splitlines()[0]
        raise DataError(
            f"{path} has no trips by medallion and PULocationID ({first}); is it the right file?"
        ) from fault
    zone = np.asarray(pairs["zone"])
    if np.asarray(pairs["none"]).any():
        raise DataError(f"{path} has trips without a medallion; leave them out")
    if not np.isin(zone, zones).all():
        raise DataError(f"{path} has trips from a zone that {ZONES.file} lacks; correct one of both files")
    order = np.argsort(zones)
    leaf = order[np.searchsorted(zones[order], zone)]
    paths = [("New York", str(borough), f"zone {number}") for number, borough in zip(zones, boroughs, strict=True)]
    one_each = np.ones(len(leaf), np.int64)
    return count_of_counts(paths, leaf, np.asarray(pairs["trips"]), one_each, max_size, f"tlc-trips/K={max_size}")
