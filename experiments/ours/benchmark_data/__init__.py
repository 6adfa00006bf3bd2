"""The data sets of the benchmark. A new one is a file here with a `DATA`, and its name in this list."""

from pgsr.experiments.engine.experiment import DataSet
from pgsr.experiments.ours.beds import BEDS
from pgsr.experiments.ours.benchmark_data import black, census, flights, hawaiian, taxi

DATA: tuple[DataSet, ...] = (
    *(flights.DATA, taxi.DATA, hawaiian.DATA, black.DATA, census.DATA),
    *(bed for bed in BEDS if bed.max_size <= 10_000 and bed.levels[-1] < 1_000 and bed.name != "flights"),
)
"""Without beds of more sizes or leaves, where mechanisms of others take minutes."""
