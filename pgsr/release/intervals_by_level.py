"""Intervals of a published release with sizes per level, from what its folder holds."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.algorithms.mechanism_by_level import by_level
from pgsr.algorithms.posterior.uncertainty import Uncertainty
from pgsr.data.cell_intervals_by_level import CellIntervalsByLevel
from pgsr.data.counts_by_level import class_names
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import ArgumentError, NoEstimateError
from pgsr.intervals import Counts, CumulativeCounts, Statistic, cells_of, replicate_by_level
from pgsr.machine import memory
from pgsr.release.kinds import Construction
from pgsr.release.reading import PublishedByLevel
from pgsr.release.sizes_of_excess import intervals_by_size

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {View.COUNTS: "count", View.CUMULATIVE: "cumulative"}


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


def own_intervals(
    published: PublishedByLevel, probability: Fraction, views: Sequence[View]
) -> list[CellIntervalsByLevel]:
    """Compute the intervals that a posterior of noisy cumulative counts knows, around the released counts, by view.

    Raises:
        NoEstimateError: the release is by another mechanism, or of another view.
    """
    if published.terms.possible_construction is not Construction.POSTERIOR:
        raise NoEstimateError("only a posterior of noisy cumulative counts knows its own intervals; use bootstrapped")
    found = published.mechanism.post_process(published.measurement)
    about, counts = found.uncertainty, published.by_excess
    assert isinstance(about, Uncertainty), "a posterior of cumulative counts knows its uncertainty"
    table = Estimate(counts.hierarchy, View.COUNTS, counts.tables)
    of_views = (by_level(about.intervals(table, float(probability), view)) for view in views)
    return [intervals_by_size(each, published.terms.min_size) for each in of_views]


def bootstrapped(
    published: PublishedByLevel,
    probability: Fraction,
    views: Sequence[View],
    replicates: int,
    seed: str,
    progress: bool | Callable[[int, int], None] = False,
) -> list[CellIntervalsByLevel]:
    """Compute the intervals of `pgsr.intervals.intervals_by_level` for every view, all of the same replicates."""
    drawn = replicate_by_level(published.mechanism, published.by_excess, views, replicates, seed, progress)
    found = (cells_of(of_view, view, probability) for of_view, view in zip(drawn, views, strict=True))
    return [intervals_by_size(each, published.terms.min_size) for each in found]


def statistic_frame(found: CellIntervalsByLevel, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
    """List intervals in the columns of `pgsr.intervals.Intervals.to_frame`; the last class is "count:7 or more"."""

    cells = sum(table.size for table in found.estimate)
    memory.require(200 * cells, f"{cells:,} rows of intervals")
    frame = found.to_frame(level_names=level_names)
    names = [list(class_names(table.shape[1] - 1)) for table in found.estimate]
    word, places = _WORDS[found.view], zip(frame["level"], frame["group_size"], strict=True)
    value = "n_groups" if found.view is View.COUNTS else "n_groups_of_at_most"
    columns = frame.columns.tolist()
    described = frame[columns[: columns.index("group_size")]].drop(columns="is_leaf")
    return described.assign(
        statistic=[f"{word}:{names[level][size]}" for level, size in places],
        lower=frame["lower"],
        estimate=frame[value],
        upper=frame["upper"],
    )
