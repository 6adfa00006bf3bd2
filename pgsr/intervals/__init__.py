"""Intervals: how far a release may be from the truth, told from what was released alone.

Everything here is post-processing of noisy values and released counts, so it costs no privacy. There are three kinds.

**The band** (`band`) holds for all counts of all regions at once, whatever the truth is. Noise is double geometric,
so

    P(|z| > m) = 2 a^(m + 1) / (1 + a),    a = exp(-1 / scale),

and q_l, one quantile per level l of the hierarchy, are the smallest with P(all |noise| <= q_l) >= level
(`noise_quantiles`). Then y - q_l <= exact value <= y + q_l in every cell. What holds of all counts narrows this
without excluding any of them (`tightening`): they are not negative, cumulative counts never fall, regions add up, and
public totals are met. The chance that the truth lies inside is at least the level, exactly, for every data set.

**The bootstrap** (`intervals`) is for any mechanism and statistic, each interval by itself. The release x stands for
the truth: the mechanism is run on it B times with research noise, and the distances of the replicates t(x*) from the
release's own t(x) stand for that of t(x) from the truth. Intervals are t -+ a quantile of |t* - t|, whose width has the
bias of post-processing and its spread. They fall short for tails, means and Gini coefficients of M_H and M_c^dp, whose
regions' numbers of groups are estimated: their post-processing smooths away what the truth had, and a replicate cannot
lose what the release has lost already. Experiment X3 measures how often intervals hold the truth.

**Draws of the posterior** (`posterior_draws`) are for releases by `pgsr.estimators.Posterior`, any statistic, each
interval by itself, without a second release. The truth is drawn many times from what the noisy values leave possible,
and the interval is made of the quantiles of the draws, widened to hold the release. Every draw has an error of the
learned prior, too, which regions share.

Files: `statistics` what intervals are of, `spelling` the same as text; `band`, `noise_quantiles`, `tightening` and
`bounds` the band; `bootstrap`, and `cells` the same of all cells; `posterior` the draws; `value` the
intervals themselves, `figure` how they are drawn.

    >>> from pgsr import CountOfCounts, Hierarchy, View
    >>> from pgsr.noise import Geometric
    >>> from pgsr.privacy import Seeded
    >>> from pgsr.estimators import Matching
    >>> from pgsr.methods.mechanism import Mechanism
    >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
    >>> mechanism = Mechanism(Geometric(View.CUMULATIVE, epsilon=1), Matching())
    >>> released = mechanism.release(truth, Seeded("demo"))
    >>> intervals(mechanism, released, Tail(1)).to_frame()
      region_id  level level_name level_0 level_1 statistic  lower  estimate  upper
    0        US      0    level_0      US     NaN    tail:1     68        73     78
    1     US/GA      1    level_1      US      GA    tail:1     36        40     44
    2     US/MI      1    level_1      US      MI    tail:1     29        33     37
    >>> band(released.measurement).intervals(Tail(1), released.estimate.counts()).to_frame()
      region_id  level level_name level_0 level_1 statistic  lower  estimate  upper
    0        US      0    level_0      US     NaN    tail:1     66        73     80
    1     US/GA      1    level_1      US      GA    tail:1     32        40     48
    2     US/MI      1    level_1      US      MI    tail:1     25        33     41
"""

from pgsr.intervals.band import Band, EmptyBandError, band
from pgsr.intervals.bootstrap import Origin, Replicates, intervals, replicate
from pgsr.intervals.bounds import Bounds
from pgsr.intervals.cells import cell_intervals, cells_of, replicate_cells
from pgsr.intervals.posterior import posterior_draws
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
    "SPELLINGS",
    "Band",
    "Bounds",
    "Count",
    "Counts",
    "Cumulative",
    "CumulativeCounts",
    "Difference",
    "EmptyBandError",
    "Gini",
    "Intervals",
    "MeanSize",
    "Origin",
    "Quantile",
    "Replicates",
    "Share",
    "Statistic",
    "Tail",
    "band",
    "cell_intervals",
    "cells_of",
    "intervals",
    "posterior_draws",
    "replicate",
    "replicate_cells",
    "statistic_of",
]
