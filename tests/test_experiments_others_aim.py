"""The baseline AIM: its budget, its scores, its cap, and its model where mbi is installed."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from math import prod

import numpy as np
import pytest
import synthesis_fits as fits
from test_experiments_others_bayesian_network import summed
from test_experiments_others_single_table import BUDGET, DOMAIN, couples

from pgsr.errors import BudgetError
from pgsr.experiments.others import single_table
from pgsr.experiments.others.aim import AIM
from pgsr.experiments.others.bayesian_network import BayesianNetwork, Conditional
from pgsr.experiments.others.graphical_model import GraphicalModel, _combined
from pgsr.experiments.others.single_table import TableRows
from pgsr.privacy import Seeded
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.marginals import marginal_curator
from pgsr.synthesis.marginals.marginal_curator import MarginalCurator, MeasuredMarginal
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.transcript import RhoLedger

NEEDS_MBI = pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")
LENGTHS = (2, 3, 4)
RHO = Fraction(1, 2)


def table(n: int, lengths: Sequence[int] = LENGTHS) -> Population:
    domain = Domain.plain((), [Attribute(str(n), tuple(range(n))) for n in lengths], max_size=1)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, n_values, n) for n_values in lengths])
    return Population(domain, np.zeros((n, 0), int), rows, np.arange(n), np.zeros(n, int))


class Still:
    """A model that learns nothing: all rows are equally likely, whatever was measured."""

    def __init__(self, lengths: Sequence[int], n_rows: int) -> None:
        self.lengths, self.n_rows, self.measured, self.sizes = tuple(lengths), n_rows, [], []
        uniform = (Conditional(c, (), np.full(n, 1 / n)) for c, n in enumerate(lengths))
        self.network = BayesianNetwork(tuple(uniform))

    def megabytes(self, measured: Iterable[tuple[int, ...]]) -> float:
        return sum(8 * prod(self.lengths[c] for c in columns) for columns in set(measured)) / 2**20

    def fit(self, measured: Sequence[MeasuredMarginal], iterations: int, tolerance: float | None = None) -> None:
        self.measured = [m.marginal.individual for m in measured]
        self.sizes.append(self.megabytes(self.measured))

    def holds(self, columns: tuple[int, ...]) -> bool:
        return columns in self.measured

    def expected(self, columns: tuple[int, ...]) -> np.ndarray:
        return self.n_rows * self.network.marginal(columns).ravel()


class Restless(Still):
    """A model that changes its answers by far more than the noise with every fit."""

    def expected(self, columns: tuple[int, ...]) -> np.ndarray:
        return 10_000 * len(self.sizes) + super().expected(columns)


def spent(method: AIM, model: Still, truth: Population) -> tuple[list[Fraction], list[Fraction]]:
    """Measure; return what every selection and every measurement cost, and check that the sum is exact."""
    ledger, candidates = RhoLedger(RHO), method.candidates(model)  # pyright: ignore[reportArgumentType]
    measured = method.measure(curator(truth, candidates, ledger), model, RHO)  # pyright: ignore[reportArgumentType]
    assert ledger.left == 0
    assert sum(amount for amount, _ in ledger.spent) == RHO
    for m in measured:
        assert m.variance == 1 / m.rho  # squared sensitivity 2
    selections = [amount for amount, what in ledger.spent if what.startswith("selection")]
    return selections, [m.rho for m in measured]


def curator(truth: Population, candidates: Sequence[tuple[int, ...]], ledger: RhoLedger) -> MarginalCurator:
    return MarginalCurator(
        truth,
        tuple(Marginal(Level.INDIVIDUAL, (), c) for c in candidates),
        Seeded("aim"),
        neighbours=Neighbours.REPLACE,
        weights=[len(c) for c in candidates],
        ledger=ledger,
        name="table",
    )


def test_rounds_that_change_little_spend_four_times_as_much() -> None:
    """With 3 columns rho is for 48 rounds: 3 x 0.9 for single columns, then 1, 4, 16 and all that is left."""
    selections, measurements = spent(AIM(), Still(LENGTHS, 900), table(900))
    rounds = [RHO * Fraction(n) / 48 for n in ("1", "4", "16", "24.3")]
    assert selections == [each / 10 for each in rounds]
    assert measurements == [RHO * Fraction(9, 10) / 48] * 3 + [each * 9 / 10 for each in rounds]


def test_rounds_that_change_much_spend_no_more() -> None:
    selections, measurements = spent(AIM(selection="1/4"), Restless(LENGTHS, 900), table(900))
    rounds = [RHO / 48] * 44 + [RHO * Fraction("1.75") / 48]
    assert selections == [each / 4 for each in rounds]
    assert measurements == [RHO * Fraction(3, 4) / 48] * 3 + [each * 3 / 4 for each in rounds]


def test_a_single_column_is_measured_again_until_rho_is_spent() -> None:
    domain = Domain.plain((), [Attribute("sex", ("f", "m"))], max_size=1)
    truth = Population(domain, np.zeros((50, 0), int), np.zeros((50, 1), int), np.arange(50), np.zeros(50, int))
    selections, measurements = spent(AIM(), Still([2], 50), truth)
    assert len(measurements) == 1 + len(selections)


def test_the_best_score_is_that_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """w (|true - expected|_1 - sqrt(2 / pi) sigma n) with w = columns, for all candidates in floats."""
    truth, n = table(900), 900
    truth.persons[:300, 2] = truth.persons[:300, 0]
    chosen: list[int] = []

    def best(scores: np.ndarray, rate: Fraction, stream: object) -> int:
        chosen.append(int(scores.argmax()))
        return chosen[-1]

    monkeypatch.setattr(marginal_curator, "exponential_mechanism", best)
    model = Still(LENGTHS, n)
    spent(AIM(), model, truth)
    asked = [c for k in range(1, 4) for c in combinations(range(3), k)]
    for number, cost in zip(chosen, ("1", "4", "16", "24.3"), strict=True):
        sigma = float(RHO * Fraction(cost) / 48 * 9 / 10) ** -0.5
        scores = []
        for columns in asked:
            cells = prod(LENGTHS[c] for c in columns)
            found = np.zeros([LENGTHS[c] for c in columns])
            np.add.at(found, tuple(truth.persons[:, columns].T), 1)
            scores.append(len(columns) * (np.abs(found - n / cells).sum() - (2 / np.pi) ** 0.5 * sigma * cells))
        assert number == np.argmax(scores)
    assert len(set(chosen)) > 1  # noise decides


def test_scores_of_neighbours_differ_by_what_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every row replaced by every other one, with weights of 1 to 3; the rate is that of the heaviest open one."""
    candidates = [c for k in range(1, 4) for c in combinations(range(3), k)]
    truth, rng = table(6), np.random.default_rng(0)
    estimates = [rng.uniform(0, 2, prod(LENGTHS[c] for c in columns)) for columns in candidates]
    before = curator(truth, candidates, RhoLedger(1))
    rates: list[Fraction] = []
    monkeypatch.setattr(marginal_curator, "exponential_mechanism", lambda scores, rate, stream: rates.append(rate) or 0)
    for largest, closed in ((3, ()), (2, (6,)), (1, (3, 4, 5, 6))):
        before.select(estimates, np.ones(7), Fraction(1, 8), frozenset(closed))
        sensitivity, changes = largest * before._common << before._bits, []
        for person in range(6):
            for row in np.ndindex(*LENGTHS):
                persons = truth.persons.copy()
                persons[person] = row
                other = Population(truth.domain, truth.groups, persons, truth.group_of, truth.role_of)
                after = curator(other, candidates, RhoLedger(1))
                changes += [
                    abs(before._score(n, estimates[n], 1.0) - after._score(n, estimates[n], 1.0))
                    for n in range(7)
                    if n not in closed
                ]
        assert max(changes) <= sensitivity
        assert max(changes) > 0.8 * sensitivity
        assert rates[-1] * sensitivity <= Fraction(1, 2)  # (rate s)^2 / 2 is the cost
        assert rates[-1] * sensitivity > Fraction(499, 1000)


