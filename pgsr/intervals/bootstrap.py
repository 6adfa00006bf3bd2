"""The parametric bootstrap: release the release once more, many times; and intervals from replicates or draws."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ArgumentError
from pgsr.intervals.statistics import Statistic
from pgsr.intervals.value import Intervals, exact_level
from pgsr.machine import memory
from pgsr.machine.extras import extra
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.noise.measurement import Totals
from pgsr.privacy.budget import Number
from pgsr.privacy.random import Seeded


class Origin(StrEnum):
    """The origin of the values of replicates.

    BOOTSTRAP: the release was taken for the truth and released again, so they stray from it as it strays from the
    truth. POSTERIOR: they are draws of what the truth may be, given the noisy values.
    """

    BOOTSTRAP = "bootstrap"
    POSTERIOR = "posterior"


@dataclass(frozen=True, eq=False)
class Replicates:
    """The values of a statistic on a release, and on its replicates or on draws of what the truth may be.

    Attributes:
        hierarchy: the regions.
        statistic: what was computed.
        estimate: on the release; shape (regions,), or (regions, K + 1) for statistics by size.
        values: on the replicates or draws; shape (replicates, ...).
        possible: the smallest and the largest value that there can be.
        origin: what the values are of.
    """

    hierarchy: Hierarchy
    statistic: Statistic
    estimate: np.ndarray
    values: np.ndarray
    possible: tuple[float, float]
    origin: Origin = Origin.BOOTSTRAP

    def intervals(self, level: Number = "0.9") -> Intervals:
        """Form intervals, clipped to what is possible; whole numbers are rounded outward.

        With t the estimate, t* its replicates and Q the quantiles of draws:

            bootstrap   t -+ the level-quantile of |t* - t|
            posterior   [Q((1 - level) / 2), Q((1 + level) / 2)]

        The width of the first has both bias and spread, see `pgsr.intervals`. Where t itself lies outside the second,
        as a group that integers put at one of many sizes, it is taken in.

        Args:
            level: above 0 and below 1.

        Raises:
            ArgumentError: the level is no probability.
        """
        wanted, estimate = exact_level(level), self.estimate
        if self.origin is Origin.POSTERIOR:
            method, (low, high) = str(self.origin), _between_quantiles(self.values, float(wanted))
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        else:
            width = np.quantile(np.abs(self.values - estimate), float(wanted), axis=0, method="higher")
            method, low, high = f"symmetric {self.origin}", estimate - width, estimate + width
        low, high = (np.clip(side, *self.possible) for side in (low, high))
        if self.statistic.whole:
            low, high = _whole(np.floor(low)), _whole(np.ceil(high))
        return Intervals(self.hierarchy, self.statistic, wanted, low, estimate, high, method)


def intervals(
    mechanism: Mechanism,
    released: Result | CountOfCounts,
    statistic: Statistic,
    level: Number = "0.9",
    replicates: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
) -> Intervals:
    """Give intervals for a statistic of every region of a release, by the parametric bootstrap.

    The released counts are taken for the truth: the mechanism releases them again with research noise, with the same
    views, epsilons and public totals. How far the replicates stray from the release tells how far the release may have
    strayed from the truth. That is approximate, and holds for each interval by itself: coverage falls short of `level`
    where the release has smoothed away what the truth had; `pgsr.intervals` has measurements. Only what was released is
    used, so it costs no privacy.

    Args:
        mechanism: that made the release.
        released: what it released.
        statistic: of every region.
        level: above 0 and below 1.
        replicates: releases to make, 20 at least.
        seed: of the research noise.
        progress: whether to show a progress bar; or what is told how many of how many replicates are done.

    Raises:
        ArgumentError: an argument is none of these.
        CountError: the result is no valid release.
        MemoryNeededError: the replicates do not fit.

    Complexity: `replicates` releases; memory replicates x regions, times sizes for a statistic by size.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.estimators import Matching
        >>> from pgsr.intervals import Tail
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
        >>> mechanism = Mechanism(Geometric(View.CUMULATIVE, epsilon=1), Matching())
        >>> released = mechanism.release(truth, Seeded("demo"))
        >>> found = intervals(mechanism, released, Tail(1), replicates=50)
        >>> bool((found.lower <= found.upper).all())
        True
    """
    return replicate(mechanism, released, [statistic], replicates, seed, progress)[0].intervals(level)


def replicate(
    mechanism: Mechanism,
    released: Result | CountOfCounts,
    statistics: Sequence[Statistic],
    replicates: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
) -> list[Replicates]:
    """Release a release again, many times, and compute statistics of every replicate; arguments as in `intervals`."""
    require_kind(mechanism, Mechanism, "the mechanism", "give the Mechanism(noise, post) that made the release")
    require_kind(released, (Result, CountOfCounts), "the release", "give a result of the mechanism, or its counts")
    replicates = checked_replicates(replicates)
    counts = as_truth(mechanism, released.estimate.counts() if isinstance(released, Result) else released)
    again = (
        mechanism.release(counts, source_of_replicate(seed, place)).estimate.counts().counts
        for place in told(replicates, progress)
    )
    n_groups = np.inf if mechanism.noise.totals is Totals.NOISY else float(counts.totals[0])
    return of_tables(counts, statistics, replicates, again, n_groups, Origin.BOOTSTRAP)


def of_tables(
    released: CountOfCounts,
    statistics: Sequence[Statistic],
    replicates: int,
    tables: Iterable[np.ndarray],
    n_groups: float,
    origin: Origin,
) -> list[Replicates]:
    """Compute statistics of a release and of so many tables of counts, as they come; all share one set of tables.

    Args:
        released: the counts of the release.
        statistics: what is computed.
        replicates: how many tables there are.
        tables: counts of shape (regions, K + 1) each.
        n_groups: no region has more.
        origin: what the tables are.
    """
    tree, shape = released.hierarchy, (released.hierarchy.n_regions, released.max_size + 1)
    for statistic in statistics:
        require_kind(statistic, Statistic, "the statistic", "give one such as Tail(100)")
        statistic.check(released.max_size)
    placed = [statistic.placed(tree) for statistic in statistics]
    n_values = sum(shape[0] * (shape[1] if statistic.by_size else 1) for statistic in placed)
    memory.require(8 * ((replicates + 8) * n_values + 4 * shape[0] * shape[1]), f"{replicates} replicates")
    estimates = [statistic.of(released.counts) for statistic in placed]
    values = [np.empty((replicates, *estimate.shape), estimate.dtype) for estimate in estimates]
    for place, table in enumerate(tables):
        for statistic, rows in zip(placed, values, strict=True):
            rows[place] = statistic.of(table)
    return [
        Replicates(tree, statistic, estimate, rows, statistic.possible(n_groups, released.max_size), origin)
        for statistic, estimate, rows in zip(placed, estimates, values, strict=True)
    ]


def as_truth(mechanism: Mechanism, counts: CountOfCounts) -> CountOfCounts:
    """Give the released counts the public facts that the mechanism's noise step asks of a truth."""
    private = mechanism.noise.totals is Totals.NOISY
    return CountOfCounts(
        counts.hierarchy, counts.values, "replicate", max_quantity=mechanism.noise.max_quantity, private_groups=private
    )


def checked_replicates(replicates: object) -> int:
    """Check a number of replicates.

    Raises:
        ArgumentError: it is no whole number from 20 up.
    """
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 20:
        raise ArgumentError(f"replicates={replicates!r}; give a whole number from 20 up, 200 is usual")
    return replicates


def source_of_replicate(seed: str | int, place: int) -> Seeded:
    """Give the research noise of a replicate: another stream than that of a release with the same seed."""
    return Seeded(f"replicates of a release: {seed}", place)


def told(n: int, progress: bool | Callable[[int, int], None], doing: str = "releasing again") -> Iterator[int]:
    """Count to n, with a bar or a call."""
    if progress is True:
        with extra("release"):
            from rich.progress import track

        yield from track(range(n), doing)
        return
    for place in range(n):
        if callable(progress):
            progress(place, n)
        yield place


def _between_quantiles(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    tail = (1 - level) / 2  # order statistics, the outer ones where the quantile lies between two
    return np.quantile(values, tail, axis=0, method="lower"), np.quantile(values, 1 - tail, axis=0, method="higher")


def _whole(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64)
