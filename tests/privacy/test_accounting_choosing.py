"""The law of every level: who wins at which budget, and that the budget is kept."""

from fractions import Fraction

import pytest

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho, best_noise
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.law_choice import variance_of
from pgsr.privacy.laws import GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity

ONE, TWO, WIDE = Sensitivity(((1,),)), Sensitivity(((1, 1),)), Sensitivity(((3, 3),))


def test_pure_budgets_buy_geometric_noise() -> None:
    found = best_noise(PureEpsilon("1/2"), [ONE, TWO, ONE], ["1/4", 0, "3/4"])
    assert found == (GeometricNoise(Fraction(1, 8)), None, GeometricNoise(Fraction(3, 8)))


def test_geometric_noise_wins_from_this_rho_on() -> None:
    """Between 2.12 and 2.13 for every cell that changes by one; earlier where one changes by two."""
    by_two = Sensitivity(((2,),))
    for sensitivity, below, above in ((ONE, "2.12", "2.13"), (TWO, "4.24", "4.26"), (by_two, "1.79", "1.8")):
        laws = [type(best_noise(Rho(rho), [sensitivity])[0]) for rho in ("0.1", below, above, "5", "60")]
        assert laws == [GaussianNoise, GaussianNoise, GeometricNoise, GeometricNoise, GeometricNoise]


@pytest.mark.parametrize(("sensitivity", "last"), [(TWO, 6), pytest.param(ONE, 13, marks=pytest.mark.full)])
def test_pure_epsilon_is_better_up_to_so_many_levels(sensitivity, last) -> None:
    """At (epsilon 1, delta 1e-8) split equally."""
    for n_levels, law in ((1, GeometricNoise), (last, GeometricNoise), (last + 1, GaussianNoise)):
        found = best_noise(Approximate(1, "1e-8"), [sensitivity] * n_levels)
        assert {type(noise) for noise in found} == {law}
        assert len(set(found)) == 1
        assert composed(found, [sensitivity] * n_levels).within(Approximate(1, "1e-8"))


def test_a_delta_never_makes_noise_larger() -> None:
    """Not even the share of epsilon that is no short decimal number."""
    for sensitivities, shares in (([ONE] * 3, None), ([TWO, WIDE], ["1/3", "2/3"])):
        pure = best_noise(PureEpsilon(1), sensitivities, shares)
        found = best_noise(Approximate(1, "1e-9"), sensitivities, shares)
        for one, other, sensitivity in zip(found, pure, sensitivities, strict=True):
            assert one is not None
            assert other is not None
            assert variance_of(one, sensitivity) <= variance_of(other, sensitivity)


def test_levels_may_differ_in_their_law() -> None:
    """A level with next to no share gets Gaussian noise at the price in rho, one with much rho geometric noise."""
    found = best_noise(Rho(4), [ONE, ONE], ["1/10", "9/10"])
    assert [type(noise) for noise in found] == [GaussianNoise, GeometricNoise]
    mixed = best_noise(Approximate(12, "1/1000"), [ONE, ONE, ONE], ["1/20", "1/20", "9/10"])
    assert composed(mixed, [ONE] * 3).within(Approximate(12, "1/1000"))
