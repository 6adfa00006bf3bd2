"""Intervals of the cells of a published release, whatever sizes its levels have, from what its folder holds."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.data.cell_intervals import CellIntervals
from pgsr.data.views import View
from pgsr.errors import ArgumentError, NoEstimateError
from pgsr.intervals import Counts, CumulativeCounts, Statistic, cells_of, replicate_cells
from pgsr.machine import memory
from pgsr.release.read.own_intervals import own_cells, own_result
from pgsr.release.read.reading import Published
from pgsr.release.read.sizes_of_excess import intervals_by_size
from pgsr.release.stated.kinds import Construction

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


def posterior_cells(published: Published, probability: Fraction, views: Sequence[View]) -> list[CellIntervals]:
    """Compute the intervals that a posterior of noisy cumulative counts knows, around the released counts, by view.

    Raises:
        NoEstimateError: the release is by another mechanism, or of another view.
    """
    if published.terms.possible_construction is not Construction.POSTERIOR:
        raise NoEstimateError("only a posterior of noisy cumulative counts knows its own intervals; use bootstrapped")
    result = own_result(published)
    return [own_cells(published, result, probability, view) for view in views]


def bootstrapped_cells(
    published: Published,
    probability: Fraction,
    views: Sequence[View],
    replicates: int,
    seed: str,
    progress: bool | Callable[[int, int], None] = False,
) -> list[CellIntervals]:
    """Compute the intervals of `pgsr.intervals.cell_intervals` for every view, all of the same replicates."""
    drawn = replicate_cells(published.mechanism, published.by_excess, views, replicates, seed, progress)
    found = (cells_of(of_view, view, probability) for of_view, view in zip(drawn, views, strict=True))
    return [intervals_by_size(each, published.terms.min_size) for each in found]


def statistic_frame(found: CellIntervals, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
    """List intervals in the columns of `pgsr.intervals.Intervals.to_frame`; the last class is "count:7 or more"."""
    cells = found.sizes.n_cells
    memory.require(200 * cells, f"{cells:,} rows of intervals")
    frame = found.to_frame(level_names=level_names)
    names = [found.sizes.class_names(level) for level in range(found.hierarchy.n_levels)]
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
