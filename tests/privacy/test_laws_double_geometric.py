"""The sampler of the double geometric law against independent computations of the law."""

from collections.abc import Callable
from fractions import Fraction
from math import exp

import mpmath
import numpy as np
import pytest
from instances import rng_of, scale
from mpmath import iv, mp
from scipy import stats

from pgsr.privacy.enclosure import exp_minus
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.laws.inversion import decide, table_of, thresholds
from pgsr.privacy.random import ByteStream

REJECT = 1e-9
WORD_BITS = 31


def independent_thresholds(law_scale: Fraction) -> list[int]:
    """Compute floor(2^31 P(|X| <= m)) in mpmath's interval arithmetic, up to the first that equals 2^31 - 1."""
    iv.prec = 200
    a = iv.exp(-iv.mpf(law_scale.denominator) / iv.mpf(law_scale.numerator))
    tail = iv.mpf(2) ** (WORD_BITS + 1) * a / (1 + a)  # 2^31 P(|X| > 0)
    found = []
    while not found or found[-1] != 2**WORD_BITS - 1:
        value = 2**WORD_BITS - tail
        low, high = int(mpmath.floor(value.a)), int(mpmath.floor(value.b))
        assert low == high, "the interval is too wide to tell the threshold"
        found.append(low)
        tail *= a
    return found


@pytest.mark.parametrize("law_scale", ["2/25", "1/2", "1", "2", "20/3", "42", "60", "100", "600"])
def test_thresholds_and_guide_equal_an_interval_computation(law_scale: str) -> None:
    law, expected = DoubleGeometric(Fraction(law_scale)), np.array(independent_thresholds(Fraction(law_scale)))
    assert np.array_equal(thresholds(law), expected)
    # guide[c] = number of thresholds below c * 2^15, here by counting the thresholds of every cell.
    guide = np.cumsum(np.bincount(expected >> 15, minlength=2**16)) - np.bincount(expected >> 15, minlength=2**16)
    assert np.array_equal(table_of(law).thresholds, expected)
    assert np.array_equal(table_of(law).guide, guide)


@pytest.mark.parametrize("precision", [32, 128, 700])
def test_intervals_enclose_the_truth(precision: int) -> None:
    """Both integer intervals hold the exact value and are a few units wide."""
    with mp.workprec(precision + 400):
        for law_scale in (Fraction(1, 50), Fraction(1, 2), Fraction(1), Fraction(60), Fraction(10**5, 3)):
            for m in (0, 1, 7, 100):
                t = (m + 1) / law_scale
                low, high = exp_minus(t, precision)
                exact = mp.exp(-mp.mpf(t.numerator) / t.denominator) * mp.mpf(2) ** precision
                assert low <= exact <= high
                assert high - low <= 8
                low, high = DoubleGeometric(law_scale).probability_at_most(m, precision)
                a = mp.exp(-mp.mpf(law_scale.denominator) / law_scale.numerator)
                assert low <= (1 - 2 * a ** (m + 1) / (1 + a)) * mp.mpf(2) ** precision <= high
                assert high - low <= 16


# Forced ties and overflows


class Script:
    """A byte stream of prescribed words, followed by prescribed bits and then by zeros."""

    def __init__(self, words: list[int], chunks: list[int]) -> None:
        self._words, self._chunks = words, list(chunks)

    def words(self, n: int) -> np.ndarray:
        taken, self._words = self._words[:n], self._words[n:]
        assert len(taken) == n, "more words drawn than values"
        return np.array(taken, np.uint32)

    def bits(self, n_bytes: int) -> int:
        assert n_bytes == 8
        return self._chunks.pop(0) if self._chunks else 0


def exact_size(law_scale: Fraction, first_bits: int, chunks: list[int]) -> int:
    """The smallest m with U < 1 - 2 a^(m+1) / (1 + a), in closed form with 1,200 bits; U's bits end in zeros."""
    value = first_bits
    for chunk in chunks:
        value = value << 64 | chunk
    n_bits = WORD_BITS + 64 * len(chunks)
    with mp.workprec(1200):
        s = mp.mpf(law_scale.numerator) / law_scale.denominator
        u = mp.mpf(value) / mp.mpf(2) ** n_bits
        x = s * mp.log(2 / ((1 + mp.exp(-1 / s)) * (1 - u)))  # U < P(|X| <= m) exactly if m + 1 > x
        nearest = mp.nint(x)
        assert abs(x - nearest) > mp.mpf(2) ** -900, "U is too close to a step of the law for 1,200 bits"
        return max(0, int(mp.floor(x)))


