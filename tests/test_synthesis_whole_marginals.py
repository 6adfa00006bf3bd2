"""WholeMarginals: spending, selection and noise of whole marginals, fits from transcripts, blindness, refusals."""

from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import synthesis_fits as fits
from test_synthesis_filled_households import AREA, HOUSEHOLD, NO_CHILD_DRIVES, PLAIN, SEX
from test_synthesis_mixture import random_population

from pgsr.errors import ArgumentError, BudgetError
from pgsr.privacy import Seeded
from pgsr.synthesis import AdaptiveBudget, Attribute, Domain, Level, Marginal, Population, WholeMarginals, Workload
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.marginals import marginal_curator
from pgsr.synthesis.marginals.filling_fit import FillingFit
from pgsr.synthesis.marginals.marginal_curator import GROUPS_WEIGH, MarginalCurator, MeasuredMarginal
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.marginals.whole_marginals import replay
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.transcript import RhoLedger

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")]

BUDGET = AdaptiveBudget(1, "1e-6", rounds=1)
LEVELS = (Level.GROUP, Level.INDIVIDUAL)
SMALL = WholeMarginals(components=8, rounds=4, batch=3, steps=8, final_steps=20)
TRUTH = random_population(PLAIN, 400, 3)


def fitted(truth: Population = TRUTH, method: WholeMarginals = SMALL, **options: Any):
    given = {"source": Seeded("fit"), **options}
    return method.fit(truth, given.pop("budget", BUDGET), **given)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.drawn(1)
def test_rho_is_spent_exactly(neighbours: Neighbours) -> None:
    for epsilon in (Fraction(1, 20), 1, 8):
        budget = AdaptiveBudget(epsilon, "1e-6", rounds=1)
        ledger = RhoLedger(budget.rho)
        found = fitted(neighbours=neighbours, budget=budget, ledger=ledger)
        assert ledger.left == 0
        assert sum(amount for amount, _ in ledger.spent) == budget.rho
        measured, n_single = found.transcript.measured, found.transcript.rounds[0]
        for m in measured:
            squared = marginal_sensitivity(PLAIN, m.marginal, neighbours).squared
            assert m.variance == Fraction(squared) / (2 * m.rho)
        assert sum(m.rho for m in measured[:n_single]) == budget.rho / 5
        assert sum(m.rho for m in measured[n_single:]) == budget.rho * 4 / 5 * 9 / 10  # a tenth goes to selections
        of_groups, of_persons = ({m.rho for m in measured[:n_single] if m.marginal.level is level} for level in LEVELS)
        assert {GROUPS_WEIGH * rho for rho in of_persons} == of_groups
        assert [len(r.measured) for r in found.history] == list(found.transcript.rounds)
        assert len(found.history) <= 1 + SMALL.rounds


def test_first_rounds_leave_something_to_see() -> None:
    """They start with rho for all `rounds`, unless noise would be wider than allowed; but for 4 rounds in any case."""
    left, batch = BUDGET.rho * 4 / 5, SMALL.batch
    for noise, first in (("1/2", left / 8), ("1/1000000", left / 4)):
        method = WholeMarginals(components=4, rounds=8, batch=batch, noise=noise, steps=2, final_steps=2)
        assert fitted(method=method).history[1].rho == first / batch
    method = WholeMarginals(components=4, rounds=10**6, batch=batch, noise="1/10", steps=2, final_steps=2)
    rho = fitted(method=method, budget=AdaptiveBudget(8, "1e-6", rounds=1)).history[1].rho
    assert Fraction(2) / (2 * rho * 9 / 10) == (TRUTH.n_groups * Fraction(1, 10)) ** 2


def test_noise_too_wide_is_refused_before_any_charge() -> None:
    ledger = RhoLedger(1)
    with pytest.raises(BudgetError, match="raise epsilon"):
        fitted(source=fits.Untouchable(), budget=AdaptiveBudget("1e-5", "1e-9", rounds=1), ledger=ledger)
    assert not ledger.spent


@pytest.mark.parametrize(("variance", "steps"), [(Fraction(1), 60), (Fraction(10**9), 6)])
def test_a_fit_ends_where_noise_alone_is_left(variance: Fraction, steps: int) -> None:
    """Without a misfit a tenth of the steps is taken, in which the rate falls."""
    model = FillingFit(PublicHouseholds.of(TRUTH, Neighbours.REPLACE), (), 4, 0)
    marginal = Marginal(Level.INDIVIDUAL, (), (0,))
    noisy = np.array([TRUTH.n_persons, 0])
    told: list[None] = []
    model.fit([MeasuredMarginal(marginal, Fraction(1), variance, noisy)], 60, 0.001, lambda: told.append(None))
    assert len(told) == steps


