"""The intervals of a published release, from what its folder holds."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from pgsr.data.intervals import Intervals
from pgsr.intervals import band
from pgsr.intervals.bounds import Bounds, Pair
from pgsr.intervals.replicates import bootstrapped, drawn
from pgsr.intervals.statistics import Statistic, statistic_of
from pgsr.release.checks.published import Published
from pgsr.release.terms.excess import with_sizes_below


def intervals_of(
    published: Published, statistics: Sequence[str], level: Fraction, kind: str, number: int, seed: str
) -> list[Intervals]:
    """Give intervals of statistics of every region, all of the same draws or replicates.

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
    by_excess, released = [_by_excess(each, published.terms.min_size) for each in asked], published.by_excess
    if kind == "band":
        bounds = band(published.measurement, level)
        return [bounds.around(each, released) for each in by_excess]
    about = by_excess, level, number, seed
    if kind == "posterior":
        return drawn(published.mechanism, published.measurement, released, *about)
    return bootstrapped(published.mechanism, released, *about)


def _by_excess(statistic: Statistic, min_size: int) -> Statistic:
    """Compute a statistic of counts by size from counts by excess over a public least size."""

    def within(bounds: Bounds) -> Pair:
        sides = (*bounds.counts, *bounds.cumulative)
        low, high, least, most = (with_sizes_below(side, min_size) for side in sides)
        return statistic.within(Bounds((low, high), (least, most)))

    return replace(statistic, of=lambda counts: statistic.of(with_sizes_below(counts, min_size)), within=within)
