"""Intervals of a posterior release: statistics of draws of what the truth may be, given the noisy values."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError, ProblemError
from pgsr.intervals.bootstrap import Origin, Replicates, checked_replicates, of_tables, told
from pgsr.intervals.statistics import Statistic
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement, Totals


@runtime_checkable
class Drawing(Protocol):
    """The interface of a post-process that draws what the truth may be, such as `pgsr.estimators.Posterior`."""

    def draws(self, measurement: Measurement, number: int, seed: int = 0) -> Iterator[Any]:
        """Yield cumulative counts of all regions, real, shape (regions, K + 1), or a table per level."""
        ...


def posterior_draws(
    mechanism: Mechanism,
    released: Result | CountOfCounts,
    statistics: Sequence[Statistic],
    draws: int = 200,
    seed: str | int = "intervals",
    progress: bool | Callable[[int, int], None] = False,
    measurement: Measurement | None = None,
) -> list[Replicates]:
    """Compute statistics of draws of what the truth may be, given the noisy values of a posterior release.

    All statistics are of the same draws, whose cumulative counts are rounded to whole numbers, because a statistic is
    one of whole groups. `Replicates.intervals` then gives the quantiles of the draws, widened to hold the release. Only
    what was released is used, so it costs no privacy.

    Args:
        mechanism: that made the release; its post-processing draws, as `pgsr.estimators.Posterior` does.
        released: what it released.
        statistics: of every region.
        draws: how many, 20 at least.
        seed: of the draws: the same text or number gives the same draws.
        progress: whether to show a progress bar; or what is told how many of how many draws are done.
        measurement: the noisy values, where `released` is counts; a result holds them.

    Raises:
        ArgumentError: an argument is none of these.
        ProblemError: the mechanism draws nothing, or the numbers of groups are noisy, which the draws take for exact.
        MemoryNeededError: the draws do not fit.

    Complexity: one post-processing, then O(regions x sizes) per draw.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.estimators import Posterior
        >>> from pgsr.intervals import MeanSize, Tail
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
        >>> mechanism = Mechanism(Geometric(View.CUMULATIVE, epsilon=1, totals="regions"), Posterior())
        >>> tail, mean = posterior_draws(mechanism, mechanism.release(truth, Seeded("demo")), [Tail(1), MeanSize()])
        >>> found = tail.intervals("0.9")
        >>> bool((found.lower <= found.estimate).all() and (found.estimate <= found.upper).all())
        True

    Shown by `tests/test_intervals_posterior.py`.
    """
    require_kind(mechanism, Mechanism, "the mechanism", "give the Mechanism(noise, post) that made the release")
    require_kind(released, (Result, CountOfCounts), "the release", "give a result of the mechanism, or its counts")
    number = checked_replicates(draws)
    noisy = released.measurement if measurement is None and isinstance(released, Result) else measurement
    if noisy is None:
        raise ArgumentError("draws need the noisy values, and counts alone hold none; give measurement=...")
    if not isinstance(mechanism.post, Drawing):
        raise ProblemError(
            f"{mechanism.post!r} draws nothing; only a posterior release has such intervals, any other the bootstrap "
            "(pgsr.intervals.replicate)"
        )
    if not noisy.sizes.equal:
        raise ProblemError(
            "levels have sizes of their own here, and statistics of draws are of the same sizes everywhere; take the "
            "intervals of the result, or Posterior().draws(measurement, number)"
        )
    if noisy.public is Totals.NOISY:
        raise ProblemError(
            "the numbers of groups are noisy, and draws of the posterior take them for exact; use the bootstrap "
            "(pgsr.intervals.replicate)"
        )
    counts = released.estimate.counts() if isinstance(released, Result) else released
    drawn = zip(
        told(number, progress, "drawing from the posterior"),
        mechanism.post.draws(noisy, number, _number_of(seed)),
        strict=True,
    )
    tables = (np.diff(np.rint(draw).astype(np.int64), prepend=0, axis=1) for _, draw in drawn)
    return of_tables(counts, statistics, number, tables, float(counts.totals[0]), Origin.POSTERIOR)


def _number_of(seed: str | int) -> int:
    """The seed as a number that is not negative, different for different texts."""
    return int.from_bytes(sha256(f"draws of a posterior: {seed}".encode()).digest()[:8], "big")
