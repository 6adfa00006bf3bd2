"""Choosing."""

from pgsr.algorithms.choosing.mechanisms import ChosenByNoise, ChosenByScore, ChosenByStatistic
from pgsr.algorithms.choosing.score import Branch, score
from pgsr.algorithms.choosing.statistic import DISTINCT_SIZES, Statistic, distinct_sizes

__all__ = [
    "DISTINCT_SIZES",
    "Branch",
    "ChosenByNoise",
    "ChosenByScore",
    "ChosenByStatistic",
    "Statistic",
    "distinct_sizes",
    "score",
]
