"""Integer pool-adjacent-violators against the min-max formula in fractions."""

import naive
import numpy as np
import pytest
from instances import scale

from pgsr import PgsrError
from pgsr.algorithms import Optimum, isotonic_l1, isotonic_l2
from pgsr.algorithms.isotonic import isotonic_l2_runs


def fit(y, lower=-(10**6), upper=10**6):
    return isotonic_l2(np.array([y]), np.array([lower]), np.array([upper]))[0].tolist()


def test_worked_examples():
    assert fit([0, 3, -1, 2, 2, 7, 5, 9]) == [0, 1, 1, 2, 2, 6, 6, 9]
    assert fit([3, 1, 2, 5, 4]) == [2, 2, 2, 4, 4]  # the exact 4.5 rounds to even
    assert fit([3, 1, 4, 6, 2], 0, 4) == [2, 2, 4, 4, 4]


def test_equals_exact_fractions():
    rng = np.random.default_rng(21)
    for _ in range(scale(2_000, 100_000)):
        y = rng.integers(-5, 20, int(rng.integers(1, 9)))
        lower, upper = sorted(rng.integers(-4, 18, 2).tolist())
        exact = [min(max(value, lower), upper) for value in naive.isotonic_l2(y)]
        assert fit(y, lower, upper) == [round(value) for value in exact]


def test_equals_brute_force():
    """Rounding the exact fit is optimal among integers."""
    rng = np.random.default_rng(22)
    grid = np.stack(np.meshgrid(*[np.arange(-3, 5)] * 4, indexing="ij"), -1).reshape(-1, 4)
    monotone = grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]
    for _ in range(scale(1_000, 20_000)):
        y = rng.integers(-3, 5, 4)
        best = ((monotone - y) ** 2).sum(axis=1).min()
        assert ((np.array(fit(y)) - y) ** 2).sum() == best


def test_values_that_could_overflow_are_refused():
    with pytest.raises(PgsrError, match="64 bits"):
        fit([2**61, 0])


def test_l1_worked_examples():
    y = np.array([3, 1, 2, 5, 4])
    assert isotonic_l1(y, -9, 9).tolist() == [1, 1, 2, 4, 4]
    assert isotonic_l1(y, -9, 9, Optimum.LARGEST).tolist() == [2, 2, 2, 5, 5]
    assert isotonic_l1(y, -9, 9, Optimum.MIDPOINT).tolist() == [1.5, 1.5, 2, 4.5, 4.5]
    assert isotonic_l1(np.array([3, 1, 4, 6, 2]), 0, 4).tolist() == [1, 1, 4, 4, 4]


def test_l1_equals_brute_force():
    """Of all monotone integer vectors within the bounds, the optima have a smallest and a largest one: these."""
    rng = np.random.default_rng(23)
    grid = np.stack(np.meshgrid(*[np.arange(-3, 5)] * 4, indexing="ij"), -1).reshape(-1, 4)
    monotone = grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]
    for _ in range(scale(1_000, 20_000)):
        y = rng.integers(-3, 5, 4)
        lower, upper = sorted(rng.integers(-3, 5, 2).tolist())
        inside = monotone[(monotone[:, 0] >= lower) & (monotone[:, -1] <= upper)]
        costs = np.abs(inside - y).sum(axis=1)
        small, large = (isotonic_l1(y, lower, upper, kind) for kind in (Optimum.SMALLEST, Optimum.LARGEST))
        middle = isotonic_l1(y, lower, upper, Optimum.MIDPOINT)
        for fit_ in (small, large, middle):
            assert np.abs(fit_ - y).sum() == costs.min()
            assert (np.diff(fit_) >= 0).all()
        unbounded = monotone[np.abs(monotone - y).sum(axis=1) == np.abs(monotone - y).sum(axis=1).min()]
        assert isotonic_l1(y, -9, 9).tolist() == unbounded.min(axis=0).tolist()
        assert isotonic_l1(y, -9, 9, Optimum.LARGEST).tolist() == unbounded.max(axis=0).tolist()


def test_runs_equal_the_rows():
    rng = np.random.default_rng(24)
    for _ in range(scale(500, 20_000)):
        y = rng.integers(-9, 40, int(rng.integers(1, 60)))
        value, count = isotonic_l2_runs(y, 0, 30)
        assert np.repeat(value, count).tolist() == fit(y, 0, 30)
    long = np.sort(rng.integers(0, 1000, 10_000)) + rng.integers(-9, 10, 10_000)
    assert np.repeat(*isotonic_l2_runs(long, 0, 1000)).tolist() == fit(long, 0, 1000)
    with pytest.raises(PgsrError, match="64 bits"):
        isotonic_l2_runs(np.full(4, 2**60), 0, 1)
