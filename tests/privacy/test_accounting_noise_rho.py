"""The rho of both laws, exactly, and its inverse; printed variances at equal rho."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import accounting_checks as checks
import pytest

from pgsr.privacy.accounting.noise_rho import geometric_of_rho, rho_of_law, rho_of_noise, rho_of_pure
from pgsr.privacy.accounting.search import decimal_down, largest
from pgsr.privacy.laws import DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity

ONE = Sensitivity(((1,),))


@pytest.mark.slow
def test_likelihoods_keep_every_budget(counted: Callable[[int, str], None]) -> None:
    """Neighbours of every unit, and both laws."""
    n_pairs = checks.likelihoods_keep_every_budget()
    assert n_pairs >= 100_000
    counted(n_pairs, "pairs of neighbours and outputs")


@pytest.mark.parametrize(
    ("rho", "crude", "tight", "gaussian"),
    [
        ("0.01", 99.83, 99.67, 50.00),
        ("0.1", 9.84, 9.67, 5.00),
        ("0.5", 1.841, 1.678, 1.000),
        ("1", 0.849, 0.691, 0.499),
        ("2.56", 0.259, 0.128, 0.134),
        ("5", 0.092, 0.0128, 0.0133),
    ],
)
def test_variances_at_equal_rho(rho, crude, tight, gaussian) -> None:
    """One cell that changes by one; epsilon = sqrt(2 rho) is what the general bound epsilon^2 / 2 would allow."""
    general = GeometricNoise(Fraction(float(2 * Fraction(rho)) ** 0.5))
    for noise, known in (
        (general, crude),
        (geometric_of_rho(Fraction(rho), ONE), tight),
        (GaussianNoise(Fraction(rho)), gaussian),
    ):
        assert noise.law(ONE).variance == pytest.approx(known, rel=0.01)
    assert rho_of_noise(general, ONE) < Fraction(rho)


def test_any_pure_mechanism_costs_less_than_the_general_bound() -> None:
    for epsilon in (Fraction(1, 10**4), Fraction(1, 3), Fraction(4), Fraction(300)):
        assert rho_of_pure(epsilon) <= min(epsilon, epsilon**2 / 2)
    assert rho_of_pure(Fraction(0)) == 0


def test_tiny_and_huge_amounts() -> None:
    """Where exp(-epsilon) is nearly 1 or 0: epsilon^2 / 2 and epsilon, with many digits."""
    tiny, huge = Fraction(1, 10**9), Fraction(10**6)
    assert 0 < tiny**2 / 2 - rho_of_pure(tiny) < tiny**4
    assert 0 <= rho_of_pure(huge) - huge < Fraction(1, 10**15)
    assert rho_of_law(DoubleGeometric(Fraction(131_072)), [20_000]) < Fraction(20_000, 131_072) ** 2 / 2


def test_the_largest_decimal() -> None:
    for bound, digits in ((Fraction(2, 3), 3), (Fraction(10), 2), (Fraction(999_999_999, 10**9), 4), (Fraction(7), 12)):
        for start in (bound / 1000, bound, bound * 50):
            assert largest(bound.__ge__, start, digits) == decimal_down(bound, digits) <= bound


@pytest.mark.parametrize("x", [Fraction(2, 3), Fraction(10**9), Fraction(1, 999), Fraction(999, 1000), Fraction(1)])
def test_decimals_are_rounded_down(x) -> None:
    for digits in (1, 3, 8):
        found = decimal_down(x, digits)
        assert found <= x < found * (1 + Fraction(10, 10**digits))
        assert len((Decimal(found.numerator) / Decimal(found.denominator)).normalize().as_tuple().digits) <= digits
