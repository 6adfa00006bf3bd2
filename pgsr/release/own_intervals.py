"""The intervals that a posterior release with one `max_size` knows itself, of the statistics that are its cells."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.intervals import Count, Counts, Cumulative, CumulativeCounts, Intervals, Statistic, Tail
from pgsr.methods.method import Result
from pgsr.release.excess import with_sizes_below
from pgsr.release.reading import Published


def own_result(published: Published) -> Result:
    """Compute the post-processing of a posterior release again, so that it knows how far it may be off."""
    n_levels = published.counts.hierarchy.n_levels
    found = replace(published.terms, intervals=Fraction(9, 10)).mechanism(n_levels).post_process(published.measurement)
    assert isinstance(found, Result), "one max_size for all levels"
    return found


def own_intervals(
    published: Published, result: Result, statistic: Statistic, probability: Fraction
) -> Intervals | None:
    """Give the intervals of counts, cumulative counts and tails, which hold what regions have in common; else None.

    A tail is the public number of groups less a cumulative count.

    Args:
        published: a posterior release of noisy cumulative counts.
        result: of `own_result`.
        statistic: of counts by size.
        probability: of each interval by itself.
    """
    if not isinstance(statistic, Count | Counts | Cumulative | CumulativeCounts | Tail):
        return None
    assert result.uncertainty is not None, "the result of a posterior release"
    view = View.COUNTS if isinstance(statistic, Count | Counts) else View.CUMULATIVE
    released = Estimate(published.by_excess.hierarchy, View.COUNTS, published.by_excess.counts)
    cells = result.uncertainty.intervals(released, float(probability), view)
    lower, upper = (with_sizes_below(side, published.terms.min_size) for side in (cells.lower, cells.upper))
    if not isinstance(statistic, Counts | CumulativeCounts):
        lower, upper = lower[:, statistic.size], upper[:, statistic.size]
    if isinstance(statistic, Tail):
        lower, upper = published.counts.totals - upper, published.counts.totals - lower
    estimate = np.asarray(statistic.of(published.counts.counts))
    return Intervals(released.hierarchy, statistic, probability, lower, estimate, upper, "posterior")
