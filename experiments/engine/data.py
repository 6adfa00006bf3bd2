"""The builders of data sets that experiments on several papers use. Generated data says so in its name."""

from functools import partial
from typing import Any

from pgsr.datasets import census_like
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.engine.experiment import DataSet

CENSUS_LEVELS = {"states": (1, 51), "divisions": (1, 9, 51), "counties": (1, 51, 3_143)}
"""Regions by level of what `census_like` generates."""

TAXI_GROUPS = 360_872
"""Pairs of a taxi and a neighbourhood in `kuo_taxi`."""


def generated_census(name: str, regions: str, max_size: int, groups: int, note: str, **options: Any) -> DataSet:
    """Build the data set that `census_like` generates; `options` are its own. No household is empty."""
    load = partial(census_like, regions, max_size, groups, **options)
    return DataSet(name, load, CENSUS_LEVELS[regions], max_size, groups, False, note, smallest_size=1)


def real_taxi(name: str, max_size: int, note: str, fallback: DataSet | None = None) -> DataSet:
    """Build the data set that `kuo_taxi` reads, on all its levels. No (taxi, neighbourhood) pair is empty."""
    load = partial(kuo_taxi, max_size=max_size)
    return DataSet(name, load, (1, 2, 28), max_size, TAXI_GROUPS, True, note, fallback, smallest_size=1)
