"""What is known twice of noisy counts with sizes per level: found as by hand, noise alone, and of the stated law."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from planned import planned

from pgsr import Hierarchy, View
from pgsr.data.counts import CountOfCounts
from pgsr.data.stand_in import stand_in_of
from pgsr.noise import Geometric
from pgsr.noise.measurement import Measurement
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import Terms
from pgsr.release.checks.noise_law import Sum, families, judge
from pgsr.release.checks.rehearsals import is_rehearsal

TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(9) for j in range(2 + i % 3)])
SIZES = (8, 4, 2)
SHARES = ("1/2", "1/4", "1/4")
CASES = [
    Terms("d", SIZES, "1", "m_h", shares=SHARES),
    Terms("d", SIZES, "1", "m_c_dp", shares=SHARES),
    Terms("d", SIZES, "1", "kuo", shares=SHARES),
]
"""Counts, and cumulative counts with the root's public number of groups and with every region's."""

every_case = pytest.mark.parametrize("terms", CASES, ids=lambda terms: f"{terms.view} {terms.totals}")


def measured(terms: Terms, seed: int, source: object = None) -> Measurement:
    """Noisy values of made counts; the truth depends on the seed, the noise on the source."""
    leaves = TREE.leaves.stop - TREE.leaves.start
    truth = stand_in_of(TREE, [20] * leaves, [1] * 9, seed, SIZES)
    truth = CountOfCounts(TREE, truth.tables, "d")
    return planned(terms, 3).mechanism.measure(truth, source or Seeded("k"))


def by_hand(measurement: Measurement) -> list[dict[Sum, list[int]]]:
    """The residuals of public totals, then of every region against its children, class by class."""
    tables, adds_up = measurement.tables, measurement.view is View.COUNTS
    totals = [*measurement.totals.tolist(), *[None] * TREE.n_regions]

    def noisy(region: int, first: int, last: int) -> tuple[int, int]:
        """The noisy number of groups of some sizes, from 0 for cumulative counts, and of how many values it is made."""
        level = int(TREE.level_of[region])
        row = tables[level][region - TREE.level(level).start]
        return (sum(int(row[s]) for s in range(first, last + 1)), last + 1 - first) if adds_up else (int(row[last]), 1)

    def draws(*of_levels: tuple[int, int]) -> Sum:
        return tuple(sum(n for at, n in of_levels if at == level) for level in range(3))

    found: list[dict[Sum, list[int]]] = [defaultdict(list) for _ in range(3)]
    for region in range(TREE.n_regions):
        level, total = int(TREE.level_of[region]), totals[region]
        if total is not None:
            value, n = noisy(region, 0, SIZES[level])
            found[0][draws((level, n))].append(value - total)
        for size in range(SIZES[level + 1] + 1 if level < 2 else 0):
            last = size == SIZES[level + 1]
            own, n = noisy(region, size, SIZES[level] if last else size)
            below = [noisy(child, size, size)[0] for child in TREE.children(region)]
            found[level + 1][draws((level, n), (level + 1, len(below)))].append(own - sum(below))
    return found


@every_case
def test_residuals_are_those_found_by_hand(terms: Terms) -> None:
    measurement = measured(terms, 0)
    for family, wanted in zip(families(measurement), by_hand(measurement), strict=True):
        assert family.residuals.keys() == wanted.keys()
        for kind, values in family.residuals.items():
            assert sorted(values.tolist()) == sorted(wanted[kind])


@pytest.mark.few(1)
@every_case
def test_residuals_have_the_variance_that_their_draws_say(terms: Terms) -> None:
    """Of 300 noises: the mean square over the stated variance, within five standard errors."""
    laws, squares = tuple(level.law for level in planned(terms, 3).levels), defaultdict(list)
    for seed in range(300):
        for family in families(measured(terms, 0, Seeded(f"v{seed}"))):
            for kind, values in family.residuals.items():
                squares[kind] += (values.astype(float) ** 2).tolist()
    for kind, found in squares.items():
        variance = sum(n * law.deviation**2 for n, law in zip(kind, laws, strict=True) if law is not None)
        ratio = np.array(found) / variance
        assert abs(ratio.mean() - 1) <= 5 * ratio.std() / np.sqrt(len(ratio)), kind


@pytest.mark.slow
@every_case
def test_wrong_scales_are_found_and_right_ones_are_not(terms: Terms) -> None:
    laws = tuple(level.law for level in planned(terms, 3).levels)
    for seed in range(3):
        measurement = measured(terms, seed, Seeded(f"w{seed}"))
        assert not judge(measurement, laws).refuted
        assert judge(measurement, [DoubleGeometric(Fraction(law.scale) * 10) for law in laws]).refuted  # pyright: ignore
        assert judge(measurement, [DoubleGeometric(Fraction(law.scale) / 10) for law in laws]).refuted  # pyright: ignore


@every_case
@pytest.mark.parametrize("seed", range(3))
def test_rehearsals_are_recognised_and_nothing_else_is(terms: Terms, seed: int) -> None:
    assert is_rehearsal(planned(terms, 3), measured(terms, seed, Seeded("rehearsal")))
    assert not is_rehearsal(planned(terms, 3), measured(terms, seed, Seeded("other")))
    assert not is_rehearsal(planned(terms, 3), measured(terms, seed, Secure()))


def test_one_level_has_no_level_above_to_be_compared_with() -> None:
    """A nation alone: its total is all that is known twice."""
    tree, terms = Hierarchy.from_paths([("US",)]), Terms("d", (8,), "1", "m_h")
    truth = CountOfCounts(tree, np.arange(9).reshape(1, 9), "d")
    noisy = Geometric(View.COUNTS, 1, totals="root", max_sizes=(8,)).measure(truth, Seeded("rehearsal"))
    assert [family.size for family in families(noisy)] == [1]
    assert not is_rehearsal(planned(terms, noisy), noisy), "nine cells are too few to say so"
