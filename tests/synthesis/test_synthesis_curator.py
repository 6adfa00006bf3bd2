"""The curator, who alone sees the truth: what it draws, what that costs, and what it refuses before it draws."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances import rng_of, scale
from many_digits import precise, real  # noqa: F401
from mpmath import mp
from synthesis_fits import BUDGET, DOMAIN, WORKLOAD, Memory, Untouchable, fitted, population, replaced

from pgsr import PgsrError
from pgsr.errors import ArgumentError, BudgetError
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.synthesis import AdaptiveBudget, Level, Population, Workload
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.queries import curator
from pgsr.synthesis.queries.answers import answers, counts
from pgsr.synthesis.queries.curator import Curator
from pgsr.synthesis.queries.noise import noise_of, sensitivity, with_noise
from pgsr.synthesis.queries.transcript import MeasuredQuery, RhoLedger

pytestmark = pytest.mark.usefixtures("precise")


def curator_of(truth: Population, workload: Workload, budget: AdaptiveBudget, source: Any, **options: Any) -> Curator:
    """A curator whose settings are those of `fit` where nothing else is asked for."""
    usual = {"neighbours": Neighbours.REPLACE, "n_persons": None, "ledger": None, "name": "population"}
    return Curator(truth, workload, budget, source, **(usual | options))


def scores_of(
    truth: Population, estimates: np.ndarray, monkeypatch: Any, **options: Any
) -> tuple[np.ndarray, Fraction]:
    caught: list[tuple[np.ndarray, Fraction]] = []
    monkeypatch.setattr(curator, "exponential_mechanism", lambda scores, rate, _: caught.append((scores, rate)) or 0)
    curator_of(truth, WORKLOAD, BUDGET, Seeded(1), **options).select(estimates)
    return caught[0]


def variance_of(truth: Population, query: int, monkeypatch: Any, **options: Any) -> Fraction:
    caught: list[Fraction] = []

    def noted(exact: np.ndarray, law: DiscreteGaussian, _: object) -> np.ndarray:
        caught.append(law.sigma_squared)
        return exact

    monkeypatch.setattr(curator, "with_noise", noted)
    curator_of(truth, WORKLOAD, BUDGET, Seeded(1), **options).measure(query)
    return caught[0]


def test_scores_are_distances_to_the_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate times the score is alpha eps0 |q(D) - estimate| / Delta, up to rounding of both factors."""
    truth, rng = population(3), rng_of(74)
    estimates = rng.random(WORKLOAD.n_queries)
    scores, rate = scores_of(truth, estimates, monkeypatch)
    assert scores.dtype == np.int64
    alpha_eps0 = mp.sqrt(2 * real(BUDGET.selection))
    delta = Fraction(1, truth.n_groups)
    assert sensitivity(WORKLOAD, truth.n_groups, truth.n_persons) == delta
    expected = alpha_eps0 * np.abs(answers(truth, WORKLOAD) - estimates) / float(delta)
    found = np.array([float(rate * int(s)) for s in scores])
    assert np.abs(found - expected.astype(float)).max() < 1e-4 * float(alpha_eps0)


