"""The data sets, as counts of groups by region and size: generators from published figures, and readers of files.

`census_like`, `CensusBlocks` and `taxi_like` work anywhere. `flights` and `packaged` read tables of installed packages.
`census2000`, `kuo_taxi`, `kuo_hawaiian`, `hflights`, `twitch_degrees` and `PpmfBlocks` read files from the folder that
the environment variable PGSR_DATA names. `python -m pgsr.datasets` says where packages and files come from, makes files
and checks both. A `world` is a known prior, from which truths are drawn.
"""

from pgsr.datasets.census2000 import census2000
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.datasets.census_like import census_like
from pgsr.datasets.flights import flights
from pgsr.datasets.hflights import hflights
from pgsr.datasets.kuo_hawaiian import kuo_hawaiian
from pgsr.datasets.kuo_taxi import kuo_taxi
from pgsr.datasets.packages import packaged
from pgsr.datasets.ppmf_blocks import PpmfBlocks
from pgsr.datasets.taxi_like import taxi_like
from pgsr.datasets.twitch import twitch_degrees
from pgsr.datasets.worlds import world

__all__ = [
    "CensusBlocks",
    "PpmfBlocks",
    "census2000",
    "census_like",
    "flights",
    "hflights",
    "kuo_hawaiian",
    "kuo_taxi",
    "packaged",
    "taxi_like",
    "twitch_degrees",
    "world",
]
