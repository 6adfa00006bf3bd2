"""Specialised exact algorithms. None of them needs a solver."""

from pgsr.algorithms.isotonic import Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic_fit import IsotonicFit
from pgsr.algorithms.isotonic_method import Isotonic
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.matching import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.algorithms.mean_consistency import MeanConsistency
from pgsr.algorithms.selection import ChosenByNoise, ChosenByScore, ChosenByStatistic
from pgsr.algorithms.simplex import SimplexProjection
from pgsr.algorithms.tree_projection import TreeProjection

__all__ = [
    "BottomUp",
    "ChosenByNoise",
    "ChosenByScore",
    "ChosenByStatistic",
    "Isotonic",
    "IsotonicFit",
    "IsotonicTreeProjection",
    "Matching",
    "MeanConsistency",
    "Merge",
    "NoConsistency",
    "Optimum",
    "SimplexProjection",
    "TreeProjection",
    "isotonic_l1",
    "isotonic_l2",
    "match_groups",
]
