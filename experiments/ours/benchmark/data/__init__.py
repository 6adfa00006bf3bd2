"""The data sets of the benchmark. A new one is a file here with a `DATA`, and its name in this list."""

from pgsr.experiments.ours.benchmark.data import black, census, flights, hawaiian, taxi
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData

DATA: tuple[BenchmarkData, ...] = (flights.DATA, taxi.DATA, hawaiian.DATA, black.DATA, census.DATA)

__all__ = ["DATA", "BenchmarkData"]
