"""Pairs of a taxi and a neighbourhood of Manhattan by pickups in 2013."""

from dataclasses import replace

from pgsr.experiments.fioretto2019.data import KUO_TAXI

DATA = replace(KUO_TAXI, fallback=None)
