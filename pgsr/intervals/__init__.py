"""Intervals: how far a release may be from the truth, told from what was released alone.

Everything here is post-processing of noisy values and released counts, so it costs no privacy. There are three kinds.

**The band** (`band`) holds for all counts of all regions at once, whatever the truth is: noise exceeds its quantiles
(`noise_quantiles`) with a known chance, and what holds of all counts narrows the rest without excluding any of them
(`bounds`). The chance that the truth lies inside is at least the level, exactly, for every data set.

**Draws of the posterior**, of results of `pgsr.estimators.Posterior`, and **the bootstrap**, of any other release, are
for any statistic, each interval by itself (`intervals` says how). The bootstrap falls short for tails, means and Gini
coefficients of M_H and M_c^dp, whose regions' numbers of groups are estimated: their post-processing smooths away what
the truth had, and a replicate cannot lose what the release has lost already. Experiment X3 measures how often intervals
hold the truth. Every draw has an error of the learned prior, too, which regions share.

**Statistics** are texts. With x[s] the number of groups of size s = 0..K, c[s] = x[0] + ... + x[s], t[s] = c[K] - c[s]
the number of groups larger than s, n = c[K] that of all groups, and e = t[0] + ... + t[K - 1] that of entities:

| text                          | statistic                                                                    |
|-------------------------------|------------------------------------------------------------------------------|
| `count`, `count:5`            | x of all sizes, or of one                                                    |
| `cumulative`, `cumulative:5`  | c of all sizes, or of one                                                    |
| `tail:100`                    | t[100]                                                                       |
| `mean`                        | e / n                                                                        |
| `median`                      | the size of the middle group, or the mean of the two middle ones             |
| `quantile:0.9`                | the smallest s with c[s] >= p n; p above 0 and at most 1, such as 0.9 or 1/3 |
| `share:1..3`                  | (x[1] + x[2] + x[3]) / n                                                     |
| `gini`                        | the Gini coefficient (sum over s of c[s] t[s]) / (n e), of which there is no band |
| `mean minus US/GA`            | any of these, less the same of the region with this id                       |

A region without groups has no mean, median, quantile, share or Gini coefficient: these are NaN, "no groups". Mean,
median, quantiles and Gini coefficient take groups of K or more for groups of K, and say so where there are any. Where
levels have sizes of their own there are no intervals.
"""

from pgsr.data.intervals import Intervals
from pgsr.intervals.band import band
from pgsr.intervals.replicates import intervals

__all__ = ["Intervals", "band", "intervals"]
