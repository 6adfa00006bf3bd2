"""Intervals of all cells of a view, whatever sizes the levels have, by the parametric bootstrap."""

from collections.abc import Callable, Sequence

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.cell_intervals import CellIntervals
from pgsr.data.counts import CountOfCounts
from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.intervals.bootstrap import Replicates, as_truth, checked_replicates, source_of_replicate, told
from pgsr.intervals.statistics import Counts, CumulativeCounts
from pgsr.intervals.value import exact_level
from pgsr.machine import memory
from pgsr.methods.mechanism import Mechanism
from pgsr.privacy.budget import Number

STATISTICS = {View.COUNTS: Counts(), View.CUMULATIVE: CumulativeCounts()}
"""What intervals are of, by view."""


def cell_intervals(
    mechanism: Mechanism,
    released: CountOfCounts,
    level: Number = "0.9",
    view: View = View.COUNTS,
    replicates: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
) -> CellIntervals:
    """Give an interval for every cell of a release, by the parametric bootstrap; levels may have sizes of their own.

    As `intervals`, cell by cell: the released counts are taken for the truth, and the mechanism releases them again
    with research noise. Only what was released is used, so it costs no privacy. `Posterior` knows intervals of its own,
    `Result.intervals`, which need no second release.

    Args:
        mechanism: that made the release.
        released: the counts of the release.
        level: above 0 and below 1; every interval by itself.
        view: `View.COUNTS`, or `View.CUMULATIVE` for the numbers of groups of at most every size.
        replicates: releases to make, 20 at least.
        seed: of the research noise.
        progress: whether to show a progress bar; or what is told how many of how many replicates are done.

    Raises:
        ArgumentError: an argument is none of these.
        MemoryNeededError: the replicates do not fit.

    Complexity: `replicates` releases; memory 8 bytes x replicates x cells.

    Example:
        >>> from pgsr import Hierarchy
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.algorithms import TreeProjection
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountOfCounts(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> mechanism = Mechanism(Geometric(View.COUNTS, 2, totals="root"), TreeProjection())
        >>> released = mechanism.release(truth, Seeded("demo")).estimate.counts()
        >>> found = cell_intervals(mechanism, released, replicates=20)
        >>> bool((found.lower[0] <= released.tables[0]).all() and (released.tables[0] <= found.upper[0]).all())
        True
    """
    [replicates_of_view] = replicate_cells(mechanism, released, [view], replicates, seed, progress)
    return cells_of(replicates_of_view, view, level)


def replicate_cells(
    mechanism: Mechanism,
    released: CountOfCounts,
    views: Sequence[View],
    replicates: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
) -> list[tuple[Replicates, ...]]:
    """Release a release again, many times; for every view the replicates of its cells, one table per level.

    All views are of the same replicates. Arguments as in `cell_intervals`; `cells_of` makes intervals of each.

    Complexity: `replicates` releases; memory 8 bytes x replicates x cells x views.
    """
    n_replicates = checked_replicates(replicates)
    for view in views:
        if view not in STATISTICS:
            raise ArgumentError(f"intervals of {view!r}; give View.COUNTS or View.CUMULATIVE")
    require_kind(mechanism, Mechanism, "the mechanism", "give the Mechanism(noise, post) that made the release")
    require_kind(released, CountOfCounts, "the release", "give the counts of a result of the mechanism")
    memory.require(8 * (n_replicates + 8) * released.sizes.n_cells * len(views), f"{n_replicates} replicates")
    statistics, tree, n_groups = [STATISTICS[view] for view in views], released.hierarchy, released.totals[0]
    values = [[np.empty((n_replicates, *table.shape), np.int64) for table in released.tables] for _ in views]
    counts = as_truth(mechanism, released)
    for place in told(n_replicates, progress):
        again = mechanism.release(counts, source_of_replicate(seed, place)).estimate.counts()
        for statistic, of_view in zip(statistics, values, strict=True):
            for rows, table in zip(of_view, again.tables, strict=True):
                rows[place] = statistic.of(table)
    return [
        tuple(
            Replicates(tree, statistic, statistic.of(table), rows, (0.0, float(n_groups)))
            for table, rows in zip(released.tables, of_view, strict=True)
        )
        for statistic, of_view in zip(statistics, values, strict=True)
    ]


def cells_of(replicates: tuple[Replicates, ...], view: View, level: Number = "0.9") -> CellIntervals:
    """Form the intervals of all cells of a view from its replicates, one table per level, as `Replicates.intervals`."""
    wanted = exact_level(level)
    found = [of_level.intervals(wanted) for of_level in replicates]
    estimate, lower, upper = (tuple(getattr(each, name) for each in found) for name in ("estimate", "lower", "upper"))
    return CellIntervals(found[0].hierarchy, view, float(wanted), estimate, lower, upper)
