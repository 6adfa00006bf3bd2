"""Intervals with sizes per level, by the parametric bootstrap."""

from collections.abc import Callable, Sequence

import numpy as np

from pgsr.data.cell_intervals_by_level import CellIntervalsByLevel
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.intervals.bootstrap import Replicates, checked_replicates, source_of_replicate, told
from pgsr.intervals.statistics import Counts, CumulativeCounts
from pgsr.intervals.value import exact_level
from pgsr.machine import memory
from pgsr.methods.mechanism import AnyMechanism
from pgsr.privacy.budget import Number

STATISTICS = {View.COUNTS: Counts(), View.CUMULATIVE: CumulativeCounts()}
"""What intervals are of, by view."""


def intervals_by_level(
    mechanism: AnyMechanism,
    released: CountsByLevel,
    level: Number = "0.9",
    view: View = View.COUNTS,
    replicates: int = 200,
    seed: str | int = "intervals",
    form: str | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> CellIntervalsByLevel:
    """Give an interval for every cell of a release with sizes per level, by the parametric bootstrap.

    As `intervals`, cell by cell: the released counts are taken for the truth, and the mechanism releases them again
    with research noise. Only what was released is used, so it costs no privacy. `Posterior` knows intervals of its own,
    `Result.intervals`, which need no second release.

    Args:
        mechanism: that made the release, such as a `LevelMechanism`: what its `release` returns has an `estimate`.
        released: the counts of the release.
        level: above 0 and below 1; every interval by itself.
        view: `View.COUNTS`, or `View.CUMULATIVE` for the numbers of groups of at most every size.
        replicates: releases to make, 20 at least.
        seed: of the research noise.
        form: how intervals are formed, see `Replicates.intervals`.
        progress: whether to show a progress bar; or what is told how many of how many replicates are done.

    Raises:
        ArgumentError: an argument is none of these.
        MemoryNeededError: the replicates do not fit.

    Complexity: `replicates` releases; memory 8 bytes x replicates x cells.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> from pgsr.algorithms.mechanism_by_level import LevelMechanism
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 30, 10, 20]], [[0, 20, 10], [0, 10, 20]]))
        >>> mechanism = LevelMechanism(Geometric(View.COUNTS, 2, totals="root"), (3, 2), "demo")
        >>> released = CountsByLevel(tree, mechanism.release(truth, Seeded("demo")).estimate.as_counts)
        >>> found = intervals_by_level(mechanism, released, replicates=20)
        >>> bool((found.lower[0] <= released.tables[0]).all() and (released.tables[0] <= found.upper[0]).all())
        True
    """
    [replicates_of_view] = replicate_by_level(mechanism, released, [view], replicates, seed, progress)
    return cells_of(replicates_of_view, view, level, form)


def replicate_by_level(
    mechanism: AnyMechanism,
    released: CountsByLevel,
    views: Sequence[View],
    replicates: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
) -> list[tuple[Replicates, ...]]:
    """Release a release again, many times; for every view the replicates of its cells, one table per level.

    All views are of the same replicates. Arguments as in `intervals_by_level`; `cells_of` makes intervals of each.

    Complexity: `replicates` releases; memory 8 bytes x replicates x cells x views.
    """
    n_replicates = checked_replicates(replicates)
    for view in views:
        if view not in STATISTICS:
            raise ArgumentError(f"intervals of {view!r}; give View.COUNTS or View.CUMULATIVE")
    if not isinstance(released, CountsByLevel):
        raise ArgumentError(f"the release is {released!r}; give the counts of a result, a CountsByLevel")
    if not callable(getattr(mechanism, "release", None)):
        raise ArgumentError(
            f"the mechanism is {mechanism!r}; give the one that made the release, such as LevelMechanism"
        )
    memory.require(8 * (n_replicates + 8) * released.n_cells * len(views), f"{n_replicates} replicates")
    statistics, tree, n_groups = [STATISTICS[view] for view in views], released.hierarchy, released.tables[0].sum()
    values = [[np.empty((n_replicates, *table.shape), np.int64) for table in released.tables] for _ in views]
    for place in told(n_replicates, progress):
        found = mechanism.release(released, source_of_replicate(seed, place)).estimate
        again = Estimate(tree, View.COUNTS, found.as_counts).tables
        for statistic, of_view in zip(statistics, values, strict=True):
            for rows, table in zip(of_view, again, strict=True):
                rows[place] = statistic.of(table)
    return [
        tuple(
            Replicates(tree, statistic, statistic.of(table.astype(np.int64)), rows, (0.0, float(n_groups)))
            for table, rows in zip(released.tables, of_view, strict=True)
        )
        for statistic, of_view in zip(statistics, values, strict=True)
    ]


def cells_of(
    replicates: tuple[Replicates, ...], view: View, level: Number = "0.9", form: str | None = None
) -> CellIntervalsByLevel:
    """Form the intervals of all cells of a view from its replicates, one table per level, as `Replicates.intervals`."""
    wanted = exact_level(level)
    found = [of_level.intervals(wanted, form) for of_level in replicates]
    estimate, lower, upper = (tuple(getattr(each, name) for each in found) for name in ("estimate", "lower", "upper"))
    return CellIntervalsByLevel(found[0].hierarchy, view, float(wanted), estimate, lower, upper)
