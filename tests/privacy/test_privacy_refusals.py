"""What amounts, noise, laws and sensitivities refuse, each in a sentence."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from pgsr import View
from pgsr.errors import ArgumentError, BudgetError, MemoryNeededError, ProblemError
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho, best_noise
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.loss_of_noise import loss_of_cell, loss_of_vector
from pgsr.privacy.accounting.noise_rho import geometric_of_rho, rho_of_law
from pgsr.privacy.accounting.odometer import Odometer
from pgsr.privacy.accounting.search import largest
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.discrete_gaussian import LARGEST_DEVIATION
from pgsr.privacy.laws.double_geometric import LARGEST_SCALE
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.laws.texts import law_of
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, sensitivity_of, sensitivity_of_totals

ONE, NOTHING = Sensitivity(((1,),)), Sensitivity(((),))
A_LAW: Any = DiscreteGaussian(Fraction(5))
PRESENCE = 'protect its presence with relation = "add_remove"'


def refused(call: Callable[..., object], *given: Any, words: str, error: type = BudgetError, **named: Any) -> Any:
    said = [one for one in given if not callable(one)]  # a function's address differs from process to process
    return pytest.param(lambda: call(*given, **named), error, words, id=f"{words} {said}"[:60])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        # amounts
        refused(PureEpsilon, -1, words="epsilon is out of range"),
        refused(PureEpsilon, "nan", words="not a finite number"),
        refused(PureEpsilon, None, words="epsilon is None"),
        refused(PureEpsilon, False, words="epsilon is False"),
        refused(Approximate, 1, 1, words="delta is 1 or more"),
        refused(Approximate, 1, 0, words="delta is out of range"),
        refused(Approximate, 1, "1e-101", words="delta is out of range"),
        refused(Approximate, "1e10", "1e-8", words="epsilon is out of range"),
        refused(Rho, True, words="rho is True"),
        refused(Rho, "1e999999999", words="out of range"),
        refused(Rho, "1e10", words="rho is out of range"),
        refused(Loss.of, {}, words="give one of them"),
        refused(Loss.of, {"epsilon": "1", "rho": "1"}, words="give one of them"),
        refused(Loss.of, {"rho": "1", "delta": "1e-8"}, words="give one of them"),
        refused(Loss.of, {"delta": "1e-8"}, words="give one of them"),
        refused(Loss.of, {"epsilon": 1}, words="written as text; put epsilon: 1 into quotes"),
        refused(Loss.parse, "epsilon", words="'epsilon' is no amount of privacy; write it like 'epsilon 1'"),
        refused(Loss.parse, "", words="'' is no amount of privacy; write it like 'epsilon 1'"),
        refused(Loss.parse, "rho 1, rho 2", words="'rho 1, rho 2' is no amount of privacy; write it like"),
        refused(Loss.parse, "sigma 1", words="give one of them"),
        refused(Loss.parse, "epsilon 1, delta 1e-8, rho 1", words="give one of them"),
        # the noise of levels
        refused(best_noise, 1, [ONE], words="give PureEpsilon", error=ArgumentError),
        *(
            refused(best_noise, budget, [ONE], words="leaves nothing to measure with")
            for budget in (PureEpsilon(0), Rho(0), Approximate(0, "1e-8"))
        ),
        refused(best_noise, Rho(1), [ONE, ONE], ["1/2"], words="1 shares for 2 levels"),
        refused(best_noise, Rho(1), [ONE, ONE], ["1/2", "1/3"], words="add up to 5/6"),
        refused(best_noise, Rho(1), [], words="0 levels"),
        refused(best_noise, Rho(1), [NOTHING], words="publish it"),
        refused(best_noise, PureEpsilon("1e-9"), [ONE], words="larger epsilon"),
        refused(best_noise, Approximate("1e-9", "1e-9"), [ONE], words="larger epsilon"),
        refused(best_noise, Rho("1e-50"), [ONE], words="larger rho"),
        refused(composed, [None], [ONE, ONE], words="1 noises for 2 sensitivities"),
        refused(composed, [GeometricNoise(Fraction(1))], [NOTHING], words="publish it"),
        refused(composed, [GeometricNoise(Fraction(1, 10**6))], [ONE], words="larger epsilon"),
        refused(composed, [GaussianNoise(Fraction(1, 10**15))], [ONE], words="larger rho"),
        refused(composed, [1], [ONE], words="1 is no noise of a level"),
        refused(composed([None], [ONE]).approximate, 1, words="delta is 1 or more"),
        refused(Odometer(()).approximate, 1, words="delta is 1 or more"),
        refused(loss_of_vector, A_LAW, (6, 6), 80, words="use its rho"),
        refused(loss_of_vector, DoubleGeometric(Fraction(5)), (2, 2), 80, words="larger changes"),
        refused(loss_of_cell, DiscreteGaussian(Fraction(2**20 + 1)), 1, 80, words="use its rho"),
        refused(
            loss_of_cell(A_LAW, 1, 80).times,
            loss_of_cell(DiscreteGaussian(Fraction(2)), 1, 80),
            words="same step",
            error=ValueError,
        ),
        refused(geometric_of_rho, Fraction(1), NOTHING, words="publish it"),
        refused(rho_of_law, DoubleGeometric(Fraction(1)), [1.5], words="give a whole number"),
        refused(rho_of_law, Rho(1), [1], words="is not known"),
        refused(largest, lambda _: False, Fraction(1), 3, words="however large"),
        # laws
        *(
            refused(law, Fraction(x), words="not positive")
            for law in (DoubleGeometric, DiscreteGaussian)
            for x in (0, -1)
        ),
        *(
            refused(family, Fraction(x), words="give the level a part of the budget")
            for family in (GeometricNoise, GaussianNoise)
            for x in (0, -1)
        ),
        refused(DoubleGeometric, LARGEST_SCALE + Fraction(1, 10), words="give the level a larger epsilon"),
        refused(DiscreteGaussian, LARGEST_DEVIATION**2 + Fraction(1, 10), words="give the level a larger rho"),
        # sensitivities
        refused(
            sensitivity_of,
            View.COUNTS,
            Unit.ENTITY,
            max_size=3,
            relation=Relation.REPLACE,
            words=PRESENCE,
            error=ProblemError,
        ),
        refused(sensitivity_of_totals, Unit.ENTITY, Relation.REPLACE, words=PRESENCE, error=ProblemError),
        *(
            refused(
                sensitivity_of,
                View.COUNTS,
                Unit.ENTITY,
                **({"max_size": 3} | {name: value}),
                error=ProblemError,
                words=f"{name}={value!r}; give a public whole number",
            )
            for name, value in (("max_quantity", 0), ("max_quantity", True), ("max_size", -1))
        ),
        refused(
            sensitivity_of,
            View.CUMULATIVE,
            Unit.GROUP,
            max_size=2**40,
            relation=Relation.REPLACE,
            words="lower the largest size K",
            error=MemoryNeededError,
        ),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as told:
        call()
    assert "\n" not in str(told.value)


def test_the_largest_laws_are_not_refused() -> None:
    assert DoubleGeometric(Fraction(LARGEST_SCALE)).scale == LARGEST_SCALE
    assert DiscreteGaussian(Fraction(LARGEST_DEVIATION) ** 2).deviation == LARGEST_DEVIATION


SIGMAS = ["2.5", "4/2", "1/0", "-1", "0", " 1", "٢", "9" * 5_000, "9" * 50]


@pytest.mark.parametrize(
    "spelling",
    [
        *(None, "double_geometric", [], {}, {"law": "double_geometric"}),
        *({"law": law, "scale": "2"} for law in ("laplace", ["double_geometric"])),
        *({"law": "double_geometric", "scale": scale} for scale in (2, "9" * 50)),
        *({"law": "double_geometric", "sigma_squared": "2"} | more for more in ({}, {"scale": "2"})),
        *({"law": "discrete_gaussian", "sigma_squared": sigma} for sigma in SIGMAS),
    ],
    ids=lambda item: str(item)[:60],
)
def test_what_spells_no_law_is_refused(spelling: Any) -> None:
    with pytest.raises(BudgetError) as raised:
        law_of(spelling)
    assert len(str(raised.value)) < 250
