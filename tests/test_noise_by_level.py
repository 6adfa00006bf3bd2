"""The noise on counts with sizes per level."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, Ledger, Seeded, View
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import BudgetError, ProblemError
from pgsr.laws import DoubleGeometric
from pgsr.noise_by_level import LevelGeometric
from pgsr.random import StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])


def test_sensitivity_by_enumeration():
    """Of all data sets of three groups in two regions, and all entities: no level changes by more than 2, some do."""
    worst = np.zeros(2, int)
    for sizes in itertools.product(range(5), repeat=3):
        for regions in itertools.product(range(2), repeat=3):
            before = counts(sizes, regions)
            for group in range(3):
                joined = list(sizes)
                joined[group] += 1
                after = counts(joined, regions)
                changes = [int(np.abs(a - b).sum()) for a, b in zip(after.tables, before.tables, strict=True)]
                worst = np.maximum(worst, changes)
                if sizes[group] >= 2:  # two or more are one class in GA and MI
                    assert changes[1] == 0
    assert worst.tolist() == [View.COUNTS.sensitivity] * 2


def counts(sizes, regions) -> CountsByLevel:
    leaves = np.zeros((2, 6), int)
    np.add.at(leaves, (list(regions), list(sizes)), 1)
    return CountsByLevel.of(CountOfCounts(TREE, leaves), (5, 2))


def test_noise_is_that_of_the_law_and_of_its_stream():
    truth = counts((1, 2, 4), (0, 0, 1))
    noisy = LevelGeometric(3, shares=("1/3", "2/3")).measure(truth, Seeded("k"), "data", first_level=0)
    for level, scale in ((0, 2), (1, 1)):
        expected = truth.tables[level].copy()
        DoubleGeometric(Fraction(scale)).add_to(
            expected, Seeded("k").stream(StreamId("data", "counts", level, ("US",)))
        )
        assert np.array_equal(noisy.tables[level], expected)


def test_a_part_has_the_noise_of_its_level_and_place():
    truth = counts((1, 2, 4), (0, 0, 1))
    noise = LevelGeometric(3)
    part, again = (noise.measure(truth, Seeded("k"), "data", first_level=1, n_levels=3) for _ in range(2))
    for a, b in zip(part.tables, again.tables, strict=True):
        assert np.array_equal(a, b)
    whole = noise.measure(truth, Seeded("k"), "data", first_level=0, n_levels=3)
    assert not np.array_equal(whole.tables[0], part.tables[0])


def test_narrow_tables_hold_the_same_noise():
    truth = counts((1, 2, 4), (0, 0, 1))
    narrow = CountsByLevel(TREE, tuple(table.astype(np.int32) for table in truth.tables))
    wide, thin = (LevelGeometric(1).measure(t, Seeded("k"), "data") for t in (truth, narrow))
    for a, b in zip(wide.tables, thin.tables, strict=True):
        assert b.dtype == np.int32
        assert np.array_equal(a, b)


def test_what_cannot_be_measured_is_told():
    with pytest.raises(BudgetError, match="share of 0"):
        LevelGeometric(1, shares=(1, 0)).measure(counts((1,), (0,)), Seeded("k"), "data")
    with pytest.raises(ProblemError, match="whole number from 1 up"):
        LevelGeometric(1, max_quantity=0)


def test_the_ledger_is_charged_once_for_all_levels():
    ledger = Ledger(1)
    LevelGeometric(1).charge(ledger)
    with pytest.raises(BudgetError):
        LevelGeometric(1).charge(ledger)
