"""Specialised exact algorithms. None of them needs a solver."""

from pgsr.algorithms.choosing import ChosenByNoise, ChosenByScore, ChosenByStatistic
from pgsr.algorithms.cost_tables import CostTables, SlopeGreedy, SlopeMerge
from pgsr.algorithms.isotonic import Isotonic, IsotonicFit, Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.m_c import CumulativeProjection, EmdProjection
from pgsr.algorithms.m_h import CountFile, SizeBlocks, StreamedResult, StreamedTreeProjection, TreeProjection
from pgsr.algorithms.m_h_regions import EntityTotalsProjection, RegionTotalsProjection
from pgsr.algorithms.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.parallel import DaskMap, Mapper, Threads

__all__ = [
    "BottomUp",
    "ChosenByNoise",
    "ChosenByScore",
    "ChosenByStatistic",
    "CostTables",
    "CountFile",
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
    "NoConsistency",
    "Optimum",
    "RegionTotalsProjection",
    "SimplexProjection",
    "SizeBlocks",
    "SlopeGreedy",
    "SlopeMerge",
    "StreamedResult",
    "StreamedTreeProjection",
    "Threads",
    "TreeProjection",
    "isotonic_l1",
    "isotonic_l2",
    "match_groups",
]