def step_bits(law_scale: Fraction, m: int, n_bits: int) -> int:
    """Compute floor(2^n_bits P(|X| <= m))."""
    with mp.workprec(n_bits + 200):
        s = mp.mpf(law_scale.numerator) / law_scale.denominator
        return int(mp.floor((1 - 2 * mp.exp(-(m + 1) / s) / (1 + mp.exp(-1 / s))) * mp.mpf(2) ** n_bits))


def split_bits(value: int, n_chunks: int) -> tuple[int, list[int]]:
    """The first 31 bits and the chunks of 64 bits that follow."""
    chunks = [value >> 64 * (n_chunks - 1 - i) & (2**64 - 1) for i in range(n_chunks)]
    return value >> 64 * n_chunks, chunks


def forced_cases(rng: np.random.Generator, law_scale: Fraction, n: int) -> list[tuple[int, list[int]]]:
    """First bits and further bits: random ties, ties for 31 + 64 k bits one unit around the step, and overflows."""
    table = independent_thresholds(law_scale)
    cases = []
    for i in range(n):
        m = int(rng.integers(len(table)))
        chunks = [int(c) for c in rng.integers(0, 2**64, 3, dtype=np.uint64)]
        kind = i % 4
        if kind == 0:
            cases.append((table[m], chunks))
        elif kind == 1:  # equal to the step in all known bits, or one unit of the last chunk beside it
            n_chunks = int(rng.integers(1, 4))
            at = step_bits(law_scale, m, WORD_BITS + 64 * n_chunks) + int(rng.integers(-1, 2))
            cases.append(split_bits(min(at, 2 ** (WORD_BITS + 64 * n_chunks) - 1), n_chunks))
        elif kind == 2:  # beyond the table: a tail of up to 200 further bits
            chunks = [2**64 - 1] * int(rng.integers(0, 3)) + chunks[:1]
            cases.append((2**WORD_BITS - 1, chunks))
        else:  # the same first bits and all further bits 0
            cases.append((table[m], []))
    return cases


@pytest.mark.parametrize(
    "law_scale", [Fraction(1, 5), Fraction(7, 3), pytest.param(Fraction(60), marks=pytest.mark.full)]
)
def test_forced_ties_and_overflows_equal_the_exact_law(law_scale: Fraction) -> None:
    rng, law = rng_of(11), DoubleGeometric(law_scale)
    n_beyond = 0
    for first_bits, chunks in forced_cases(rng, law_scale, scale(400, 2_000)):
        size = exact_size(law_scale, first_bits, chunks)
        assert decide(law, first_bits, Script([], chunks)) == size
        n_beyond += size >= len(thresholds(DoubleGeometric(law_scale)))
        for sign in (0, 1):
            values = np.array([10_000], np.int64)
            law.add_to(values, Script([sign << WORD_BITS | first_bits], chunks))
            assert values[0] == 10_000 + (-size if sign else size)
    assert n_beyond >= scale(50, 250), "no case left the table"


def test_ordinary_words_equal_the_exact_law() -> None:
    """Words just below and above a threshold, and random ones, in one array with a tie in the middle."""
    law_scale = Fraction(7, 3)
    rng = rng_of(12)
    table = independent_thresholds(law_scale)
    near = [t + d for t in table for d in (-1, 1) if 0 <= t + d < 2**WORD_BITS]
    first = [u for u in [*near, *(int(u) for u in rng.integers(0, 2**WORD_BITS, 500))] if u not in table]
    first.insert(7, table[3])
    signs = rng.integers(0, 2, len(first))
    values = np.arange(len(first))
    words = [int(s) << WORD_BITS | u for s, u in zip(signs, first, strict=True)]
    DoubleGeometric(law_scale).add_to(values, Script(words, [123]))
    sizes = [exact_size(law_scale, u, [123] if i == 7 else [0]) for i, u in enumerate(first)]
    assert np.array_equal(values - np.arange(len(first)), np.where(signs == 1, -1, 1) * sizes)


