"""The specialised exact algorithms, one folder per problem. None of them needs a solver.

| room                          | what it solves                                                               |
|-------------------------------|------------------------------------------------------------------------------|
| `m_h`                         | M_H with the root's total: `TreeProjection`, and block by block of sizes     |
| `m_h_regions`                 | M_H with every region's total, with or without numbers of entities           |
| `m_c`                         | M_c: squares and absolute values, relaxed; squares in integers               |
| `m_h_levels`, `m_c_levels`    | M_H, and M_c and two-stage, where every level has sizes of its own           |
| `posterior_levels`            | the posterior, where every level has sizes of its own                        |
| `isotonic`                    | every region's nearest non-decreasing vector                                 |
| `matching`                    | regions alone, then matched and merged from the root down                    |
| `cost_tables`                 | M_H by the published dynamic program                                         |
| `posterior`                   | what the noisy counts say under the exact law of the noise; estimates from it |
| `tree_rounding`               | integers near real counts, from the root down                                |
| `choosing`                    | choosing among mechanisms, with an honest ledger                             |
| `two_stage`                   | regions alone in L1, together in L2, then integers                           |
| `simplex`, `mean_consistency` | the naive problem; least squares under consistency alone                     |
| `isotonic_tree_projection`    | M_c^dp: isotonic fits, then M_H                                              |

The docstring of a room states its problem and derives what its code computes. A method is a value with `supports` and
`solve`; a new one is a subclass of `pgsr.methods.gate.GatedMethod`.
"""

from pgsr.algorithms.choosing import ChosenByNoise, ChosenByScore, ChosenByStatistic
from pgsr.algorithms.cost_tables import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.isotonic import Isotonic, IsotonicFit, Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.m_c import CumulativeIntegers, CumulativeProjection, EmdProjection
from pgsr.algorithms.m_h import CountFile, SizeBlocks, StreamedResult, StreamedTreeProjection, TreeProjection
from pgsr.algorithms.m_h_regions import EntityTotalsProjection, RegionTotalsProjection
from pgsr.algorithms.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.posterior import PooledPrior, Posterior
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.algorithms.two_stage import MidpointBottomUp, TwoStage
from pgsr.machine.parallel import DaskMap, Mapper, Threads

__all__ = [
    "BottomUp",
    "ChosenByNoise",
    "ChosenByScore",
    "ChosenByStatistic",
    "CostTables",
    "CountFile",
    "CumulativeIntegers",
    "CumulativeProjection",
    "DaskMap",
    "EmdProjection",
    "EntityTotalsProjection",
    "Isotonic",
    "IsotonicFit",
    "IsotonicTreeProjection",
    "Mapper",
    "Matching",
    "MeanConsistency",
    "Merge",
    "MidpointBottomUp",
    "NoConsistency",
    "Optimum",
    "PooledPrior",
    "Posterior",
    "RegionTotalsProjection",
    "SimplexProjection",
    "SizeBlocks",
    "SlopeGreedy",
    "SlopeMerge",
    "StreamedResult",
    "StreamedTreeProjection",
    "Threads",
    "TreeProjection",
    "TwoStage",
    "isotonic_l1",
    "isotonic_l2",
    "match_groups",
]
