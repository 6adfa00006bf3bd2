"""Matching."""

from pgsr.algorithms.matching.alone import BottomUp, NoConsistency
from pgsr.algorithms.matching.sorted_matching import (
    Match,
    Matcher,
    NoMatchError,
    SortedMatching,
    match_groups,
    runs_below,
)
from pgsr.algorithms.matching.top_down import Matching, Merge

__all__ = [
    "BottomUp",
    "Match",
    "Matcher",
    "Matching",
    "Merge",
    "NoConsistency",
    "NoMatchError",
    "SortedMatching",
    "match_groups",
    "runs_below",
]
