"""Shares of epsilon by the noisy root: errors that are expected, the root in two steps, and what both cost together."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact_law import noise_by
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy, View, measure
from pgsr.data.views import cumulative
from pgsr.errors import BudgetError, ProblemError
from pgsr.noise import Geometric, SplitByRoot
from pgsr.noise.shares_by_root import (
    _known_to,
    candidates,
    expected_errors,
    finer_noise,
    geometric,
    log_pmf_of_rest,
    shares_by_root,
)
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

TREE = Hierarchy.from_paths([("US", state, f"{state}{i:02}") for state in ("GA", "MI") for i in range(40)])
STEP = Geometric(SplitByRoot(), "1/2", "root")


def drawn(law: np.ndarray, groups: int) -> CountOfCounts:
    return CountOfCounts(TREE, rng_of(1).multinomial(groups, law / law.sum(), 80), "drawn")


FEW, WIDE = drawn(np.array([0, 3, 4, 2, 1, *np.zeros(200)]), 60), drawn(1.0 / (np.arange(205) + 20), 600)


@pytest.mark.parametrize(("step", "noise"), [(0.1, 3.0), (2.0, 0.5), (5.0, 200.0)])
def test_a_walk_is_known_to_the_variance_of_a_dense_system(step: float, noise: float) -> None:
    """In the middle of a long walk: the inverse of the precision matrix of all its values at once."""
    n = 401
    difference = np.diff(np.eye(n), axis=0)
    precision = difference.T @ difference / step + np.eye(n) / noise
    assert _known_to(np.array([step]), noise)[0] == pytest.approx(np.linalg.inv(precision)[n // 2, n // 2], rel=1e-6)


def test_expected_errors_fall_with_a_share_and_never_exceed_a_guess() -> None:
    shape = np.array([0.5, 0.3, 0.2, 0.0])
    for level in range(3):
        scales = np.full(3, 20.0)
        more = scales.copy()
        more[level] /= 2
        before, after = (expected_errors(TREE, FEW.totals, shape, each) for each in (scales, more))
        assert after[level] < before[level]
    upto = 60 * np.cumsum(shape)[:-1]
    assert expected_errors(TREE, FEW.totals, shape, np.full(3, 1e9))[2] <= np.minimum(upto, 60 - upto).sum() + 1e-9


@pytest.mark.parametrize("n_levels", [1, 2, 3, 5])
def test_candidates_spend_all_of_epsilon(n_levels: int) -> None:
    found = candidates(n_levels)
    assert all(len(split) == n_levels and sum(split) == 1 and min(split) > 0 for split in found)
    assert len(set(found)) == len(found)
    assert n_levels == 1 or min(split[0] for split in found) == Fraction(1, 5)


def test_the_worst_ratio_is_least() -> None:
    """Against the definition; few sizes give the root more than wide ones do."""
    roots = []
    for truth in (FEW, WIDE):
        shape, scales = truth.row(0) / truth.row(0).sum(), np.full(3, 20.0)
        shape = np.sort(shape)[::-1]
        errors = {s: expected_errors(TREE, truth.totals, shape, scales / np.array(s, float)) for s in candidates(3)}
        *plain, leaves = (
            expected_errors(TREE, truth.totals, shape, scales / np.array(s))
            for s in ((0.2, 0.2, 0.6), (1 / 3,) * 3, (1e-100, 1e-100, 1))
        )
        best, chosen = np.min([*errors.values(), leaves], axis=0), shares_by_root(TREE, truth.totals, shape, scales)
        near = [each for each in errors.values() if any((each <= 1.08 * other).all() for other in plain)]
        assert any(errors[chosen] is each for each in near)
        assert (errors[chosen] / best).max() == min((each / best).max() for each in near)
        roots.append(chosen[0])
    assert roots[0] > roots[1]


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(1, 5), Fraction(1, 40)])
def test_geometric_numbers_of_any_scale_are_drawn(scale: Fraction) -> None:
    drawn, a = geometric(scale, 20_000, ByteStream(bytes(32))), float(np.exp(-1 / float(scale)))
    for m in range(3):
        assert abs((drawn >= m).mean() - a**m) < 0.015


def test_noise_in_two_steps_has_the_law_of_both() -> None:
    """x and x' together: x' of the smaller scale, and x - x' of its own law whatever x' is, by a chi-square test."""
    scales, n, stream = (Fraction(2), Fraction(4, 5)), 100_000, ByteStream(bytes(range(32)))
    first = np.zeros(n, np.int64)
    DoubleGeometric(scales[0]).add_to(first, stream)
    second = finer_noise(first, *scales, stream)
    cells, seen, expected = list(product(range(-4, 5), repeat=2)), [], []
    for x, rest in cells:
        seen.append(int(((second == x) & (first - second == rest)).sum()))
        expected.append(n * _pmf(x, scales[1]) * _rest(rest, *scales))
    chi = sum((s - e) ** 2 / e for s, e in zip(seen, expected, strict=True) if e > 5)
    n_cells = sum(e > 5 for e in expected)
    assert chi < n_cells + 5 * (2 * n_cells) ** 0.5


def _pmf(k: int, scale: Fraction) -> float:
    return float(np.exp(DoubleGeometric(scale).log_pmf(np.array([k])))[0])


def _rest(d: int, coarse: Fraction, fine: Fraction) -> float:
    return float(d == 0 if coarse == fine else np.exp(log_pmf_of_rest(np.array([d]), coarse, fine))[0])


def test_both_steps_together_lose_epsilon() -> None:
    """P(first root, root, leaves | D) <= e^epsilon P(... | D'), for outcomes at random, choices by the code itself."""
    tree, rng, epsilon = Hierarchy.from_paths([("r", f"{i}") for i in range(30)]), rng_of(2), Fraction(2)
    step, sizes, splits, largest = Geometric(SplitByRoot(), epsilon, "root"), 3, set(), 0.0
    least = Fraction(1) / (epsilon / 5)
    for _ in range(150):
        one, (leaf, size) = rng.integers(0, 3, (30, sizes + 1)), (rng.integers(30), rng.integers(1, sizes + 1))
        one[leaf, size] += 1
        other = one.copy()
        other[leaf, [size, size - 1]] += -1, 1
        pair = [CountOfCounts(tree, counts, "pair") for counts in (one, other)]
        totals = pair[0].totals
        first, root = rng.integers(-3, totals[0] + 4, (2, sizes + 1))
        chosen = step.after_root(tree, totals, first)
        assert sum(level.epsilon for level in chosen.levels(2)) == epsilon
        scales = [1 / level.epsilon for level in chosen.levels(2)]
        splits.add(scales[0])
        root = first if scales[0] == least else root  # which then is not drawn again
        views, drawn_at = chosen.views_on(tree, (sizes,) * 2, totals, root), rng.integers(-2, 9, 40)
        found = []
        for truth in pair:
            c = cumulative(truth.row(0))[:-1]
            log_p = sum(np.log(_pmf(y - x, scales[0])) for x, y in zip(c, root, strict=False))
            log_p += sum(np.log(_rest(y - x, least, scales[0])) for x, y in zip(root[:-1], first, strict=False))
            exact = views[leaf + 1].vector(truth.row(leaf + 1), None)  # all other leaves are alike
            log_p += sum(np.log(_pmf(y - x, scales[1])) for x, y in zip(exact, drawn_at, strict=False))
            found.append(log_p)
        largest = max(largest, abs(found[0] - found[1]))
    assert largest <= float(epsilon) + 1e-9
    assert largest >= float(epsilon) - 1e-9, "some outcome loses it all"
    assert len(splits) > 1, "the choice hangs on the first values"


@pytest.mark.parametrize("totals", ["regions", "noisy"])
def test_the_choice_follows_from_the_first_values_alone(totals: str) -> None:
    step = Geometric(SplitByRoot(), "1/2", "root", totals=totals)
    for truth in (FEW, WIDE):
        found = step.measure(truth, Seeded("follows"))
        chosen = step.after_root(TREE, found.totals, found.first_root)
        assert found.noise == chosen.levels(3)
        assert found.views == chosen.views_on(TREE, (204,) * 3, found.totals, found.row(0))
        spent = sum(level.epsilon for level in found.noise) + step.totals_epsilon
        assert spent == Fraction(1, 2)


def test_the_root_becomes_as_precise_as_its_share() -> None:
    away, first = [], []
    for seed in range(15):
        found = STEP.measure(FEW, Seeded("precise", seed))
        true = cumulative(FEW.row(0))[:-1]
        away.append(np.mean((found.row(0)[:-1] - true) ** 2) / found.law(0).variance)
        first.append(np.mean((found.first_root[:-1] - true) ** 2) / DoubleGeometric(Fraction(10)).variance)
    assert np.mean(away) == pytest.approx(1, abs=0.15)
    assert np.mean(first) == pytest.approx(1, abs=0.15)


def test_measure_takes_the_split_view_unless_told_otherwise() -> None:
    found = measure(FEW, epsilon=1, seed="default")
    assert found.first_root is not None
    assert np.array_equal(found.cells, measure(FEW, "split", epsilon=1, seed="default").cells)
    assert found.view_of(0) is View.CUMULATIVE


def test_noise_that_the_second_step_could_not_draw_is_refused_before_the_first() -> None:
    tree, seen = Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), []
    with pytest.raises(BudgetError, match="give the level a larger epsilon"), noise_by(lambda *one: seen.append(one)):
        Geometric(SplitByRoot(), "1/10000", "root").measure(CountOfCounts(tree, [[1, 2]] * 2), Seeded("fine"))
    assert not seen


@pytest.mark.parametrize(("view", "shares"), [(View.CUMULATIVE, "root"), (SplitByRoot(), "leaves")])
def test_other_texts_of_shares_are_refused(view: View, shares: str) -> None:
    with pytest.raises(ProblemError, match='or shares="root" with SplitByRoot'):
        Geometric(view, 1, shares)
