"""Sums of cumulative counts over ranges of sizes: the same privacy, and what methods make of them."""

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, Split, metrics
from pgsr.algorithms import BottomUp, IsotonicFit, Matching, NoConsistency, Posterior, TwoStage
from pgsr.algorithms.groups import Groups
from pgsr.algorithms.isotonic.meeting import groups_below
from pgsr.algorithms.isotonic.sums import fit_sums
from pgsr.algorithms.posterior.evidence import Evidence
from pgsr.errors import ProblemError
from pgsr.intervals import band
from pgsr.noise.vectors import vector
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.sensitivity import Unit, sensitivity_of

TREE = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0])
WIDE = Split(4, widths=(1, 3))


def test_an_entity_more_changes_one_value_by_one():
    for sizes in combinations_with_replacement(range(7), 3):
        before = _vector(sizes, WIDE)
        for group in range(3):
            after = _vector([size + (i == group and size < 6) for i, size in enumerate(sizes)], WIDE)
            assert np.abs(after - before).sum() == (sizes[group] < 6)


@pytest.mark.parametrize(("groups", "quantity"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_no_entity_changes_more_than_its_sensitivity(groups, quantity):
    allowed = sensitivity_of(WIDE, Unit.entity_in_groups(groups), max_quantity=quantity, max_size=6)
    reached = np.zeros(2, int)
    for sizes in combinations_with_replacement(range(7), 3):
        for added in product(range(quantity + 1), repeat=groups):
            grown = [min(6, size + more) for size, more in zip(sizes, (*added, 0, 0, 0), strict=False)]
            change = np.abs(_vector(grown, WIDE) - _vector(sizes, WIDE))
            reached = np.maximum(reached, [change.sum(), (change**2).sum()])
    assert reached.tolist() == [allowed.l1, allowed.l2_squared]


def test_no_group_changes_more_than_its_sensitivity():
    allowed = sensitivity_of(WIDE, Unit.GROUP, max_size=6)
    for *others, gone in product(range(7), repeat=3):
        change = np.abs(_vector([*others, gone], WIDE, total=3) - _vector(others, WIDE, total=3))
        assert change.sum() <= allowed.l1
        assert (change**2).sum() <= allowed.l2_squared


@pytest.mark.parametrize("seed", range(20))
def test_the_fit_of_sums_is_nearest(seed):
    rng = np.random.default_rng(seed)
    widths, sums = rng.choice([1, 3, 5], 3), rng.integers(-4, 30, 3)
    cells = fit_sums(sums, widths, most=6)
    assert (np.diff(cells) >= -1e-9).all()
    assert 0 <= cells.min() <= cells.max() <= 6
    middles = cells[np.cumsum(widths) - 1 - widths // 2]  # the averages, but where a straight line cannot have them
    flat = fit_sums(sums, np.ones(3, int), most=6)
    grid = np.array(list(combinations_with_replacement(np.linspace(0, 6, 25), 3)))
    assert ((flat - sums) ** 2).sum() <= ((grid - sums) ** 2).sum(axis=1).min() + 1e-9
    best = grid[((grid * widths - sums) ** 2).sum(axis=1).argmin()]
    assert np.abs(middles - best).max() <= 0.125 + np.diff(best, prepend=best[0], append=best[-1]).max() / 4


@pytest.mark.parametrize("seed", range(30))
def test_where_columns_and_rows_meet(seed):
    rng = np.random.default_rng(seed)
    widths, total = (1, 3, 3), 12
    fitted, noisy = np.sort(rng.integers(0, 10, 7)), rng.integers(0, 30, 3)
    beyond = Groups(np.array([0, 2, 5]), np.array([8, *rng.integers(1, 3, 2)]))
    ranks = np.repeat(beyond.size, beyond.count)

    def cost(u):
        sums = np.add.reduceat(np.minimum(fitted, u), [0, 1, 4])
        return ((sums - noisy) ** 2).sum() + (ranks[: max(0, len(ranks) - (total - u))] ** 2).sum()

    most = int(fitted[-1])
    least = min(most, total - int((ranks > 0).sum()))
    found = groups_below(fitted, noisy, beyond, total, widths)
    assert cost(found) == min(cost(u) for u in range(least, most + 1))


@pytest.mark.parametrize("seed", range(10))
def test_the_chain_equals_enumeration(seed):
    """A sum weighs as n times its middle count, less what the prior expects the sum to differ from that."""
    rng = np.random.default_rng(seed)
    total, view, scale = 5, Split(4, widths=(1, 3)), 2
    y = np.concatenate([rng.integers(-2, 6, 1), rng.integers(0, 16, 1), np.sort(rng.integers(-1, 4, total))])
    by_size = np.array([y[0], 0, y[1], 0, *y[2:]])
    evidence = Evidence(view, by_size, len(by_size), DoubleGeometric(Fraction(scale)), total, total, 7)
    mu, shape = rng.uniform(0.2, 2, 7), np.full(7, 5.0)
    centre = np.linspace(0, total, 7)
    found = evidence.marginals(centre, np.full(7, 99.0), mu, shape, 1e-9)
    mass = np.zeros((7, total + 1))
    expected = np.cumsum(found.prior_mean)
    offset = int(np.rint(expected[1:4].sum() - 3 * expected[2]))
    for ends in combinations_with_replacement(range(total + 1), 6):
        c = np.array([*ends, total])
        sizes = np.repeat(np.arange(7), np.diff(c, prepend=0))
        loss = abs(y[0] - c[0]) + abs(y[1] - offset - 3 * c[2]) + np.abs(y[2:] - np.maximum(sizes - 4, 0)).sum()
        weight = np.exp(-loss / scale) * np.prod(_masses(np.diff(c, prepend=0), found.prior_mean, found.shape))
        mass[np.arange(7), c] += weight
    mass /= mass.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mean, mass @ np.arange(total + 1), atol=1e-9)


def test_sums_of_one_size_are_cumulative_counts():
    truth = _truth()
    alone, added = Split(5), Split(5, widths=(1,) * 5)
    plain, sums = (Geometric(view, 1).measure(truth, Seeded("same")) for view in (alone, added))
    assert all(np.array_equal(*rows) for rows in zip(plain.values, sums.values, strict=True))
    for method in (NoConsistency(IsotonicFit(cumulative_norm=2)), Matching(IsotonicFit(cumulative_norm=2))):
        first, second = (method.apply(noisy).estimate for noisy in (plain, sums))
        assert (first.as_counts == second.as_counts).all()
    first, second = (Posterior(integer=False, intervals=False).apply(noisy).estimate for noisy in (plain, sums))
    np.testing.assert_allclose(first.values, second.values, atol=1e-3)


@pytest.mark.slow
def test_sums_are_nearer_where_groups_are_few_beside_the_noise():
    truth = _truth(groups=2_000, largest=200)
    widths = (1,) * 6 + (3,) * 6 + (5,) * 6 + (9,) * 4
    for method in (BottomUp(), Posterior(intervals=False)):
        errors = [
            np.mean([_error(truth, view, method, seed) for seed in range(2)])
            for view in (Split(sum(widths)), Split(sum(widths), widths=widths))
        ]
        assert errors[1] < 0.9 * errors[0], method


def test_the_band_holds_the_truth():
    truth = _truth()
    noisy = Geometric(WIDE, 1).measure(truth, Seeded("band"))
    found = band(noisy, level="99/100")
    for region in range(3):
        cumulative_counts = truth.row(region).cumsum()
        assert (found.lower[region] <= cumulative_counts).all()
        assert (cumulative_counts <= found.upper[region]).all()
    assert found.upper[1, 1] < 200  # the first size of the sum, from above
    assert found.lower[1, 3] > found.lower[1, 0]  # the last one, from below


def test_what_knows_no_sums_says_so():
    noisy = Geometric(WIDE, 1).measure(_truth(), Seeded("no"))
    assert "sums" in str(TwoStage().supports(noisy))
    assert "sums" in str(Posterior(learning=2).supports(noisy))
    with pytest.raises(ProblemError, match="sums"):
        Problem.m_c(noisy)
    with pytest.raises(ProblemError, match="sums"):
        next(Posterior().draws(noisy, 1))
    with pytest.raises(ProblemError, match="lower threshold"):
        Geometric(Split(15, widths=(15,)), 1).measure(_truth(), Seeded("no"))
    wrong: list[Any] = [(2, 2), (3,), (1, 3.0), [1, 3]]
    for widths in wrong:
        with pytest.raises(ProblemError, match="odd numbers"):
            Split(4, widths=widths)


def _vector(sizes, view, total=None):
    counts = np.bincount(sizes, minlength=7)
    return vector(counts, view, total)


def _masses(x, mu, shape):
    out = []
    for n, m, a in zip(x.tolist(), mu.tolist(), shape.tolist(), strict=True):
        mass = 1.0
        for k in range(n):
            mass *= (a + k) / (k + 1) * m / (a + m)
        out.append(mass)
    return out


def _truth(groups=200, largest=12):
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(2):
        sizes = np.minimum((rng.pareto(0.8, groups) * 4).astype(int), largest)
        rows.append(np.bincount(sizes, minlength=largest + 1))
    return CountOfCounts(TREE, rows, "power law")


def _error(truth, view, method, seed):
    noisy = Geometric(view, "1/10", shares=(0, 1)).measure(truth, Seeded(f"s{seed}"))
    return metrics.emd(truth, method.apply(noisy).estimate)[1:].mean()
