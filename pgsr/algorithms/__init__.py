"""Specialised exact algorithms. None of them needs a solver."""

from pgsr.algorithms.cost_table_steps import SlopeGreedy, SlopeMerge
from pgsr.algorithms.cost_tables import CostTables
from pgsr.algorithms.cumulative_projection import CumulativeProjection
from pgsr.algorithms.emd_projection import EmdProjection
from pgsr.algorithms.entity_totals import EntityTotalsProjection
from pgsr.algorithms.isotonic import Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic_fit import IsotonicFit
from pgsr.algorithms.isotonic_method import Isotonic
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.mapping import DaskMap, Mapper, Threads
from pgsr.algorithms.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.region_totals import RegionTotalsProjection
from pgsr.algorithms.selection import ChosenByNoise, ChosenByScore, ChosenByStatistic
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.algorithms.streaming import CountFile, SizeBlocks, StreamedResult, StreamedTreeProjection
from pgsr.algorithms.tree_projection import TreeProjection

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
