"""Newton's direction and length against dense linear algebra, and a system whose steps are counted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from instances import rng_of, scale

from pgsr.engines.newton import LineStep, conjugate_gradients, line_search


@dataclass(frozen=True)
class Operators:
    """The system of two functions: products with H, and with M^-1."""

    curvature: Callable[[np.ndarray], np.ndarray]
    precondition: Callable[[np.ndarray], np.ndarray]

    def multiply(self, p: np.ndarray, product: np.ndarray) -> float:
        product[:] = self.curvature(p)
        return float(p @ product)

    def advance(self, step: float, p: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray) -> float:
        x += step * p
        rest -= step * product
        product[:] = self.precondition(rest)
        return float(rest @ product)


def random_system(rng: np.random.Generator, rank: int, n: int) -> np.ndarray:
    """A symmetric positive semidefinite matrix of this rank, eigenvalues from 1/2 to 50."""
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :rank]
    return basis * rng.uniform(0.5, 50.0, rank) @ basis.T


def operators(matrix: np.ndarray, inverse: np.ndarray) -> Operators:
    return Operators(lambda x: matrix @ x, lambda rest: inverse @ rest)


def test_equals_numpys_dense_solve_with_any_preconditioner() -> None:
    rng = rng_of(1)
    for _ in range(scale(40, 400)):
        n = int(rng.integers(1, 9))
        matrix, inverse, right = random_system(rng, n, n), random_system(rng, n, n), rng.normal(size=n)
        found = conjugate_gradients(operators(matrix, inverse), right, 1e-13, 20 * n)
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_every_length_that_is_enough_raises_d(seed: int) -> None:
    """On minima of random lines, and none longer: every length tried before missed both rules."""
    rng = rng_of(4, seed)
    for _ in range(scale(50, 500)):
        slopes, heights = np.append(1.0, -(10.0 ** rng.uniform(-3, 4, 4))), np.append(0.0, rng.uniform(0, 1, 4))
        found, tried = line_search_on(slopes, heights)
        assert found == (tried[-1][0], True)
        assert tried[-1][1] >= 1e-4 * found.length - 1e-12
        assert all(value < 1e-4 * t and end < 1e-4 for t, value, end in tried[:-1])


def line_search_on(slopes: np.ndarray, heights: np.ndarray) -> tuple[LineStep, list[tuple[float, float, float]]]:
    """Search on the least of some lines, 0 at 0 and of slope 1 there; the lengths tried, with values and slopes."""
    tried = []

    def look(t: float) -> tuple[float, float]:
        lines = heights + slopes * t
        tried.append((t, float(lines.min()), float(slopes[np.argmin(lines)])))
        return tried[-1][1:]

    return line_search(look, 0.0, 1.0, 60), tried


def test_a_step_along_a_straight_dual_is_lengthened_until_it_bends() -> None:
    """D rises by 5 per unit as far as 100, then bends down to its maximum at 105."""

    def look(t: float) -> tuple[float, float]:
        beyond = max(0.0, t - 100.0)
        return 5.0 * t - 0.5 * beyond**2, 5.0 - beyond

    assert line_search(look, 0.0, 5.0, 40) == LineStep(1.0, True)
    assert 8.0 < line_search(look, 0.0, 5.0, 40, straight=0.9).length <= 105.0
