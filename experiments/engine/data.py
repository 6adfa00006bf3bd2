"""The data sets of the experiments. Generated ones stand in for what cannot be had, and say so in their names."""

from functools import partial
from typing import Any

from experiments.engine.experiment import DataSet
from pgsr.datasets import census_like, kuo_taxi

CENSUS_LEVELS = {"states": (1, 51), "divisions": (1, 9, 51), "counties": (1, 51, 3_143)}
"""Regions by level of what `census_like` generates."""

TAXI_GROUPS = 360_872
"""Pairs of a taxi and a neighbourhood in `kuo_taxi`."""


def generated_census(name: str, regions: str, max_size: int, groups: int, note: str, **options: Any) -> DataSet:
    """What `census_like` generates; `options` are its own."""
    load = partial(census_like, regions, max_size, groups, **options)
    return DataSet(name, load, CENSUS_LEVELS[regions], max_size, groups, False, note)


def real_taxi(name: str, max_size: int, note: str, fallback: DataSet | None = None) -> DataSet:
    """What `kuo_taxi` reads, on all its levels."""
    load = partial(kuo_taxi, max_size=max_size)
    return DataSet(name, load, (1, 2, 28), max_size, TAXI_GROUPS, True, note, fallback)


CENSUS_STATES = generated_census(
    "generated, 51 leaves", "divisions", 200, 100_000, "census_like: nation / 9 divisions / 51 states, K = 200"
)

CENSUS_COUNTIES = generated_census(
    "generated, 3143 leaves",
    "counties",
    2_000,
    10_000_000,
    "census_like: nation / 51 states / 3,143 counties, K = 2,000",
)

CENSUS_PAPER = generated_census(
    "generated as Synthetic",
    "counties",
    100_000,
    240_908_081,
    "the recipe of Kuo et al. for their data set Synthetic on figures of 2000, as many groups, K = 100,000",
    tail="paper",
)

TAXI = real_taxi(
    "taxi",
    100_000,
    "kuo_taxi: Manhattan / 2 halves / 28 neighbourhoods, 2013, K = 100,000 as in the paper",
    fallback=CENSUS_STATES,
)
