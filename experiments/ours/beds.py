"""The test beds: real data sets of many forms, for experiments on whether a mechanism's merits hold on other data.

Groups are tests of patients, schools, lecturers, films, players, persons, names and counties; trees have two or three
levels, from 4 leaves to 2,197, and sizes from a doctor's visits to bearers of a surname. An experiment leaves out those
whose package is absent.
"""

from functools import partial

from pgsr.experiments.data.packages import PACKAGED, packaged
from pgsr.experiments.engine.experiment import DataSet

BEDS: tuple[DataSet, ...] = tuple(
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
"""All of them; K is a round number fixed beforehand, and sizes above K count as K."""
