"""The exact algorithms of stated problems, one folder per problem. None of them needs a solver.

| room                          | what it solves                                                               |
|-------------------------------|------------------------------------------------------------------------------|
| `m_h`                         | M_H: `TreeProjection`, by trees of sizes or as a flow                        |
| `m_h_regions`                 | M_H with every region's total, or some of them                               |
| `m_c`                         | M_c in squares: relaxed, and in integers                                     |
| `isotonic`                    | every region's nearest non-decreasing vector                                 |
| `cost_tables`                 | M_H by the published dynamic program                                         |
| `choice_tree`                 | problems with choices between conditions, a case proved by another method or flow |
| `tree_rounding`               | integers near real counts, from the root down                                |
| `simplex`, `mean_consistency` | the naive problem; least squares under consistency alone                     |

Methods that solve no stated problem are in `pgsr.estimators`. The docstring of a room states its problem and derives
what its code computes. A method is a value with `supports` and `solve`; a new one is a subclass of
`pgsr.methods.gate.GatedMethod`, and a line of `pgsr.own_methods.METHODS`.
"""

from pgsr.algorithms.choice_tree import ChoiceTree
from pgsr.algorithms.cost_tables import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.isotonic import Isotonic, IsotonicFit, MinMax
from pgsr.algorithms.m_c import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_h import TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.simplex import SimplexProjection

__all__ = [
    "ChoiceTree",
    "CostTables",
    "CumulativeIntegers",
    "CumulativeProjection",
    "Isotonic",
    "IsotonicFit",
    "MeanConsistency",
    "MinMax",
    "RegionTotalsProjection",
    "SimplexProjection",
    "SlopeGreedy",
    "SlopeMerge",
    "TreeProjection",
]
