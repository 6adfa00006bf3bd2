"""The adaptive fit: every round measures the query that a model answers worst, and fits the model again.

Only `pgsr.synthesis.queries.curator` sees the population. Models see a workload, public numbers and noisy answers, so
that whatever they do is post-processing, and the transcript alone makes the same model again. Experiments compare with
the truth by `errors`, which are not private.

Source: Liu & Wu 2022, algorithms 1 and 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np
from tqdm import tqdm

from pgsr.errors import ArgumentError
from pgsr.privacy.random import Source
from pgsr.synthesis.data.domain import Domain, Neighbours, Population, require_whole
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.curator import Curator
from pgsr.synthesis.queries.transcript import AdaptiveBudget, MeasuredQuery, RhoLedger, Transcript
from pgsr.synthesis.queries.workload import Level, Workload


class Distribution(Protocol):
    """The result of a fit: a model of groups that answers queries and makes synthetic groups."""

    @property
    def domain(self) -> Domain: ...

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute the shares of all queries of any workload over the domain, shape (queries,)."""
        ...

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw `n_groups` groups with their members, independent of each other."""
        ...


class Estimator(Protocol):
    """The state of one fit. Only its start and its updates determine it: calling `answers` changes nothing."""

    def answers(self) -> np.ndarray:
        """Compute the shares of all queries of the workload under the present model, shape (queries,)."""
        ...

    def update(self, measured: Sequence[MeasuredQuery]) -> None:
        """Fit the model again to all measurements so far, of which the newest is the last."""
        ...

    def distribution(self) -> Distribution: ...


class Family(Protocol):
    """A method with its settings: HPDFixed, HPDGen or MWEM."""

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> Estimator:
        """Make the model before the first measurement. The seed is public and has nothing to do with noise."""
        ...


@dataclass(frozen=True)
class Round:
    """The record of one round, computed from noisy data alone.

    Attributes:
        surprise: |estimate - noisy answer| of the selected query, before the model was fitted to it.
        largest, mean: error to the noisy answers of all queries measured so far, after the fit.
        seconds: of the fit.
    """

    query: int
    surprise: float
    largest: float
    mean: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of `fit`: the model, the transcript of its measurements, and the history of its rounds."""

    distribution: Distribution
    transcript: Transcript
    history: tuple[Round, ...]


def fit(
    population: Population,
    workload: Workload,
    family: Family,
    budget: AdaptiveBudget,
    *,
    source: Source,
    neighbours: Neighbours = Neighbours.REPLACE,
    seed: int = 0,
    n_persons: int | None = None,
    ledger: RhoLedger | None = None,
    name: str = "population",
    progress: bool = False,
) -> Fitted:
    """Fit a model to a population with (epsilon, delta)-differential privacy.

    Args:
        population: of the workload's domain. Its number of groups is public.
        family: the method with its settings.
        budget: epsilon, delta, rounds and alpha.
        source: of noise: Secure() for publishing, Seeded(key) for research.
        neighbours: what privacy protects.
        seed: of the method's own, public randomness.
        n_persons: public number of persons; needed for `Neighbours.ADD_REMOVE`, otherwise the population's.
        ledger: of all that is done with this data set; charged round by round.
        name: of the data set; keys the noise of a seeded source.
        progress: show a bar.

    Raises:
        ArgumentError, SynthesisError, BudgetError: see `Curator`; raised before any noise is drawn.

    Cost: `budget.rounds` times one pass over all scores and the method's `update` and `answers`.

    Example:
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.synthesis import Attribute, Domain
        >>> from pgsr.synthesis.queries.mwem import MWEM
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.empty((200, 0), int), np.zeros((200, 1), int)  # two hundred women who live alone
        >>> population = Population(domain, homes, members, np.arange(200), np.zeros(200, int))
        >>> budget = AdaptiveBudget(5, "1e-5", rounds=4)
        >>> fitted = fit(population, Workload.k_way(domain, k=1), MWEM(), budget, source=Seeded("demo"))
        >>> fitted.transcript.privacy.claim, len(fitted.history)
        ('none (seeded)', 4)

    Source: Liu & Wu 2022, algorithms 1 and 3.
    """
    if isinstance(family, type) or not callable(getattr(family, "start", None)):
        raise ArgumentError(f"family is {family!r}; give a method with its settings, such as MWEM()")
    require_whole(least=0, seed=seed)
    curator = Curator(
        population,
        workload,
        budget,
        source,
        neighbours=neighbours,
        n_persons=n_persons,
        ledger=ledger,
        name=name,
    )
    del population
    estimator = family.start(workload, curator.n_groups, curator.n_persons, seed)
    measured: list[MeasuredQuery] = []
    history: list[Round] = []
    estimates = estimator.answers()
    for _ in tqdm(range(budget.rounds), desc="fit", unit="round", disable=None if progress else True):
        newest = curator.measure(curator.select(estimates))
        measured.append(newest)
        surprise, start = abs(float(estimates[newest.query]) - newest.value), perf_counter()
        estimator.update(tuple(measured))
        estimates = estimator.answers()
        errors = [abs(float(estimates[m.query]) - m.value) for m in measured]
        history.append(Round(newest.query, surprise, max(errors), float(np.mean(errors)), perf_counter() - start))
    transcript = Transcript(workload, curator.n_groups, curator.n_persons, tuple(measured), curator.privacy)
    return Fitted(estimator.distribution(), transcript, tuple(history))


def replay(transcript: Transcript, family: Family, seed: int) -> Distribution:
    """Make the distribution of a fit again from its transcript alone, or fit another method to the same transcript.

    The queries suit the method they were selected for; another one is fitted to them at no cost in privacy.
    """
    estimator = family.start(transcript.workload, transcript.n_groups, transcript.n_persons, seed)
    for rounds in range(len(transcript.measured)):
        estimator.update(transcript.measured[: rounds + 1])
    return estimator.distribution()


@dataclass(frozen=True)
class Errors:
    """The absolute errors of some queries, for experiments and never for a release."""

    largest: float
    mean: float
    n_queries: int


def errors(model: Distribution | Population, truth: Population, workload: Workload) -> dict[Level, Errors]:
    """Compute the largest and the mean |q(model) - q(truth)| per level of the workload.

    The result is not private, because it is computed from the true population.

    Args:
        model: a fitted distribution, or a population sampled from one.

    Raises:
        SynthesisError: a domain differs, or a population is empty.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Marginal
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=1)
        >>> of = lambda *codes: Population(
        ...     domain, np.empty((2, 0), int), np.array(codes).reshape(2, 1), np.arange(2), np.zeros(2, int))
        >>> errors(of(0, 0), of(0, 1), Workload(domain, (Marginal(Level.INDIVIDUAL, (), (0,)),)))
        {<Level.INDIVIDUAL: 'individual'>: Errors(largest=0.5, mean=0.5, n_queries=2)}
    """
    found = answers(model, workload) if isinstance(model, Population) else model.answers(workload)
    distances, levels = np.abs(found - answers(truth, workload)), workload.levels()
    parts = {level: distances[levels == level.value] for level in Level}
    return {level: Errors(float(d.max()), float(d.mean()), len(d)) for level, d in parts.items() if len(d)}
