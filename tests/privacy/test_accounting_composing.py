"""The total of the noise of several levels, against enumerated outputs."""

from fractions import Fraction

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of
from pgsr.privacy.laws import GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity

ONE, TWO, WIDE = Sensitivity(((1,),)), Sensitivity(((1, 1),)), Sensitivity(((2, 2),))


def test_pure_noise_has_the_sum_of_epsilons() -> None:
    total = composed([GeometricNoise(Fraction(1, 3)), None, GeometricNoise(Fraction(2, 3))], [ONE, TWO, WIDE])
    assert total.pure == PureEpsilon(1)
    assert total.within(PureEpsilon(1))
    assert not total.within(PureEpsilon("0.999999"))
    assert total.within(Approximate(1, "1e-30"))
    assert total.approximate("1e-30").epsilon <= 1


def test_gaussian_noise_has_no_pure_epsilon() -> None:
    total = composed([GeometricNoise(Fraction(1, 3)), GaussianNoise(Fraction(1, 8))], [ONE, ONE])
    assert total.pure is None
    assert not total.within(PureEpsilon(10**6))
    assert total.within(total.rho)
    assert not total.within(Rho(total.rho.rho * Fraction(999, 1000)))


def test_larger_changes_of_gaussian_noise_cost_less_than_rho_says() -> None:
    """And those of geometric noise count as randomised response."""
    total = composed([GaussianNoise(Fraction(1, 100))] * 2, [WIDE, ONE])
    assert total.approximate("1e-8").epsilon < epsilon_of("1/50", "1e-8", Conversion.TIGHT) * Fraction(95, 100)
    assert total.within(total.approximate("1e-8"))
    assert not total.within(Approximate(total.approximate("1e-8").epsilon * Fraction(99, 100), "1e-8"))
    responses = composed([GeometricNoise(Fraction(1))] * 2, [WIDE] * 2)
    assert responses.cells == composed([GeometricNoise(Fraction(1))] * 2, [ONE] * 2).cells


def test_gaussian_noise_of_very_many_changes_goes_by_rho() -> None:
    """Six groups of an entity may change in 58 ways, of which nobody has proved which one is worst at a delta."""
    total = composed([GaussianNoise(Fraction(1, 100))], [Sensitivity(((6, 6),))])
    assert total.cells is None
    assert total.approximate("1e-8").epsilon == epsilon_of("1/100", "1e-8", Conversion.TIGHT)


def test_the_exact_loss_is_less_than_what_rho_says() -> None:
    total = composed([GaussianNoise(Fraction(1, 1000))] * 20, [TWO] * 20)
    assert total.approximate("1e-8").epsilon < epsilon_of(total.rho.rho, "1e-8", Conversion.TIGHT) * Fraction(96, 100)


def test_nothing_measured_costs_nothing() -> None:
    total = composed([None, None], [ONE, TWO])
    assert (total.pure, total.rho) == (PureEpsilon(0), Rho(0))
    assert total.approximate("1e-8") == Approximate(0, "1e-8")
    assert total.within(Approximate(0, "1e-8"))