def test_long_arrays_are_drawn_in_blocks() -> None:
    """Past one block of words every value still gets its own word."""
    n = 2**18 + 1000
    values = np.zeros(n, np.int64)
    DoubleGeometric(Fraction(60)).add_to(values, ByteStream(bytes(32)))
    table = np.array(independent_thresholds(Fraction(60)))
    words = ByteStream(bytes(32)).words(2**18)
    u, negative = words & (2**31 - 1), words >> 31
    sizes = np.searchsorted(table, u)
    decided = table[sizes] != u
    assert np.array_equal(values[: 2**18][decided], np.where(negative == 1, -sizes, sizes)[decided])
    assert not np.array_equal(values[2**18 :], values[:1000])
    assert values[2**18 :].any()


def test_counts_near_2_to_the_62_do_not_wrap_or_round() -> None:
    start = 2**62 - 10**9
    values = np.full(1000, start)
    noise = np.zeros(1000, np.int64)
    DoubleGeometric(Fraction(60)).add_to(values, ByteStream(bytes(32)))
    DoubleGeometric(Fraction(60)).add_to(noise, ByteStream(bytes(32)))
    assert [int(v) - start for v in values] == noise.tolist()
    assert noise.any()


# Goodness of fit


def p_value(draws: np.ndarray, law_scale: float) -> float:
    """Smallest p-value of a chi-square test over about 100 bins (0 alone) and a z-test of the mean of |X|."""
    a = exp(-1 / law_scale)
    n = len(draws)

    def beyond(m: np.ndarray) -> np.ndarray:  # P(X > m), m >= 0
        return a ** (m + 1.0) / (1 + a)

    edges = np.unique(np.round(law_scale * -np.log(np.linspace(1, 0, 50, endpoint=False))).astype(int))
    edges = edges[n * beyond(edges) >= 20]
    upper = -np.diff(beyond(edges), append=0.0)  # P(edges[i] < X <= edges[i + 1]), the last one open
    expected = n * np.concatenate([upper[::-1], [(1 - a) / (1 + a)], upper])
    assert abs(expected.sum() - n) < 1e-6 * n
    place = np.searchsorted(edges, np.abs(draws), "left")  # 0 for 0, i + 1 for (edges[i], edges[i + 1]]
    seen = np.bincount(np.sign(draws) * place + len(edges), minlength=len(expected))
    chi_square = ((seen - expected) ** 2 / expected).sum()

    mean = 2 * a / (1 - a * a)
    z = (np.abs(draws).mean() - mean) / np.sqrt((2 * a / (1 - a) ** 2 - mean**2) / n)
    return float(min(stats.chi2.sf(chi_square, len(expected) - 1), 2 * stats.norm.sf(abs(z))))


def two_geometrics(rng: np.random.Generator, law_scale: float, n: int) -> np.ndarray:
    """The law itself, as the difference of two geometric variables."""
    p = 1 - exp(-1 / law_scale)
    return rng.geometric(p, n) - rng.geometric(p, n)


def zero_twice(rng: np.random.Generator, law_scale: float, n: int) -> np.ndarray:
    """A sign on a geometric size, where +0 and -0 are both kept."""
    return (rng.geometric(1 - exp(-1 / law_scale), n) - 1) * rng.choice([-1, 1], n)


Draw = Callable[[np.random.Generator, float, int], np.ndarray]

WRONG: dict[str, Draw] = {
    "zero twice": zero_twice,
    "scale + 1 %": lambda rng, s, n: two_geometrics(rng, 1.01 * s, n),
    "scale - 1 %": lambda rng, s, n: two_geometrics(rng, 0.99 * s, n),
    "sensitivity 1 for 2": lambda rng, s, n: two_geometrics(rng, s / 2, n),
    "rounded Laplace": lambda rng, s, n: np.rint(rng.laplace(0, s, n)).astype(np.int64),
    "half a step to the right": lambda rng, s, n: two_geometrics(rng, s, n) + rng.integers(0, 2, n),
}


@pytest.mark.parametrize("law_scale", [1, 2])
@pytest.mark.parametrize("name", WRONG)
def test_fit_rejects_wrong_laws(name: str, law_scale: int) -> None:
    assert p_value(WRONG[name](rng_of(14), law_scale, scale(1_000_000, 10_000_000)), law_scale) < REJECT


# Numbers of the law


def test_printed_normaliser_is_not_ours() -> None:
    """The law would sum to 1.886819 with epsilon where epsilon / sensitivity belongs, as some papers print."""
    zero_as_printed = (1 - exp(-1)) / (1 + exp(-1))
    ours = thresholds(DoubleGeometric(Fraction(2)))[0] / 2**WORD_BITS
    assert zero_as_printed / ours == pytest.approx(1.886819, abs=5e-7)
