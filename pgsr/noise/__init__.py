"""The noise steps, the only places that touch the truth: how much noise every level's values get, and drawing it.

| file        | what it does                                                                          |
|-------------|---------------------------------------------------------------------------------------|
| `geometric` | `Geometric`: double-geometric noise for a pure epsilon                                 |
| `budgeted`  | `Noise`: any budget, unit of privacy and law per level                                 |
| `tables`    | the same noise on one table per level, where levels have sizes of their own             |
| `step`      | `NoiseStep`: what both share, measuring every region with the noise of its level       |
"""

from pgsr.moved import old_names
from pgsr.noise.budgeted import Noise
from pgsr.noise.geometric import Geometric
from pgsr.noise.step import NoiseStep

__all__ = ["Geometric", "Noise", "NoiseStep"]

__getattr__ = old_names(__name__)
