"""The distribution of privacy losses, against enumerated outputs."""

from fractions import Fraction

import enumerated_losses as slow
import pytest
from mpmath import mp, mpf

from pgsr.privacy.accounting import loss_distribution
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.loss_of_noise import loss_of_cell, loss_of_cells
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity


@pytest.mark.parametrize("change", [1, 2, 3, 5])
@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(5, 2)), DiscreteGaussian(Fraction(7, 3))], ids=str)
def test_larger_changes_of_one_cell(law, change) -> None:
    with mp.workdps(40):
        found = slow.losses(law, change)
        high, low = (loss_of_cell(law, change, 128, above) for above in (True, False))
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(6, 5), Fraction(2)):
            exact = slow.delta(found, epsilon)
            assert (
                slow._real(low.delta(epsilon)) <= exact + mpf("1e-39") <= slow._real(high.delta(epsilon)) + mpf("1e-38")
            )
            assert high.delta(epsilon) - low.delta(epsilon) <= Fraction(1, 10**12)


def test_wide_noise_is_put_on_longer_steps_and_stays_tight() -> None:
    """Sigma of 1,000 on ten levels; and three laws whose losses have no short common step."""
    wide = {(DiscreteGaussian(Fraction(10**6)), 1): 10}
    unequal = {(DiscreteGaussian(Fraction(p, 7)), 1): 2 for p in (101, 211, 307)} | {
        (DoubleGeometric(Fraction(5)), 1): 4
    }
    for cells in (wide, unequal):
        high, low = (loss_of_cells(cells, 100, above) for above in (True, False))
        assert len(high.chances) <= 3 * loss_distribution.MOST_LOSSES
        epsilons = [bound.epsilon(Fraction(1, 10**8)) for bound in (low, high)]
        assert epsilons[0] is not None
        assert epsilons[1] is not None
        assert epsilons[0] <= epsilons[1] <= epsilons[0] * Fraction(1005, 1000)


def test_a_longer_step_costs_little() -> None:
    """The error is of second order in the step: a quarter of it for half the step."""
    found = loss_of_cells({(DiscreteGaussian(Fraction(400)), 1): 4}, 128)
    exact = found.delta(Fraction(1, 2))
    errors = [found.on(found.step * k).delta(Fraction(1, 2)) - exact for k in (8, 16)]
    assert 0 < errors[0] < errors[1] / 3
    assert errors[0] < exact / 5


def test_a_certain_difference_has_no_epsilon() -> None:
    found = loss_of_cells({(DiscreteGaussian(Fraction(1, 20)), 1): 1}, 80)
    assert found.beyond > 0
    assert found.epsilon(Fraction(1, 10**40)) is None


def test_very_wide_noise_goes_by_rho() -> None:
    total = composed([GaussianNoise(Fraction(1, 2**22))], [Sensitivity(((1,),))])
    assert total.cells is None
    assert total.within(total.approximate("1e-8"))
