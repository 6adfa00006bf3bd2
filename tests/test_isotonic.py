"""Integer pool-adjacent-violators against the min-max formula in fractions."""

import naive
import numpy as np
import pytest
from instances import scale

from pgsr import PgsrError
from pgsr.algorithms import isotonic_l2


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
