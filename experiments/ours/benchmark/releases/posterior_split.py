"""The posterior means of every leaf's counts, small sizes measured by cumulative counts and large groups by ranks.

The root gets 1/50 of epsilon, and thresholds come from its noisy values (`pgsr.noise.SplitByRoot`).
"""

from pgsr.algorithms import Posterior
from pgsr.experiments.ours.arms import SPLIT_LEAVES_MOSTLY
from pgsr.experiments.ours.competitor import Competitor

ARM = Competitor(
    "posterior, split",
    SPLIT_LEAVES_MOSTLY,
    Posterior(intervals=False),
    made_by="this toolkit",
    assumes="counts that are smooth in size, but for spikes that stand out from the noise",
)
