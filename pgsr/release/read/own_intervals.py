"""The intervals that a posterior release knows itself, of the statistics that are its cells."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.data.cell_intervals import CellIntervals
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.intervals import Count, Counts, Cumulative, CumulativeCounts, Intervals, Statistic, Tail
from pgsr.methods.method import Result
from pgsr.release.read.reading import Published
from pgsr.release.read.sizes_of_excess import intervals_by_size
from pgsr.release.stated.plan import Plan


def own_result(published: Published) -> Result:
    """Compute the post-processing of a posterior release again, so that it knows how far it may be off."""
    terms, plan = replace(published.terms, intervals=Fraction(9, 10)), published.plan
    again = Plan.of(terms, [level.regions for level in plan.levels], plan.thresholds)
    return again.mechanism.post_process(published.measurement)


def own_cells(published: Published, result: Result, probability: Fraction, view: View) -> CellIntervals:
    """Give the intervals of all released counts by size, or of all cumulative counts; arguments as `own_intervals`."""
    assert result.uncertainty is not None, "the result of a posterior release"
    released = Estimate(published.by_excess.hierarchy, View.COUNTS, published.by_excess.values)
    return intervals_by_size(result.uncertainty.intervals(released, float(probability), view), published.terms.min_size)


def own_intervals(
    published: Published, result: Result, statistic: Statistic, probability: Fraction
) -> Intervals | None:
    """Give the intervals of counts, cumulative counts and tails, which hold what regions have in common; else None.

    A tail is the public number of groups less a cumulative count.

    Args:
        published: a posterior release of noisy cumulative counts, with the same sizes on all levels.
        result: of `own_result`.
        statistic: of counts by size.
        probability: of each interval by itself.
    """
    if not isinstance(statistic, Count | Counts | Cumulative | CumulativeCounts | Tail):
        return None
    view = View.COUNTS if isinstance(statistic, Count | Counts) else View.CUMULATIVE
    cells = own_cells(published, result, probability, view)
    lower, upper = np.asarray(cells.lower), np.asarray(cells.upper)
    if not isinstance(statistic, Counts | CumulativeCounts):
        lower, upper = lower[:, statistic.size], upper[:, statistic.size]
    if isinstance(statistic, Tail):
        lower, upper = published.counts.totals - upper, published.counts.totals - lower
    estimate = np.asarray(statistic.of(published.counts.counts))
    return Intervals(published.counts.hierarchy, statistic, probability, lower, estimate, upper, "posterior")
