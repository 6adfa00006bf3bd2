"""The conversions between rho-zCDP and (epsilon, delta), against many digits and printed numbers."""

import math
from fractions import Fraction

import pytest
from instances import privacy_amounts, rng_of, scale
from many_digits import precise, real  # noqa: F401
from mpmath import mp, mpf
from scipy.stats import norm

from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of, rho_of
from pgsr.privacy.enclosure import log_bounds, root_above, root_below, rounded_down

pytestmark = pytest.mark.usefixtures("precise")


def test_enclosures_hold_and_are_narrow() -> None:
    rng = rng_of(72)
    for _ in range(scale(300, 20_000)):
        x = Fraction(int(rng.integers(1, 10**18)), int(rng.integers(1, 10**18))) * Fraction(2) ** int(
            rng.integers(-99, 99)
        )
        for low, value, high in (
            (log_bounds(x)[0], mp.log(real(x)), log_bounds(x)[1]),
            (root_below(x), mp.sqrt(real(x)), root_above(x)),
        ):
            assert real(low) <= value <= real(high)
            assert high - low < Fraction(1, 2**180)
        assert 0 <= x - rounded_down(x) < x / 2**78
        assert 0 <= -x - rounded_down(-x) < x / 2**78
        kept = rounded_down(x).numerator
        assert (kept // (kept & -kept)).bit_length() <= 82
    assert log_bounds(Fraction(1))[0] <= 0 <= log_bounds(Fraction(1))[1]


def test_closed_form_is_rounded_to_the_safe_side() -> None:
    for epsilon, delta in privacy_amounts(scale(100, 5_000)):
        log = mp.log(1 / real(delta))
        rho, largest = real(rho_of(epsilon, delta)), (mp.sqrt(log + real(epsilon)) - mp.sqrt(log)) ** 2
        assert 0 <= largest - rho < largest * mpf("1e-20")
        back, least = real(epsilon_of(rho_of(epsilon, delta), delta)), rho + 2 * mp.sqrt(rho * log)
        assert 0 <= back - least < least * mpf("1e-20")


def delta_of(rho: mpf, epsilon: mpf, x: mpf) -> mpf:
    """Compute ln delta of corollary 13 at a = 1 + exp(x)."""
    a = 1 + mp.exp(x)
    return (a - 1) * (a * rho - epsilon) + a * mp.log(1 - 1 / a) - mp.log(a - 1)


def least_delta(rho: mpf, epsilon: mpf) -> mpf:
    """Find the least delta by golden section in mpmath, from the best of a grid."""
    x = min(mp.linspace(-15, 50, 261), key=lambda x: delta_of(rho, epsilon, x))
    low, high, golden = x - 0.25, x + 0.25, (mp.sqrt(5) - 1) / 2
    for _ in range(100):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if delta_of(rho, epsilon, a) < delta_of(rho, epsilon, b) else (a, high)
    return delta_of(rho, epsilon, (low + high) / 2)


def test_tight_conversion_meets_its_corollary_and_no_more() -> None:
    for epsilon, delta in privacy_amounts(scale(12, 500)):
        rho = rho_of(epsilon, delta, Conversion.TIGHT)
        assert rho >= rho_of(epsilon, delta)
        assert least_delta(real(rho), real(epsilon)) <= mp.log(real(delta)) + mpf("1e-30")
        assert least_delta(real(rho) * (1 + mpf("1e-13")), real(epsilon)) > mp.log(real(delta))
        back = epsilon_of(rho, delta, Conversion.TIGHT)
        # rho is exact to 1e-13 of itself, and where epsilon is small it changes by several times as much as rho does.
        assert abs(back - epsilon) <= epsilon / 10**12


@pytest.mark.parametrize("conversion", Conversion)
def test_gaussian_noise_of_this_rho_is_private(conversion: Conversion) -> None:
    """The delta of Gaussian noise is known exactly (Balle & Wang 2018), and rho-zCDP must not promise less."""
    for epsilon, delta in (("0.1", "1e-8"), ("1", "1e-8"), ("1", "1e-3"), ("10", "1e-10"), ("30", "1e-2")):
        mu = math.sqrt(2 * rho_of(epsilon, delta, conversion))
        e = float(epsilon)
        truth = norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu)
        assert truth <= float(delta)


@pytest.mark.parametrize(
    ("n", "epsilon", "rho"),
    [
        (10**4, "0.1", "0.00013535"),
        (10**4, "0.25", "0.00084252"),
        (10**4, "0.5", "0.00334764"),
        (10**4, "1", "0.01321536"),
        (10**5, "0.1", "0.00010834"),
        (10**5, "0.25", "0.00067493"),
        (10**5, "0.5", "0.00268526"),
        (10**5, "1", "0.01062781"),
    ],
)
def test_printed_conversions(n: int, epsilon: str, rho: str) -> None:
    """Worked example E15."""
    delta = Fraction(1, n**2)
    assert abs(rho_of(epsilon, delta) - Fraction(rho)) <= Fraction(1, 2 * 10**8)
    assert Fraction(6, 5) <= rho_of(epsilon, delta, Conversion.TIGHT) / rho_of(epsilon, delta) <= Fraction(8, 5)
