"""The sampler of the discrete Gaussian law against independent computations of the law."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache

import mpmath
import numpy as np
import pytest
from instances import rng_of, scale
from mpmath import iv, mp, mpf
from pytest import MonkeyPatch  # noqa: PT013
from test_laws_double_geometric import WORD_BITS, Script

from pgsr.privacy import Seeded
from pgsr.privacy.laws import DiscreteGaussian, gaussian_integral, inversion
from pgsr.privacy.laws.gaussian_sums import GaussianSizes
from pgsr.privacy.laws.inversion import Thresholds, decide, table_of, thresholds
from pgsr.privacy.laws.strips import Strips
from pgsr.privacy.random import ByteStream, StreamId

PARAMETERS = ["1/100", "1/7", "1/2", "1", "5/2", "63/4", "100", "12345/7", "1000000"]
"""sigma^2 of laws that are drawn from one table."""

WIDE = ["1048577", "4194304", "25000001/2", "10000000000", "1000000000000"]
"""sigma^2 of laws that are drawn in strips."""


def stream(key: str) -> ByteStream:
    return Seeded(key).stream(StreamId("gaussian", "counts", 0, ()))


def sizes_of(sigma_squared: str) -> GaussianSizes:
    """The law whose thresholds are tabulated."""
    drawn = DiscreteGaussian(Fraction(sigma_squared)).drawn_from
    sizes = drawn.numbers if isinstance(drawn, Strips) else drawn
    assert isinstance(sizes, GaussianSizes)
    return sizes


def strips_of(law: DiscreteGaussian) -> Strips:
    drawn = law.drawn_from
    assert isinstance(drawn, Strips)
    return drawn


tabulated = cache(thresholds)
"""Thresholds of laws that many draws are held against."""


def weight(rate: Fraction, m: int) -> mpf:
    return mp.exp(-mpf(m * m) * rate.numerator / rate.denominator)


@lru_cache(maxsize=4)
def cumulative(rate: Fraction, sides: int, digits: int) -> list[mpf]:
    """P(size <= m) for m = 0, 1, ... until it is 1 to this many digits: every weight by its own exponential."""
    with mp.workdps(digits + 20):
        sums, m = [mpf(1)], 0
        while True:
            m += 1
            w = sides * weight(rate, m)
            if w < mpf(10) ** -(digits + 10):
                return [s / sums[-1] for s in sums]
            sums.append(sums[-1] + w)


def independent_thresholds(rate: Fraction, sides: int) -> list[int]:
    """Compute floor(2^31 P(size <= m)) in mpmath's interval arithmetic, up to the first that equals 2^31 - 1."""
    iv.prec = 300
    weights, m = [iv.mpf(1)], 0
    while weights[-1].b > mpf(2) ** -200:
        m += 1
        weights.append(sides * iv.exp(-iv.mpf(m * m * rate.numerator) / iv.mpf(rate.denominator)))
    total = sum(weights[1:], weights[0])
    total = iv.mpf([total.a, (total + mpf(2) ** -150).b])  # the weights left out
    found, below = [], iv.mpf(0)
    for w in weights:
        below += w
        value = 2**WORD_BITS * below / total
        low, high = int(mpmath.floor(value.a)), min(int(mpmath.floor(value.b)), 2**WORD_BITS - 1)
        assert low == high, "the interval is too wide to tell the threshold"
        found.append(low)
        if low == 2**WORD_BITS - 1:
            return found
    raise AssertionError


@pytest.mark.few(2)
@pytest.mark.parametrize("sigma_squared", [*PARAMETERS, *WIDE])
def test_thresholds_and_guide_equal_an_interval_computation(sigma_squared: str) -> None:
    sizes = sizes_of(sigma_squared)
    expected = np.array(independent_thresholds(sizes.rate, sizes.sides))
    assert np.array_equal(thresholds(sizes), expected)
    guide = np.cumsum(np.bincount(expected >> 15, minlength=2**16)) - np.bincount(expected >> 15, minlength=2**16)
    assert np.array_equal(table_of(sizes).thresholds, expected)
    assert np.array_equal(table_of(sizes).guide, guide)


def test_strips_are_those_of_the_law() -> None:
    """Strips are of 2^b sizes with sigma / 2^b in (512, 1024], and only where one table would be longer."""
    for sigma_squared in PARAMETERS:
        assert sizes_of(sigma_squared) == GaussianSizes(1 / (2 * Fraction(sigma_squared)), 2)
    for sigma_squared in WIDE:
        drawn = DiscreteGaussian(Fraction(sigma_squared)).drawn_from
        assert isinstance(drawn, Strips)
        assert drawn.rate == 1 / (2 * Fraction(sigma_squared))
        assert drawn.numbers == GaussianSizes(drawn.rate * 4**drawn.strip_bits, 1)
        assert 512**2 < Fraction(sigma_squared) / 4**drawn.strip_bits <= 1024**2


