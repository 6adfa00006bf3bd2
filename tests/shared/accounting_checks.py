"""The conditions of the accounting of noise: functions that raise AssertionError where one does not hold.

Each holds the code against outputs enumerated from the definitions (`enumerated_losses`).
"""

from fractions import Fraction
from itertools import product

import enumerated_losses as slow
import numpy as np
from mpmath import mp, mpf

from pgsr.data.views import View
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho, best_noise, noise_rho
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.loss_of_noise import loss_of_cells
from pgsr.privacy.accounting.noise_rho import geometric_of_rho, rho_of_noise, rho_of_pure
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise, LevelNoise
from pgsr.privacy.sensitivity import Sensitivity
from tests.privacy import test_privacy_sensitivity as small

ORDERS = (1.0001, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0)

BUDGETS: tuple[Loss, ...] = (PureEpsilon(1), PureEpsilon("7/2"), Rho("1/5"), Rho(6), Approximate(2, "1/1000"))

ONE, TWO, WIDE = Sensitivity(((1,),)), Sensitivity(((1, 1),)), Sensitivity(((2, 2),))

MIXED: list[tuple[list[LevelNoise], list[Sensitivity]]] = [
    ([GeometricNoise(Fraction(1))], [ONE]),
    ([GeometricNoise(Fraction(1, 2))] * 4, [TWO] * 4),
    ([GaussianNoise(Fraction(1, 8))] * 3, [ONE] * 3),
    ([GaussianNoise(Fraction(1, 3))] * 2, [TWO] * 2),
    ([GaussianNoise(Fraction(1, 2)), GeometricNoise(Fraction(1))], [ONE, TWO]),
    ([GaussianNoise(Fraction(1, 3)), GeometricNoise(Fraction(1, 2))], [WIDE, ONE]),
    ([GaussianNoise(Fraction(2, 7)), GaussianNoise(Fraction(3, 5)), GeometricNoise(Fraction(5, 7))], [ONE, TWO, ONE]),
]
"""Noise of levels, small enough for all outputs to be enumerated."""


def likelihoods_keep_every_budget() -> int:
    """Every pair of neighbours of small worlds, of every unit, relation and view, and every output of a box.

    For the noise that is chosen for one of two equal levels, the likelihood ratio is held against the level's
    epsilon, the divergences against its rho, and sums of max(0, P - e^epsilon Q) against the stated (epsilon, delta).
    Returns how many pairs of neighbours (told apart by their change) and outputs that are.
    """
    n_pairs = 0
    stated: dict[tuple[Sensitivity, Loss], tuple[LevelNoise, Fraction, Approximate]] = {}
    seen: set[tuple[Sensitivity, Loss, tuple[int, ...]]] = set()
    fewer = (case._replace(max_groups=min(case.max_groups, 3)) for case in small.CASES)
    for case, view in product(fewer, View):
        sensitivity = small.of(view, case)
        for budget in BUDGETS:
            if (sensitivity, budget) not in stated:
                noise = best_noise(budget, [sensitivity] * 2)[0]
                assert noise is not None
                known = composed([noise], [sensitivity]).approximate("1/100")
                stated[sensitivity, budget] = noise, rho_of_noise(noise, sensitivity), known
            noise, rho, known = stated[sensitivity, budget]
            for moved in small.changes(view, case):
                if 1 <= len(moved) <= 3 and (sensitivity, budget, moved) not in seen:
                    seen.add((sensitivity, budget, moved))
                    log_p, loss = slow.grid(noise.law(sensitivity), moved, 2_000)
                    n_pairs += len(loss)
                    _assert_within(log_p, loss, noise, rho, known)
    return n_pairs


def _assert_within(log_p: np.ndarray, loss: np.ndarray, noise: LevelNoise, rho: Fraction, known: Approximate) -> None:
    if isinstance(noise, GeometricNoise):
        assert loss.max() <= float(noise.epsilon) * (1 + 1e-12), "an output tells more than epsilon"
    for order in ORDERS:
        bound = order * (order - 1) * float(rho)
        assert np.logaddexp.reduce(log_p + (order - 1) * loss) <= bound + 1e-9, f"order {order} tells more than rho"
    over = loss > float(known.epsilon)
    delta = (np.exp(log_p[over]) * -np.expm1(float(known.epsilon) - loss[over])).sum()
    assert delta <= float(known.delta) * (1 + 1e-9), "outputs tell more than (epsilon, delta)"


def rho_is_exact_and_rounded_up() -> None:
    """Between the mean of the loss with 60 digits, which no smaller rho covers, and 2^-70 of that more."""
    with mp.workdps(60):
        for scale in (Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(20)):
            law, of_one = DoubleGeometric(scale), mpf(0)
            for k in (1, 2, 3, 7):
                found, stated = slow.losses(law, k), noise_rho.rho_of_law(law, [k])
                mean = slow.divergence(found, mpf(1))
                of_one = mean if k == 1 else of_one
                _assert_just_above(stated, mean)
                for order in map(mpf, ORDERS):
                    assert slow.divergence(found, order) <= order * slow._real(stated)
                _assert_just_above(noise_rho.rho_of_law(law, [k, 1, 1]), mean + 2 * of_one)
            _assert_just_above(rho_of_pure(1 / scale), of_one)
        for variance, k in product((Fraction(1, 3), Fraction(2), Fraction(30)), (1, 2, 5)):
            law = DiscreteGaussian(variance)
            least = sum(slow.divergence(slow.losses(law, i, mpf("1e-50")), mpf(1)) for i in (k, 1))
            _assert_just_above(noise_rho.rho_of_law(law, [k, 1]), least)


