"""Intervals of a published release with sizes per level, from what its folder holds."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr import memory
from pgsr.algorithms.m_c_levels import LevelRelease
from pgsr.cell_intervals_by_level import CellIntervalsByLevel
from pgsr.counts_by_level import class_names
from pgsr.errors import ArgumentError, NoEstimateError
from pgsr.intervals import Counts, CumulativeCounts, Statistic, intervals_by_level
from pgsr.release.kinds import Kind, Measured
from pgsr.release.reading import PublishedByLevel
from pgsr.release.sizes_of_excess import intervals_by_size
from pgsr.release.terms import Terms
from pgsr.views import View

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {View.COUNTS: "count", View.CUMULATIVE: "cumulative"}


def knows_its_own(terms: Terms) -> bool:
    """Tell whether a release with sizes per level knows intervals of its own, without a bootstrap."""
    return terms.kind is Kind.POSTERIOR and terms.measures is Measured.CUMULATIVE


def view_of_statistic(statistic: Statistic) -> View:
    """Give the view whose cells a statistic is.

    Raises:
        ArgumentError: it is not there with sizes per level.

    Example:
        >>> view_of_statistic(CumulativeCounts())
        View.CUMULATIVE
    """
    for kind, view in ((Counts, View.COUNTS), (CumulativeCounts, View.CUMULATIVE)):
        if isinstance(statistic, kind):
            return view
    raise ArgumentError(
        f"the release has sizes per level, and intervals of {statistic.name} want one max_size for all levels; write "
        "count or cumulative"
    )


def own_intervals(published: PublishedByLevel, level: Fraction, view: View) -> CellIntervalsByLevel:
    """Compute the intervals that a posterior of noisy cumulative counts knows, around the released counts.

    Raises:
        NoEstimateError: the release is by another mechanism, or of another view.
    """
    if not knows_its_own(published.terms):
        raise NoEstimateError("only a posterior of noisy cumulative counts knows its own intervals; use bootstrapped")
    found = published.mechanism.post_process(published.measurement)
    assert isinstance(found, LevelRelease), "a posterior makes a LevelRelease"
    by_excess = replace(found, counts=published.by_excess).intervals(float(level), view)
    return intervals_by_size(by_excess, published.terms.min_size)


def bootstrapped(
    published: PublishedByLevel,
    level: Fraction,
    view: View,
    replicates: int,
    seed: str,
    progress: bool | Callable[[int, int], None] = False,
) -> CellIntervalsByLevel:
    """Compute the intervals of `pgsr.intervals.intervals_by_level`, by the mechanism and the counts of the release."""
    about = published.mechanism, published.by_excess, level, view, replicates, seed
    return intervals_by_size(intervals_by_level(*about, progress=progress), published.terms.min_size)


def statistic_frame(found: CellIntervalsByLevel) -> "pd.DataFrame":
    """List intervals in the columns of `pgsr.intervals.Intervals.to_frame`; the last class is "count:7 or more"."""
    import pandas as pd

    cells = sum(table.size for table in found.estimate)
    memory.require(200 * cells, f"{cells:,} rows of intervals")
    frame = found.to_frame()
    names = [list(class_names(table.shape[1] - 1)) for table in found.estimate]
    word, places = _WORDS[found.view], zip(frame["level"], frame["group_size"], strict=True)
    value = "n_groups" if found.view is View.COUNTS else "n_groups_of_at_most"
    return pd.DataFrame(
        {
            "region_id": frame["region_id"],
            "level": frame["level"],
            "statistic": [f"{word}:{names[level][size]}" for level, size in places],
            "lower": frame["lower"],
            "estimate": frame[value],
            "upper": frame["upper"],
        }
    )
