"""Budgets add up exactly, only the curator sees the truth, and a transcript is all that a model is made of."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import scale
from mpmath import mp, mpf
from scipy.stats import norm

from pgsr import PgsrError, Secure, Seeded
from pgsr.enclosure import log_bounds, root_above, root_below, rounded_down
from pgsr.errors import ArgumentError, BudgetError
from pgsr.random import ByteStream, StreamId
from pgsr.synthesis import (
    AdaptiveBudget,
    Attribute,
    Conversion,
    Curator,
    Domain,
    Fitted,
    Level,
    Measured,
    Neighbours,
    Population,
    RhoLedger,
    SynthesisError,
    Workload,
    adaptive,
    answers,
    counts,
    curator,
    epsilon_of,
    errors,
    fit,
    replay,
    rho_of,
    sensitivity,
)
from pgsr.synthesis.exact_noise import Coins, discrete_gaussian

DOMAIN = Domain.plain(
    [Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m")), Attribute("age", (0, 1, 2))], 3
)
WORKLOAD = Workload.k_way(DOMAIN, k=2)
BUDGET = AdaptiveBudget(1, "1e-6", rounds=6, alpha="2/3")


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mp.workdps(80):
        yield


def population(seed: int = 0, n_groups: int = 40) -> Population:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, DOMAIN.max_size + 1, n_groups)
    persons = np.column_stack([rng.integers(0, len(a), sizes.sum()) for a in DOMAIN.individual])
    group_of = np.repeat(np.arange(n_groups), sizes)
    return Population(DOMAIN, rng.integers(0, 2, (n_groups, 1)), persons, group_of, np.zeros(len(group_of), int))


def replaced(truth: Population, person: int, row: Sequence[int]) -> Population:
    persons = truth.persons.copy()
    persons[person] = row
    return Population(DOMAIN, truth.groups, persons, truth.group_of, truth.role_of)


@dataclass(frozen=True)
class Memory:
    """A method that knows what was measured, and guesses the rest from its seed."""

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> "Remembering":
        guesses = np.random.default_rng([seed, n_groups, n_persons]).random(workload.n_queries)
        return Remembering(workload, guesses)


class Remembering:
    def __init__(self, workload: Workload, values: np.ndarray) -> None:
        self.workload, self.values = workload, values

    def answers(self) -> np.ndarray:
        return self.values.copy()

    def update(self, measured: Sequence[Measured]) -> None:
        self.values = 0.9 * self.values + 0.1 * measured[-1].value  # so that the order of updates shows
        for m in measured:
            self.values[m.query] = m.value

    def distribution(self) -> "Remembered":
        return Remembered(self.workload, self.values)


@dataclass(frozen=True, eq=False)
class Remembered:
    workload: Workload
    values: np.ndarray

    def answers(self, workload: Workload) -> np.ndarray:
        assert workload is self.workload
        return self.values

    def sample(self, n_groups: int, seed: int) -> Population:
        return population(seed, n_groups)

    def save(self, path: Path | str) -> None:
        np.save(path, self.values)


class Untouchable:
    """A source of bytes that must not be asked for any."""

    secure = False

    def stream(self, identity: StreamId) -> ByteStream:
        raise AssertionError(f"noise was drawn for {identity}")


def fitted(truth: Population | None = None, **options: Any) -> Fitted:
    given = {"source": Seeded("fit"), "budget": BUDGET, "family": Memory(), **options}
    return fit(truth or population(), WORKLOAD, given.pop("family"), given.pop("budget"), **given)


# Conversions


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def pairs(n: int) -> Iterator[tuple[Fraction, Fraction]]:
    rng = np.random.default_rng(71)
    for _ in range(n):
        epsilon = Fraction(str(round(10 ** rng.uniform(-4, 2), 6))) + Fraction(1, 10**5)
        yield epsilon, Fraction(int(rng.integers(1, 100)), 10 ** int(rng.integers(2, 31)))


def test_enclosures_hold_and_are_narrow() -> None:
    rng = np.random.default_rng(72)
    for _ in range(scale(300, 20_000)):
        x = Fraction(int(rng.integers(1, 10**18)), int(rng.integers(1, 10**18))) * Fraction(2) ** int(
            rng.integers(-99, 99)
        )
        for low, value, high in (
            (log_bounds(x)[0], mp.log(real(x)), log_bounds(x)[1]),
            (root_below(x), mp.sqrt(real(x)), root_above(x)),
        ):
            assert real(low) <= value <= real(high)
            assert high - low < Fraction(1, 2**180)
        assert 0 <= x - rounded_down(x) < x / 2**78
        assert 0 <= -x - rounded_down(-x) < x / 2**78
        kept = rounded_down(x).numerator
        assert (kept // (kept & -kept)).bit_length() <= 82
    assert log_bounds(Fraction(1))[0] <= 0 <= log_bounds(Fraction(1))[1]


def test_closed_form_is_rounded_to_the_safe_side() -> None:
    for epsilon, delta in pairs(scale(100, 5_000)):
        log = mp.log(1 / real(delta))
        rho, largest = real(rho_of(epsilon, delta)), (mp.sqrt(log + real(epsilon)) - mp.sqrt(log)) ** 2
        assert 0 <= largest - rho < largest * mpf("1e-20")
        back, least = real(epsilon_of(rho_of(epsilon, delta), delta)), rho + 2 * mp.sqrt(rho * log)
        assert 0 <= back - least < least * mpf("1e-20")


def delta_of(rho: mpf, epsilon: mpf, x: mpf) -> mpf:
    """ln delta of corollary 13 at a = 1 + exp(x)."""
    a = 1 + mp.exp(x)
    return (a - 1) * (a * rho - epsilon) + a * mp.log(1 - 1 / a) - mp.log(a - 1)


def least_delta(rho: mpf, epsilon: mpf) -> mpf:
    """By golden section in mpmath, from the best of a grid."""
    x = min(mp.linspace(-15, 50, 261), key=lambda x: delta_of(rho, epsilon, x))
    low, high, golden = x - 0.25, x + 0.25, (mp.sqrt(5) - 1) / 2
    for _ in range(100):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if delta_of(rho, epsilon, a) < delta_of(rho, epsilon, b) else (a, high)
    return delta_of(rho, epsilon, (low + high) / 2)


def test_tight_conversion_meets_its_corollary_and_no_more() -> None:
    for epsilon, delta in pairs(scale(12, 500)):
        rho = rho_of(epsilon, delta, Conversion.TIGHT)
        assert rho >= rho_of(epsilon, delta)
        assert least_delta(real(rho), real(epsilon)) <= mp.log(real(delta)) + mpf("1e-30")
        assert least_delta(real(rho) * (1 + mpf("1e-13")), real(epsilon)) > mp.log(real(delta))
        back = epsilon_of(rho, delta, Conversion.TIGHT)
        assert abs(back - epsilon) <= epsilon / 10**13


@pytest.mark.parametrize("conversion", Conversion)
def test_gaussian_noise_of_this_rho_is_private(conversion: Conversion) -> None:
    """delta(epsilon) of Gaussian noise is known exactly (Balle & Wang 2018), and rho-zCDP must not promise less."""
    for epsilon, delta in (("0.1", "1e-8"), ("1", "1e-8"), ("1", "1e-3"), ("10", "1e-10"), ("30", "1e-2")):
        mu = math.sqrt(2 * rho_of(epsilon, delta, conversion))
        e = float(epsilon)
        truth = norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu)
        assert truth <= float(delta)


@pytest.mark.parametrize(
    ("n", "epsilon", "rho"),
    [
        (10**4, "0.1", "0.00013535"),
        (10**4, "0.25", "0.00084252"),
        (10**4, "0.5", "0.00334764"),
        (10**4, "1", "0.01321536"),
        (10**5, "0.1", "0.00010834"),
        (10**5, "0.25", "0.00067493"),
        (10**5, "0.5", "0.00268526"),
        (10**5, "1", "0.01062781"),
    ],
)
def test_printed_conversions(n: int, epsilon: str, rho: str) -> None:
    """Worked example E15."""
    delta = Fraction(1, n**2)
    assert abs(rho_of(epsilon, delta) - Fraction(rho)) <= Fraction(1, 2 * 10**8)
    assert Fraction(6, 5) <= rho_of(epsilon, delta, Conversion.TIGHT) / rho_of(epsilon, delta) <= Fraction(8, 5)


@pytest.mark.parametrize(("alpha", "eps0"), [("0.5", "0.032515"), ("0.67", "0.030784")])
def test_printed_eps0(alpha: str, eps0: str) -> None:
    """Worked example E15."""
    budget = AdaptiveBudget(1, Fraction(1, 10**8), rounds=50, alpha=alpha)
    assert abs(float(budget.eps0_squared) ** 0.5 - float(eps0)) <= 5e-7


# Budgets


def test_rounds_cost_exactly_rho() -> None:
    rng = np.random.default_rng(73)
    for epsilon, delta in pairs(scale(40, 2_000)):
        rounds, alpha = int(rng.integers(1, 2_000)), Fraction(int(rng.integers(1, 100)), 100)
        budget = AdaptiveBudget(epsilon, delta, rounds, alpha)
        rho = rho_of(epsilon, delta)
        assert sum([budget.selection + budget.measurement] * rounds, Fraction(0)) == budget.rho == rho
        assert budget.eps0_squared == 2 * rho / (rounds * (alpha**2 + (1 - alpha) ** 2))
        assert budget.selection == alpha**2 * budget.eps0_squared / 2
        rate = budget.selection_rate
        assert rate**2 <= 2 * budget.selection < (rate * (1 + Fraction(1, 10**40))) ** 2


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", True, None, "1e-320", "x"])
@pytest.mark.parametrize("make", [lambda e: AdaptiveBudget(e, "1e-6", 5), lambda e: rho_of(e, "1e-6"), RhoLedger])
def test_malformed_amounts_are_refused(make: Any, epsilon: Any) -> None:
    with pytest.raises(BudgetError):
        make(epsilon)


@pytest.mark.parametrize(
    "delta",
    [0, 1, 2, "1e-101", -1e-9, math.nan, math.inf, True, None, "", "1/0", Decimal("1e-999999999"), Fraction(10**5000)],
)
def test_malformed_deltas_are_refused(delta: Any) -> None:
    with pytest.raises(BudgetError):
        AdaptiveBudget(1, delta, 5)


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 0},
        {"rounds": 2.0},
        {"rounds": True},
        {"alpha": 1},
        {"alpha": 0},
        {"alpha": "3/2"},
        {"conversion": "x"},
    ],
)
def test_malformed_plans_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        AdaptiveBudget(**{"epsilon": 1, "delta": "1e-6", "rounds": 5, **options})


def test_numbers_are_read_exactly() -> None:
    for delta in (1e-12, "1e-12", Decimal("1e-12"), Fraction(1, 10**12), "1/1000000000000"):
        assert AdaptiveBudget(0.1, delta, 3, 0.7) == AdaptiveBudget("1/10", Fraction(1, 10**12), 3, "7/10")


def test_ledger_spends_all_and_no_more() -> None:
    ledger = RhoLedger(Fraction(1, 10**10))
    third = Fraction(1, 3 * 10**10)
    for i in range(3):
        ledger.charge(third, f"part {i}")
    assert ledger.left == 0
    for amount in (Fraction(1, 10**90), third):
        with pytest.raises(BudgetError):
            ledger.charge(amount, "too much")
    for amount in (Fraction(0), Fraction(-1, 3), Fraction(-1)):
        with pytest.raises(BudgetError):
            RhoLedger(1).charge(amount, "nothing")
    assert [what for _, what in ledger.spent] == ["part 0", "part 1", "part 2"]


# The curator


def scores_of(
    truth: Population, estimates: np.ndarray, monkeypatch: Any, **options: Any
) -> tuple[np.ndarray, Fraction]:
    caught: list[tuple[np.ndarray, Fraction]] = []
    monkeypatch.setattr(curator, "exponential_mechanism", lambda scores, rate, _: caught.append((scores, rate)) or 0)
    Curator(truth, WORKLOAD, BUDGET, Seeded(1), **options).select(estimates)
    return caught[0]


def variance_of(truth: Population, query: int, monkeypatch: Any, **options: Any) -> Fraction:
    caught: list[Fraction] = []
    monkeypatch.setattr(curator, "discrete_gaussian", lambda variance, _: caught.append(variance) or 0)
    Curator(truth, WORKLOAD, BUDGET, Seeded(1), **options).measure(query)
    return caught[0]


def test_scores_are_distances_to_the_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """rate * score = alpha eps0 |q(D) - estimate| / Delta, up to the rounding of the estimate and of alpha eps0."""
    truth, rng = population(3), np.random.default_rng(74)
    estimates = rng.random(WORKLOAD.n_queries)
    scores, rate = scores_of(truth, estimates, monkeypatch)
    assert scores.dtype == np.int64
    alpha_eps0 = mp.sqrt(2 * real(BUDGET.selection))
    delta = Fraction(1, truth.n_groups)
    assert sensitivity(WORKLOAD, truth.n_groups, truth.n_persons) == delta
    expected = alpha_eps0 * np.abs(answers(truth, WORKLOAD) - estimates) / float(delta)
    found = np.array([float(rate * int(s)) for s in scores])
    assert np.abs(found - expected.astype(float)).max() < 1e-4 * float(alpha_eps0)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_neighbours_are_told_apart_no_better_than_charged(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all neighbours by replacement or removal: log-probabilities of a selection move within 2 sqrt(2 rho), and a
    measurement's change^2 / (2 variance) is at most its rho."""
    rng, reached, spread = np.random.default_rng(75), Fraction(0), Fraction(0)
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
        noisy = int(own[query]) + discrete_gaussian(variance, Coins(source.stream(identity)))
        measured = Curator(truth, WORKLOAD, BUDGET, source).measure(query)
        assert measured == Measured(query, min(max(noisy / of, 0.0), 1.0))
        clipped += not 0 <= noisy <= of
    assert clipped


