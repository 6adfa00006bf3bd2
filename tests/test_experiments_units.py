"""What to measure when groups are hidden: variances against dense linear algebra, and releases that are valid."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from pgsr.datasets import census_like
from pgsr.experiments.benchmarks import household_views
from pgsr.experiments.benchmarks.household_views import Budget, measured
from pgsr.experiments.benchmarks.prefix_sums import (
    ADD_REMOVE,
    REPLACE,
    coefficients,
    counts,
    least_mean_variance,
    normalised_square_root,
    square_root,
    strategies,
    tree,
    variance_rows,
)
from pgsr.experiments.benchmarks.size_tree import SizeTree

SIZES = (1, 2, 5, 10, 30)


def matrices(max_size: int) -> dict[str, np.ndarray]:
    """The strategies as matrices, from their definitions; groups come and go, so trees have their top."""
    n = max_size + 1
    root = np.array([[comb(2 * (i - j), i - j) / 4 ** (i - j) if i >= j else 0 for j in range(n)] for i in range(n)])
    found = {"counts": np.eye(n), "square root": root, "normalised square root": root / np.linalg.norm(root, axis=0)}
    for branching in (2, 4, 16):
        rows = SizeTree(max_size, branching).of(np.eye(n)).T
        found[f"tree, branching {branching}"] = np.vstack([rows, np.ones(n)])
    return found


@pytest.mark.parametrize("max_size", SIZES)
def test_variances_against_dense_least_squares(max_size: int) -> None:
    """By pseudo-inverse; with a public number of groups, the variance of sums under the condition on it."""
    n = max_size + 1
    triangle, dense = np.tril(np.ones((n, n))), matrices(max_size)
    for strategy in strategies(max_size):
        a = dense[strategy.name]
        covariance = triangle @ np.linalg.inv(a.T @ a) @ triangle.T
        assert np.allclose(np.diag(covariance), strategy.variances[ADD_REMOVE])
        assert np.isclose((a**2).sum(axis=0).max(), strategy.l2_squared[ADD_REMOVE])
        if strategy.name.startswith("tree"):
            a = a[:-1]
            covariance = triangle @ np.linalg.inv(a.T @ a) @ triangle.T
        known = np.diag(covariance) - covariance[:, -1] ** 2 / covariance[-1, -1]
        assert np.allclose(known, strategy.variances[REPLACE], atol=1e-9)
        columns = [(a[:, i] - a[:, j]) for i, j in combinations(range(n), 2)]
        assert np.isclose(max(column @ column for column in columns), strategy.l2_squared[REPLACE])
        if strategy.l1[REPLACE] is not None:
            assert max(np.abs(column).sum() for column in columns) == strategy.l1[REPLACE]
            assert np.abs(dense[strategy.name]).sum(axis=0).max() == strategy.l1[ADD_REMOVE]


def test_the_square_root_is_one() -> None:
    f = coefficients(12)
    root = np.array([[f[i - j] if i >= j else 0 for j in range(12)] for i in range(12)])
    assert np.allclose(root @ root, np.tril(np.ones((12, 12))))


@pytest.mark.parametrize("max_size", [2, 10, 60])
def test_no_strategy_is_below_the_bound(max_size: int) -> None:
    """Every strategy, scaled to columns of length 1, has a larger mean than the bound; the best are within 3 %."""
    least = least_mean_variance(max_size)
    means = {strategy.name: strategy.gaussian(ADD_REMOVE).mean() for strategy in strategies(max_size)}
    assert all(mean > least for mean in means.values())
    assert means["normalised square root"] < 1.04 * least
    assert least_mean_variance(max_size, steps=2) <= least


def test_the_bound_is_reached_by_the_best_strategy_of_two_sizes() -> None:
    """For K = 1, over all pairs of columns of length 1, which an angle describes."""
    angles = np.linspace(0.01, np.pi - 0.01, 20_001)
    means = []
    for angle in angles:
        gram = np.array([[1, np.cos(angle)], [np.cos(angle), 1]])
        triangle = np.array([[1, 0], [1, 1]])
        means.append(np.trace(triangle @ np.linalg.inv(gram) @ triangle.T) / 2)
    assert least_mean_variance(1, steps=60) == pytest.approx(min(means), rel=1e-6)


def test_the_order_that_docs_state() -> None:
    """At K = 100 the square roots are best, the tree next, counts far behind; at K = 10 they are near each other."""
    means = {row["measured"]: row["rho 1/2: mean"] for row in variance_rows(100, ADD_REMOVE)}
    assert means["normalised square root"] < means["square root"] < means["tree, branching 2"] < means["counts"] / 6
    assert counts(10).gaussian(REPLACE).mean() < tree(10, 2).gaussian(REPLACE).mean()
    assert square_root(100).geometric(REPLACE) is None
    assert normalised_square_root(100).geometric(ADD_REMOVE) is None


@pytest.mark.parametrize("budget", [Budget("rho", 2), Budget("epsilon", 2)], ids=str)
def test_releases(budget: Budget) -> None:
    """Every way gives an error per level; a large budget leaves next to none."""
    truth = census_like("states", 12, 20_000)
    errors = dict(measured(truth, budget, seed=0))
    exact = dict(measured(truth, Budget(budget.kind, 200), seed=0))
    assert len(errors) >= 8
    for way, by_level in errors.items():
        assert len(by_level) == 2
        assert all(0 < error < truth.totals.mean() for error in by_level)
        assert max(exact[way]) < 2, way


def test_noise_is_what_the_budget_says() -> None:
    """Variances of the drawn noise, for both kinds of budgets."""
    truth = census_like("states", 12, 20_000)
    change = SizeTree(12).sensitivity(household_views.Unit.GROUP, REPLACE)
    for budget in (Budget("rho", 0.5), Budget("epsilon", 0.5)):
        noise = household_views._Noise(truth, budget, np.random.default_rng(1))
        drawn = noise.added(np.zeros((200, 1_000)), change)
        assert drawn.var() == pytest.approx(noise.variance(change), rel=0.03)
    assert household_views._Noise(truth, Budget("rho", 0.5), np.random.default_rng(1)).variance(change) == 8 / (
        2 * 0.25
    )
