"""Every region by absolute distances, then all regions together by squares; equal shares of all levels."""

from pgsr.experiments.ours.arms import CUMULATIVE_EQUAL
from pgsr.experiments.ours.competitor import Competitor
from pgsr.models import TwoStage

ARM = Competitor("two-stage, equal shares", CUMULATIVE_EQUAL, TwoStage(), made_by="this toolkit")
