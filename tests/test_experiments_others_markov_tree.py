"""The baseline of Markov trees: its tree, and its fit where mbi is installed."""

from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
from test_experiments_others_single_table import BUDGET, DOMAIN, couples

from pgsr.experiments.others import markov_tree
from pgsr.experiments.others.markov_tree import MarkovTree
from pgsr.experiments.others.single_table import TableRows
from pgsr.privacy import Seeded
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.marginals.marginal_curator import MarginalCurator
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.transcript import RhoLedger


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


@pytest.mark.skipif(find_spec("mbi") is None, reason="mbi is not installed")
@pytest.mark.parametrize("rows", TableRows)
def test_a_fit_finds_what_a_tree_can_say(rows: TableRows) -> None:
    truth, ledger = couples(), RhoLedger(BUDGET.rho)
    made = MarkovTree(rows=rows).fit(truth, BUDGET, source=Seeded(1), ledger=ledger)
    assert ledger.left == 0
    workload = Workload(DOMAIN, (Marginal(Level.GROUP, (0,), (0,)),))
    found, want = answers(made, workload), answers(truth, workload)
    if rows is TableRows.HOUSEHOLDS:
        assert np.abs(found - want).max() < 0.02
    else:
        assert np.abs(answers(made, Workload.k_way(DOMAIN, 2, [Level.INDIVIDUAL], count=False)).sum() - 1) < 1e-9
    assert made.domain == DOMAIN