def _assert_just_above(stated: Fraction, least: mpf) -> None:
    rho = slow._real(stated)
    assert rho >= least * (1 - mpf("1e-40")), "rho is below what the noise costs"
    assert rho <= least * (1 + mpf(2) ** -70), "rho is above what the noise costs"


def the_largest_epsilon_of_a_rho_fits() -> None:
    for rho, sensitivity in product(
        (Fraction(1, 10**6), Fraction(1, 10), Fraction(3)), (ONE, TWO, Sensitivity(((3,),)))
    ):
        noise = geometric_of_rho(rho, sensitivity)
        more = GeometricNoise(noise.epsilon * (1 + Fraction(1, 10**10)))
        assert rho_of_noise(noise, sensitivity) <= rho < rho_of_noise(more, sensitivity)
        with mp.workdps(50):
            law = noise.law(sensitivity)
            if law.scale < 100:
                cost = sum(slow.divergence(slow.losses(law, k), mpf(1)) for k in sensitivity.changes[0])
                assert cost <= slow._real(rho) <= cost * (1 + mpf("1e-9"))


def deltas_are_exact_and_rounded_up() -> None:
    """Assert of every mixture that the stated epsilon holds the delta, and that hardly less would."""
    with mp.workdps(40):
        for noises, sensitivities in MIXED:
            found = _enumerated(noises, sensitivities)
            total = composed(noises, sensitivities)
            for delta in (Fraction(1, 10), Fraction(1, 10**4), Fraction(1, 10**9)):
                stated = total.approximate(delta).epsilon
                assert slow.delta(found, stated) <= slow._real(delta) * (1 + mpf("1e-15")), "more than delta"
                assert stated < Fraction(1, 10**9) or slow.delta(found, stated * Fraction(9999, 10000)) > slow._real(
                    delta
                ), "epsilon is larger than it has to be"
                assert total.within(Approximate(stated, delta))


def bounds_of_delta_enclose_it() -> None:
    """Assert that both bounds enclose delta, whether losses have a common step or are moved to another one."""
    with mp.workdps(40):
        for place, (noises, sensitivities) in enumerate(MIXED):
            found, cells = _enumerated(noises, sensitivities), dict(composed(noises, sensitivities).cells or ())
            for precision in (40, 128):
                high, low = (loss_of_cells(cells, precision, above) for above in (True, False))
                high_moved, low_moved = (x.on(x.step * Fraction(7, 5)) for x in (high, low))
                for epsilon in (Fraction(0), Fraction(1, 7), Fraction(1), Fraction(13, 4)):
                    exact = slow.delta(found, epsilon)
                    room = mpf("1e-25")
                    assert slow._real(low.delta(epsilon)) <= exact + room
                    assert slow._real(low_moved.delta(epsilon)) <= exact + room
                    assert slow._real(high.delta(epsilon)) >= exact - room
                    assert slow._real(high_moved.delta(epsilon)) >= exact - room
                    if precision == 128 and place != len(MIXED) - 1:  # the last one's losses have no common step
                        assert high.delta(epsilon) - low.delta(epsilon) <= Fraction(1, 10**12)


def chosen_noise_keeps_the_budget() -> None:
    """Enumerated over all levels together, at unequal shares: within the budget, and close to it."""
    budget = Approximate(1, "1/100000")
    with mp.workdps(40):
        for sensitivities, shares in (([ONE] * 2, None), ([ONE, TWO], ["1/3", "2/3"]), ([TWO, ONE, TWO], None)):
            noises = [n for n in best_noise(budget, sensitivities, shares) if n is not None]
            spent = slow.delta(_enumerated(noises, sensitivities), budget.epsilon)
            assert spent <= slow._real(budget.delta) * (1 + mpf("1e-12")), "the noise costs more than the budget"
        gaussian = best_noise(Approximate(4, "1/10"), [ONE] * 3)
        assert isinstance(gaussian[0], GaussianNoise)
        spent = slow.delta(_enumerated([n for n in gaussian if n], [ONE] * 3), Fraction(4))
        assert mpf("0.0999") < spent <= mpf("0.1"), "the noise costs more than the budget, or much less"


def _enumerated(noises: list[LevelNoise], sensitivities: list[Sensitivity]) -> slow.Losses:
    return slow.together(
        slow.losses(noise.law(sensitivity), k, mpf("1e-30"))
        for noise, sensitivity in zip(noises, sensitivities, strict=True)
        for k in sensitivity.changes[0]
    )