@pytest.mark.drawn(1)
@pytest.mark.parametrize("neighbours", Neighbours)
def test_what_is_public_is_not_measured(neighbours: Neighbours) -> None:
    for m in fitted(neighbours=neighbours).transcript.measured:
        assert marginal_sensitivity(PLAIN, m.marginal, neighbours).squared > 0
    single, candidates = SMALL.marginals(PLAIN, neighbours)
    sizes = Marginal(Level.GROUP, (PLAIN.count,))
    assert (sizes in single) == (neighbours is not Neighbours.REPLACE)
    assert not {Marginal(Level.GROUP, (0,)), Marginal(Level.GROUP, (0, 1))} & {*single, *candidates}


def test_a_fit_repeats_and_follows_from_its_transcript() -> None:
    for domain, impossible in ((PLAIN, (NO_CHILD_DRIVES,)), (HOUSEHOLD, ())):
        truth = random_population(domain, 300, 4)
        method = WholeMarginals(components=5, rounds=3, batch=3, steps=5, final_steps=9, impossible=impossible)
        found, again = fitted(truth, method, seed=2), fitted(truth, method, seed=2)
        workload = Workload.k_way(domain, 2)
        wanted = found.distribution.answers(workload)
        assert (again.distribution.answers(workload) == wanted).all()
        assert (replay(found.transcript, method, seed=2).answers(workload) == wanted).all()
        assert not (replay(found.transcript, method, seed=3).answers(workload) == wanted).all()


def test_fits_approach_the_truth() -> None:
    """With little noise, errors are those of the model; the start is far away."""
    method = WholeMarginals(components=20, rounds=4, batch=8, steps=30, final_steps=120)
    workload = Workload.k_way(PLAIN, 2)
    truth = answers(TRUTH, workload)
    near = fitted(method=method, budget=AdaptiveBudget(100, "1e-6", rounds=1)).distribution.answers(workload)
    start = FillingFit(PublicHouseholds.of(TRUTH, Neighbours.REPLACE), (), 20, 0).distribution().answers(workload)
    assert np.abs(near - truth).mean() < 0.004
    assert np.abs(start - truth).mean() > 0.02


def test_arrays_of_torch_and_numpy_give_the_same_answers() -> None:
    for domain, impossible in ((PLAIN, (NO_CHILD_DRIVES,)), (HOUSEHOLD, ())):
        for neighbours in (Neighbours.REPLACE, Neighbours.MOVE):
            households = PublicHouseholds.of(random_population(domain, 50, 1), neighbours)
            model = FillingFit(households, impossible, 4, seed=1)
            levels = list(Level) if len(domain.roles) > 1 else [Level.GROUP, Level.INDIVIDUAL]
            workload = Workload.k_way(domain, 2, levels)
            expected = model.expected(workload.marginals)
            exact = model.distribution()
            persons = sum(expected[0]) * 0 + sum(model.expected([Marginal(Level.INDIVIDUAL, (), (0,))])[0])
            shares = np.concatenate(
                [
                    x / (households.n_groups if m.level is Level.GROUP else persons)
                    for x, m in zip(expected, workload.marginals, strict=True)
                ]
            )
            assert shares == pytest.approx(exact.answers(workload), abs=2e-6)


def test_selection_scores_change_by_what_is_charged() -> None:
    """Scores of neighbours, for every person replaced by every other one, or taken away."""
    truth = random_population(PLAIN, 5, 6)
    for neighbours in (Neighbours.REPLACE, Neighbours.ADD_REMOVE):
        _, candidates = SMALL.marginals(PLAIN, neighbours)
        rng = np.random.default_rng(0)
        estimates = [rng.uniform(0, 4, m.cells(PLAIN)) for m in candidates]
        before = _curator(truth, candidates, neighbours)
        limit = GROUPS_WEIGH * before._common << before._bits
        largest = 0
        for other in _neighbours(truth, neighbours):
            after = _curator(other, candidates, neighbours)
            for number, guess in enumerate(estimates):
                change = abs(before._score(number, guess, 1.5) - after._score(number, guess, 1.5))
                largest = max(largest, change)
                assert change <= limit, candidates[number]
        assert largest > 0.9 * limit


def _curator(truth: Population, candidates: tuple[Marginal, ...], neighbours: Neighbours) -> MarginalCurator:
    return MarginalCurator(
        truth, candidates, Seeded("x"), neighbours=neighbours, ledger=RhoLedger(1), name="population"
    )


