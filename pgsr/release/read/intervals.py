"""The intervals of a published release, from what its folder holds."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from pgsr.data.estimate import Estimate
from pgsr.data.intervals import Intervals
from pgsr.data.views import View
from pgsr.intervals import band
from pgsr.intervals.bounds import Bounds, Pair
from pgsr.intervals.replicates import bootstrapped, drawn
from pgsr.intervals.statistics import Statistic, statistic_of
from pgsr.methods.method import Result
from pgsr.release.read.reading import Published
from pgsr.release.stated.excess import with_sizes_below
from pgsr.release.stated.plan import Plan


def intervals_of(
    published: Published,
    statistics: Sequence[str],
    level: Fraction,
    kind: str,
    number: int,
    seed: str,
) -> list[Intervals]:
    """Give intervals of statistics of every region, all of the same draws or replicates.

    Of a posterior the release knows those of counts, cumulative counts and tails itself (`own_intervals`).

    Args:
        published: the release.
        statistics: their texts, as `pgsr.intervals` lists them.
        level: above 0 and below 1.
        kind: "posterior", "bootstrap" or "band", one that the release has.
        number, seed: of draws or replicates, where some are made.

    Raises:
        ArgumentError: a text is no statistic of these regions and sizes, or the number is none.
        ProblemError: the band knows no interval of a statistic.
        EmptyBandError: no counts lie within the band.
        MemoryNeededError: the draws or replicates do not fit.
    """
    asked = [statistic_of(text, published.counts.sizes) for text in statistics]
    found: dict[str, Intervals] = {}
    if kind == "posterior":
        result = own_result(published)
        known = (own_intervals(published, result, each, level) for each in asked)
        found = {each.statistic: each for each in known if each is not None}
    others = [_by_excess(each, published.terms.min_size) for each in asked if each.name not in found]
    released, about = published.by_excess, (others, level, number, seed)
    if kind == "band":
        bounds = band(published.measurement, level)
        more = [bounds.around(each, released) for each in others]
    elif not others:
        more = []
    elif kind == "posterior":
        more = drawn(published.mechanism, published.measurement, released, *about)
    else:
        more = bootstrapped(published.mechanism, released, *about)
    found |= {other.name: each for other, each in zip(others, more, strict=True)}
    return [found[each.name] for each in asked]


def own_result(published: Published) -> Result:
    """Compute the post-processing of a posterior release again, so that it knows how far it may be off."""
    terms, plan = replace(published.terms, intervals=Fraction(9, 10)), published.plan
    again = Plan.of(terms, [level.regions for level in plan.levels], plan.thresholds)
    return again.mechanism.post_process(published.measurement)


def own_intervals(published: Published, result: Result, statistic: Statistic, level: Fraction) -> Intervals | None:
    """Give the intervals of counts, cumulative counts and tails, which hold what regions have in common; else None.

    A tail is the public number of groups less a cumulative count.

    Args:
        published: a posterior release of noisy cumulative counts.
        result: of `own_result`.
        statistic: of counts by size.
        level: of each interval by itself.
    """
    word, _, size = statistic.name.partition(":")
    if word not in ("count", "cumulative", "tail") or " minus " in statistic.name:
        return None
    assert result.uncertainty is not None, "the result of a posterior release"
    by_excess, least = published.by_excess, published.terms.min_size
    view = View.COUNTS if word == "count" else View.CUMULATIVE
    cells = result.uncertainty.intervals(
        Estimate(by_excess.hierarchy, View.COUNTS, by_excess.values), float(level), view
    )
    lower, estimate, upper = (with_sizes_below(side, least) for side in (cells.lower, cells.estimate, cells.upper))
    if size:
        lower, upper = (side[:, int(size)] for side in (lower, upper))
        estimate = statistic.of(published.counts.counts)
    if word == "tail":
        lower, upper = published.counts.totals - upper, published.counts.totals - lower
    return Intervals(cells.hierarchy, statistic.name, level, lower, estimate, upper, cells.method)


def _by_excess(statistic: Statistic, min_size: int) -> Statistic:
    """Compute a statistic of counts by size from counts by excess over a public least size."""

    def within(bounds: Bounds) -> Pair:
        sides = (*bounds.counts, *bounds.cumulative)
        low, high, least, most = (with_sizes_below(side, min_size) for side in sides)
        return statistic.within(Bounds((low, high), (least, most)))

    return replace(statistic, of=lambda counts: statistic.of(with_sizes_below(counts, min_size)), within=within)
