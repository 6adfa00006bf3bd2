"""A transcript is all that a model is made of: fits are the same on neighbours that give the same noisy answers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances import scale
from synthesis_fits import (
    BUDGET,
    DOMAIN,
    WORKLOAD,
    Memory,
    Remembered,
    Remembering,
    Untouchable,
    fitted,
    population,
)

from pgsr.errors import BudgetError
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.accounting.zcdp import Conversion
from pgsr.synthesis import AdaptiveBudget, Level, Population, Workload, errors
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.queries.adaptive import replay
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.transcript import RhoLedger


def test_golden_transcript() -> None:
    """A change of these numbers changes every published experiment."""
    measured = fitted(population(0, n_groups=400), budget=AdaptiveBudget(3, "1e-6", 6)).transcript.measured
    of = np.where(WORKLOAD.levels() == Level.GROUP, 400, population(0, n_groups=400).n_persons)
    assert [(m.query, round(m.value * of[m.query])) for m in measured] == [
        (60, 49),
        (53, 30),
        (67, 151),
        (22, 43),
        (1, 64),
        (69, 142),
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
    for seed in range(scale(3, 100)):
        result = fitted(population(seed), seed=seed, source=Seeded("replayed", seed))
        again = replay(result.transcript, Memory(), seed)
        assert again.answers(WORKLOAD).tobytes() == result.distribution.answers(WORKLOAD).tobytes()
        other = replay(result.transcript, Memory(), seed + 1)
        assert other.answers(WORKLOAD).tobytes() != again.answers(WORKLOAD).tobytes()


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
