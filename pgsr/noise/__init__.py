"""The noise steps, the only places that touch the truth: how much noise every level's values get, and drawing it.

| file        | what it does                                                                          |
|-------------|---------------------------------------------------------------------------------------|
| `geometric` | `Geometric`: double-geometric noise for a pure epsilon                                 |
| `budgeted`  | `Noise`: any budget, unit of privacy and law per level                                 |
| `by_level`  | `measured_by_level`: the same noise where the largest size differs by level             |
| `step`      | `NoiseStep`: what both share, measuring every region with the noise of its level       |
"""

from pgsr.noise.budgeted import Noise
from pgsr.noise.by_level import blank_by_level, measure_by_level, measured_by_level, require_by_level, require_view
from pgsr.noise.geometric import Geometric
from pgsr.noise.step import NoiseStep

__all__ = [
    "Geometric",
    "Noise",
    "NoiseStep",
    "blank_by_level",
    "measure_by_level",
    "measured_by_level",
    "require_by_level",
    "require_view",
]
