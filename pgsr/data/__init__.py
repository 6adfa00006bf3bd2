"""The data: a hierarchy of regions, counts of groups by region and size, and what is estimated of them.

| file             | what it does                                                                |
|------------------|-----------------------------------------------------------------------------|
| `hierarchy`      | `Hierarchy`: regions in levels, root first, and sums over children            |
| `counts`         | `CountOfCounts`: how many groups have s members; `sizes` of every level       |
| `views`          | `View`: counts, cumulative counts or ranked sizes of the same groups          |
| `estimate`       | `Estimate`: what a method found, in a view                                    |
| `intervals`      | `Intervals`: lower and upper ends of a statistic, or of every count         |
| `stand_in`       | `stand_in`: made-up counts of a wished shape, to plan with                     |
| `long_tables`    | a row per region and size; `region_ids` names regions, `rounding` rounds sums |
"""

from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.stand_in import stand_in
from pgsr.data.views import View

__all__ = [
    "CountOfCounts",
    "Estimate",
    "Hierarchy",
    "Split",
    "View",
    "stand_in",
]
