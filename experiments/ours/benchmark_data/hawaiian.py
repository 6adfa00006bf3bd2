"""Block groups of the Census of 2000 by their native Hawaiian and other Pacific Islander people: mostly empty."""

from functools import partial

from pgsr.experiments.data.census2000_race import census2000_race
from pgsr.experiments.engine.experiment import DataSet

K = 5_000


def people(race: str, name: str) -> DataSet:
    """Describe the people of a race by block group, nation and states; more than K count as K."""
    load = partial(census2000_race, race, "states", max_size=K)
    note = f"census2000_race: people of a race per block group of 2000, nation / 51 states, K = {K:,}"
    return DataSet(f"{name} by block group, K = {K:,}", load, (1, 51), K, 193_585, True, note)


DATA = people("nhpi", "Hawaiian")
