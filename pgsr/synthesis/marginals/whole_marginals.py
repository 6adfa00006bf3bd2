"""The method WholeMarginals: whole marginals are selected and measured, and a mixture fills the public groups.

Measuring one cell of a marginal costs nearly as much as measuring all of it, so whole marginals are measured; what is
public of groups is not measured at all, but kept exactly.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import pi, sqrt

import numpy as np
from tqdm import tqdm

from pgsr.checks import require_kind
from pgsr.errors import BudgetError
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Domain, Neighbours, Population, SynthesisError, require_whole
from pgsr.synthesis.data.impossible import Impossible
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.filling_fit import FillingFit
from pgsr.synthesis.marginals.marginal_curator import (
    GROUPS_WEIGH,
    MarginalCurator,
    MarginalTranscript,
    MeasuredMarginal,
    variance_of,
)
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity, require_unit
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.curator import require_fit
from pgsr.synthesis.queries.noise import noise_of
from pgsr.synthesis.queries.transcript import AdaptiveBudget, Privacy, RhoLedger
from pgsr.synthesis.queries.workload import Level, Marginal, Workload

FEWEST_ROUNDS = 4
"""How many rounds the rho is for at least when they start, however wide the noise."""

GROWTH = 2
"""How many times as much is spent on each marginal after a round that changed less than its noise would."""


@dataclass(frozen=True)
class MarginalRound:
    """The record of one round, computed from noisy data alone.

    Attributes:
        measured: the marginals of this round.
        rho: what each of them cost, its selection included.
        loss: mean squared error in units of the noise, over all that was measured so far.
    """

    measured: tuple[Marginal, ...]
    rho: Fraction
    loss: float


@dataclass(frozen=True, eq=False)
class FittedMarginals:
    """The result of `WholeMarginals.fit`: the model, the transcript of its measurements, the history of its rounds."""

    distribution: FilledHouseholds
    transcript: MarginalTranscript
    history: tuple[MarginalRound, ...]


@dataclass(frozen=True, kw_only=True)
class WholeMarginals:
    """A method that measures whole marginals, those first that the model answers worst for the noise they would have.

    A fifth of rho measures all marginals of one attribute; they start the model too. The rest
    goes to marginals of 2 to k attributes, at the levels of groups, of persons and (with roles) of relations: in every
    round, `batch` of them are selected by the exponential mechanism and measured, and the model is fitted to all that
    was measured so far. Rounds start with rho / (rounds batch) each for a selection with its measurement, or with more
    where noise would be wider than a share `noise` of all groups; when a round
    changed the answers it measured by less than the expected noise, the next ones spend twice as much on each. The
    last round spends what is left, so rho is spent exactly.

    What neighbours have in common is not measured: attributes of groups, and sizes under `Neighbours.REPLACE`.

    Args:
        components: K.
        k: most attributes of a marginal.
        rounds: most rounds; they are fewer where more is spent on each.
        noise: widest standard deviation of the first rounds' noise, as a share of the number of groups.
        batch: marginals per round.
        first: share of rho for the marginals of one attribute.
        selection: share of selections in the rho of the rounds.
        steps: of descent per round, at most; the first fit takes up to twice as many.
        final_steps: of the last fit, at most.
        learning_rate: of Adam at the start of a round's fit; the first fit takes twice as much.
        largest: most cells of a marginal that is measured.
        impossible: public combinations that no person has; neither answers nor samples have any.

    Raises:
        SynthesisError: a setting is out of range.

    Example:
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.zeros((200, 1), int), np.zeros((200, 1), int)  # women who live alone
        >>> population = Population(domain, homes, members, np.arange(200), np.zeros(200, int))
        >>> budget = AdaptiveBudget(5, "1e-5", rounds=1)  # its rounds are not used
        >>> fitted = WholeMarginals(components=3).fit(population, budget, source=Seeded("demo"))
        >>> fitted.distribution.answers(Workload(domain, (Marginal(Level.INDIVIDUAL, (), (0,)),))).round(1)
        array([1., 0.])
        >>> fitted.distribution.sample(200, seed=0)
        Population(200 groups, 200 persons)

    Source: the loop after McKenna, Mullins, Sheldon and Miklau 2022 (AIM), with batches and without their junction
    trees; the model is ours.
    """

    components: int = 100
    k: int = 3
    rounds: int = 20
    batch: int = 3
    noise: Number = "1/100"
    first: Number = "1/5"
    selection: Number = "1/10"
    steps: int = 60
    final_steps: int = 500
    learning_rate: float = 0.05
    largest: int = 20_000
    impossible: tuple[Impossible, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "impossible", tuple(self.impossible))
        names = ("components", "k", "rounds", "batch", "steps", "final_steps", "largest")
        require_whole(**{name: getattr(self, name) for name in names})
        for name in ("noise", "first", "selection"):
            if exact(getattr(self, name), name) >= 1:
                raise BudgetError(f"{name}={getattr(self, name)} leaves nothing for the rest; keep it below 1")
        if not isinstance(self.learning_rate, int | float) or not 0 < self.learning_rate < float("inf"):
            raise SynthesisError(f"learning_rate is {self.learning_rate!r}; give a number above 0")
        if not all(isinstance(zero, Impossible) for zero in self.impossible):
            raise SynthesisError("impossible lists combinations; write Impossible({'age': (0,), 'driver': ('yes',)})")

    def fit(
        self,
        population: Population,
        budget: AdaptiveBudget,
        *,
        source: Source,
        neighbours: Neighbours = Neighbours.REPLACE,
        unit: Unit = Unit.ENTITY,
        seed: int = 0,
        ledger: RhoLedger | None = None,
        name: str = "population",
        progress: bool = False,
    ) -> FittedMarginals:
        """Fit the model to a population with (epsilon, delta)-differential privacy.

        Args:
            population: its groups and their attributes are public; under `Neighbours.REPLACE` their sizes, too.
            budget: its rounds and alpha are not used.
            source: of noise: Secure() for publishing, Seeded(key) for research.
            neighbours: what privacy protects.
            unit: whose values it hides: a person's, or, under REPLACE, `Unit.GROUP`: those of all members of a group.
            seed: of the first logits; public.
            ledger: of all that is done with this data set.
            name: of the data set; keys the noise of a seeded source.
            progress: show a bar of all steps with the time that is left.

        Raises:
            ArgumentError, SynthesisError: an argument is of the wrong kind, or out of range.
            MissingPackageError: without torch.
            BudgetError: the ledger has less than `budget.rho` left; nothing is drawn then.

        Cost: per step O(kinds of groups x K) and O(K M) per cell that was measured.
        """
        neighbours, ledger = require_fit(population, budget, source, neighbours, ledger)
        require_whole(least=0, seed=seed)
        require_kind(unit, Unit, "unit", "give Unit.ENTITY or Unit.GROUP")
        require_unit(unit, neighbours)
        if not population.n_persons:
            raise SynthesisError("a population without persons has nothing to fit; give one with a person or more")
        ledger.require(budget.rho, "a fit of whole marginals")
        domain, households = population.domain, PublicHouseholds.of(population, neighbours)
        model = FillingFit(households, self.impossible, self.components, seed)
        single, candidates = self.marginals(domain, neighbours)
        curator = MarginalCurator(
            population, (*single, *candidates), source, neighbours=neighbours, unit=unit, ledger=ledger, name=name
        )
        del population
        history: list[MarginalRound] = []
        bar = tqdm(
            total=2 * self.steps + self.rounds * self.steps + self.final_steps,
            desc="fit",
            unit="step",
            disable=None if progress else True,
        )
        with bar:
            measured = self._measurements(curator, model, len(single), budget.rho, history, bar)
            model.fit(measured, self.final_steps, self.learning_rate, bar.update)
            bar.total = bar.n
        privacy = Privacy.of(budget, neighbours, source, unit)
        transcript = MarginalTranscript(households, tuple(measured), tuple(len(r.measured) for r in history), privacy)
        return FittedMarginals(model.distribution(), transcript, tuple(history))

    def marginals(self, domain: Domain, neighbours: Neighbours) -> tuple[tuple[Marginal, ...], tuple[Marginal, ...]]:
        """List the marginals that are measured first, and the candidates for selection.

        What is public is left out, and so is what follows from another marginal: persons by attributes of groups and
        COUNT alone, which groups by the same tell.

        Raises:
            SynthesisError: nothing is private.
        """
        levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if len(domain.roles) > 1 else [])]
        n_attributes = len(domain.group) + 1 + len(domain.individual)

        def found(k: int, level: Level) -> list[Marginal]:
            return [
                m
                for m in Workload.k_way(domain, min(k, n_attributes), [level]).marginals
                if marginal_sensitivity(domain, m, neighbours).squared
                and not (m.level is Level.INDIVIDUAL and not m.individual and domain.count in m.group)
                and m.cells(domain) <= self.largest
            ]

        single = [m for level in levels[:2] for m in found(1, level)]
        candidates = [m for k in range(2, min(self.k, n_attributes) + 1) for level in levels for m in found(k, level)]
        if not single:
            raise SynthesisError("nothing about persons is left to measure; raise largest")
        return tuple(single), tuple(dict.fromkeys(candidates))

    def _measurements(
        self,
        curator: MarginalCurator,
        model: FillingFit,
        n_single: int,
        rho: Fraction,
        history: list[MarginalRound],
        bar: "tqdm",
    ) -> list[MeasuredMarginal]:
        """Measure and fit, round by round, until rho is spent."""
        n_candidates = len(curator.candidates) - n_single
        first = exact(self.first, "first") if n_candidates else Fraction(1)
        share = exact(self.selection, "selection")
        left, batch = (1 - first) * rho, min(self.batch, n_candidates)
        each = self._first_each(left, batch, curator) if batch else Fraction(0)
        least = first * rho / n_single
        if batch:
            least = min(least, (1 - share) * each)
        # Refuses before any charge.
        noise_of(variance_of(max(s.squared for s in curator.sensitivities), least / GROUPS_WEIGH))
        measured = curator.measure_all(range(n_single), first * rho)
        model.start_from(measured)
        loss = model.fit(measured, 2 * self.steps, 2 * self.learning_rate, bar.update)
        history.append(MarginalRound(curator.candidates[:n_single], first * rho / n_single, loss))
        before = model.expected(curator.candidates) if batch else []
        for _ in count():
            if not left:
                return measured
            if left < 2 * batch * each:
                each = left / batch
            numbers = self._selected(curator, before, batch, each, n_single)
            newest = curator.measure_all(numbers, batch * (1 - share) * each)
            left -= batch * each
            measured += newest
            loss = model.fit(measured, self.steps, self.learning_rate, bar.update)
            history.append(MarginalRound(tuple(m.marginal for m in newest), each, loss))
            after = model.expected(curator.candidates)
            changed = sum(float(np.abs(after[number] - before[number]).sum()) for number in numbers)
            noise = sum(sqrt(2 * float(m.variance) / pi) * len(m.noisy) for m in newest)
            if changed < noise:
                each *= GROWTH
            before = after
        raise AssertionError("rounds end when rho is spent")

    def _first_each(self, left: Fraction, batch: int, curator: MarginalCurator) -> Fraction:
        """Compute the rho for a selection with its measurement in the first round.

        It is such that `rounds` rounds would spend what is left, or more, where measurements would be noisier than
        `noise`; then there are `FEWEST_ROUNDS` rounds at least.
        """
        squared = min(s.squared for s in curator.sensitivities)
        wanted = squared / (2 * (exact(self.noise) * curator.n_groups) ** 2) / (1 - exact(self.selection))
        return max(left / (self.rounds * batch), min(wanted, left / (FEWEST_ROUNDS * batch)))

    def _selected(
        self, curator: MarginalCurator, estimates: list[np.ndarray], batch: int, rho: Fraction, n_single: int
    ) -> list[int]:
        """Select the marginals of a round one after the other; each costs its share of rho."""
        share = exact(self.selection, "selection")
        squared = np.array([s.squared for s in curator.sensitivities])
        deviations = np.sqrt(squared / (2 * float((1 - share) * rho)))
        found: list[int] = []
        for _ in range(batch):
            taken = frozenset([*range(n_single), *found])
            found.append(curator.select(estimates, deviations, share * rho, taken))
        return found


def replay(transcript: MarginalTranscript, method: WholeMarginals, seed: int = 0) -> FilledHouseholds:
    """Make the distribution of a fit again from its transcript alone."""
    model = FillingFit(transcript.households, method.impossible, method.components, seed)
    rounds = transcript.by_round
    measured = list(rounds[0])
    model.start_from(measured)
    model.fit(measured, 2 * method.steps, 2 * method.learning_rate)
    for newest in rounds[1:]:
        measured += newest
        model.fit(measured, method.steps, method.learning_rate)
    model.fit(measured, method.final_steps, method.learning_rate)
    return model.distribution()
