"""What both laws of noise can say of themselves, their spellings, and the law that a level's budget asks for."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from test_laws_double_geometric import WORD_BITS, Script

from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise, Law
from pgsr.privacy.laws.inversion import decide
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.laws.texts import law_of
from pgsr.privacy.random import ByteStream

LAWS: list[Law] = [
    DoubleGeometric(Fraction(1, 3)),
    DoubleGeometric(Fraction(2)),
    DoubleGeometric(Fraction(2000, 7)),
    DiscreteGaussian(Fraction(1, 3)),
    DiscreteGaussian(Fraction(5, 2)),
    DiscreteGaussian(Fraction(70_000)),
    DiscreteGaussian(Fraction(2_000_000)),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_numbers_of_a_law_agree(law: Law) -> None:
    """Probabilities add up to 1, to the variance, to the tails, and lie in their enclosures."""
    sizes = np.arange(1, int(45 * law.deviation) + 60)
    zero, of_sizes = float(np.exp(law.log_pmf(np.array([0]))[0])), 2 * np.exp(law.log_pmf(sizes))
    assert zero + of_sizes.sum() == pytest.approx(1, rel=1e-12)
    assert (of_sizes * sizes.astype(float) ** 2).sum() == pytest.approx(law.variance, rel=1e-11)
    assert law.deviation**2 == pytest.approx(law.variance)
    beyond = np.cumsum(of_sizes[::-1])[::-1]
    near = sizes < 15 * law.deviation + 5
    assert law.probability_beyond(sizes - 1)[near] == pytest.approx(beyond[near], rel=1e-9)
    assert law.probability_beyond(np.array([-1, -1])).tolist() == [1, 1]
    for m in (0, 1, int(law.deviation), int(3 * law.deviation)):
        low, high = law.probability_at_most(m, 50)
        assert low - 1e4 <= (1 - law.probability_beyond(np.array([m]))[0]) * 2.0**50 <= high + 1e4
    assert np.array_equal(law.log_pmf(-sizes), law.log_pmf(sizes))


@pytest.mark.parametrize("scale", ["1/500", "1/3", "2", "100000/7"])
def test_log_probabilities_of_the_double_geometric_law(scale: str) -> None:
    law, k = DoubleGeometric(Fraction(scale)), np.array([0, 1, -2, 100, 10**6])
    with mp.workdps(300):
        a = mp.exp(-mpf(law.scale.denominator) / law.scale.numerator)
        for value, found in zip(k.tolist(), law.log_pmf(k), strict=True):
            exact = float(mp.log((1 - a) / (1 + a)) + abs(value) * mp.log(a))
            assert found == pytest.approx(exact, rel=5e-16, abs=1e-300)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_spellings_are_read_back(law: Law) -> None:
    assert law_of(law.spelling) == law
    assert hash(law_of(dict(law.spelling))) == hash(law)
    assert all(isinstance(text, str) for text in law.spelling.values())


@dataclass(frozen=True)
class Moves:
    l1: int
    l2_squared: int


def test_the_law_of_a_level_follows_its_budget_and_sensitivity() -> None:
    counts, cumulative, wide = Moves(2, 2), Moves(1, 1), Moves(5, 25)
    for epsilon in (Fraction(1, 10), Fraction(3)):
        for moves in (counts, cumulative, wide):
            assert GeometricNoise(epsilon).law(moves) == DoubleGeometric(moves.l1 / epsilon)
    for rho in (Fraction(1, 10), Fraction(3)):
        for moves in (counts, cumulative, wide):
            assert GaussianNoise(rho).law(moves) == DiscreteGaussian(moves.l2_squared / (2 * rho))
    assert len({GeometricNoise(Fraction(1)), GeometricNoise(Fraction(1)), GaussianNoise(Fraction(1))}) == 2


@pytest.mark.parametrize(
    ("make", "tiny"), [(DoubleGeometric, Fraction(1, 500)), (DiscreteGaussian, Fraction(1, 1000))], ids=str
)
def test_draws_of_both_laws(make: Callable[[Fraction], Law], tiny: Fraction) -> None:
    """Zeros have no sign, arrays are filled in place, empty ones ask for nothing, a tiny law adds almost nothing."""
    for word in (0, 1 << WORD_BITS):
        make(Fraction(2)).add_to(zero := np.zeros(1, np.int64), Script([word], []))
        assert zero[0] == 0
    for law in (make(Fraction(5)), DiscreteGaussian(Fraction(10**8))):
        flat, matrix = np.zeros(12, np.int64), np.zeros((3, 4), np.int64)
        for values in (flat, matrix):
            law.add_to(values, ByteStream(bytes(32)))
        assert np.array_equal(matrix.ravel(), flat)
        assert flat.any()
        law.add_to(np.zeros(0, np.int64), Script([], []))
    make(tiny).add_to(values := np.zeros(10_000, np.int64), ByteStream(bytes(32)))
    assert not values.any()
    beyond = decide(getattr(make(tiny), "drawn_from", make(tiny)), 2**WORD_BITS - 1, Script([], [2**64 - 1] * 12))
    assert beyond == 1  # U = 1 - 2^-799, and P(X = 0) is 1 - 2^-720


def test_both_laws_read_a_word_alike() -> None:
    """One sampler: the upper bit of a word is the sign, and larger lower bits never make a smaller size."""
    words = ByteStream(bytes(32)).words(1_000)
    order = np.argsort(words & 2**31 - 1)
    for law in (DoubleGeometric(Fraction(20)), DiscreteGaussian(Fraction(800))):
        values = np.zeros(1_000, np.int64)
        law.add_to(values, ByteStream(bytes(32)))
        assert (np.diff(np.abs(values)[order]) >= 0).all()
        assert ((values < 0) == (words >> 31 == 1))[values != 0].all()
        assert np.abs(values).max() > 2 * law.deviation
