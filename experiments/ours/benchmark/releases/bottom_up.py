"""Every leaf alone by isotonic regression of its noisy cumulative counts, and sums above: Kuo et al. 2018, slides."""

from pgsr.algorithms import BottomUp
from pgsr.experiments.ours.arms import CUMULATIVE_LEAVES_ONLY
from pgsr.experiments.ours.competitor import Competitor

ARM = Competitor("bottom-up, Hc", CUMULATIVE_LEAVES_ONLY, BottomUp(), made_by="Kuo et al. 2018, slides")