def _neighbours(truth: Population, neighbours: Neighbours) -> list[Population]:
    found = []
    for person in range(truth.n_persons):
        if neighbours is Neighbours.REPLACE:
            for row in np.ndindex(2, 3, 2):
                persons = truth.persons.copy()
                persons[person] = row
                found.append(Population(PLAIN, truth.groups, persons, truth.group_of, truth.role_of))
        elif truth.sizes[truth.group_of[person]] > 1:
            kept = np.arange(truth.n_persons) != person
            found.append(
                Population(PLAIN, truth.groups, truth.persons[kept], truth.group_of[kept], truth.role_of[kept])
            )
    return found


def test_charged_before_drawn() -> None:
    _, candidates = SMALL.marginals(PLAIN, Neighbours.REPLACE)
    ledger = RhoLedger("1/100")
    curator = MarginalCurator(
        TRUTH, candidates, fits.Untouchable(), neighbours=Neighbours.REPLACE, ledger=ledger, name="population"
    )
    guesses = [np.zeros(m.cells(PLAIN)) for m in candidates]
    for operate in (
        lambda: curator.measure(0, Fraction(1, 200)),
        lambda: curator.select(guesses, np.ones(len(guesses)), Fraction(1, 200)),
    ):
        with pytest.raises(AssertionError, match="noise was drawn"):
            operate()
    assert ledger.left == 0
    with pytest.raises(BudgetError):
        curator.measure(0, Fraction(1, 10**9))
    with pytest.raises(BudgetError, match="a fit of whole marginals"):
        fitted(source=fits.Untouchable(), ledger=RhoLedger(BUDGET.rho / 2))


def test_fits_are_blind_but_for_noisy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Selected alike and with the same noisy counts, populations of the same public groups are fitted alike."""
    found = []
    for shift in range(3):
        rng = np.random.default_rng(shift)
        persons = np.column_stack([rng.integers(0, len(a), TRUTH.n_persons) for a in PLAIN.individual])
        truth = Population(PLAIN, TRUTH.groups, persons, TRUTH.group_of, TRUTH.role_of)
        with monkeypatch.context() as patch:
            patch.setattr(marginal_curator, "exponential_mechanism", lambda scores, rate, stream: len(scores) // 3)
            patch.setattr(marginal_curator, "with_noise", lambda counts, law, stream: 7 * np.arange(len(counts), 0, -1))
            one = fitted(truth)
        told = [(str(m.marginal), m.rho, m.noisy.tolist()) for m in one.transcript.measured]
        history = [(r.rho, r.loss) for r in one.history]
        found.append((told, history, one.distribution.of_members.tobytes(), one.distribution.of_groups.tobytes()))
    assert found[0] == found[1] == found[2]


def test_noise_has_the_variance_that_is_told() -> None:
    domain = Domain.plain([AREA], [SEX, Attribute("kind", range(50))], 2)
    truth = random_population(domain, 100, 1)
    candidates = (Marginal(Level.INDIVIDUAL, (0,), (1,)),)
    curator = _curator(truth, candidates, Neighbours.REPLACE)
    exact = answers(truth, Workload(domain, candidates)) * truth.n_persons
    noise = [curator.measure(0, Fraction(1, 100)) for _ in range(40)]
    assert noise[0].variance == 100
    off = np.concatenate([m.noisy - exact for m in noise])
    assert off.var() == pytest.approx(100, rel=6 * (2 / len(off)) ** 0.5)
    assert abs(off.mean()) < 6 * (100 / len(off)) ** 0.5


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"components": 0}, SynthesisError, "components is 0"),
        ({"first": 1}, BudgetError, "leaves nothing"),
        ({"selection": "x"}, BudgetError, "selection"),
        ({"learning_rate": 0}, SynthesisError, "above 0"),
        ({"impossible": ("age",)}, SynthesisError, "impossible lists combinations"),
    ],
)
def test_refusals_of_settings(options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        WholeMarginals(**options)


def test_refusals_of_arguments() -> None:
    for options, error, words in [
        ({"budget": 3}, ArgumentError, "the budget"),
        ({"source": "secret"}, ArgumentError, "source"),
        ({"neighbours": "all"}, SynthesisError, "neighbours"),
        ({"seed": -1}, SynthesisError, "seed"),
        ({"method": WholeMarginals(largest=1)}, SynthesisError, "nothing about persons is left"),
    ]:
        with pytest.raises(error, match=words):
            fitted(**options)  # pyright: ignore[reportArgumentType]
