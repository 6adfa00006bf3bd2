"""The only holder of the true counts of whole marginals, which charges before it draws, and the record leaving it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from pgsr.privacy.enclosure import root_below
from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Source, StreamId
from pgsr.synthesis.data.domain import Domain, Neighbours, Population, SynthesisError
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.answers import counts
from pgsr.synthesis.queries.noise import exponential_mechanism, noise_of, with_noise
from pgsr.synthesis.queries.transcript import Privacy, RhoLedger
from pgsr.synthesis.queries.workload import Level, Marginal, Workload

_LARGEST_SCORE = 2**61
_MOST_BITS = 8

GROUPS_WEIGH = 2
"""How many persons a group stands for when errors of both are compared, and when rho is shared."""


@dataclass(frozen=True, eq=False)
class MeasuredMarginal:
    """The noisy counts of a whole marginal.

    Attributes:
        rho: what they cost.
        variance: of the discrete Gaussian noise of each, squared sensitivity / (2 rho).
        noisy: whole numbers of groups, or of persons, in the order of the marginal's cells; below 0 at times.
    """

    marginal: Marginal
    rho: Fraction
    variance: Fraction
    noisy: np.ndarray


class MarginalCurator:
    """A holder of the exact counts of candidate marginals, with two private operations: `select` and `measure`.

    Selection is by the exponential mechanism with the score v (L1 distance of true and estimated counts - the expected
    L1 norm of the noise) / (absolute sensitivity of the marginal) with a public weight v. Groups are fewer than
    persons, so that an error of one weighs more in shares: unless weights are given, v = 2 at group level, and 1
    otherwise. Between neighbours a score changes by at most v, so that a rate of sqrt(2 rho) / v for the largest v of
    those that may be selected costs rho. Estimates and expected noise are public; they are rounded to multiples of
    2^-b, which makes scores integers.

    Args:
        population: read here and forgotten; only counts are kept.
        candidates: distinct marginals of positive sensitivity.
        source: of noise.
        weights: v of every candidate, public whole numbers above 0.
        ledger: charged for every operation.
        name: keys the noise of a seeded source.

    Raises:
        SynthesisError: a candidate that is public, or counts so large that scores overflow.

    Source: selection after McKenna, Mullins, Sheldon and Miklau 2022 (AIM); exponential mechanism in zCDP: Cesar and
    Rogers 2021; a ledger that stops adaptive spending: Feldman and Zrnic 2021.
    """

    def __init__(
        self,
        population: Population,
        candidates: tuple[Marginal, ...],
        source: Source,
        *,
        neighbours: Neighbours,
        unit: Unit = Unit.ENTITY,
        weights: Sequence[int] | None = None,
        ledger: RhoLedger,
        name: str,
    ) -> None:
        self.candidates = candidates
        self._source, self._ledger, self._name = source, ledger, name
        self.sensitivities = [marginal_sensitivity(population.domain, m, neighbours, unit) for m in candidates]
        if any(s.squared == 0 for s in self.sensitivities):
            raise SynthesisError("a candidate marginal is public; leave it out of those to be measured")
        of_groups = (GROUPS_WEIGH if m.level is Level.GROUP else 1 for m in candidates)
        self._weights = list(of_groups if weights is None else weights)
        workload = Workload(population.domain, candidates)
        found, starts = counts(population, workload), workload.starts
        self._counts = [found[a:b] for a, b in pairwise(starts)]
        self._common = lcm(*(s.absolute for s in self.sensitivities))
        # Entries are at most M N_G, estimates are clipped to that too, and so is what is added up over a marginal.
        bound = 2 * population.n_groups * population.domain.max_size * max(len(c) for c in self._counts)
        largest = max(self._weights) * bound * self._common
        self._bits = min(_MOST_BITS, (_LARGEST_SCORE // largest).bit_length() - 1)
        if self._bits < 0:
            raise SynthesisError(
                f"scores of {population.n_groups:,} groups overflow; lower k, or merge values of attributes"
            )
        self.n_groups = population.n_groups
        self._most = population.n_groups * population.domain.max_size
        self._drawn = {"selection": 0, "measurement": 0}

    def select(
        self, estimates: list[np.ndarray], deviations: np.ndarray, rho: Fraction, taken: frozenset[int] = frozenset()
    ) -> int:
        """Draw a candidate that is estimated badly, as far as measuring it can help, for `rho`.

        Args:
            estimates: expected counts per candidate.
            deviations: per candidate, the standard deviation of the noise with which it would be measured.
            taken: candidates that are not to be drawn.

        Raises:
            SynthesisError: estimates are no finite numbers, or no candidate is left.
            BudgetError: the ledger is exhausted; nothing is drawn then.
        """
        open_ = [number for number in range(len(self.candidates)) if number not in taken]
        if not open_:
            raise SynthesisError("every candidate is taken; select fewer marginals at a time")
        if not all(np.isfinite(e).all() for e in estimates) or not np.isfinite(deviations).all():
            raise SynthesisError("estimates and deviations are finite numbers")
        number_of = self._drawn["selection"]
        self._ledger.charge(rho, f"selection {number_of}")
        self._drawn["selection"] += 1
        stream = self._source.stream(StreamId(self._name, "selection of a marginal", number_of, ()))
        scores = np.array([self._score(number, estimates[number], float(deviations[number])) for number in open_])
        heaviest = max(self._weights[number] for number in open_)
        rate = root_below(2 * rho) / (heaviest * self._common << self._bits)
        return open_[exponential_mechanism(scores, rate, stream)]

    def measure(self, number: int, rho: Fraction) -> MeasuredMarginal:
        """Measure all counts of a candidate with discrete Gaussian noise, for `rho`.

        Raises:
            BudgetError: the ledger is exhausted, or noise would be too wide; nothing is drawn then.
        """
        variance = variance_of(self.sensitivities[number].squared, rho)
        law, ordinal = noise_of(variance), self._drawn["measurement"]
        self._ledger.charge(rho, f"measurement {ordinal}")
        self._drawn["measurement"] += 1
        stream = self._source.stream(StreamId(self._name, "measurement of a marginal", ordinal, ()))
        return MeasuredMarginal(self.candidates[number], rho, variance, with_noise(self._counts[number], law, stream))

    def measure_all(self, numbers: Sequence[int], rho: Fraction) -> list[MeasuredMarginal]:
        """Measure several candidates for `rho` together, in proportion to their weights.

        Raises:
            BudgetError: as `measure`.
        """
        weights = [self._weights[number] for number in numbers]
        return [
            self.measure(number, rho * weight / sum(weights)) for number, weight in zip(numbers, weights, strict=True)
        ]

    def _score(self, number: int, estimates: np.ndarray, deviation: float) -> int:
        scale = 1 << self._bits
        rounded = np.rint(np.clip(estimates, 0, self._most) * scale).astype(np.int64)
        distance = int(np.abs(self._counts[number] * scale - rounded).sum())
        noise = min(deviation * (2 / np.pi) ** 0.5, self._most) * len(estimates)
        weight = self._weights[number] * (self._common // self.sensitivities[number].absolute)
        return weight * (distance - round(noise * scale))


def variance_of(squared: int, rho: Fraction) -> Fraction:
    """Compute the variance of the noise that makes counts of this squared sensitivity cost rho."""
    return Fraction(squared) / (2 * rho)


@dataclass(frozen=True, eq=False)
class MarginalTranscript:
    """The record of all that post-processing may see; `whole_marginals.replay` makes the distribution of it again.

    Attributes:
        households: public.
        measured: in order.
        rounds: how many marginals each round measured, those of one attribute first.

    Raises:
        SynthesisError: a measurement of other cells than its marginal has, or rounds that do not add up.
    """

    households: PublicHouseholds
    measured: tuple[MeasuredMarginal, ...]
    rounds: tuple[int, ...]
    privacy: Privacy

    def __post_init__(self) -> None:
        if sum(self.rounds) != len(self.measured) or any(n < 1 for n in self.rounds):
            raise SynthesisError(f"rounds of {self.rounds} measurements do not add up to {len(self.measured)}")
        for m in self.measured:
            if m.noisy.shape != (m.marginal.cells(self.domain),):
                raise SynthesisError(f"{m.marginal} has {m.marginal.cells(self.domain)} cells, and not {len(m.noisy)}")
            if m.variance <= 0 or m.rho <= 0:
                raise SynthesisError("a measurement has no noise, or cost nothing")

    @property
    def domain(self) -> Domain:
        return self.households.domain

    @property
    def n_groups(self) -> int:
        return self.households.n_groups

    @property
    def by_round(self) -> list[tuple[MeasuredMarginal, ...]]:
        """The measurements of every round."""
        ends = np.cumsum([0, *self.rounds]).tolist()
        return [self.measured[start:stop] for start, stop in pairwise(ends)]

    def __repr__(self) -> str:
        return f"MarginalTranscript({len(self.measured):,} marginals, privacy: {self.privacy.claim})"
