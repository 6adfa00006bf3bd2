"""The noise of a fit: how far one row changes answers, exact noise of measurements, and an exponential mechanism.

Noise is that of `pgsr.privacy.laws.DiscreteGaussian`. The mechanism, which selects, is exact and fast. It makes uniform
proposals, and keeps one with probability exp(rate (score - best)). Its coins are tossed with random bytes and without
floating point: an event of probability exp(-gamma) for a rational gamma is decided by comparing a uniform number with
an integer enclosure of exp(-gamma), bit by bit until they part. Times depend on what is drawn, so they are not for
publication.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from pgsr.checks import member_of
from pgsr.errors import BudgetError
from pgsr.privacy.enclosure import exp_minus
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.laws.discrete_gaussian import LARGEST_DEVIATION
from pgsr.privacy.laws.inversion import Uniform
from pgsr.privacy.random import ByteStream
from pgsr.synthesis.data.domain import Domain, Neighbours, SynthesisError, require_whole
from pgsr.synthesis.queries.workload import Level, Marginal, Workload, relatives


def sensitivity(
    workload: Workload, n_groups: int, n_persons: int, neighbours: Neighbours = Neighbours.REPLACE
) -> Fraction:
    """Compute Delta, the largest change of any answer of the workload between neighbours.

    Answers are counts over public denominators: N_G at group level, N_I otherwise. Where a person is added or removed,
    N_I is a public constant near the number of persons, not that number.

    Raises:
        SynthesisError: a denominator is not a whole number from 1 up.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> sensitivity(Workload.k_way(domain, 1), n_groups=100, n_persons=250)
        Fraction(1, 100)
    """
    require_whole(n_groups=n_groups, n_persons=n_persons)
    neighbours = member_of(Neighbours, neighbours, "neighbours", SynthesisError)
    of = {level: int(n_groups if level is Level.GROUP else n_persons) for level in Level}
    return max(Fraction(change_of_count(workload.domain, m, neighbours), of[m.level]) for m in workload.marginals)


def change_of_count(domain: Domain, marginal: Marginal, neighbours: Neighbours) -> int:
    """Compute the largest change of the count of every query of a marginal between neighbours.

    Without COUNT a changed member changes a query by at most `reach`, what one member can add: for a relation, 1 for
    the member and 1 for everyone whose relative it is. With COUNT, a group that grows to size c enters with all it has,
    most(c), and one that shrinks leaves; a move does both, and both can be at size c if c is inner, neither the
    smallest nor the largest size:

    | level                | without COUNT       | COUNT, ADD_REMOVE  | COUNT, MOVE                                  |
    |----------------------|---------------------|--------------------|----------------------------------------------|
    | any                  | reach               | max_c most(c)      | max(max_c most(c), 2 max_{inner c} most(c))  |
    | group                | 1                   | 1                  | 2 (1 if there is no inner size)              |
    | individual           | 1                   | M                  | 2 (M - 1) (M if there is no inner size)      |
    | relation spouse      | 2                   | 2                  | 4                                            |
    | relation child       | 2                   | 2                  | 4 (2 if M_C = 1)                             |
    | relation parent      | M_C                 | M_C                | 2 M_C                                        |

    REPLACE changes no size: its column is "without COUNT". A number is attained if the marginal has conditions on the
    member and the relative whose attributes have two values; otherwise it is an upper bound.

    Source: Liu & Wu 2022, sections 3 and 6 and table 2 for the definitions; the numbers are derived here and compared
    with the enumeration of all neighbours in `test_synthesis_sensitivity.py`.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> [change_of_count(domain, Marginal(Level.INDIVIDUAL, (0,), (0,)), n) for n in Neighbours]  # COUNT and sex
        [1, 4, 6]
    """
    if neighbours is Neighbours.REPLACE or domain.count not in marginal.group:
        return _reach(domain, marginal)
    most = dict.fromkeys(domain.sizes, 0)
    for numbers in _compositions(domain):
        most[sum(numbers)] = max(most[sum(numbers)], _most(domain, marginal, numbers))
    inner = [most[size] for size in domain.sizes[1:-1]]
    return max(*most.values(), 2 * max(inner, default=0) if neighbours is Neighbours.MOVE else 0)


def _most(domain: Domain, marginal: Marginal, numbers: tuple[int, ...]) -> int:
    """Compute the largest count that a group with so many members of each role can contribute."""
    if marginal.level is Level.GROUP:
        return 1
    if marginal.level is Level.INDIVIDUAL:
        return sum(numbers)
    has_one = relatives(domain, marginal.relation) @ np.array(numbers) > 0
    return int(has_one @ np.array(numbers))


def _reach(domain: Domain, marginal: Marginal) -> int:
    if marginal.level is not Level.RELATION:
        return 1
    related, reach = relatives(domain, marginal.relation), 0
    for numbers in _compositions(domain):
        there = np.array(numbers)
        own, depend = related @ there > 0, there @ related
        reach = max(reach, int((own + depend)[there > 0].max(initial=0)))
    return reach


def _compositions(domain: Domain) -> Iterator[tuple[int, ...]]:
    """Yield all numbers of members per role that a group can have."""
    return product(*(range(role.least, role.most + 1) for role in domain.roles))


def noise_of(variance: Fraction) -> DiscreteGaussian:
    """Make the law of the noise with this parameter sigma^2; call it before the ledger is charged.

    Raises:
        BudgetError: the variance is not positive, or larger than the law supports.

    Example:
        >>> noise_of(Fraction(25, 2))
        DiscreteGaussian(sigma_squared=Fraction(25, 2))
    """
    if variance > LARGEST_DEVIATION**2:
        raise BudgetError(
            f"a count would get noise of standard deviation {float(variance) ** 0.5:.3g}, and the largest supported is "
            f"{LARGEST_DEVIATION:,}; raise epsilon, or measure less"
        )
    return DiscreteGaussian(variance)


def with_noise(counts: np.ndarray, law: DiscreteGaussian, stream: ByteStream) -> np.ndarray:
    """Add an independent draw to every count. Counts of sensitivity s cost s^2 / (2 sigma^2) in zCDP.

    Returns:
        int64, of the same shape; numbers may be below 0.

    Example:
        >>> with_noise(np.array([100, 0]), noise_of(Fraction(25)), ByteStream(bytes(32)))
        array([110,   0])
    """
    noisy = np.array(counts, np.int64)
    law.add_to(noisy, stream)
    return noisy


_BITS = 32
_MARGIN = 2.0**-24
"""Relative error granted to a floating point exp; its true one is below 2^-40, as rate * gap is a few units off."""
_TINY = 1e-300
"""Absolute error granted where exp underflows."""
_FIRST_BATCH = 1 << 10
_LARGEST_BATCH = 1 << 18


def exponential_mechanism(scores: np.ndarray, rate: Fraction, stream: ByteStream) -> int:
    """Draw a candidate i with P(i) = exp(rate * scores[i]) / sum_j exp(rate * scores[j]), exactly.

    With scores of sensitivity s it is (rate s)^2 / 2-zCDP: its log-probabilities move within a range of 2 rate s.
    Floating point only sorts out proposals whose first 32 random bits leave no doubt; integers decide all others.

    Args:
        scores: n int64 scores, any two less than 2^62 apart.
        rate: above 0.

    Raises:
        SynthesisError: there are no scores, or they are no int64.
        BudgetError: the rate is not positive.

    Cost: n / sum_i exp(rate (scores[i] - best)) <= n expected proposals, of 12 random bytes each, in batches.

    Example:
        >>> exponential_mechanism(np.array([0, 50, 3]), Fraction(1), ByteStream(bytes(32)))
        1

    Source: McSherry & Talwar 2007; Liu & Wu 2022, algorithm 1; bounded range and its zCDP: Cesar & Rogers 2021.
    """
    if scores.ndim != 1 or not len(scores) or scores.dtype != np.int64:
        raise SynthesisError("the exponential mechanism chooses among a vector of at least one int64 score")
    if rate <= 0:
        raise BudgetError(f"the exponential mechanism has rate {rate}; it must be positive")
    gaps = int(scores.max()) - scores
    keep, drop = thresholds(gaps, rate)
    batch = min(_FIRST_BATCH, len(gaps))
    while True:
        proposals = _uniform(len(gaps), batch, stream)
        bits = stream.words(len(proposals))
        for i in np.flatnonzero(bits < drop[proposals]):
            gap, first = int(gaps[proposals[i]]), int(bits[i])
            if first + 1 <= keep[proposals[i]] or _survives(rate * gap, first, stream):
                return int(proposals[i])
        batch = min(2 * batch, _LARGEST_BATCH)


def _survives(gamma: Fraction, first: int, stream: ByteStream) -> bool:
    """Draw True with probability exp(-gamma), from a uniform number whose first bits are given."""
    return gamma == 0 or Uniform(first, stream, _BITS).below(partial(exp_minus, gamma))


def thresholds(gaps: np.ndarray, rate: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Compute floats below and above 2^32 exp(-rate gap), one pair per gap."""
    guess = np.exp(-(float(min(rate, Fraction(10**9))) * gaps.astype(np.float64)))
    return guess * (2.0**_BITS * (1 - _MARGIN)) - _TINY, guess * (2.0**_BITS * (1 + _MARGIN)) + _TINY


def _uniform(n: int, size: int, stream: ByteStream) -> np.ndarray:
    """Draw at most `size` independent uniform numbers below n: 64 bits modulo n, without the last incomplete cycle."""
    words = stream.words(2 * size).view("<u8")
    last = 2**64 // n * n - 1
    return (words[words <= np.uint64(last)] % np.uint64(n)).astype(np.int64)
