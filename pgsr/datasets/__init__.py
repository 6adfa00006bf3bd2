"""The data sets that work anywhere, as counts of groups by region and size.

`census_like`, `CensusBlocks` and `taxi_like` generate them from published figures. `flights` and `packaged` read tables
of installed packages. A `world` is a known prior, from which truths are drawn. The files of the papers are read by
`pgsr.experiments.data`.
"""

from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.datasets.census_like import census_like
from pgsr.datasets.packages import flights, packaged
from pgsr.datasets.taxi_like import taxi_like
from pgsr.datasets.worlds import world

__all__ = ["CensusBlocks", "census_like", "flights", "packaged", "taxi_like", "world"]