def test_every_query_is_selected_once() -> None:
    few = Workload(DOMAIN, WORKLOAD.marginals[:2])
    one = Curator(population(), few, AdaptiveBudget(1, "1e-6", few.n_queries), Seeded(2))
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
        rich = Curator(truth, WORKLOAD, AdaptiveBudget(200, "1e-6", 1), Seeded("rich", replicate))
        assert rich.select(estimates) == 17
    poor = {
        Curator(truth, WORKLOAD, AdaptiveBudget("0.001", "1e-6", 1), Seeded("poor", r)).select(estimates)
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
    one = Curator(population(), WORKLOAD, BUDGET, Seeded(3))
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
        Curator(population(), WORKLOAD, BUDGET, Untouchable(), ledger=ledger).select(estimates)
    assert ledger.left == 1


# Fits


def test_golden_transcript() -> None:
    """If these numbers change, every published experiment does."""
    measured = fitted(population(0, n_groups=400), budget=AdaptiveBudget(3, "1e-6", 6)).transcript.measured
    of = np.where(WORKLOAD.levels() == Level.GROUP, 400, population(0, n_groups=400).n_persons)
    assert [(m.query, round(m.value * of[m.query])) for m in measured] == [
        (60, 37),
        (53, 53),
        (67, 165),
        (22, 35),
        (1, 61),
        (69, 120),
    ]


def test_a_fit_spends_its_budget_exactly() -> None:
    for budget in (BUDGET, AdaptiveBudget("0.3", "1e-9", 7, "0.5", Conversion.TIGHT)):
        ledger = RhoLedger(budget.rho)
        result = fitted(budget=budget, ledger=ledger)
        assert ledger.left == 0
        assert sum(amount for amount, _ in ledger.spent) == budget.rho == result.transcript.privacy.rho
        assert len(result.transcript.measured) == len(result.history) == budget.rounds
        with pytest.raises(BudgetError):
            fitted(budget=budget, ledger=ledger, source=Untouchable())


def test_replay_makes_the_same_distribution_from_the_transcript() -> None:
    for seed in range(scale(5, 100)):
        result = fitted(population(seed), seed=seed, source=Seeded("replayed", seed))
        again = replay(result.transcript, Memory(), seed)
        assert again.answers(WORKLOAD).tobytes() == result.distribution.answers(WORKLOAD).tobytes()
        other = replay(result.transcript, Memory(), seed + 1)
        assert other.answers(WORKLOAD).tobytes() != again.answers(WORKLOAD).tobytes()


def test_with_frozen_noise_a_neighbour_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever population is given: as long as the curator says the same, so does the model."""
    result = fitted()
    expected = result.distribution.answers(WORKLOAD).tobytes()

    class Frozen(Curator):
        def select(self, estimates: np.ndarray) -> int:
            self.turn = getattr(self, "turn", -1) + 1
            return result.transcript.measured[self.turn].query

        def measure(self, query: int) -> Measured:
            return result.transcript.measured[self.turn]

    monkeypatch.setattr(adaptive, "Curator", Frozen)
    truth, rng = population(), np.random.default_rng(76)
    for _ in range(scale(30, 1_000)):
        person = int(rng.integers(truth.n_persons))
        other = fitted(replaced(truth, person, (int(rng.integers(2)), int(rng.integers(3)))))
        assert other.distribution.answers(WORKLOAD).tobytes() == expected
        assert [(r.query, r.surprise, r.largest, r.mean) for r in other.history] == [
            (r.query, r.surprise, r.largest, r.mean) for r in result.history
        ]


def test_the_population_is_not_touched_after_the_curator_has_counted() -> None:
    class Guarded(Population):
        closed = False

        def __getattribute__(self, attribute: str) -> Any:
            if Guarded.closed:
                raise AssertionError(f"{attribute} of the population was read")
            return super().__getattribute__(attribute)

    @dataclass(frozen=True)
    class Closing(Memory):
        def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> Remembering:
            Guarded.closed = True
            return super().start(workload, n_groups, n_persons, seed)

    truth = population()
    guarded = Guarded(DOMAIN, truth.groups, truth.persons, truth.group_of, truth.role_of)
    found = fitted(guarded, family=Closing())
    assert Guarded.closed
    assert found.transcript.measured == fitted(truth).transcript.measured
    with pytest.raises(AssertionError):
        _ = guarded.persons


def test_no_two_draws_share_a_stream() -> None:
    class Watching(Seeded):
        def stream(self, identity: StreamId) -> ByteStream:
            seen.append(identity)
            return super().stream(identity)

    seen: list[StreamId] = []
    fitted(source=Watching("watched"), name="homes")
    assert len(set(seen)) == len(seen) == 2 * BUDGET.rounds
    assert {identity.data_set for identity in seen} == {"homes"}


def test_seeded_noise_repeats_and_secure_noise_does_not() -> None:
    first, again, other = fitted(), fitted(), fitted(source=Seeded("fit", 1))
    assert first.transcript.measured == again.transcript.measured != other.transcript.measured
    assert first.transcript.privacy.claim == "none (seeded)"
    secure = [fitted(source=Secure()).transcript for _ in range(2)]
    assert secure[0].measured != secure[1].measured
    claim = "(1, 1/1000000)-differential privacy, neighbours: one person's attribute values differ"
    assert secure[0].privacy.claim.startswith(claim)


def test_the_transcript_states_what_was_paid() -> None:
    result = fitted(neighbours=Neighbours.ADD_REMOVE, n_persons=90)
    privacy = result.transcript.privacy
    assert (privacy.epsilon, privacy.delta, privacy.rho) == (1, Fraction(1, 10**6), BUDGET.rho)
    assert (privacy.rounds, privacy.alpha, privacy.conversion, privacy.secure) == (6, Fraction(2, 3), "closed", False)
    assert "one person more or less" in privacy.neighbours
    assert (result.transcript.n_groups, result.transcript.n_persons) == (40, 90)
    assert result.transcript.domain is DOMAIN


def test_history_is_about_noisy_answers() -> None:
    result = fitted()
    estimator = Memory().start(WORKLOAD, 40, population().n_persons, 0)
    for i, step in enumerate(result.history):
        newest = result.transcript.measured[i]
        assert step.query == newest.query
        assert step.surprise == abs(estimator.answers()[newest.query] - newest.value)
        estimator.update(result.transcript.measured[: i + 1])
        assert step.largest == step.mean == 0  # what is measured is remembered
        assert step.seconds >= 0


def test_much_budget_finds_the_truth() -> None:
    truth = population(6, n_groups=500)
    budget = AdaptiveBudget(10**4, "1e-6", WORKLOAD.n_queries)
    result = fitted(truth, budget=budget)
    assert max(e.largest for e in errors(result.distribution, truth, WORKLOAD).values()) < 0.01


def test_errors_against_brute_force() -> None:
    truth, model = population(7), population(8)
    for found in (
        errors(model, truth, WORKLOAD),
        errors(Remembered(WORKLOAD, answers(model, WORKLOAD)), truth, WORKLOAD),
    ):
        assert set(found) == {Level.GROUP, Level.INDIVIDUAL}
        for level, error in found.items():
            own = [
                abs(a - b)
                for a, b, of in zip(answers(truth, WORKLOAD), answers(model, WORKLOAD), WORKLOAD.levels(), strict=True)
                if of == level
            ]
            assert error.largest == max(own)
            assert error.mean == pytest.approx(sum(own) / len(own), rel=1e-12)
            assert error.n_queries == len(own)
