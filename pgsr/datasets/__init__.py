"""The data sets, as counts of groups by region and size: generators from published figures, and readers of files.

`census_like`, `CensusBlocks` and `taxi_like` work anywhere. `flights` and `packaged` read tables of installed packages.
`census2000`, `kuo_taxi` and `kuo_hawaiian` read files from the folder that the environment variable PGSR_DATA names.
`python -m pgsr.datasets` says where packages and files come from, makes files and checks both. A `world` is a known
prior, from which truths are drawn.
"""

from pgsr.datasets.census2000 import census2000
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.datasets.census_like import census_like
from pgsr.datasets.flights import flights
from pgsr.datasets.kuo_hawaiian import kuo_hawaiian
from pgsr.datasets.kuo_taxi import kuo_taxi
from pgsr.datasets.packages import packaged
from pgsr.datasets.taxi_like import taxi_like
from pgsr.datasets.worlds import world

__all__ = [
    "CensusBlocks",
    "census2000",
    "census_like",
    "flights",
    "kuo_hawaiian",
    "kuo_taxi",
    "packaged",
    "taxi_like",
    "world",
]
