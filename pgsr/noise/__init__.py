"""The noise steps, the only places that touch the truth: how much noise every level's values get, and drawing it.

| file        | what it does                                                                          |
|-------------|---------------------------------------------------------------------------------------|
| `geometric` | `Geometric`: double-geometric noise for a pure epsilon                                 |
| `general`  | `Noise`: any budget, unit of privacy and law per level                                 |
| `tables`    | the same noise on one table per level, where levels have sizes of their own             |
| `split_by_root` | how regions are measured, where the noisy root decides it                          |
| `shares_by_root` | shares of epsilon by the noisy root, which then becomes more precise                 |
| `step`      | `NoiseStep`: what both share, measuring every region with the noise of its level       |
"""

from pgsr.noise.general import Noise
from pgsr.noise.geometric import Geometric
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.split_by_root import SplitByRoot

__all__ = ["Geometric", "Measurement", "Noise", "SplitByRoot", "Totals"]
