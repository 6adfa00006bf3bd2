"""Intervals: how far a release may be from the truth, told from what was released alone.

Everything here is post-processing of noisy values and released counts, so it costs no privacy. There are two kinds.

**The band** (`band`) holds for all counts of all regions at once, whatever the truth is. Noise is double geometric, so

    P(|z| > m) = 2 a^(m + 1) / (1 + a),    a = exp(-1 / scale),

and q_l, one quantile per level l of the hierarchy, are the smallest with P(all |noise| <= q_l) >= level
(`noise_quantiles`). Then y - q_l <= exact value <= y + q_l in every cell. What holds of all counts narrows this without
excluding any of them (`tightening`): they are not negative, cumulative counts never fall, regions add up, and public
totals are met. The chance that the truth lies inside is at least the level, exactly, for every data set.

**The bootstrap** (`intervals`) is for any mechanism and statistic, each interval by itself. The release x stands for the
truth: the mechanism is run on it B times with research noise, and the distances of the replicates t(x*) from the
release's own t(x) stand for that of t(x) from the truth. Four forms were compared (`Replicates.intervals`), each on three
populations of 16 regions on three levels, sizes 0..20, 20 to 2,000 groups per leaf, epsilon 1, intervals of 90 %, 50
releases with 100 replicates each. The share of intervals that hold the truth, root and leaves:

FORMS_TABLE

The percentile form counts the bias of post-processing twice, and fails at the root. The basic form corrects it, but
misses where replicates pile up at a bound: a count released as 0. The normal form corrects the bias as well, and its
intervals of zeros have no width only where replicates never differ. The symmetric form, t -+ the quantile of |t* - t|,
has bias and spread in its width, so it is the default. On three other populations, 60 releases with 200 replicates:

FINAL_TABLE

It falls short for means and Gini coefficients of regions whose numbers of groups are estimated (M_H, M_c^dp): their
post-processing smooths away what the truth had, and a replicate cannot lose what the release has lost already.

Files: `statistics` what intervals are of, `spelling` the same as text; `band`, `noise_quantiles`, `tightening`, `bounds` the band; `bootstrap`;
`value` the intervals themselves, `figure` how they are drawn.

    >>> from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
    >>> from pgsr.algorithms import Matching
    >>> from pgsr.mechanism import Mechanism
    >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
    >>> mechanism = Mechanism(Geometric(View.CUMULATIVE, epsilon=1), Matching())
    >>> released = mechanism.release(truth, Seeded("demo"))
    >>> intervals(mechanism, released, Tail(1)).to_frame()
    >>> band(released.measurement).intervals(Tail(1), released.estimate.counts()).to_frame()
"""

from pgsr.intervals.band import Band, band
from pgsr.intervals.bootstrap import FORMS, Replicates, intervals, replicate
from pgsr.intervals.bounds import Bounds
from pgsr.intervals.spelling import SPELLINGS, statistic_of
from pgsr.intervals.statistics import (
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
