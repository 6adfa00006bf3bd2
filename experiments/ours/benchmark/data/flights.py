"""Aircraft by their departures from the three airports of New York in 2013."""

import numpy as np

from pgsr import CountOfCounts, Hierarchy
from pgsr.experiments.fioretto2019.data import FLIGHTS
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData

DEPARTURES, PAIRS = 336_776, 7_941
"""Published: all departures of the year; pairs of an aircraft and an airport, which are the groups."""


def geometric() -> CountOfCounts:
    """Make counts that fall geometrically with size and have the published mean."""
    ratio = DEPARTURES / (DEPARTURES + PAIRS)
    counts = np.rint(1e9 * ratio ** np.arange(FLIGHTS.max_size + 1)).astype(np.int64)
    return CountOfCounts(Hierarchy.from_paths([("stand-in",)]), counts[None], "flights, stand-in")


DATA = BenchmarkData.of(FLIGHTS, geometric, "a geometric law with the published mean number of departures")
