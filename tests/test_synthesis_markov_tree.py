"""The baseline of Markov trees: its tables, its tree, its households, and its fit where mbi is installed."""

from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from pgsr import Seeded
from pgsr.synthesis import (
    AdaptiveBudget,
    Attribute,
    Domain,
    Level,
    Marginal,
    MarkovTree,
    MbiMissingError,
    Population,
    RhoLedger,
    Rows,
    SynthesisError,
    Workload,
    answers,
    markov_tree,
)
from pgsr.synthesis.marginal_curator import MarginalCurator, MeasuredMarginal
from pgsr.synthesis.sensitivity import Neighbours
from pgsr.synthesis.simulators import households, related_households

DOMAIN = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=3)
BUDGET = AdaptiveBudget(50, "1e-6", rounds=1)


def couples(n: int = 400) -> Population:
    """Couples of a woman and a man in towns; men alone elsewhere."""
    urban = np.arange(n) % 2 == 0
    group_of = np.repeat(np.arange(n), np.where(urban, 2, 1))
    first = np.concatenate([[True], np.diff(group_of) > 0])
    sex = np.where(urban[group_of] & first, 0, 1)
    return Population(DOMAIN, np.where(urban, 0, 1)[:, None], sex[:, None], group_of, np.zeros(len(group_of), int))


def test_without_mbi_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("pgsr.synthesis.optional.import_module", absent)
    ledger = RhoLedger(BUDGET.rho)
    with pytest.raises(MbiMissingError, match=r'pip install "mbi>=2"'):
        MarkovTree().fit(couples(), BUDGET, source=Seeded(1), ledger=ledger)
    assert not ledger.spent


def test_the_tree_joins_the_columns_that_go_together() -> None:
    """Columns 0 and 2 are equal, 1 and 3 are equal, and 0 and 1 go together a little."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 4_000)
    second = np.where(rng.random(4_000) < 0.7, first, rng.integers(0, 2, 4_000))
    domain = Domain.plain((), [Attribute(name, (0, 1)) for name in "abcd"], max_size=1)
    rows = np.column_stack([first, second, first, second])
    truth = Population(domain, np.zeros((4_000, 0), int), rows, np.arange(4_000), np.zeros(4_000, int))
    asked = [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    ledger = RhoLedger(3)
    curator = MarginalCurator(
        truth,
        tuple(Marginal(Level.INDIVIDUAL, (), c) for c in asked),
        Seeded("tree"),
        neighbours=Neighbours.REPLACE,
        ledger=ledger,
        name="t",
    )
    measured = curator.measure_all(range(4), Fraction(1))
    tree = [asked[number] for number in markov_tree._tree(curator, measured, 4_000, Fraction(2))]
    assert set(tree[:2]) == {(0, 2), (1, 3)}
    assert len(set(tree)) == 3
    assert ledger.left == 0
    assert {child for _, child in markov_tree._outwards(tree)} == {1, 2, 3}


def test_persons_are_put_into_households_of_their_kind() -> None:
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.integers(0, 2, 900), rng.integers(0, 2, 900)])
    made = markov_tree._together(DOMAIN, rows, np.array([0, 0.5, 0.5]), np.random.default_rng(3))
    assert made.n_persons == 900
    for area in range(2):
        members = made.groups[made.group_of, 0] == area
        assert sorted(made.persons[members, 0]) == sorted(rows[rows[:, 0] == area, 1])
    sizes = np.bincount(made.sizes, minlength=4)
    assert sizes[1] <= 2  # what is left, at most one household of each kind
    assert abs(int(sizes[2]) - int(sizes[3])) < 80
    alone = Domain.plain((), DOMAIN.individual, 2)
    made = markov_tree._together(alone, rows[:, 1:], np.array([1.0, 0.0]), np.random.default_rng(3))
    assert made.n_groups == 900


def test_rows_become_households_again() -> None:
    truth = couples(20)
    table = markov_tree.table_of_households(truth)
    shares = {column: np.full(3, 1 / 3) for column in range(5)}
    again = markov_tree._apart(DOMAIN, table.persons, shares, np.random.default_rng(0))
    assert again.persons.tolist() == truth.persons.tolist()
    assert again.groups.tolist() == truth.groups.tolist()
    missing = np.array([[0, 1, 0, 2, 2]])  # a second member of whom nothing is said
    drawn = markov_tree._apart(DOMAIN, missing, shares | {3: np.array([0, 1, 0])}, np.random.default_rng(0))
    assert drawn.persons.tolist() == [[0], [1]]


def test_a_replaced_person_changes_one_row() -> None:
    truth = couples(20)
    before = markov_tree.table_of_households(truth).persons
    for person in range(truth.n_persons):
        persons = truth.persons.copy()
        persons[person] = 1 - persons[person]
        other = Population(DOMAIN, truth.groups, persons, truth.group_of, truth.role_of)
        assert (markov_tree.table_of_households(other).persons != before).any(1).sum() == 1


@pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")
@pytest.mark.parametrize("rows", Rows)
def test_a_fit_finds_what_a_tree_can_say(rows: Rows) -> None:
    truth, ledger = couples(), RhoLedger(BUDGET.rho)
    made = MarkovTree(rows=rows).fit(truth, BUDGET, source=Seeded(1), ledger=ledger)
    assert ledger.left == 0
    workload = Workload(DOMAIN, (Marginal(Level.GROUP, (0,), (0,)),))
    found, want = answers(made, workload), answers(truth, workload)
    if rows is Rows.HOUSEHOLDS:
        assert np.abs(found - want).max() < 0.02
    else:
        assert np.abs(answers(made, Workload.k_way(DOMAIN, 2, [Level.INDIVIDUAL], count=False)).sum() - 1) < 1e-9
    assert made.domain == DOMAIN


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov_tree, "mbi", lambda: None)
    with pytest.raises(SynthesisError, match="knows no roles"):
        MarkovTree().fit(related_households(20), BUDGET, source=Seeded(1))
    with pytest.raises(SynthesisError, match="rows"):
        MarkovTree(rows="tables")  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="iterations"):
        MarkovTree(iterations=0)
    assert households(10).n_groups == 10


def test_a_measured_marginal_is_told_to_nobody_twice() -> None:
    """The nearest shares are those of single columns alone."""
    pair = MeasuredMarginal(Marginal(Level.INDIVIDUAL, (), (0, 1)), Fraction(1), Fraction(1), np.ones(4, np.int64))
    single = MeasuredMarginal(Marginal(Level.INDIVIDUAL, (), (1,)), Fraction(1), Fraction(1), np.array([1, 3]))
    assert {c: s.tolist() for c, s in markov_tree._nearest([pair, single]).items()} == {1: [0.25, 0.75]}
