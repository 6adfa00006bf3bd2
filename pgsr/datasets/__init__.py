"""The data sets that work anywhere, as counts of groups by region and size.

`census_like`, `CensusBlocks` and `taxi_like` generate them from published figures. A `world` is a known prior, from
which truths are drawn. Real data, in files and packages, are read by `pgsr.experiments.data`.
"""

from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.datasets.census_like import census_like
from pgsr.datasets.taxi_like import taxi_like
from pgsr.datasets.worlds import world

__all__ = ["CensusBlocks", "census_like", "taxi_like", "world"]
