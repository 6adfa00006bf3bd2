"""What is known twice of noisy counts with sizes per level: found as by hand, noise alone, and of the stated law."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from pgsr import Geometric, Hierarchy, Secure, Seeded, View
from pgsr.algorithms.m_h_levels import LevelMechanism
from pgsr.counts_by_level import CountsByLevel
from pgsr.laws import DoubleGeometric
from pgsr.measurement_by_level import MeasurementByLevel
from pgsr.planning import stand_in_by_level
from pgsr.release import Terms
from pgsr.release.noise_law import Sum, families, judge
from pgsr.release.rehearsals import is_rehearsal

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(9) for j in range(2 + i % 3)])
SIZES = (8, 4, 2)
TERMS = Terms("d", SIZES, "1", "m_h", shares=("1/2", "1/4", "1/4"))


def measured(seed: int, source: object = None) -> MeasurementByLevel:
    """Noisy values of made counts; the truth depends on the seed, the noise on the source."""
    leaves = TREE.leaves.stop - TREE.leaves.start
    truth = stand_in_by_level(TREE, [20] * leaves, [1] * 9, SIZES, seed)
    mechanism = TERMS.mechanism(3)
    assert isinstance(mechanism, LevelMechanism)
    return mechanism.measure(truth, source or Seeded("k"))


def by_hand(measurement: MeasurementByLevel) -> list[dict[Sum, list[int]]]:
    """The residuals of the root's total, then of every region against its children, cell by cell."""
    tables, total = measurement.values.tables, 0
    for value in tables[0][0]:
        total += int(value)
    found = [{Sum((SIZES[0] + 1, 0, 0)): [total - measurement.total]}]
    for level in (0, 1):
        below, grouped = TREE.level(level + 1), defaultdict(list)
        for place, region in enumerate(range(TREE.level(level).start, TREE.level(level).stop)):
            children = [child - below.start for child in TREE.children(region)]
            for size in range(SIZES[level + 1] + 1):
                last = size == SIZES[level + 1]
                own = range(size, SIZES[level] + 1) if last else [size]
                value = sum(int(tables[level + 1][child][size]) for child in children)
                draws = [0, 0, 0]
                draws[level], draws[level + 1] = len(own), len(children)
                grouped[Sum(tuple(draws))].append(value - sum(int(tables[level][place][s]) for s in own))
        found.append(grouped)
    return found


def test_residuals_are_those_found_by_hand() -> None:
    measurement = measured(0)
    for family, wanted in zip(families(measurement), by_hand(measurement), strict=True):
        assert family.residuals.keys() == wanted.keys()
        for kind, values in family.residuals.items():
            assert sorted(values.tolist()) == sorted(wanted[kind])


def test_residuals_are_noise_alone() -> None:
    """They do not change if the truth does."""
    for ours, theirs in zip(families(measured(0)), families(measured(1)), strict=True):
        assert ours.residuals.keys() == theirs.residuals.keys()
        assert all((ours.residuals[kind] == theirs.residuals[kind]).all() for kind in ours.residuals)


def test_residuals_have_the_variance_that_their_draws_say() -> None:
    """Of 300 noises: the mean square over the stated variance, within five standard errors."""
    laws, squares = TERMS.noise_laws(3), defaultdict(list)
    for seed in range(300):
        for family in families(measured(0, Seeded(f"v{seed}"))):
            for kind, values in family.residuals.items():
                squares[kind] += (values.astype(float) ** 2).tolist()
    for kind, found in squares.items():
        variance = sum(n * law.deviation**2 for n, law in zip(kind.draws, laws, strict=True) if law is not None)
        ratio = np.array(found) / variance
        assert abs(ratio.mean() - 1) <= 5 * ratio.std() / np.sqrt(len(ratio)), kind


def test_wrong_scales_are_found_and_right_ones_are_not() -> None:
    laws = TERMS.noise_laws(3)
    for seed in range(5):
        measurement = measured(seed, Seeded(f"w{seed}"))
        assert not judge(measurement, laws).refuted
        assert judge(measurement, [DoubleGeometric(Fraction(law.scale) * 10) for law in laws]).refuted  # pyright: ignore
        assert judge(measurement, [DoubleGeometric(Fraction(law.scale) / 10) for law in laws]).refuted  # pyright: ignore


@pytest.mark.parametrize("seed", range(3))
def test_rehearsals_are_recognised_and_nothing_else_is(seed: int) -> None:
    assert is_rehearsal(TERMS, measured(seed, Seeded("rehearsal")))
    assert not is_rehearsal(TERMS, measured(seed, Seeded("other")))
    assert not is_rehearsal(TERMS, measured(seed, Secure()))


def test_one_level_has_no_level_above_to_be_compared_with() -> None:
    """A nation alone: its total is all that is known twice."""
    tree, terms = Hierarchy.from_paths([("US",)]), Terms("d", (8,), "1", "m_h")
    truth = CountsByLevel(tree, (np.arange(9).reshape(1, 9),))
    noisy = LevelMechanism(Geometric(View.COUNTS, 1, totals="root"), (8,), "d").measure(truth, Seeded("rehearsal"))
    assert [family.size for family in families(noisy)] == [1]
    assert not is_rehearsal(terms, noisy), "nine cells are too few to say so"
