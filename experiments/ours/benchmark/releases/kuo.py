"""Every level by cumulative counts with equal shares, and groups matched from the root down: Kuo et al. 2018."""

from pgsr.algorithms import Matching
from pgsr.experiments.ours.arms import CUMULATIVE_EQUAL
from pgsr.experiments.ours.competitor import Competitor

ARM = Competitor("Hc with matching (Kuo)", CUMULATIVE_EQUAL, Matching(), made_by="Kuo et al. 2018")