def test_the_model_is_never_larger_than_the_share_of_rho_that_is_spent() -> None:
    """With room for 240 cells at the end, of 335 in all marginals, and for 18 in the first round."""
    lengths, cap = (5, 6, 7), Fraction(8 * 240, 2**20)
    model = Restless(lengths, 900)
    selections, _ = spent(AIM(max_size=cap), model, table(900, lengths))
    upto = np.cumsum([float(10 * each / RHO) for each in selections]) + 3 * 0.9 / 48
    assert len(model.sizes) == len(upto) + 1
    assert all(size <= share * cap for size, share in zip(model.sizes[1:], upto, strict=True))
    assert model.sizes[1] < model.sizes[-1]


def test_a_cap_that_is_too_small_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_table, "GraphicalModel", Still)
    truth, ledger = couples(), RhoLedger(BUDGET.rho)
    with pytest.raises(SynthesisError, match=r"max_size is 1e-05 MB.*give at least 0.00037"):
        AIM(max_size="1/100000").fit(truth, BUDGET, source=fits.Untouchable(), ledger=ledger)
    with pytest.raises(BudgetError, match="AIM would spend"):
        AIM().fit(truth, BUDGET, source=fits.Untouchable(), ledger=RhoLedger(BUDGET.rho / 2))
    assert not ledger.spent
    made = AIM(max_size="0.00037").fit(truth, BUDGET, source=Seeded(1), ledger=ledger)
    assert made.n_persons == truth.n_persons
    assert ledger.left == 0


