"""x"""

from pgsr.intervals.band import Band, band
from pgsr.intervals.bootstrap import FORMS, Replicates, intervals, replicate
from pgsr.intervals.bounds import Bounds
from pgsr.intervals.statistics import (
    SPELLINGS,
    Count,
    Counts,
    Cumulative,
    CumulativeCounts,
    Difference,
    Gini,
    MeanSize,
    Quantile,
    Share,
    Statistic,
    Tail,
    statistic_of,
)
from pgsr.intervals.value import Intervals

__all__ = [
    "FORMS",
    "SPELLINGS",
    "Band",
    "Bounds",
    "Count",
    "Counts",
    "Cumulative",
    "CumulativeCounts",
    "Difference",
    "Gini",
    "Intervals",
    "MeanSize",
    "Quantile",
    "Replicates",
    "Share",
    "Statistic",
    "Tail",
    "band",
    "intervals",
    "replicate",
    "statistic_of",
]
