"""The loss of vectors of which several changes are possible, against enumerated outputs of all of them."""

from fractions import Fraction
from itertools import accumulate, product

import enumerated_losses as slow
import pytest
from mpmath import mp, mpf

from pgsr import View
from pgsr.privacy import Unit
from pgsr.privacy.accounting import Approximate, best_noise
from pgsr.privacy.accounting.loss_of_noise import largest_changes, loss_of_cells, loss_of_vector
from pgsr.privacy.accounting.zcdp import Conversion, rho_of
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import sensitivity_of


def changes_at_most(change: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All of them by the definition: for every n, the n largest entries add up to no more than those of `change`."""
    total, found = sum(change), []
    most = [*accumulate(change), *[total] * (total - len(change))]
    for sizes in product(range(change[0] + 1), repeat=total):
        ordered = tuple(sorted(sizes, reverse=True))
        if sizes == ordered and all(a <= b for a, b in zip(accumulate(sizes), most, strict=True)):
            found.append(tuple(k for k in sizes if k))
    return found


@pytest.mark.parametrize("change", [(1, 1), (2,), (2, 2), (2, 1, 1), (3,), (3, 1), (3, 3), (4, 2), (2, 2, 2)])
def test_every_change_is_cell_by_cell_at_most_a_largest_one(change) -> None:
    largest, possible = largest_changes(change), changes_at_most(change)
    assert largest is not None
    assert sorted(largest) == sorted(c for c in possible if sum(c) == sum(change))
    for small in possible:
        assert any(
            len(small) <= len(large) and all(a <= b for a, b in zip(small, large, strict=False)) for large in largest
        )


@pytest.mark.few(2)
@pytest.mark.parametrize("sigma_squared", ["2", "15/2"])
@pytest.mark.parametrize("change", [(2,), (3,), (2, 2), (2, 1, 1)])
def test_deltas_are_the_largest_over_all_changes(change, sigma_squared) -> None:
    law = DiscreteGaussian(Fraction(sigma_squared))
    with mp.workdps(40):
        every = [slow.together(slow.losses(law, k, mpf("1e-25")) for k in one) for one in changes_at_most(change)]
        found = loss_of_vector(law, change, 128)
        for epsilon in (Fraction(0), Fraction(1, 7), Fraction(1), Fraction(31, 9), Fraction(8)):
            exact = max(slow.delta(losses, epsilon) for losses in every)
            stated = slow._real(found.delta(epsilon))
            assert exact * (1 - mpf("1e-20")) - mpf("1e-24") <= stated <= exact * (1 + mpf("1e-9")) + mpf("1e-24")


@pytest.mark.slow
def test_levels_compose_whichever_change_each_has() -> None:
    """Two levels, of which each may change in any way: the stated delta is at least that of every combination."""
    laws = {DiscreteGaussian(Fraction(3)): (2,), DiscreteGaussian(Fraction(5, 3)): (2, 1)}
    with mp.workdps(40):
        found = loss_of_cells(dict.fromkeys(laws.items(), 1), 128)
        parts = [
            [slow.together(slow.losses(law, k, mpf("1e-20")) for k in one) for one in changes_at_most(change)]
            for law, change in laws.items()
        ]
        for epsilon in (Fraction(0), Fraction(2, 3), Fraction(3)):
            exact = max(slow.delta(slow.together(pair), epsilon) for pair in product(*parts))
            stated = slow._real(found.delta(epsilon))
            assert exact * (1 - mpf("1e-15")) <= stated <= exact * (1 + mpf("1e-4"))


def test_wide_noise_stays_tight() -> None:
    """The largest change is the worst here, so that its own loss tells how much the comparison adds."""
    law, delta = DiscreteGaussian(Fraction(10_000)), Fraction(1, 10**8)
    compared = loss_of_cells({(law, (3, 3)): 4}, 120).epsilon(delta)
    alone = loss_of_cells({(law, 3): 8}, 120).epsilon(delta)
    assert compared is not None
    assert alone is not None
    assert alone * Fraction(9999, 10000) <= compared <= alone * Fraction(10002, 10000)


def test_larger_changes_get_a_tenth_more_rho() -> None:
    """Compared with the conversion of rho, which holds for any mechanism: the number in docs/publish/privacy.md."""
    sensitivity = sensitivity_of(View.COUNTS, Unit.entity_in_groups(2), max_size=20)
    noise = best_noise(Approximate(1, "1e-8"), [sensitivity] * 3, laws="gaussian")[0]
    assert isinstance(noise, GaussianNoise)
    assert 1.11 < noise.rho / (rho_of(1, "1e-8", Conversion.TIGHT) / 3) < 1.13
