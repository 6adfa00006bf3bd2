"""Tables of persons and of households for mechanisms that know no households, and households made of their rows."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from pgsr.errors import MissingPackageError
from pgsr.experiments.others.aim import AIM
from pgsr.experiments.others.markov_tree import MarkovTree
from pgsr.experiments.others.persons_alone import table_of_persons
from pgsr.experiments.others.simulators import related_households
from pgsr.experiments.others.single_table import (
    TableMechanism,
    TableRows,
    _apart,
    _together,
    row_lengths,
    single_shares,
    table_of_households,
)
from pgsr.privacy import Seeded
from pgsr.synthesis import AdaptiveBudget, Attribute, Domain, Level, Marginal, Population
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.marginals.marginal_curator import MeasuredMarginal
from pgsr.synthesis.queries.transcript import RhoLedger

DOMAIN = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=3)
BUDGET = AdaptiveBudget(50, "1e-6", rounds=1)


def couples(n: int = 400) -> Population:
    """Couples of a woman and a man in towns; men alone elsewhere."""
    urban = np.arange(n) % 2 == 0
    group_of = np.repeat(np.arange(n), np.where(urban, 2, 1))
    first = np.diff(group_of, prepend=-1) > 0
    sex = np.where(urban[group_of] & first, 0, 1)
    return Population(DOMAIN, np.where(urban, 0, 1)[:, None], sex[:, None], group_of, np.zeros(len(group_of), int))


def test_persons_are_put_into_households_of_their_kind() -> None:
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.integers(0, 2, 900), rng.integers(0, 2, 900)])
    made = _together(DOMAIN, rows, np.array([0, 0.5, 0.5]), np.random.default_rng(3))
    assert made.n_persons == 900
    for area in range(2):
        members = made.groups[made.group_of, 0] == area
        assert sorted(made.persons[members, 0]) == sorted(rows[rows[:, 0] == area, 1])
    sizes = np.bincount(made.sizes, minlength=4)
    assert sizes[1] <= 2  # what is left, at most one household of each kind
    assert abs(int(sizes[2]) - int(sizes[3])) < 80
    alone = Domain.plain((), DOMAIN.individual, 2)
    made = _together(alone, rows[:, 1:], np.array([1.0, 0.0]), np.random.default_rng(3))
    assert made.n_groups == 900


def test_rows_become_households_again() -> None:
    truth = couples(20)
    table = table_of_households(truth)
    shares = {column: np.full(3, 1 / 3) for column in range(5)}
    again = _apart(DOMAIN, table.persons, shares, np.random.default_rng(0))
    assert again.persons.tolist() == truth.persons.tolist()
    assert again.groups.tolist() == truth.groups.tolist()
    missing = np.array([[0, 1, 0, 2, 2]])  # a second member of whom nothing is said
    drawn = _apart(DOMAIN, missing, shares | {3: np.array([0, 1, 0])}, np.random.default_rng(0))
    assert drawn.persons.tolist() == [[0], [1]]


def test_a_replaced_person_changes_one_row() -> None:
    truth = couples(20)
    before = table_of_households(truth).persons
    for person in range(truth.n_persons):
        persons = truth.persons.copy()
        persons[person] = 1 - persons[person]
        other = Population(DOMAIN, truth.groups, persons, truth.group_of, truth.role_of)
        assert (table_of_households(other).persons != before).any(1).sum() == 1


def test_a_measured_marginal_is_told_to_nobody_twice() -> None:
    """The nearest shares are those of single columns alone."""
    pair = MeasuredMarginal(Marginal(Level.INDIVIDUAL, (), (0, 1)), Fraction(1), Fraction(1), np.ones(4, np.int64))
    single = MeasuredMarginal(Marginal(Level.INDIVIDUAL, (), (1,)), Fraction(1), Fraction(1), np.array([1, 3]))
    assert {c: s.tolist() for c, s in single_shares([pair, single]).items()} == {1: [0.25, 0.75]}


@pytest.mark.parametrize("method", [MarkovTree(), AIM()], ids=lambda m: type(m).__name__)
def test_without_mbi_one_line_says_what_to_install(method: TableMechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    ledger = RhoLedger(BUDGET.rho)
    with pytest.raises(MissingPackageError, match=r'pip install "\.\[markov-trees\]"'):
        method.fit(couples(), BUDGET, source=Seeded(1), ledger=ledger)
    assert not ledger.spent


def test_refusals() -> None:
    with pytest.raises(SynthesisError, match="knows no roles"):
        MarkovTree().fit(related_households(20), BUDGET, source=Seeded(1))
    with pytest.raises(SynthesisError, match="without persons has nothing to fit; give one with a person or more"):
        AIM().fit(couples(0), BUDGET, source=Seeded(1))
    with pytest.raises(SynthesisError, match="rows"):
        MarkovTree(rows="tables")  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="iterations"):
        AIM(iterations=0)


def test_columns_have_the_lengths_that_are_told() -> None:
    for rows in TableRows:
        table = table_of_persons(couples()) if rows is TableRows.PERSONS else table_of_households(couples())
        assert row_lengths(DOMAIN, rows) == [len(a) for a in table.domain.individual]
