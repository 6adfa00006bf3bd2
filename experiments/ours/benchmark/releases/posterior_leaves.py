"""The posterior means of every leaf's counts given its noisy cumulative counts, and sums above."""

from pgsr.algorithms import Posterior
from pgsr.experiments.ours.arms import CUMULATIVE_LEAVES_ONLY
from pgsr.experiments.ours.competitor import Competitor

ARM = Competitor(
    "posterior, leaves only",
    CUMULATIVE_LEAVES_ONLY,
    Posterior(intervals=False),
    made_by="this toolkit",
    assumes="counts that are smooth in size, but for spikes that stand out from the noise",
)
