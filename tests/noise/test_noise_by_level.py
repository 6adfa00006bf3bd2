"""The noise on counts with sizes per level."""

from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.errors import BudgetError, ProblemError
from pgsr.noise import Geometric, Noise
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.accounting import Approximate, Rho
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def counts(sizes, regions) -> CountOfCounts:
    leaves = np.zeros((2, 6), int)
    np.add.at(leaves, (list(regions), list(sizes)), 1)
    return CountOfCounts(TREE, leaves, "data").folded((5, 2))


def test_noise_is_that_of_the_law_and_of_its_stream():
    truth = counts((1, 2, 4), (0, 0, 1))
    noise = Geometric(View.COUNTS, 3, shares=("1/3", "2/3"))
    noisy = noise.noisy_tables(truth, Seeded("k"), "data")
    for level, scale in ((0, 2), (1, 1)):
        expected = truth.tables[level].copy()
        DoubleGeometric(Fraction(scale)).add_to(
            expected, Seeded("k").stream(StreamId("data", "counts", level, ("US",)))
        )
        assert np.array_equal(noisy[level], expected)


def test_cumulative_counts_have_the_noise_of_their_view_and_what_is_public():
    truth = counts((1, 2, 4), (0, 0, 1))
    for totals, public in (("regions", [2, 1]), ("root", None)):
        noise = Geometric(View.CUMULATIVE, 2, totals=totals)
        ledger = Ledger(2)
        found = noise.measure(truth, Seeded("k"), ledger)
        for level in (0, 1):
            expected = np.cumsum(truth.tables[level], axis=1)
            DoubleGeometric(Fraction(1)).add_to(
                expected, Seeded("k").stream(StreamId("data", "cumulative", level, ("US",)))
            )
            assert np.array_equal(found.tables[level], expected)
        assert [found.law(region) for region in (0, 1)] == [DoubleGeometric(Fraction(1))] * 2
        assert found.root_total == 3
        assert found.totals.tolist() == ([3] if public is None else [3, *public])
        assert (found.secure, found.data_set) == (False, "data")
        with pytest.raises(BudgetError):
            noise.measure(truth, Seeded("k"), ledger)


def test_a_measurement_says_whether_its_noise_was_secure():
    assert Geometric(View.COUNTS, 1).measure(counts((1,), (0,)), Secure()).secure


def test_narrow_tables_hold_the_same_noise():
    truth = counts((1, 2, 4), (0, 0, 1))
    narrow = CountOfCounts(TREE, tuple(table.astype(np.int32) for table in truth.tables))
    wide, thin = (Geometric(View.COUNTS, 1).noisy_tables(t, Seeded("k"), "data") for t in (truth, narrow))
    for a, b in zip(wide, thin, strict=True):
        assert b.dtype == np.int32
        assert np.array_equal(a, b)


@pytest.mark.parametrize("charged", [False, True])
def test_noise_is_for_the_quantities_and_the_groups_that_were_counted(charged):
    """Folded counts know how much one entity adds, and that their groups are private, as those they were made of."""
    leaves = np.array([[0, 3, 0, 2, 0, 1], [1, 0, 0, 0, 4, 0]])
    added = CountOfCounts(TREE, leaves, max_quantity=4).folded((5, 2))
    private = CountOfCounts(TREE, leaves, private_groups=True).folded((5, 2))
    ledger = Ledger(1)

    def by(noise, truth):
        return noise.measure(truth, Seeded("k"), ledger) if charged else noise.noisy_tables(truth, Seeded("k"), "data")

    with pytest.raises(ProblemError, match=r"adds up to 4 .* this noise hides 1; give Geometric\(..., max_q"):
        by(Geometric(View.CUMULATIVE, 1), added)
    with pytest.raises(ProblemError, match="groups is private, and totals by level are public"):
        by(Geometric(View.CUMULATIVE, 1), private)
    assert not ledger.spent
    by(Geometric(View.CUMULATIVE, 1, max_quantity=4), added)
    assert bool(ledger.spent) == charged


def test_noise_is_for_the_sizes_that_were_counted():
    """With groups as units a cumulative level costs as many cells as it has sizes."""
    noise = Noise(View.CUMULATIVE, Rho("1/5"), unit=Unit.GROUP, relation=Relation.REPLACE)
    with pytest.raises(ProblemError, match=r"sizes 0\.\.5, 0\.\.2, and the noise is for 0\.\.1, 0\.\.1"):
        noise.noisy_tables(counts((1, 2, 4), (0, 0, 1)), Seeded("k"), "data", 1, (9, 1, 1))


def test_laws_are_those_of_the_budget_and_the_unit():
    """Any noise step for counts will do: here rho, shared by two levels, of groups that are replaced."""
    noise = Noise(View.COUNTS, Rho("1/5"), unit=Unit.GROUP, relation=Relation.REPLACE, laws="gaussian")
    assert noise.laws_of_sizes((5, 2)) == [DiscreteGaussian(Fraction(10))] * 2


@pytest.mark.parametrize("budget", [Rho(3), pytest.param(Approximate(12, "1e-6"), marks=pytest.mark.full)], ids=str)
@pytest.mark.parametrize("laws", ["best", "geometric", "gaussian"])
def test_levels_of_other_sizes_keep_the_budget_together(budget, laws):
    """A replaced group changes as many cumulative counts as its level has sizes, and few changed ones cost more."""
    noise = Noise(View.CUMULATIVE, budget, laws=laws, unit=Unit.GROUP, relation=Relation.REPLACE)
    sizes = (60, 4, 2)
    sensitivities = [noise.sensitivity(View.CUMULATIVE, size) for size in sizes]
    levels = noise.levels(3, sizes)
    assert composed(levels, sensitivities).within(budget)
    laws_found = [level.law(change) for level, change in zip(levels, sensitivities, strict=True)]
    assert noise.laws_of_sizes(sizes) == laws_found
    assert noise.levels(3, 60) == noise.levels(3, (60, 60, 60))
    if laws == "geometric":
        assert not composed(noise.levels(3, 60), sensitivities).within(budget), "the largest K everywhere would not do"
