"""Aircraft by their departures from the three airports of New York in 2013."""

from dataclasses import replace

from pgsr.experiments.fioretto2019.data import FLIGHTS

DATA = replace(FLIGHTS, fallback=None)
