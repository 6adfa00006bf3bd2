"""Intervals from many tables: releases of the release (the parametric bootstrap), or draws of what the truth may be."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from hashlib import sha256
from math import ceil
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.checks import require_kind, whole_number
from pgsr.data.counts import CountOfCounts
from pgsr.data.intervals import Intervals
from pgsr.errors import ArgumentError, ProblemError
from pgsr.intervals.statistics import Statistic, exact_level, statistic_of
from pgsr.machine import memory
from pgsr.machine.progress import steps
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.budget import Number
from pgsr.privacy.random import Seeded

SEED, DRAWS, RELEASES = "intervals", 100, 200
"""Of draws and replicates, and how many there are where nobody says so."""


@runtime_checkable
class Drawing(Protocol):
    """The interface of a post-process that draws what the truth may be, such as `pgsr.estimators.Posterior`."""

    def draws(self, measurement: Measurement, number: int, seed: int = 0) -> Iterator[np.ndarray]:
        """Yield cumulative counts of all regions, real, shape (regions, K + 1)."""
        ...


def intervals(
    mechanism: Mechanism,
    released: Result | CountOfCounts,
    statistic: str,
    level: Number = 0.9,
    replicates: int | None = None,
    seed: str | int = SEED,
) -> Intervals:
    """Give intervals for a statistic of every region of a release, by draws of the posterior or by the bootstrap.

    **Draws**, of the result of a mechanism that draws what the truth may be, as `pgsr.estimators.Posterior` does. With
    Q the quantiles of the statistic of the draws, given the noisy values, the interval is

        [Q((1 - level) / 2), Q((1 + level) / 2)],

    each by itself, widened to hold the release: a group that integers put at one of many sizes may lie outside. The
    cumulative counts of draws are rounded to whole numbers, because a statistic is one of whole groups.

    **The parametric bootstrap**, of any other result, and of counts. The released counts are taken for the truth: the
    mechanism releases them again with research noise, with the same views, epsilons and public totals. How far the
    replicates stray from the release tells how far the release may have strayed from the truth. With t the released
    value and t* those of the replicates the interval is

        t -+ the level-quantile of |t* - t|,

    clipped to what is possible; ends of whole numbers are rounded outward. That is approximate, and holds for each
    interval by itself: coverage falls short of `level` where the release has smoothed away what the truth had;
    docs/publish/intervals.md has measurements. Both use only what was released, so they cost no privacy.

    Args:
        mechanism: that made the release.
        released: what it released: its result, or its counts for the bootstrap.
        statistic: its text, such as "tail:100"; `pgsr.intervals` lists them.
        level: above 0 and below 1.
        replicates: draws or releases to make, 20 at least; 100 draws or 200 releases if None.
        seed: of the draws or the research noise: the same text or number gives the same ones.

    Raises:
        ArgumentError: an argument is none of these.
        CountError: the result is no valid release.
        ProblemError: the numbers of groups are noisy, which draws take for exact.
        MemoryNeededError: the replicates do not fit.

    Complexity: O(regions x sizes) per draw, or `replicates` releases; as many numbers in memory for every value.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.estimators import Matching, Posterior
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
        >>> for post in (Matching(), Posterior()):
        ...     mechanism = Mechanism(Geometric(View.CUMULATIVE, epsilon=1), post)
        ...     found = intervals(mechanism, mechanism.release(truth, Seeded("demo")), "median", replicates=50)
        ...     found.method, bool((found.lower <= found.upper).all())
        ('symmetric bootstrap', True)
        ('posterior', True)

    Shown by `test_intervals_posterior.py` and `test_intervals_bootstrap.py`.
    """
    require_kind(mechanism, Mechanism, "the mechanism", "give the Mechanism(noise, post) that made the release")
    require_kind(released, (Result, CountOfCounts), "the release", "give a result of the mechanism, or its counts")
    counts = released.estimate.counts() if isinstance(released, Result) else released
    wanted = [statistic_of(statistic, counts.sizes)], level
    if not isinstance(released, Result) or not isinstance(mechanism.post, Drawing):
        return bootstrapped(mechanism, counts, *wanted, RELEASES if replicates is None else replicates, seed)[0]
    if released.measurement is None:
        raise ArgumentError("the result holds no noisy values, which draws need; give that of mechanism.release(...)")
    number = DRAWS if replicates is None else replicates
    return drawn(mechanism, released.measurement, counts, *wanted, number, seed)[0]


def bootstrapped(
    mechanism: Mechanism,
    released: CountOfCounts,
    statistics: Sequence[Statistic],
    level: Number,
    replicates: int,
    seed: str | int,
) -> list[Intervals]:
    """Give bootstrap `intervals` of several statistics, all of the same replicates."""
    number, wanted = whole_number("replicates", replicates, 20, ArgumentError), exact_level(level)
    private = mechanism.noise.totals is Totals.NOISY
    truth = CountOfCounts(  # with the public facts that the noise step asks of a truth
        *(released.hierarchy, released.values, "replicate"),
        max_quantity=mechanism.noise.max_quantity,
        private_groups=private,
    )
    own = released.counts
    estimates = [statistic.of(own) for statistic in statistics]
    n_values = sum(estimate.size for estimate in estimates)
    memory.require(8 * ((number + 8) * n_values + 4 * own.size), f"{number} replicates")
    values = [np.empty((number, *estimate.shape), estimate.dtype) for estimate in estimates]
    with steps("intervals, symmetric bootstrap", number) as step:
        for place in range(number):
            again = mechanism.release(truth, Seeded(f"replicates of a release: {seed}", place))
            other = again.estimate.counts().counts
            for statistic, rows in zip(statistics, values, strict=True):
                rows[place] = statistic.of(other)
            step()
    n_groups, found = np.inf if private else float(released.totals[0]), []
    for statistic, estimate, rows in zip(statistics, estimates, values, strict=True):
        away = np.quantile(_defined(np.abs(rows - estimate), np.inf), float(wanted), axis=0, method="higher")
        ends = possible(statistic, estimate - away, estimate + away, n_groups)
        about = released.hierarchy, statistic.label(own), wanted
        found.append(Intervals(*about, ends[0], estimate, ends[1], "symmetric bootstrap"))
    return found


def drawn(
    mechanism: Mechanism,
    measurement: Measurement,
    released: CountOfCounts,
    statistics: Sequence[Statistic],
    level: Number,
    draws: int,
    seed: str | int,
) -> list[Intervals]:
    """Give `intervals` by draws of several statistics, all of the same draws."""
    number, wanted = whole_number("replicates", draws, 20, ArgumentError), exact_level(level)
    assert isinstance(mechanism.post, Drawing), "no other result has draws"
    if measurement.public is Totals.NOISY:
        raise ProblemError(
            "the numbers of groups are noisy, and draws of the posterior take them for exact; use the bootstrap, "
            "pgsr.intervals.intervals(mechanism, result.estimate.counts(), ...)"
        )
    own = released.counts
    estimates, kept = [each.of(own) for each in statistics], [Outermost(number, wanted) for _ in statistics]
    n_values = sum(estimate.size for estimate in estimates)
    memory.require((kept[0].bytes_per_value + 32) * n_values + 32 * own.size, f"{number} draws")
    with steps("intervals, posterior", number) as step:
        for table in drawn_counts(mechanism.post, measurement, number, seed):
            for statistic, outermost in zip(statistics, kept, strict=True):
                outermost.add(statistic.of(table))
            step()
    found = []
    for statistic, estimate, outermost in zip(statistics, estimates, kept, strict=True):
        low, high = outermost.ends(0)
        ends = possible(statistic, np.minimum(low, estimate), np.maximum(high, estimate), float(released.totals[0]))
        found.append(
            Intervals(released.hierarchy, statistic.label(own), wanted, ends[0], estimate, ends[1], "posterior")
        )
    return found


def drawn_counts(post: Drawing, measurement: Measurement, number: int, seed: str | int) -> Iterator[np.ndarray]:
    """Yield drawn counts of whole groups, shape (regions, K + 1) each."""
    # The seed as a number that is not negative, different for different texts.
    key = int.from_bytes(sha256(f"draws of a posterior: {seed}".encode()).digest()[:8], "big")
    for draw in post.draws(measurement, number, key):
        yield np.diff(np.rint(draw).astype(np.int64), prepend=0, axis=1)


def draws_for(probability: Fraction) -> int:
    """Give the number of draws for intervals of this probability: some five lie beyond each end.

    Example:
        >>> [draws_for(Fraction(n, 100)) for n in (50, 90, 99)]
        [100, 100, 1000]
    """
    return max(DRAWS, ceil(10 / (1 - probability)))


class Outermost:
    """The smallest and the largest of so many values, cell by cell: those up to a quantile on each side, and one more.

    They are sorted in as they come, so that the others need not be kept.
    """

    def __init__(self, number: int, level: Number) -> None:
        """Look for the quantiles (1 - level) / 2 and (1 + level) / 2 of so many values, the outer ones of two."""
        self._rank = int((1 - exact_level(level)) / 2 * (number - 1))
        self._least: list[np.ndarray] = []
        self._most: list[np.ndarray] = []  # of minus the values

    @property
    def bytes_per_value(self) -> int:
        """The bytes that are kept for every cell."""
        return 16 * (self._rank + 2)

    def add(self, values: np.ndarray) -> None:
        """Take one more value of every cell; that of a table without groups, NaN, counts as the widest one."""
        self._sort_in(self._least, _defined(values, -np.inf))
        self._sort_in(self._most, -_defined(values, np.inf))

    def _sort_in(self, kept: list[np.ndarray], rest: np.ndarray) -> None:
        for place, each in enumerate(kept):
            kept[place], rest = np.minimum(each, rest), np.maximum(each, rest)
        if len(kept) < self._rank + 2:
            kept.append(rest)

    def ends(self, inward: int) -> tuple[np.ndarray, np.ndarray]:
        """Give both quantiles, or the values one rank further in (1) or out (-1)."""
        rank = max(self._rank + inward, 0)
        return self._least[rank], -self._most[rank]


def _defined(values: np.ndarray, number: float) -> np.ndarray:
    """Take a value that a table without groups leaves open for the one that makes intervals widest."""
    return np.where(np.isnan(values), number, values) if values.dtype.kind == "f" else values


def possible(statistic: Statistic, low: np.ndarray, high: np.ndarray, n_groups: float) -> tuple[np.ndarray, np.ndarray]:
    """Clip intervals to what is possible with at most so many groups; ends of whole numbers go outward."""
    low, high = (np.clip(side, *statistic.possible(n_groups)) for side in (low, high))
    return (np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)) if statistic.whole else (low, high)
