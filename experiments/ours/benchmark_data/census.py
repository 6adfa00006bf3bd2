"""A million generated households and group quarters, and the small census that the profiles smoke and quick use."""

from pgsr.experiments.engine.data import generated_census
from pgsr.experiments.fioretto2019.data import CENSUS_SMALL

K, GROUPS, SEED = 200, 1_000_000, 7_001

DATA = generated_census(
    "Census, generated for B1",
    "divisions",
    K,
    GROUPS,
    f"census_like with a seed of its own: nation / 9 divisions / 51 states, K = {K}",
    seed=SEED,
)

SMALL = CENSUS_SMALL
