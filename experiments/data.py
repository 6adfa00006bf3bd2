"""The data sets of the experiments. Generated ones stand in for what cannot be had, and say so in their names."""

from experiments.experiment import DataSet
from pgsr.datasets import census_like, kuo_taxi

CENSUS_STATES = DataSet(
    "generated, 51 leaves",
    lambda: census_like(regions="divisions", max_size=200, groups=100_000),
    levels=(1, 9, 51),
    max_size=200,
    groups=100_000,
    real=False,
    note="census_like: nation / 9 divisions / 51 states, K = 200",
)

CENSUS_COUNTIES = DataSet(
    "generated, 3143 leaves",
    lambda: census_like(regions="counties", max_size=2_000, groups=10_000_000),
    levels=(1, 51, 3_143),
    max_size=2_000,
    groups=10_000_000,
    real=False,
    note="census_like: nation / 51 states / 3,143 counties, K = 2,000",
)

CENSUS_PAPER = DataSet(
    "generated as Synthetic",
    lambda: census_like(regions="counties", max_size=100_000, groups=240_908_081, tail="paper"),
    levels=(1, 51, 3_143),
    max_size=100_000,
    groups=240_908_081,
    real=False,
    note="the recipe of Kuo et al. for their data set Synthetic on figures of 2000, as many groups, K = 100,000",
)

TAXI = DataSet(
    "taxi",
    lambda: kuo_taxi(max_size=100_000),
    levels=(1, 2, 28),
    max_size=100_000,
    groups=360_872,
    real=True,
    note="kuo_taxi: Manhattan / 2 halves / 28 neighbourhoods, 2013, K = 100,000 as in the paper",
    fallback=CENSUS_STATES,
)
