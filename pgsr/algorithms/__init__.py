"""The specialised exact algorithms, one folder per problem. None of them needs a solver.

| room                          | what it solves                                                               |
|-------------------------------|------------------------------------------------------------------------------|
| `m_h`                         | M_H: `TreeProjection`, by trees of sizes or as a flow                        |
| `m_h_regions`                 | M_H with every region's total, or some of them                               |
| `m_c`                         | M_c in squares: relaxed, and in integers                                     |
| `isotonic`                    | every region's nearest non-decreasing vector                                 |
| `matching`                    | regions alone, then matched and merged from the root down                    |
| `cost_tables`                 | M_H by the published dynamic program                                         |
| `posterior`                   | what the noisy counts say under the exact law of the noise; estimates from it |
| `tree_rounding`               | integers near real counts, from the root down                                |
| `choice_tree`                 | problems with choices between conditions, a case proved by another method or flow |
| `two_stage`                   | regions alone in L1, together in L2, then integers                           |
| `simplex`, `mean_consistency` | the naive problem; least squares under consistency alone                     |
| `isotonic_tree_projection`    | M_c^dp: isotonic fits, then M_H                                              |

The docstring of a room states its problem and derives what its code computes. A method is a value with `supports` and
`solve`; a new one is a subclass of `pgsr.methods.gate.GatedMethod`, and a line of `METHODS`.
"""

from pgsr.algorithms.choice_tree import ChoicesBound, ChoiceTree, choices_bound
from pgsr.algorithms.cost_tables import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.isotonic import Isotonic, IsotonicFit, Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.m_c import CumulativeIntegers, CumulativeProjection
from pgsr.algorithms.m_h import TreeProjection
from pgsr.algorithms.m_h_regions import RegionTotalsProjection
from pgsr.algorithms.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.posterior import Posterior
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.algorithms.two_stage import MidpointBottomUp, TwoStage
from pgsr.data.views import View
from pgsr.machine.parallel import DaskMap, Mapper, Threads
from pgsr.methods.catalogue import Answer, Entry, Use
from pgsr.noise import SplitByRoot

__all__ = [
    "METHODS",
    "BottomUp",
    "ChoiceTree",
    "ChoicesBound",
    "CostTables",
    "CumulativeIntegers",
    "CumulativeProjection",
    "DaskMap",
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
    "Posterior",
    "RegionTotalsProjection",
    "SimplexProjection",
    "SlopeGreedy",
    "SlopeMerge",
    "Threads",
    "TreeProjection",
    "TwoStage",
    "choices_bound",
    "isotonic_l1",
    "isotonic_l2",
    "match_groups",
]

CUMULATIVE, RANKED, SPLIT = View.CUMULATIVE, View.RANKED, SplitByRoot()

METHODS: tuple[Entry, ...] = (
    Entry(TreeProjection(), release="m_h", page="tree_projection.md"),
    Entry(RegionTotalsProjection()),
    Entry(CumulativeIntegers(), Answer.GAP, page="cumulative_dual.md#integers-and-further"),
    Entry(CumulativeProjection(), page="cumulative_dual.md"),
    Entry(Isotonic()),
    Entry(SimplexProjection()),
    Entry(ChoiceTree(), page="conditions.md#choices"),
    Entry(MeanConsistency()),
    Entry(CostTables(), small=True),
    Entry(CostTables(step=SlopeGreedy()), uses=Use.COMPARE, small=True),  # the step as the paper prints it
    Entry(
        IsotonicTreeProjection(),
        measured={CUMULATIVE: "IsotonicTreeProjection()  [M_c^dp]"},
        release="m_c_dp",
        page="choose_a_mechanism.md#experiment-x1-optima-beside-heuristics",
    ),
    Entry(
        Matching(),
        measured={
            CUMULATIVE: "Matching()  [H_c, sorted]",
            RANKED: "Matching()  [H_g, sorted]",
            SPLIT: "Matching()  [split]",
        },
        release="kuo",
        page="../notebooks/06_matching.ipynb",
    ),
    Entry(
        BottomUp(),
        measured={CUMULATIVE: "BottomUp()  [H_c]", RANKED: "BottomUp()  [H_g]", SPLIT: "BottomUp()  [split]"},
        release="bottom_up",
        page="choose_a_mechanism.md#experiment-x2-what-the-exact-law-of-the-noise-is-worth",
    ),
    Entry(NoConsistency(), uses=Use.PAGE | Use.WARM_UP),  # a baseline whose regions do not add up is no release
    Entry(
        TwoStage(),
        release="two_stage",
        page="choose_a_mechanism.md#experiment-x1-optima-beside-heuristics",
    ),
    Entry(MidpointBottomUp(), uses=Use.PAGE | Use.WARM_UP),  # worth a look beside BottomUp() in its experiment alone
    Entry(
        Posterior(),
        measured={CUMULATIVE: "Posterior()", RANKED: "Posterior()  [ranked]", SPLIT: "Posterior()  [split]"},
        release="posterior",
        page="intervals.md",
    ),
)
"""The catalogue of our own methods, from which comparisons, pages, checks, warm-up and releases have their lists; the
models of solvers continue it (`pgsr.models.catalogue`)."""
