"""What works on a nation in parts: one state in memory at a time, on threads, processes or a Dask cluster.

A nation has more cells than memory; a state, a region of some level with all that lies below it, has not. What travels
between parts are the cells that are worth looking at, prices, and the values of the parts' roots. The mathematics is
that of the methods in memory (`pgsr.algorithms`), whose loops these are; docs/publish/nation.md says what is done in
which order.

| file             | what                                                                                  |
|------------------|---------------------------------------------------------------------------------------|
| `layout`         | regions and parts, what tables are called, and what a streamed solve says             |
| `noise`          | `measure`: noise of every part                                                        |
| `m_h`            | `StreamedLevelTreeProjection`: M_H and M_c^dp; `judge` proves the answer in parts     |
| `matching`       | `StreamedLevelMatching`                                                               |
"""

from pgsr.nation.m_h import StreamedLevelTreeProjection
from pgsr.nation.matching import StreamedLevelMatching
from pgsr.nation.noise import measure

__all__ = ["StreamedLevelMatching", "StreamedLevelTreeProjection", "measure"]
