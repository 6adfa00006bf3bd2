"""The exponential mechanism against its definition."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of, scale
from many_digits import precise, real  # noqa: F401
from mpmath import mp, mpf
from scipy import stats

from pgsr.errors import BudgetError
from pgsr.privacy import Seeded
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.queries.noise import exponential_mechanism, thresholds

pytestmark = pytest.mark.usefixtures("precise")


REJECT = 1e-9


def stream(key: str) -> ByteStream:
    return Seeded(key).stream(StreamId("noise tests", "", 0, ()))


def defined(weight: Callable[[int], mpf], support: range) -> dict[int, mpf]:
    weights = {x: weight(x) for x in support}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def test_thresholds_enclose_the_probability() -> None:
    rng = rng_of(61)
    for _ in range(scale(200, 20_000)):
        rate = Fraction(int(rng.integers(1, 10**9)), int(rng.integers(1, 10**18)))
        rate *= 10 ** int(rng.integers(0, 6))
        gaps = rng.integers(0, 10 ** int(rng.integers(1, 19)), 5)
        keep, drop = thresholds(gaps, rate)
        for gap, low, high in zip(gaps, keep, drop, strict=True):
            assert low < 2**32 * mp.exp(-real(rate) * int(gap)) < high
    keep, drop = thresholds(np.array([0, 1]), Fraction(10**400))
    assert keep[1] <= 0 < drop[1]
    assert keep[0] < 2**32 < drop[0]


class Proposals:
    """A stream for one batch: proposals, their first 32 bits, and what comes after."""

    def __init__(self, proposals: list[int], bits: list[int], more: list[int]) -> None:
        self.batches = [np.array(proposals, "<u8").view("<u4"), np.array(bits, "<u4")]
        self.more = more

    def words(self, n: int) -> np.ndarray:
        batch = self.batches.pop(0)
        assert n == len(batch)
        return batch

    def bits(self, n_bytes: int) -> int:
        assert n_bytes == 8
        return self.more.pop(0)


def test_ties_of_the_exponential_mechanism() -> None:
    """A proposal whose 32 bits are those of exp(-gamma) is decided by the next 64, and only then."""
    scores, rate = np.array([0, 3, 1], np.int64), Fraction(1, 3)
    border = int(mp.floor(2**96 * mp.exp(-real(rate) * 3)))
    first, more = border >> 64, border & 2**64 - 1
    for bits, following, chosen in (
        (first, [more - 1], 0),
        (first, [more + 1], 1),
        (first - 1, [], 0),
        (first + 1, [], 1),
    ):
        source = Proposals([0, 1, 2], [bits, 12345, 0], following)
        assert exponential_mechanism(scores, rate, source) == chosen  # pyright: ignore[reportArgumentType]
        assert not source.more


def test_an_incomplete_cycle_of_proposals_is_refused() -> None:
    scores = np.zeros(3, np.int64)
    source = Proposals([2**64 - 1, 4, 0], [0, 0], [])  # 2^64 - 1 is the first number of a cycle of 3 that 2^64 cuts off
    assert exponential_mechanism(scores, Fraction(1), source) == 1  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("rate", ["1/7", "1/1000000000"])
def test_law_of_the_exponential_mechanism(rate: str) -> None:
    rng, n = rng_of(62), scale(6_000, 300_000)
    scores = rng.integers(0, int(4 / Fraction(rate)) + 3, 6)
    source = stream(f"mechanism {rate}")
    draws = [exponential_mechanism(scores, Fraction(rate), source) for _ in range(n)]
    best = int(scores.max())
    expected = defined(lambda i: mp.exp(real(Fraction(rate)) * (int(scores[i]) - best)), range(6))
    found = np.array([draws.count(i) for i in range(6)])
    likely = [i for i in range(6) if n * expected[i] >= 10]
    assert found[likely].sum() >= n - 200
    mean = np.array([float(n * expected[i]) for i in likely])
    seen = found[likely]
    if len(likely) > 1:
        assert stats.chisquare(seen, mean * seen.sum() / mean.sum()).pvalue > REJECT


def test_the_exponential_mechanism_finds_one_among_many() -> None:
    scores = np.zeros(100_000, np.int64)
    scores[76_543] = 10**18
    source = stream("needle")
    assert {exponential_mechanism(scores, Fraction(1, 10**4), source) for _ in range(10)} == {76_543}
    flat = [exponential_mechanism(np.zeros(100_000, np.int64), Fraction(1), source) for _ in range(scale(300, 20_000))]
    assert stats.kstest(np.array(flat) / 100_000, "uniform").pvalue > REJECT


def test_refusals_of_the_exponential_mechanism() -> None:
    for scores in (np.zeros(0, np.int64), np.zeros(3), np.zeros((2, 2), np.int64)):
        with pytest.raises(SynthesisError):
            exponential_mechanism(scores, Fraction(1), stream("refused"))
    with pytest.raises(BudgetError):
        exponential_mechanism(np.zeros(3, np.int64), Fraction(0), stream("refused"))
