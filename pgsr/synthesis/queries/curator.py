"""The only holder of true answers in a fit. It selects and measures queries, and charges for each before drawing."""

from collections import Counter
from fractions import Fraction
from math import lcm
from types import NoneType

import numpy as np

from pgsr.checks import member_of, require_kind, require_source
from pgsr.privacy.random import Source, StreamId
from pgsr.synthesis.data.domain import Neighbours, Population, SynthesisError
from pgsr.synthesis.queries.answers import counts
from pgsr.synthesis.queries.noise import exponential_mechanism, noise_of, sensitivity, with_noise
from pgsr.synthesis.queries.transcript import AdaptiveBudget, MeasuredQuery, Privacy, RhoLedger
from pgsr.synthesis.queries.workload import Level, Workload

_LARGEST_SCORE = 2**61
_MOST_GRID_BITS = 10


class Curator:
    """A holder of the exact counts of a population, with two private operations: `select` and `measure`.

    Delta is the largest change of an answer between neighbours. A round selects query q, of those not yet measured,
    with probability proportional to exp(alpha eps0 |q(D) - estimate_q| / Delta), and measures it with discrete Gaussian
    noise of variance (N Delta / ((1 - alpha) eps0))^2 on its count, N its public denominator.

    Scores are integers: answers and estimates are multiples of 1 / (lcm(N_G, N_I) 2^b). Rounding the estimates, which
    are public, costs nothing; alpha eps0 is rounded down.

    Args:
        population: read here and forgotten; only counts are kept.
        budget: pays for `budget.rounds` rounds.
        source: of noise.
        n_persons: public denominator N_I. Needed when neighbours differ in it; otherwise the true number is public.
        ledger: charged for every operation; by default one of exactly `budget.rho`.
        name: keys the noise of a seeded source.

    Raises:
        ArgumentError: an argument is of the wrong kind.
        SynthesisError: more rounds than queries, no public N_I, or N_G and N_I so large that scores overflow.
        BudgetError: the ledger has less than `budget.rho` left, or noise would be too wide.
    """

    def __init__(
        self,
        population: Population,
        workload: Workload,
        budget: AdaptiveBudget,
        source: Source,
        *,
        neighbours: Neighbours,
        n_persons: int | None,
        ledger: RhoLedger | None,
        name: str,
    ) -> None:
        neighbours, self._ledger = require_fit(population, budget, source, neighbours, ledger)
        require_kind(
            workload, Workload, "the workload", "give Workload.k_way(domain, 3) or Workload(domain, marginals)"
        )
        require_kind(name, str, "the name", "give text; it keys the noise")
        if budget.rounds > workload.n_queries:
            raise SynthesisError(
                f"{budget.rounds:,} rounds for {workload.n_queries:,} queries, each measured once; take fewer rounds"
            )
        if n_persons is None:
            if neighbours is Neighbours.ADD_REMOVE:
                raise SynthesisError(
                    "the number of persons is private when one may be added or removed; give a public n_persons near it"
                )
            n_persons = population.n_persons
        self._delta = sensitivity(workload, population.n_groups, n_persons, neighbours)
        self.n_groups, self.n_persons = population.n_groups, int(n_persons)
        self._ledger.require(budget.rho, f"a fit of {budget.rounds:,} rounds")
        self._workload, self._budget, self._source, self._name = workload, budget, source, name
        self.privacy = Privacy.of(budget, neighbours, source)
        of_groups = workload.levels() == Level.GROUP.value
        self._of = np.where(of_groups, self.n_groups, self.n_persons)
        self._grid = _grid(self.n_groups, self.n_persons, workload.domain.max_size)
        # Noise is made for the change of a count by which its share changes by Delta.
        self._laws = {
            n: noise_of((n * self._delta) ** 2 / (2 * budget.measurement)) for n in np.unique(self._of).tolist()
        }
        self._counts = counts(population, workload)
        self._scaled = self._counts * (self._grid // self._of)
        self._open = np.ones(workload.n_queries, bool)
        self._selections = 0
        self._described: Counter[str] = Counter()

    def select(self, estimates: np.ndarray) -> int:
        """Draw a query not yet measured by the exponential mechanism, which favours estimates far from the truth.

        Raises:
            SynthesisError: estimates are not one finite number per query, or every query is measured.
            BudgetError: the ledger is exhausted; nothing is drawn then.
        """
        estimates = np.asarray(estimates, np.float64)
        if estimates.shape != self._open.shape or not np.isfinite(estimates).all():
            raise SynthesisError(f"estimates are {len(self._open):,} finite shares, one per query of the workload")
        candidates = np.flatnonzero(self._open)
        if not len(candidates):
            raise SynthesisError("every query of the workload is measured; take fewer rounds")
        self._ledger.charge(self._budget.selection, f"selection {self._selections}")
        stream = self._source.stream(StreamId(self._name, "selection", self._selections, ()))
        self._selections += 1
        targets = np.rint(np.clip(estimates[candidates], 0, 1) * self._grid).astype(np.int64)
        scores = np.abs(self._scaled[candidates] - targets)
        rate = self._budget.selection_rate / (self._delta * self._grid)
        return int(candidates[exponential_mechanism(scores, rate, stream)])

    def measure(self, query: int) -> MeasuredQuery:
        """Measure the share of a query with noise, and clip it to [0, 1] afterwards.

        Raises:
            SynthesisError: the query is not in the workload, or measured before.
            BudgetError: the ledger is exhausted; nothing is drawn then.
        """
        words = self._workload.describe(query)
        if not self._open[query]:
            raise SynthesisError(f"query {query} ({words}) is measured already; a second time would cost again")
        self._ledger.charge(self._budget.measurement, f"measurement of {words}")
        self._open[query] = False
        of = int(self._of[query])
        # Different queries may have one description (values 1 and "1"), so its number keeps their noise apart.
        stream = self._source.stream(StreamId(self._name, "measurement", self._described[words], (words,)))
        self._described[words] += 1
        [noisy] = with_noise(self._counts[[query]], self._laws[of], stream).tolist()
        return MeasuredQuery(query, float(Fraction(min(max(noisy, 0), of), of)))


def require_fit(
    population: object, budget: AdaptiveBudget, source: object, neighbours: object, ledger: RhoLedger | None
) -> tuple[Neighbours, RhoLedger]:
    """Check the arguments of a fit; return the neighbours and the ledger to charge.

    Raises:
        ArgumentError, SynthesisError: one is of the wrong kind.
    """
    require_kind(population, Population, "the population", "give Population(domain, groups, persons, ...)")
    require_kind(budget, AdaptiveBudget, "the budget", "give AdaptiveBudget(epsilon, delta, rounds)")
    require_source(source)
    require_kind(ledger, (RhoLedger, NoneType), "the ledger", "give RhoLedger(rho) or None")
    ledger = RhoLedger(budget.rho) if ledger is None else ledger
    return member_of(Neighbours, neighbours, "neighbours", SynthesisError), ledger


def _grid(n_groups: int, n_persons: int, max_size: int) -> int:
    """Compute the points per unit of an answer, a multiple of both denominators, fine enough to round estimates."""
    common = lcm(n_groups, n_persons)
    largest = common * max(1, -(-max_size * n_groups // n_persons))  # a count is at most M N_G
    bits = min(_MOST_GRID_BITS, (_LARGEST_SCORE // largest).bit_length() - 1)
    if bits < 0:
        raise SynthesisError(
            f"{n_groups:,} groups and {n_persons:,} persons have no common denominator below 2^61; "
            f"give a public n_persons that is a multiple of {n_groups:,}"
        )
    return common << bits