def test_refusals() -> None:
    with pytest.raises(SynthesisError, match="k is 0"):
        AIM(k=0)
    with pytest.raises(BudgetError, match="max_size"):
        AIM(max_size=0)
    with pytest.raises(BudgetError, match="leaves nothing to measure"):
        AIM(selection=1)


def test_measurements_of_one_marginal_count_by_their_precision() -> None:
    marginal = Marginal(Level.INDIVIDUAL, (), (1,))
    told = [
        MeasuredMarginal(marginal, Fraction(1), Fraction(variance), np.array([4 * variance, 8])) for variance in (1, 3)
    ]
    [(counts, deviation)] = _combined(told).values()
    assert counts.tolist() == [(4 + 12 / 3) / (4 / 3), 8]
    assert deviation == pytest.approx(0.75**0.5)


@NEEDS_MBI
def test_the_model_is_the_joint_table_of_its_potentials() -> None:
    """A circle of pairs, which needs a junction tree with triples; all marginals, by brute force."""
    model, lengths, n = GraphicalModel((2, 3, 2, 3), 600), (2, 3, 2, 3), 600
    rng = np.random.default_rng(3)
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3)]
    truth = rng.dirichlet(np.ones(36)).reshape(lengths) * n
    told = [
        MeasuredMarginal(
            Marginal(Level.INDIVIDUAL, (), pair),
            Fraction(1),
            Fraction(1),
            summed(truth, pair).ravel() + rng.normal(0, 1, lengths[pair[0]] * lengths[pair[1]]),
        )
        for pair in pairs
    ]
    model.fit(told, 2000)
    joint = np.zeros(lengths)
    for clique, factor in model._found.potentials.tables.items():
        shape = [n_values if c in clique else 1 for c, n_values in enumerate(lengths)]
        values = np.asarray(factor.datavector(flatten=False))
        joint = joint + values.transpose(np.argsort(clique)).reshape(shape)
    joint = np.exp(joint - joint.max())
    joint *= n / joint.sum()
    for columns in (c for k in range(1, 5) for c in combinations(range(4), k)):
        assert model.expected(columns) == pytest.approx(summed(joint, columns).ravel(), abs=1e-5)
    for m in told:
        assert np.abs(model.expected(m.marginal.individual) - m.noisy).max() < 5
    assert model.holds((1, 0))
    assert not model.holds((0, 1, 2, 3))


@NEEDS_MBI
def test_sizes_are_those_of_the_junction_tree() -> None:
    model = GraphicalModel((2, 3, 4, 5), 10)
    assert model.megabytes([(0, 1), (1, 2)]) * 2**20 == pytest.approx(8 * (2 * 3 + 3 * 4 + 5))
    assert model.megabytes([(0, 1), (1, 2), (0, 2)]) * 2**20 == pytest.approx(8 * (2 * 3 * 4 + 5))
    circle = model.megabytes([(0, 1), (1, 2), (2, 3), (0, 3)]) * 2**20
    assert circle == pytest.approx(8 * min(2 * 3 * 4 + 2 * 4 * 5, 3 * 2 * 5 + 3 * 4 * 5))


@NEEDS_MBI
@pytest.mark.parametrize("rows", TableRows)
def test_a_fit_finds_who_lives_together(rows: TableRows) -> None:
    truth, ledger = couples(), RhoLedger(BUDGET.rho)
    made = AIM(rows=rows, max_size="1/100").fit(truth, BUDGET, source=Seeded(1), ledger=ledger)
    assert ledger.left == 0
    assert made.domain == DOMAIN
    of_persons = Workload(DOMAIN, (Marginal(Level.INDIVIDUAL, (0,), (0,)),))
    assert np.abs(answers(made, of_persons) - answers(truth, of_persons)).max() < 0.01
    if rows is TableRows.HOUSEHOLDS:
        of_groups = Workload(DOMAIN, (Marginal(Level.GROUP, (0, 1), (0,)),))
        assert np.abs(answers(made, of_groups) - answers(truth, of_groups)).max() < 0.02
