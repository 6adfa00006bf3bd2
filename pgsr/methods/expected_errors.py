"""The expected errors of a mechanism on a public stand-in, and the least epsilon at which they are small enough."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter

import numpy as np

from pgsr.checks import require_kind, whole_number
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.read_only import read_only_arrays
from pgsr.errors import ArgumentError
from pgsr.machine.progress import steps
from pgsr.methods import metrics
from pgsr.methods.mechanism import Mechanism
from pgsr.privacy.random import Seeded

SEED = "plan"
"""The seed of the research noise: all mechanisms, and all epsilons, see the same random bits."""

EPSILONS = (*(Fraction(n) * Fraction(10) ** power for power in range(-4, 1) for n in range(10, 100)), Fraction(100))
"""The epsilons that are tried, with two leading digits: 0.0010, 0.0011, ..., 99 and 100."""


@dataclass(frozen=True, eq=False)
@read_only_arrays
class ExpectedErrors:
    """The expected errors of a mechanism on a stand-in, level by level.

    Attributes:
        mean: distance per region, mean over a level's regions and over replicates; shape (levels,).
        standard_error: of `mean`, over replicates; shape (levels,).
        seconds: that a release took, the median over replicates, compilation left out.
    """

    mean: np.ndarray
    standard_error: np.ndarray
    seconds: float


def expected_errors(
    stand_in: CountOfCounts,
    mechanism: Mechanism,
    replicates: int,
    distance: Callable[[CountOfCounts, Estimate], np.ndarray] = metrics.cumulative_l1,
) -> ExpectedErrors:
    """Estimate the errors of a mechanism on a public stand-in for the data, by simulation with research noise.

    Nothing is spent and nothing private is read, provided that the stand-in is public: earlier published tables, what
    `pgsr.data.stand_in` makes, or a generator. Errors on the data itself would tell about them.

    Args:
        stand_in: counts of the shape that will be released.
        mechanism: that will release them.
        replicates: draws of the noise, two at least.
        distance: from the truth to an estimate, per region. The usual one is the earth mover's distance, or where a
            mechanism changes totals the sum of |cumulative counts - true ones|.

    Raises:
        ArgumentError: there are fewer than two replicates, or the stand-in is no table of counts.
        PgsrError: whatever `Mechanism.check` refuses.

    Example:
        >>> from pgsr import View
        >>> from pgsr.data.stand_in import stand_in
        >>> from pgsr.noise import Geometric
        >>> from pgsr.estimators import Matching
        >>> made = stand_in((1, 2), groups=100, max_size=3, mean_size=1.5)
        >>> half, double = (
        ...     expected_errors(made, Mechanism(Geometric(View.CUMULATIVE, epsilon), Matching()), replicates=3)
        ...     for epsilon in ("1/2", 2)
        ... )
        >>> bool((double.mean < half.mean).all())
        True
    """
    require_kind(stand_in, CountOfCounts, "the stand-in", "give public counts of the shape of the data")
    replicates = whole_number("replicates", replicates, 2, ArgumentError)
    mechanism.check(stand_in, Seeded(SEED))
    errors, seconds = [], []
    with steps("drawing noise and post-processing, again and again", replicates) as step:
        for replicate in range(replicates):
            start = perf_counter()
            result = mechanism.release(stand_in, Seeded(SEED, replicate))
            seconds.append(perf_counter() - start - result.seconds.compile)
            errors.append(metrics.level_means(stand_in, distance(stand_in, result.estimate)))
            step()
    spread = np.std(errors, axis=0, ddof=1) / np.sqrt(replicates)
    return ExpectedErrors(np.mean(errors, axis=0), spread, float(np.median(seconds)))


def least_epsilon(
    errors_at: Callable[[Fraction], ExpectedErrors], targets: Mapping[str, float], names: Sequence[str], start: Fraction
) -> tuple[Fraction, dict[Fraction, ExpectedErrors]]:
    """Search the smallest epsilon at which expected errors are at most the targets.

    From `start` on, epsilon is doubled or halved until the targets lie between two, and then bisected over `EPSILONS`.
    So what is found was simulated itself, and the next smaller one misses a target.

    Args:
        errors_at: the errors at an epsilon.
        targets: by the name of a level, the largest expected error there.
        names: of the levels, root first.
        start: the epsilon to begin at.

    Returns:
        The epsilon, and the errors of all that were tried.

    Raises:
        ArgumentError: there is no target, one is of no level or not above 0, or no epsilon reaches it.

    Example:
        >>> falling = lambda epsilon: ExpectedErrors(np.array([1.0, 5.0]) / float(epsilon), np.zeros(2), 0.0)
        >>> least_epsilon(falling, {"state": 10}, ("nation", "state"), Fraction(3))[0]
        Fraction(1, 2)
    """
    if not targets:
        raise ArgumentError("there is no target; give an error by the name of a level")
    for name, target in targets.items():
        if name not in names:
            raise ArgumentError(f"no level is called {name!r}; write one of {', '.join(names)}")
        if not isinstance(target, int | float) or not 0 < target < float("inf"):
            raise ArgumentError(f"the target error of {name} is {target!r}; give a number above 0")
    wanted = {list(names).index(name): target for name, target in targets.items()}
    tried: dict[Fraction, ExpectedErrors] = {}

    def reached(place: int) -> bool:
        epsilon = EPSILONS[place]
        if epsilon not in tried:
            tried[epsilon] = errors_at(epsilon)
        return all(tried[epsilon].mean[level] <= target for level, target in wanted.items())

    place = _search(reached, _place(start))
    if place is None:
        mean = tried[EPSILONS[-1]].mean
        missed = next(level for level, target in wanted.items() if mean[level] > target)
        raise ArgumentError(
            f"not even epsilon {shown(EPSILONS[-1])} reaches an error of {wanted[missed]:g} at {names[missed]!r}, "
            f"where it is {mean[missed]:,.4g}; give a larger target, or another mechanism"
        )
    return EPSILONS[place], tried


def shown(epsilon: Fraction) -> str:
    """Write an epsilon of `EPSILONS` as a decimal number, exactly.

    Example:
        >>> shown(Fraction(13, 10)), shown(Fraction(100)), shown(Fraction(1, 1000))
        ('1.3', '100', '0.001')
    """
    return f"{float(epsilon):.6f}".rstrip("0").rstrip(".")


def _place(epsilon: Fraction) -> int:
    """Find the smallest of `EPSILONS` that is at least this one, or the last."""
    return bisect_left(EPSILONS, epsilon, hi=len(EPSILONS) - 1)


def _search(reached: Callable[[int], bool], start: int) -> int | None:
    """Find the smallest place that is reached, if `reached` is monotone; None if the last one is not.

    Example:
        >>> _search(lambda place: place >= 123, 200), _search(lambda place: False, 200)
        (123, None)
    """
    high = start
    while not reached(high):
        if high == len(EPSILONS) - 1:
            return None
        high = _place(2 * EPSILONS[high])
    low = high
    while low >= 0 and reached(low):
        high = low
        low = -1 if low == 0 else min(_place(EPSILONS[low] / 2), low - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
