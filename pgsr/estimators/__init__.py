"""The estimators: methods that make a release from noisy values in steps, and solve no stated problem.

| room                       | what it does                                                                       |
|----------------------------|------------------------------------------------------------------------------------|
| `posterior`                | what the noisy values say under the exact law of the noise; estimates from it      |
| `matching`                 | regions alone, then matched and merged from the root down, or added from the leaves up |
| `two_stage`                | regions alone in L1, together in L2, then integers                                 |
| `isotonic_tree_projection` | M_c^dp: isotonic fits, then M_H                                                    |

Each uses exact algorithms of `pgsr.algorithms` as its steps. Each step's problem is stated where the step is taken.
"""

from pgsr.estimators.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.estimators.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.estimators.posterior import Posterior
from pgsr.estimators.two_stage import TwoStage

__all__ = [
    "BottomUp",
    "IsotonicTreeProjection",
    "Matching",
    "Merge",
    "NoConsistency",
    "Posterior",
    "TwoStage",
    "match_groups",
]
