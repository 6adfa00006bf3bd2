"""The exponential mechanism against its definition, and the law of noise by rejection, the twin of other noise."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from instances import rng_of, scale
from many_digits import precise, real  # noqa: F401
from mpmath import mp, mpf
from rejection_noise import Chance, Coins, discrete_gaussian, discrete_laplace
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


class Bytes:
    """A stream that gives the integers it was told to, and then refuses."""

    def __init__(self, *values: int) -> None:
        self.values = list(values)

    def bits(self, n_bytes: int) -> int:
        if n_bytes == 0:
            return 0
        if not self.values:
            raise EOFError
        return self.values.pop(0)


@pytest.mark.parametrize("n", [1, 5, 128, 257])
def test_below_is_uniform_by_enumeration_of_all_first_draws(n: int) -> None:
    size = 256 ** (((n - 1).bit_length() + 7) // 8)
    found: Counter[int] = Counter()
    for value in range(size):
        try:
            found[Coins(Bytes(value)).below(n)] += 1  # pyright: ignore[reportArgumentType]
        except EOFError:
            continue  # refused, and drawn again
    assert sorted(found) == list(range(n))
    assert len(set(found.values())) == 1
    assert n * found[0] > size // 2


def test_ties_are_decided_by_further_bits() -> None:
    for gamma in map(Fraction, ("1e-9", "1/3", "1", "41/7", "20", "100")):
        border = int(mp.floor(2**192 * mp.exp(-real(gamma))))
        for value, survives in ((border - 1, True), (border + 1, False)):
            parts = [value >> 128, value >> 64 & 2**64 - 1, value & 2**64 - 1]
            assert Coins(Bytes(*parts)).survives(gamma) is survives  # pyright: ignore[reportArgumentType]


class Restart(Exception):
    """The sampler begins anew."""


class Open(Exception):
    """A coin is tossed whose outcome is not told yet."""


class Script:
    """Coins whose outcomes are told, and their probabilities multiplied up."""

    def __init__(self, outcomes: tuple[int, ...], start: int) -> None:
        self.outcomes, self.start = list(outcomes), start
        self.begun = False
        self.options: list[tuple[int, mpf]] = []

    def _toss(self, options: list[tuple[int, mpf]]) -> int:
        if not self.outcomes:
            self.options = options
            raise Open
        return self.outcomes.pop(0)

    def below(self, n: int) -> int:
        if n == self.start:
            if self.begun:
                raise Restart
            self.begun = True
        return self._toss([(i, mpf(1) / n) for i in range(n)])

    def survives(self, gamma: Fraction) -> bool:
        p = mp.exp(-real(gamma))
        return bool(self._toss([(1, p), (0, 1 - p)] if gamma else [(1, mpf(1))]))


def law(draw: Callable[[Chance], int], start: int, smallest: float = 1e-16) -> dict[int, mpf]:
    """P(X = x), from the tree of all tosses of one trial: trials that end in a restart tell nothing about X."""
    found: dict[int, mpf] = {}
    todo = [((), mpf(1))]
    while todo:
        outcomes, p = todo.pop()
        script = Script(outcomes, start)
        try:
            x = draw(script)
        except Open:
            todo += [((*outcomes, o), p * q) for o, q in script.options if p * q > smallest]
        except Restart:
            continue
        else:
            found[x] = found.get(x, mpf(0)) + p
    total = sum(found.values())
    return {x: p / total for x, p in found.items()}


def defined(weight: Callable[[int], mpf], support: range) -> dict[int, mpf]:
    weights = {x: weight(x) for x in support}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


@pytest.mark.parametrize("parameter", ["1/3", "8/5"])
def test_law_of_discrete_laplace_from_its_decision_tree(parameter: str) -> None:
    t = Fraction(parameter)
    expected = defined(lambda x: mp.exp(-abs(x) / real(t)), range(-400, 401))
    found = law(lambda coins: discrete_laplace(t, coins), start=t.numerator)
    assert max(abs(found.get(x, 0) - p) for x, p in expected.items()) < 1e-12
    assert len(found) > 10


@pytest.mark.parametrize("parameter", ["1/10", "25/2"])
def test_law_of_discrete_gaussian_from_its_decision_tree(parameter: str) -> None:
    variance = Fraction(parameter)
    expected = defined(lambda x: mp.exp(-(x**2) / (2 * real(variance))), range(-200, 201))
    start = int(mp.floor(mp.sqrt(real(variance)))) + 1
    found = law(lambda coins: discrete_gaussian(variance, coins), start)
    assert max(abs(found.get(x, 0) - p) for x, p in expected.items()) < 1e-12
    assert sum(x**2 * p for x, p in found.items()) <= variance + 1e-9
    for t in (0.1, 0.5, 1.0):  # sub-Gaussian
        assert sum(p * mp.exp(t * x) for x, p in found.items()) <= mp.exp(t**2 * real(variance) / 2) * (1 + 1e-9)


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
