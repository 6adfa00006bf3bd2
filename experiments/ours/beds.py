"""The test beds: real data sets of many forms, for experiments on whether a mechanism's merits hold on other data.

Groups are tests of patients, schools, lecturers, films, players, persons, names and counties; trees have two or three
levels, from 4 leaves to 2,197, and sizes from a doctor's visits to bearers of a surname. An experiment leaves out those
whose package or file is absent.
"""

from functools import partial

from pgsr.datasets import hflights, twitch_degrees
from pgsr.datasets.packages import PACKAGED, packaged
from pgsr.experiments.engine.experiment import DataSet

_PACKAGED = tuple(
    DataSet(
        row.name,
        partial(packaged, row.name),
        row.levels,
        row.max_size,
        row.groups,
        True,
        f"packaged: {row.what}; K = {row.max_size:,}",
        smallest_size=row.smallest_size,
    )
    for row in PACKAGED
)

HOUSTON = DataSet(
    "Houston flights",
    hflights,
    (1, 2),
    1_000,
    5_000,
    True,
    "hflights: aircraft by departures at two airports, 2011, K = 1,000",
    smallest_size=1,
    counted=False,
)
TWITCH = DataSet(
    "Twitch degrees",
    twitch_degrees,
    (1, 6),
    10_000,
    34_000,
    True,
    "twitch_degrees: users by number of friends in six languages, K = 10,000; a friendship is in two groups",
    smallest_size=1,
    counted=False,
)

BEDS: tuple[DataSet, ...] = (*_PACKAGED, HOUSTON, TWITCH)
"""All of them; K is a round number fixed beforehand, and sizes above K count as K."""