# Enclosures


@pytest.mark.parametrize("precision", [31, 128, 159, 161, 500])
@pytest.mark.parametrize("sigma_squared", ["1/1000", "1/7", "5/2", "1234"])
def test_intervals_enclose_the_truth(sigma_squared: str, precision: int) -> None:
    for sides in (1, 2):
        sizes = GaussianSizes(1 / (2 * Fraction(sigma_squared)), sides)
        truth = cumulative(sizes.rate, sides, 200)
        with mp.workdps(220):
            for m in {0, 1, 2, len(truth) // 4, len(truth) - 1}:
                low, high = sizes.probability_at_most(m, precision)
                assert low <= truth[min(m, len(truth) - 1)] * mpf(2) ** precision <= high or m >= len(truth) - 1
                assert high - low <= 3
            low, high = sizes.probability_at_most(10**6, precision)
            assert (low, high) == (2**precision - 1, 2**precision)


@pytest.mark.parametrize("precision", [40, 192, 400])
@pytest.mark.parametrize("sigma", ["1024", "2049/2", "1500"])
def test_integrals_enclose_the_sums(sigma: str, precision: int) -> None:
    """From sigma = 512 up both ways to compute P(|X| <= m) are possible, and they agree."""
    rate = 1 / (2 * Fraction(sigma) ** 2)
    for m in (0, 1, 500, 1700, 9_000, 14_000, 10**7):
        low, high = gaussian_integral.probability_at_most(rate, m, precision)
        sum_low, sum_high = GaussianSizes(rate, 2).probability_at_most(m, precision)
        assert low <= sum_high
        assert sum_low <= high
        assert high - low <= 8


@pytest.mark.parametrize("sigma_squared", WIDE)
def test_wide_probabilities_grow_by_the_probability_function(sigma_squared: str) -> None:
    """P(|X| <= m) - P(|X| <= m - 1) = 2 exp(-m^2 rate) / (sigma sqrt(2 pi)), to 200 bits."""
    law, precision = DiscreteGaussian(Fraction(sigma_squared)), 200
    with mp.workprec(300):
        sigma = mp.sqrt(mpf(law.sigma_squared.numerator) / law.sigma_squared.denominator)
        for m in (1, 1000, int(sigma), int(3 * sigma), int(9 * sigma)):
            low, high = law.probability_at_most(m, precision)
            below_low, below_high = law.probability_at_most(m - 1, precision)
            step = 2 * weight(1 / (2 * law.sigma_squared), m) / (sigma * mp.sqrt(2 * mp.pi)) * mpf(2) ** precision
            assert low - below_high <= step <= high - below_low
    assert law.probability_at_most(10**9, precision) == (2**precision - 1, 2**precision)
    zero = law.probability_at_most(0, precision)
    assert float(Fraction(zero[0], 2**precision)) == pytest.approx(float(np.exp(law.log_pmf(np.array(0)))), rel=1e-14)


# Forced words, ties and overflows


def exact_size(sizes: GaussianSizes, first_bits: int, chunks: list[int]) -> int:
    """The smallest m with U < P(size <= m), by sums of 200 digits; U's bits end in zeros."""
    value = first_bits
    for chunk in chunks:
        value = value << 64 | chunk
    truth = cumulative(sizes.rate, sizes.sides, 200)
    with mp.workdps(220):
        u = mpf(value) / mpf(2) ** (WORD_BITS + 64 * len(chunks))
        low, high = 0, len(truth) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if u < truth[middle] else (middle + 1, high)
        assert all(abs(u - truth[m]) > mpf(10) ** -190 for m in (low, max(low - 1, 0))), "U is too close to a step"
        return low


def split(value: int, n_chunks: int) -> tuple[int, list[int]]:
    """The first bits and the chunks of 64 bits that follow."""
    return value >> 64 * n_chunks, [value >> 64 * (n_chunks - 1 - i) & (2**64 - 1) for i in range(n_chunks)]


def forced(rng: np.random.Generator, sizes: GaussianSizes, n: int) -> Iterator[tuple[int, list[int]]]:
    """First bits and further bits: random ties, ties one unit around the step, overflows, and ordinary words."""
    table, truth = tabulated(sizes), cumulative(sizes.rate, sizes.sides, 200)
    for i in range(n):
        m = int(rng.integers(len(table)))
        chunks = [int(c) for c in rng.integers(0, 2**64, 3, dtype=np.uint64)]
        if i % 4 == 0:
            yield table[m], chunks
        elif i % 4 == 1:
            n_chunks = int(rng.integers(1, 4))
            n_bits = WORD_BITS + 64 * n_chunks
            with mp.workdps(220):
                at = int(mp.floor(truth[min(m, len(truth) - 1)] * mpf(2) ** n_bits)) + int(rng.integers(-1, 2))
            yield split(min(at, 2**n_bits - 1), n_chunks)
        elif i % 4 == 2:
            yield 2**WORD_BITS - 1, [2**64 - 1] * int(rng.integers(0, 3)) + chunks[:1]
        else:
            yield max(0, min(table[m] + int(rng.integers(-1, 2)), 2**WORD_BITS - 1)), chunks


@pytest.mark.parametrize("sigma_squared", ["1/7", "5/2", "2500"])
def test_forced_ties_and_overflows_equal_the_exact_law(sigma_squared: str) -> None:
    rng, law, sizes = rng_of(11), DiscreteGaussian(Fraction(sigma_squared)), sizes_of(sigma_squared)
    n_beyond = 0
    for first_bits, chunks in forced(rng, sizes, scale(400, 2_000)):
        size = exact_size(sizes, first_bits, chunks)
        assert decide(sizes, first_bits, Script([], chunks)) == size
        n_beyond += size >= len(tabulated(sizes))
        for sign in (0, 1):
            values = np.array([10_000], np.int64)
            law.add_to(values, Script([sign << WORD_BITS | first_bits], chunks))
            assert values[0] == 10_000 + (-size if sign else size)
    assert n_beyond >= scale(15, 75), "no case left the table"


def exact_draw(law: DiscreteGaussian, words: list[int], chunks: list[int]) -> tuple[int, int]:
    """The draw of a wide law that these words and bits make, by the definition, and how many words it took."""
    drawn, numbers, n_words, left = strips_of(law), sizes_of(str(law.sigma_squared)), 0, list(chunks)
    table = tabulated(numbers)
    while True:
        first, second = words[n_words : n_words + 2]
        n_words += 2
        u = first & 2**WORD_BITS - 1
        bits = []
        while u in table and not settled(numbers, u, bits):
            bits.append(left.pop(0) if left else 0)
        j = exact_size(numbers, u, bits)
        r, v, n_bits = second & 2**drawn.strip_bits - 1, second >> drawn.strip_bits, 32 - drawn.strip_bits
        size = (j << drawn.strip_bits) + r
        with mp.workdps(120):
            kept = mp.exp(mpf((j << drawn.strip_bits) ** 2 - size**2) * drawn.rate.numerator / drawn.rate.denominator)
            while v < kept * mpf(2) ** n_bits < v + 1 and kept != 1:
                v, n_bits = v << 64 | (left.pop(0) if left else 0), n_bits + 64
            if v >= kept * mpf(2) ** n_bits:
                continue
        if size or not first >> WORD_BITS:
            return (-size if first >> WORD_BITS else size), n_words


def settled(sizes: GaussianSizes, first_bits: int, chunks: list[int]) -> bool:
    """Say whether the known bits decide: no step lies strictly between the smallest and the largest U of them."""
    value, n_bits = first_bits, WORD_BITS + 64 * len(chunks)
    for chunk in chunks:
        value = value << 64 | chunk
    truth = cumulative(sizes.rate, sizes.sides, 200)
    m = exact_size(sizes, first_bits, chunks)
    with mp.workdps(220):
        return (value + 1) / mpf(2) ** n_bits <= truth[min(m, len(truth) - 1)]


@pytest.mark.parametrize("sigma_squared", WIDE)
@pytest.mark.few(1)
def test_forced_words_of_wide_laws_equal_the_exact_law(sigma_squared: str) -> None:
    """Ties of the strip, of what is kept, and the words beside them; refused pairs, a zero with a sign."""
    rng, law, n, n_refused = rng_of(12), DiscreteGaussian(Fraction(sigma_squared)), scale(75, 1_500), 0
    for words in forced_words(rng, strips_of(law), n):
        chunks = [int(c) for c in rng.integers(0, 2**64, 4, dtype=np.uint64)]
        expected, n_words = exact_draw(law, words, chunks)
        values = np.array([7], np.int64)
        law.add_to(values, Script(words[:n_words], chunks))
        assert values[0] == 7 + expected
        n_refused += n_words > 2
    assert n_refused >= n // 12, "too few pairs were refused to show that they are drawn again"


def forced_words(rng: np.random.Generator, drawn: Strips, n: int) -> Iterator[list[int]]:
    """Forty words each, of which the first two are near a step between strips, or near that to being refused."""
    table, b = tabulated(drawn.numbers), drawn.strip_bits
    for i in range(n):
        words = [int(word) for word in rng.integers(0, 2**32, 40)]
        j = int(rng.integers(len(table)))
        sign = int(rng.integers(2)) << WORD_BITS
        if i == 0:
            words[:2] = [1 << WORD_BITS, 0]  # a zero with a sign
        elif i % 2:
            words[0] = sign | max(0, min(table[j] + int(rng.integers(-1, 2)), 2**WORD_BITS - 1))
        else:
            words[0], r = sign | max(0, table[j] - 1), int(rng.integers(1, 2**b))
            j = int(np.searchsorted(table, max(0, table[j] - 1)))
            with mp.workdps(60):
                t = mpf((2 * (j << b) + r) * r) * drawn.rate.numerator / drawn.rate.denominator
                v = int(mp.floor(mp.exp(-t) * mpf(2) ** (32 - b))) + int(rng.integers(-1, 2))
            words[1] = (min(v, 2 ** (32 - b) - 1) << b) | r
        yield words


def test_a_block_of_wide_draws_equals_its_words() -> None:
    """Every entry that is neither tied nor refused is what its two words say; later ones of the stream differ."""
    law, n = DiscreteGaussian(Fraction(10**10)), 2**17 + 500
    drawn = strips_of(law)
    values = np.zeros(n, np.int64)
    law.add_to(values, ByteStream(bytes(32)))
    words = ByteStream(bytes(32)).words(2**18).reshape(-1, 2).astype(np.int64)
    u, b = words[:, 0] & 2**31 - 1, drawn.strip_bits
    j = np.searchsorted(np.array(thresholds(drawn.numbers)), u, "right")
    size = (j << b) + (words[:, 1] & 2**b - 1)
    same = values[: 2**17] == np.where(words[:, 0] >> 31, -size, size)
    kept = np.exp(((j << b).astype(float) ** 2 - size.astype(float) ** 2) / 2e10)
    expected = (words[:, 1] >> b) < np.round(kept * 2 ** (32 - b))
    assert (same != expected).sum() <= 2  # ties, and values drawn again that happen to be alike
    assert 20 < (~same).sum() < 250
    assert not np.array_equal(values[2**17 :], values[:500])


# Planted bugs, caught by forced words


@pytest.mark.parametrize("factor", ["0", "99/100", "101/100"])
def test_a_wrong_chance_of_keeping_is_found(factor: str) -> None:
    """A law in strips whose refusals are none, too few or too many is not the exact law on forced words."""
    law, rng = DiscreteGaussian(Fraction(25000001, 2)), rng_of(16)
    drawn, wrong = strips_of(law), 0
    broken = Strips(drawn.numbers, drawn.strip_bits, drawn.rate * Fraction(factor))
    for words in forced_words(rng, drawn, 40):
        values = np.zeros(1, np.int64)
        broken.add_to(values, Script(words, []))
        wrong += int(values[0]) != exact_draw(law, words, [])[0]
    assert wrong > 5


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("place", [0, 3, -2])
def test_one_wrong_threshold_is_found(monkeypatch: MonkeyPatch, change: int, place: int) -> None:
    """A threshold that is one off, as by a wrong rounding, is seen where forced words meet the exact law."""
    sizes = sizes_of("63/4")
    wrong = table_of(sizes).thresholds.astype(np.int64)
    wrong[place] += change
    broken = Thresholds(wrong.astype(np.uint32))
    monkeypatch.setattr(inversion, "table_of", lambda _law: broken)
    law, right = DiscreteGaussian(Fraction(63, 4)), thresholds(sizes)
    m = place % len(right)
    differs = False
    for u in (right[m] - 1, right[m], right[m] + 1):
        for chunks in ([0], [2**64 - 1]):
            values = np.zeros(1, np.int64)
            law.add_to(values, Script([u], chunks))
            differs |= int(values[0]) != exact_size(sizes, u, chunks)
    assert differs


# Numbers of the law


@pytest.mark.parametrize("sigma_squared", [*PARAMETERS, *WIDE])
def test_log_probabilities_by_definition(sigma_squared: str) -> None:
    law = DiscreteGaussian(Fraction(sigma_squared))
    rate = 1 / (2 * law.sigma_squared)
    with mp.workdps(60):
        if law.sigma_squared < 10**4:
            total = 1 + 2 * sum(weight(rate, m) for m in range(1, 40 * int(law.deviation + 2)))
        else:
            total = mp.sqrt(mp.pi * rate.denominator / rate.numerator)
        k = np.array([0, 1, -1, 2, -7, int(law.deviation), int(-5 * law.deviation), int(100 * law.deviation) + 1])
        for value, found in zip(k.tolist(), law.log_pmf(k), strict=True):
            exact = float(-mpf(value * value) * rate.numerator / rate.denominator - mp.log(total))
            assert found == pytest.approx(exact, rel=4e-16, abs=1e-15)