@pytest.mark.few(1)  # tests/assurance has the others
@pytest.mark.parametrize("neighbours", Neighbours)
def test_neighbours_are_told_apart_no_better_than_charged(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare all neighbours by replacement or removal.

    The log-probabilities of a selection move within 2 sqrt(2 rho), and a measurement's change^2 / (2 variance) is at
    most its rho, which queries of groups use up.
    """
    rng, spread, reached = rng_of(75), Fraction(0), Fraction(0)
    for seed in range(scale(2, 40)):
        truth = population(seed, n_groups=3)
        estimates = rng.random(WORKLOAD.n_queries)
        options = {"neighbours": neighbours, "n_persons": 6}
        scores, rate = scores_of(truth, estimates, monkeypatch, **options)
        variances = [variance_of(truth, q, monkeypatch, **options) for q in range(WORKLOAD.n_queries)]
        others = [replaced(truth, i, (s, a)) for i in range(truth.n_persons) for s in range(2) for a in range(3)]
        if neighbours is Neighbours.ADD_REMOVE:
            others = list(removed(truth))
        for other in others:
            moved = scores_of(other, estimates, monkeypatch, **options)[0] - scores
            cost = (rate * (int(moved.max()) - int(moved.min()))) ** 2 / 8
            assert cost <= BUDGET.selection
            spread = max(spread, cost / BUDGET.selection)
            changes = counts(other, WORKLOAD) - counts(truth, WORKLOAD)
            for change, variance in zip(changes, variances, strict=True):
                cost = int(change) ** 2 / (2 * variance)
                assert cost <= BUDGET.measurement
                reached = max(reached, cost / BUDGET.measurement)
    if neighbours is Neighbours.REPLACE:
        assert reached == 1
        assert spread > 0.999


def removed(truth: Population) -> Iterator[Population]:
    for person in range(truth.n_persons):
        if truth.sizes[truth.group_of[person]] > 1:
            keep = np.arange(truth.n_persons) != person
            yield Population(DOMAIN, truth.groups, truth.persons[keep], truth.group_of[keep], truth.role_of[keep])


def test_a_measurement_is_the_count_plus_its_noise() -> None:
    truth, source = population(4), Seeded("measured")
    own = counts(truth, WORKLOAD)
    clipped = 0
    for query in range(WORKLOAD.n_queries):
        of = truth.n_groups if WORKLOAD.levels()[query] == Level.GROUP else truth.n_persons
        delta = Fraction(1, truth.n_groups)
        variance = (of * delta) ** 2 / ((1 - Fraction(2, 3)) ** 2 * BUDGET.eps0_squared)
        identity = StreamId("population", "measurement", 0, (WORKLOAD.describe(query),))
        [noisy] = with_noise(own[[query]], DiscreteGaussian(variance), source.stream(identity))
        measured = curator_of(truth, WORKLOAD, BUDGET, source).measure(query)
        assert measured == MeasuredQuery(query, min(max(noisy / of, 0.0), 1.0))
        clipped += not 0 <= noisy <= of
    assert clipped


def test_noise_too_wide_is_refused_before_any_charge() -> None:
    ledger = RhoLedger(1)
    with pytest.raises(BudgetError, match="raise epsilon"):
        curator_of(population(), WORKLOAD, AdaptiveBudget("1e-6", "1e-9", rounds=3), Untouchable(), ledger=ledger)
    assert not ledger.spent
    with pytest.raises(BudgetError, match="not positive"):
        noise_of(Fraction(0))


def test_every_query_is_selected_once() -> None:
    few = Workload(DOMAIN, WORKLOAD.marginals[:2])
    one = curator_of(population(), few, AdaptiveBudget(1, "1e-6", few.n_queries), Seeded(2))
    found = []
    for _ in range(few.n_queries):
        found.append(one.select(np.zeros(few.n_queries)))
        one.measure(found[-1])
    assert sorted(found) == list(range(few.n_queries))
    with pytest.raises(SynthesisError):
        one.select(np.zeros(few.n_queries))
    with pytest.raises(SynthesisError):
        one.measure(0)


def test_selection_finds_the_worst_query_when_it_can_afford_to() -> None:
    truth = population(5, n_groups=300)
    estimates = answers(truth, WORKLOAD)
    estimates[17] += 0.5
    for replicate in range(10):
        rich = curator_of(truth, WORKLOAD, AdaptiveBudget(200, "1e-6", 1), Seeded("rich", replicate))
        assert rich.select(estimates) == 17
    poor = {
        curator_of(truth, WORKLOAD, AdaptiveBudget("0.001", "1e-6", 1), Seeded("poor", r)).select(estimates)
        for r in range(30)
    }
    assert len(poor) > 10


def test_charged_before_drawn() -> None:
    class Watching(Seeded):
        def stream(self, identity: StreamId) -> ByteStream:
            paid.append((identity.view, len(ledger.spent)))
            return super().stream(identity)

    paid: list[tuple[str, int]] = []
    ledger = RhoLedger(1)
    fitted(source=Watching("watched"), ledger=ledger)
    assert paid == [(("selection", "measurement")[i % 2], i + 1) for i in range(2 * BUDGET.rounds)]
    assert ledger.left == 1 - BUDGET.rho


def test_an_exhausted_ledger_draws_nothing() -> None:
    one = curator_of(population(), WORKLOAD, BUDGET, Seeded(3))
    for query in range(BUDGET.rounds):
        one.measure(one.select(np.full(WORKLOAD.n_queries, query / 10)))
    one._source = Untouchable()
    with pytest.raises(BudgetError):
        one.select(np.zeros(WORKLOAD.n_queries))
    unmeasured = int(np.flatnonzero(one._open)[0])
    with pytest.raises(BudgetError):
        one.measure(unmeasured)
    assert one._open[unmeasured]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"ledger": RhoLedger(BUDGET.rho / 2)}, BudgetError),
        ({"neighbours": Neighbours.ADD_REMOVE}, SynthesisError),
        ({"n_persons": 0}, SynthesisError),
        ({"n_persons": 2.5}, SynthesisError),
        ({"n_persons": (1 << 61) - 1}, SynthesisError),
        ({"budget": AdaptiveBudget(1, "1e-6", WORKLOAD.n_queries + 1)}, SynthesisError),
        ({"budget": 1}, ArgumentError),
        ({"family": Memory}, ArgumentError),
        ({"source": Seeded}, ArgumentError),
        ({"source": 17}, ArgumentError),
        ({"truth": "people"}, ArgumentError),
    ],
)
def test_refused_before_anything_is_drawn(options: dict[str, Any], error: type[PgsrError]) -> None:
    with pytest.raises(error):
        fitted(**{"source": Untouchable(), **options})


@pytest.mark.parametrize(
    "estimates", [np.zeros(3), np.full(WORKLOAD.n_queries, np.nan), np.full(WORKLOAD.n_queries, np.inf)]
)
def test_bad_estimates_cost_nothing(estimates: np.ndarray) -> None:
    ledger = RhoLedger(1)
    with pytest.raises(SynthesisError):
        curator_of(population(), WORKLOAD, BUDGET, Untouchable(), ledger=ledger).select(estimates)
    assert ledger.left == 1
