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


def test_singular_systems_are_solved_on_their_range() -> None:
    """The solution without a part in the kernel, which the pseudo-inverse gives, too."""
    rng = rng_of(2)
    for _ in range(scale(40, 400)):
        n = int(rng.integers(2, 9))
        matrix = random_system(rng, int(rng.integers(1, n)), n)
        right = matrix @ rng.normal(size=n)
        found = conjugate_gradients(operators(matrix, np.eye(n)), right, 1e-13, 20 * n)
        np.testing.assert_allclose(found, np.linalg.pinv(matrix, rcond=1e-9) @ right, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(matrix @ found, right, atol=1e-8)


def test_a_direction_in_the_kernel_ends_it() -> None:
    nothing = operators(np.zeros((2, 2)), np.eye(2))
    assert (conjugate_gradients(nothing, np.ones(2), 1e-9, 10) == 0.0).all()


def test_it_ends_after_as_many_steps_as_there_are_eigenvalues_or_as_are_allowed() -> None:
    """Two eigenvalues need two steps; stopped after one, x still ascends."""
    rng, counted = rng_of(3), []
    values, right = np.array([1.0, 1.0, 4.0, 4.0]), rng.normal(size=4)

    def curvature(x: np.ndarray) -> np.ndarray:
        counted.append(1)
        return values * x

    system = Operators(curvature, lambda rest: rest)
    exact = conjugate_gradients(system, right, 1e-12, 50)
    assert len(counted) == 2
    np.testing.assert_allclose(exact, right / values)
    for reduction, most in ((1e-12, 1), (0.9, 50)):
        counted.clear()
        early = conjugate_gradients(system, right, reduction, most)
        assert len(counted) == 1
        assert right @ early > 0
        assert not np.allclose(early, exact)


def piecewise(t: float) -> tuple[float, float]:
    """A concave D: slope 1 up to 1/4, then -15."""
    return (t, 1.0) if t < 0.25 else (0.25 - 15.0 * (t - 0.25), -15.0)


def test_a_step_that_overshoots_is_shortened_by_the_secant() -> None:
    """From 1 the secant goes to 1/16, within limits to a tenth."""
    assert line_search(piecewise, 0.0, 1.0, 10) == LineStep(0.1, True)
    assert line_search(lambda t: (0.5 * t, 0.5), 0.0, 1.0, 10) == LineStep(1.0, True)


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


def test_a_little_may_be_overshot_where_slopes_alone_decide() -> None:
    for end, longest, enough in ((1e-4, 0.7, False), (-0.1, 1.0, True)):
        found = line_search(lambda t: (np.nan, 1.0 - 1.05 * t), np.nan, 1.0, 1, end=end, longest=longest)
        assert found == LineStep(1.0, enough)


def test_no_length_is_enough_where_d_only_falls() -> None:
    """After so many trials."""
    assert line_search(lambda t: (-t, -1.0), 0.0, 1.0, 3) == LineStep(0.25, False)


def test_a_step_along_a_straight_dual_is_lengthened_until_it_bends() -> None:
    """D rises by 5 per unit as far as 100, then bends down to its maximum at 105."""

    def look(t: float) -> tuple[float, float]:
        beyond = max(0.0, t - 100.0)
        return 5.0 * t - 0.5 * beyond**2, 5.0 - beyond

    assert line_search(look, 0.0, 5.0, 40) == LineStep(1.0, True)
    assert 8.0 < line_search(look, 0.0, 5.0, 40, straight=0.9).length <= 105.0


def test_a_step_that_was_shortened_is_not_lengthened_again() -> None:
    """The kink lies where no power of eight meets it: from 64, beyond it, the step comes back before 8 and ends."""

    def look(t: float) -> tuple[float, float]:
        return (t, 1.0) if t < 9.0 else (9.0 - 50.0 * (t - 9.0), -50.0)

    assert line_search(look, 0.0, 1.0, 40, straight=0.9).is_enough
