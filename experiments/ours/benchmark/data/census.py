"""A million generated households and group quarters, and the small census that the profiles smoke and quick use."""

from functools import partial

from pgsr.datasets import census_like
from pgsr.experiments.engine.data import generated_census
from pgsr.experiments.fioretto2019.data import CENSUS_SMALL
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData

K, GROUPS, SEED, OTHER_SEED = 200, 1_000_000, 7_001, 7_002

STAND_IN = "another draw of census_like, of other households"

DATA = BenchmarkData.of(
    generated_census(
        "Census, generated for B1",
        "divisions",
        K,
        GROUPS,
        f"census_like with a seed of its own: nation / 9 divisions / 51 states, K = {K}",
        seed=SEED,
    ),
    partial(census_like, "divisions", K, GROUPS, OTHER_SEED),
    STAND_IN,
)

SMALL = BenchmarkData.of(CENSUS_SMALL, partial(census_like, "divisions", 50, 100_000, OTHER_SEED), STAND_IN)
