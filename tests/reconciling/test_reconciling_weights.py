"""Weights far apart, and values of any scale: reconciled as exact fractions say, or refused in a sentence."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of

from pgsr import Hierarchy, Problem, View, reconcile
from pgsr.algorithms import MeanConsistency
from pgsr.errors import ProblemError, TooLargeError
from pgsr.models import Cvxpy
from pgsr.models.formulate import formulate
from pgsr.models.judge import primal_residual
from pgsr.problems.conditions import cells
from pgsr.problems.tolerances import RESIDUAL
from tests.assurance.plain_tables import solved

US = ["nation", "state"]
LEAVES = [[0, 1], [0], [1]]
"""The leaves below every region of `small`."""

DEEP = [[0, 1, 2], [0, 1], [2], [0], [1], [2]]
"""The leaves below every region of `deep`."""


def small(values, weights, **more):
    """A nation of two states."""
    frame = {"nation": ["US"] * 3, "state": [None, "A", "B"], "n": values, "w": weights}
    return reconcile(frame, US, "n", weights="w", **more)


def deep(values, weights, **more):
    """A nation of two states, of two counties and of one."""
    frame = {
        "nation": ["US"] * 6,
        "state": [None, "A", "B", "A", "A", "B"],
        "county": [None, None, None, "a", "b", "c"],
        "n": values,
        "w": weights,
    }
    return reconcile(frame, [*US, "county"], "n", weights="w", **more)


def nearest_reals(values, weights, below, free=None) -> list[Fraction]:
    """The leaves of the nearest numbers that add up, of which those in `free` may differ from 0, in fractions."""
    n = 1 + max(map(max, below))
    free = list(range(n)) if free is None else free
    y, w = [Fraction(v) for v in values], [Fraction(v) for v in weights]
    rows = [[sum((w[r] for r, b in enumerate(below) if i in b and j in b), Fraction(0)) for j in free] for i in free]
    right = [sum((w[r] * y[r] for r, b in enumerate(below) if i in b), Fraction(0)) for i in free]
    found = dict(zip(free, solved(rows, right), strict=True))
    return [found.get(i, Fraction(0)) for i in range(n)]


def distance(leaves, values, weights, below) -> Fraction:
    """The distance in fractions of what leaves add up to."""
    return sum(
        Fraction(w) * (sum((Fraction(leaves[i]) for i in b), Fraction(0)) - Fraction(v)) ** 2
        for v, w, b in zip(values, weights, below, strict=True)
    )


def nearest_from_0(values, weights, below) -> list[Fraction]:
    """The same among numbers from 0 on: the best over all choices of the leaves that are not 0."""
    n = 1 + max(map(max, below))
    tried = []
    for size in range(n + 1):
        for free in itertools.combinations(range(n), size):
            leaves = nearest_reals(values, weights, below, list(free)) if free else [Fraction(0)] * n
            if min(leaves) >= 0:
                tried.append((distance(leaves, values, weights, below), leaves))
    return min(tried)[1]


def least_of_integers(values, weights, below) -> Fraction:
    """The least distance of whole numbers from 0 on within 3 of the nearest reals, by trying all."""
    centre = nearest_from_0(values, weights, below)
    axes = [range(max(0, int(c) - 3), int(c) + 5) for c in centre]
    return min(distance(point, values, weights, below) for point in itertools.product(*axes))


def leaves_of(done, n_leaves):
    return done.table["reconciled"][-n_leaves:].tolist()


@pytest.mark.parametrize(
    ("values", "variances", "right"),
    [
        ([1000, 100, 100], [1e-9, 1, 4], [1000, 260, 740]),
        ([1_000_000, 100, 100], [1e-9, 1, 4], [1_000_000, 200_060, 799_940]),
        ([1000, 100, 100], [1e-30, 1, 4], [1000, 260, 740]),
        ([1000, 100.25, 100], [1e-30, 1, 4], [1000, 260, 740]),
        ([1000.25, 100, 100], [1e-30, 1, 4], [1000, 260, 740]),
        ([-3, 5, 5], [1e-30, 1, 4], [0, 0, 0]),
        ([1_370_000, 1, 1.1], [3e9, 1e9, 1e9], None),
        ([1_370_000, 5, 6], [123456789.1, 1, 1.3], None),
        ([1_000_000_000, 499_999_000, 499_999_000], [123456789.1, 1, 1.3], None),
    ],
)
def test_weights_far_apart_keep_their_ratios(values, variances, right):
    weights = [1 / v for v in variances]
    done = small(values, weights)
    assert done.status.name == "OPTIMAL"
    assert right is None or done.table["reconciled"].tolist() == right
    assert distance(leaves_of(done, 2), values, weights, LEAVES) == least_of_integers(values, weights, LEAVES)
    for nonnegative in (True, False):
        done = small(values, weights, integer=False, nonnegative=nonnegative)
        exact = (nearest_from_0 if nonnegative else nearest_reals)(values, weights, LEAVES)
        assert leaves_of(done, 2) == pytest.approx([float(x) for x in exact], rel=1e-10, abs=1e-10)
        assert done.status.name == "OPTIMAL"


def draw(rng, spread: float, scale: float, whole: bool):
    """Noisy numbers with their weights, up to 10^spread apart, and all times `scale`."""
    weights = 10.0 ** rng.uniform(0, spread, 6)
    exact = rng.integers(0, 60, 3)
    sums = np.array([[i in b for i in range(3)] for b in DEEP]) @ exact
    values = (sums + rng.normal(0, 4, 6)) * scale
    return (values.round() if whole else values).tolist(), weights.tolist()


@pytest.mark.parametrize(("spread", "scale"), [(0, 1e-10), (3, 1.0), (6, 1e9), (9, 1e-10), (14, 1.0)])
def test_random_reals_equal_exact_fractions(spread, scale):
    rng = rng_of(spread, int(np.log10(scale)) + 20)
    for _ in range(6):
        values, weights = draw(rng, spread, scale, whole=False)
        for nonnegative in (True, False):
            done = deep(values, weights, integer=False, nonnegative=nonnegative)
            exact = (nearest_from_0 if nonnegative else nearest_reals)(values, weights, DEEP)
            assert done.status.name == "OPTIMAL"
            assert leaves_of(done, 3) == pytest.approx([float(x) for x in exact], abs=1e-9 * scale)
            assert done.levels[0].sums_off_after == done.levels[1].sums_off_after == 0


@pytest.mark.parametrize(
    ("spread", "scale", "whole"), [(0, 1e9, True), (3, 1.0, True), (6, 1.0, False), (9, 1e3, True), (14, 1e6, False)]
)
def test_random_whole_numbers_equal_exact_fractions_or_are_refused(spread, scale, whole):
    rng = rng_of(spread, int(scale), whole)
    solved = 0
    for _ in range(8):
        values, weights = draw(rng, spread, scale, whole)
        try:
            done = deep(values, weights)
        except TooLargeError:
            continue
        assert done.status.name == "OPTIMAL"
        least = least_of_integers(values, weights, DEEP)
        assert float(distance(leaves_of(done, 3), values, weights, DEEP) / least) == pytest.approx(1, abs=1e-5)
        solved += 1
    assert solved >= (8 if spread <= 3 else 5 if spread <= 6 else 2)


@pytest.mark.parametrize("ratio", [1e6, 1e9, 1e12, 1e16, 1e20])
def test_heavy_rows_that_contradict_each_other(ratio):
    """Then prices are large, and what light rows say is in their last digits."""
    for values in ([1000, 900, 200, 300, 100, 50], [100, 10, 400, -50, 60, 20], [10, -900, 2, 3, 1, 5]):
        weights = [ratio, 1.3 * ratio, ratio, 1, 1.1, 1]
        done = deep(values, weights, integer=False)
        exact = nearest_from_0(values, weights, DEEP)
        assert done.status.name == "OPTIMAL"
        assert leaves_of(done, 3) == pytest.approx([float(x) for x in exact], abs=1e-9)


@pytest.mark.parametrize("factor", [1e-10, 1e-3, 7.0, 1e9])
def test_a_factor_of_all_weights_changes_nothing(factor):
    rng = rng_of(4)
    for integer in (True, False):
        values, weights = draw(rng, 4, 1.0, whole=False)
        one = deep(values, weights, integer=integer)
        other = deep(values, [factor * w for w in weights], integer=integer)
        assert one.table["reconciled"].tolist() == pytest.approx(other.table["reconciled"].tolist(), rel=1e-12)


def test_what_cannot_be_kept_is_refused():
    values = [1000, 300, 300]  # three heavy rows that do not add up, and one light: both ratios matter
    with pytest.raises(TooLargeError, match=r"has 1e\+30 times the weight of row 3 \('US/A/a'\), and whole numbers"):
        deep([*values, 4, 5, 6], [1e30, 1.1e30, 1e30, 1, 1, 1])
    with pytest.raises(TooLargeError, match=r"row 0 \('US'\) has 2e\+30 times the weight of row 1 \('US/A'\)"):
        small([1000.5, 100, 100], [2e30, 1, 1])  # 1000 and 1001 are as near
    done = small([1000.5, 100, 100], [2e30, 1, 1], integer=False)
    assert done.table["reconciled"].tolist() == pytest.approx([1000.5, 500.25, 500.25])
    with pytest.raises(TooLargeError, match="no number of 64 bits"):
        small([1000, 100, 100], [1e300, 1, 1e-300], integer=False)


def test_a_held_row_has_no_part_in_ratios():
    frame = {"nation": ["US"] * 3, "state": [None, "A", "B"], "n": [1000, 100, 100], "v": [1e-30, 1, 4]}
    done = reconcile({**frame, "sure": [True, False, False]}, US, "n", variance="v", fixed="sure")
    assert done.table["reconciled"].tolist() == [1000, 260, 740]


def test_rates_and_shares_stay_what_they_are():
    done = small([1e-10, 2e-11, 3e-11], [1, 1, 1], integer=False)
    assert done.table["reconciled"].tolist() == pytest.approx([25e-11 / 3, 11e-11 / 3, 14e-11 / 3], rel=1e-9)
    with pytest.raises(ProblemError, match="rates or shares, ask for integer=False"):
        small([0.4, 0.1, 0.2], [1, 1, 1])
    hole = reconcile({"nation": ["US"] * 3, "state": [None, "A", "B"], "n": [0.5, 0.2, None]}, US, "n", integer=False)
    assert hole.table["reconciled"].tolist() == pytest.approx([0.5, 0.2, 0.3])


def test_last_digits_are_no_gap():
    done = small([0.3, 0.1, 0.2], [1, 1, 1], integer=False)  # 0.1 + 0.2 is not 0.3
    assert done.status.name == "OPTIMAL"
    assert done.table["reconciled"].tolist() == pytest.approx([0.3, 0.1, 0.2])


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e13])
def test_mean_consistency_takes_real_weights(ratio):
    tree = Hierarchy.from_paths([("US", "A"), ("US", "B")])
    weights = np.array([ratio, 1.7, 1.0])
    problem = Problem.of([[1000], [100], [100]], tree, weights=weights, label="m", integer=False)
    result = MeanConsistency().solve(replace(problem, nonnegative=False))
    exact = nearest_reals([1000, 100, 100], weights.tolist(), LEAVES)
    assert result.status.name == "OPTIMAL"
    assert result.estimate.values[1:, 0].tolist() == pytest.approx([float(x) for x in exact], rel=1e-12)
    with pytest.raises(ProblemError, match="non-negative integer"):
        Problem.of([[1000], [100], [100]], tree, weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "scale"), [("CLARABEL", 1e-10), ("CLARABEL", 1e9), ("OSQP", 1e9)])
def test_chains_by_a_solver_are_not_refused_for_their_scale(solver, scale):
    """A <= B <= C ...: isotonic regression, whose blocks are means."""
    for seed in range(5):
        rng = rng_of(seed)
        y = (rng.uniform(0, 10, 5) + np.arange(5)) * scale
        names = list("ABCDE")
        order = [cells((a,)) <= cells((b,)) for a, b in itertools.pairwise(names)]
        done = reconcile({"s": names, "n": y}, "s", "n", where=order, method=Cvxpy(solver), integer=False)
        right = [max(min(np.mean(y[j : k + 1]) for k in range(i, 5)) for j in range(i + 1)) for i in range(5)]
        assert done.table["reconciled"].tolist() == pytest.approx(right, abs=1e-4 * scale)


@pytest.mark.parametrize("off", [1e-3, 1.0])
def test_a_wrong_answer_is_still_refused(off):
    """A scale of data and unknowns does not let what misses a condition by much pass."""
    tree = Hierarchy.from_paths([("A",)])
    problem = Problem.of(np.array([[50, 10, 40]]), tree, View.CUMULATIVE, label="chain", integer=False)
    program = formulate(problem)
    z = np.array([30.0, 30.0, 40.0]) - program.origin
    assert primal_residual(program, z) <= RESIDUAL
    assert primal_residual(program, z + np.array([off, 0.0, 0.0])) > RESIDUAL
