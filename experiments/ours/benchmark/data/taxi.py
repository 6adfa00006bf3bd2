"""Pairs of a taxi and a neighbourhood of Manhattan by pickups in 2013."""

from functools import partial

from pgsr.datasets import taxi_like
from pgsr.experiments.fioretto2019.data import KUO_TAXI
from pgsr.experiments.ours.benchmark.data.data_set import BenchmarkData

DATA = BenchmarkData.of(
    KUO_TAXI, partial(taxi_like, max_size=KUO_TAXI.max_size), "taxi_like, generated from published totals of 2014"
)
