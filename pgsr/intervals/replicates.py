"""Intervals from many tables: releases of the release (the parametric bootstrap), or draws of what the truth may be."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
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

Form = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]
"""Gives the ends of intervals from the released values, those of the tables, shape (tables, ...), and the level."""

SEED = "intervals"


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
    replicates: int = 200,
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
        replicates: draws or releases to make, 20 at least.
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
    about = [statistic_of(statistic, counts.sizes)], level, replicates, seed
    if not isinstance(released, Result) or not isinstance(mechanism.post, Drawing):
        return bootstrapped(mechanism, counts, *about)[0]
    if released.measurement is None:
        raise ArgumentError("the result holds no noisy values, which draws need; give that of mechanism.release(...)")
    return drawn(mechanism, released.measurement, counts, *about)[0]


def bootstrapped(
    mechanism: Mechanism,
    released: CountOfCounts,
    statistics: Sequence[Statistic],
    level: Number,
    replicates: int,
    seed: str | int,
) -> list[Intervals]:
    """Give bootstrap `intervals` of several statistics, all of the same replicates."""
    number = whole_number("replicates", replicates, 20, ArgumentError)
    private = mechanism.noise.totals is Totals.NOISY
    truth = CountOfCounts(  # with the public facts that the noise step asks of a truth
        *(released.hierarchy, released.values, "replicate"),
        max_quantity=mechanism.noise.max_quantity,
        private_groups=private,
    )
    again = (
        mechanism.release(truth, Seeded(f"replicates of a release: {seed}", place)).estimate.counts().counts
        for place in range(number)
    )
    n_groups = np.inf if private else float(released.totals[0])
    return _formed(released, statistics, level, number, again, n_groups, symmetric, "symmetric bootstrap")


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
    number = whole_number("replicates", draws, 20, ArgumentError)
    assert isinstance(mechanism.post, Drawing), "no other result has draws"
    if measurement.public is Totals.NOISY:
        raise ProblemError(
            "the numbers of groups are noisy, and draws of the posterior take them for exact; use the bootstrap, "
            "pgsr.intervals.intervals(mechanism, result.estimate.counts(), ...)"
        )
    # The seed as a number that is not negative, different for different texts.
    key = int.from_bytes(sha256(f"draws of a posterior: {seed}".encode()).digest()[:8], "big")
    draws_of_truth = mechanism.post.draws(measurement, number, key)
    tables = (np.diff(np.rint(draw).astype(np.int64), prepend=0, axis=1) for draw in draws_of_truth)
    n_groups = float(released.totals[0])
    return _formed(released, statistics, level, number, tables, n_groups, between_quantiles, "posterior")


def symmetric(estimate: np.ndarray, values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Go as far from the released value as the level-quantile of the distances of replicates from it."""
    width = np.quantile(_defined(np.abs(values - estimate), np.inf), level, axis=0, method="higher")
    return estimate - width, estimate + width


def between_quantiles(estimate: np.ndarray, values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Go from quantile to quantile of the draws, the outer value where one lies between two, and hold the estimate."""
    tail = (1 - level) / 2
    low, high = (
        np.quantile(_defined(values, -np.inf), tail, axis=0, method="lower"),
        np.quantile(_defined(values, np.inf), 1 - tail, axis=0, method="higher"),
    )
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _defined(values: np.ndarray, number: float) -> np.ndarray:
    """Take a value that a table without groups leaves open for the one that makes intervals widest."""
    return np.where(np.isnan(values), number, values) if values.dtype.kind == "f" else values


def ends(
    statistic: Statistic, estimate: np.ndarray, values: np.ndarray, level: float, n_groups: float, form: Form
) -> tuple[np.ndarray, np.ndarray]:
    """Form intervals, clipped to what is possible with at most so many groups; ends of whole numbers go outward."""
    low, high = (np.clip(side, *statistic.possible(n_groups)) for side in form(estimate, values, level))
    return (np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)) if statistic.whole else (low, high)


def _formed(
    released: CountOfCounts,
    statistics: Sequence[Statistic],
    level: Number,
    number: int,
    tables: Iterable[np.ndarray],
    n_groups: float,
    form: Form,
    method: str,
) -> list[Intervals]:
    """Compute statistics of a release and of so many others, as they come, and make intervals of them."""
    tree, wanted = released.hierarchy, exact_level(level)
    own = released.counts
    estimates = [statistic.of(own) for statistic in statistics]
    n_values = sum(estimate.size for estimate in estimates)
    memory.require(8 * ((number + 8) * n_values + 4 * own.size), f"{number} replicates")
    values = [np.empty((number, *estimate.shape), estimate.dtype) for estimate in estimates]
    with steps(f"intervals, {method}", number) as step:
        for place, other in enumerate(tables):
            for statistic, rows in zip(statistics, values, strict=True):
                rows[place] = statistic.of(other)
            step()
    found = []
    for statistic, estimate, rows in zip(statistics, estimates, values, strict=True):
        lower, upper = ends(statistic, estimate, rows, float(wanted), n_groups, form)
        found.append(Intervals(tree, statistic.label(own), wanted, lower, estimate, upper, method))
    return found
