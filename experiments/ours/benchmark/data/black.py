"""Block groups of the Census of 2000 by their Black people: many sizes, with few groups each."""

from functools import partial

from pgsr.datasets.census2000_race import census2000_race
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData
from pgsr.experiments.ours.benchmark.data.hawaiian import K, people

DATA = BenchmarkData.of(
    people("black", "Black"),
    partial(census2000_race, "asian", "states", max_size=K),
    "Asian people by block group, of the same census",
)
