"""Every leaf alone by isotonic regression of its noisy ranked sizes, and sums above: Kuo et al. 2018, slides."""

from functools import partial

from pgsr import View
from pgsr.algorithms import BottomUp
from pgsr.experiments.ours.arms import leaves_only
from pgsr.experiments.ours.competitor import Competitor

ARM = Competitor("bottom-up, Hg", partial(leaves_only, View.RANKED), BottomUp(), made_by="Kuo et al. 2018, slides")
