"""The exact sampler of the double geometric law.

    P(X = k) = (1 - a) / (1 + a) * a^|k|,  a = exp(-1 / scale),  k any integer.

A uniform U decides |X|: it is the smallest m with U < P(|X| <= m) = 1 - 2 a^(m+1) / (1 + a), and one more bit decides
the sign (zero once, whatever its sign). The first 31 bits u of U are compared with thresholds
T_m = floor(2^31 P(|X| <= m)): u < T_m decides for, u > T_m against, and u == T_m, one word in a million, draws more
bits until integer interval arithmetic decides. No floating point number is involved, and the tails have no end.

Source of the law: Ghosh, Roughgarden, Sundararajan 2009, as used by Kuo et al. 2018 and Fioretto, Van Hentenryck 2019.
The slides and the poster of the first and the text of the second print the normaliser with epsilon where epsilon /
sensitivity belongs (`tests/test_core_double_geometric.py::test_printed_normaliser_is_not_ours`).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp, expm1

import numpy as np

from pgsr.errors import BudgetError
from pgsr.random import ByteStream

LARGEST_SCALE = 2**17
"""Largest scale whose threshold table is built (2.8 million entries)."""

_BITS = 31
_GUIDE_SHIFT = 15
_CHUNK = 1 << 18
_MORE_BYTES = 8


@dataclass(frozen=True)
class DoubleGeometric:
    """The law with `scale = sensitivity / epsilon`, and an exact sampler of it.

    Raises:
        BudgetError: the scale is above 2^17.

    Example:
        >>> round(DoubleGeometric(Fraction(1)).variance, 6)
        1.841347
        >>> noise = np.zeros(5, np.int64)
        >>> DoubleGeometric(Fraction(10)).add_to(noise, ByteStream(bytes(32)))
        >>> noise
        array([ 29,  -1,   2,  -1, -34])
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise BudgetError(f"noise scale {self.scale} is not positive")
        if self.scale > LARGEST_SCALE:
            raise BudgetError(
                f"noise of scale {float(self.scale):,.0f} (sensitivity / epsilon per level) exceeds the largest "
                f"supported, {LARGEST_SCALE:,}; give the level a larger epsilon"
            )

    @property
    def variance(self) -> float:
        """The variance 2 a / (1 - a)^2, about 2 scale^2 - 1/6."""
        t = -1 / float(self.scale)
        return 2 * exp(t) / expm1(t) ** 2

    def add_to(self, values: np.ndarray, stream: ByteStream) -> None:
        """Add an independent draw to every entry of a contiguous int64 array, in place."""
        from pgsr.double_geometric_kernel import add_noise

        if not values.size:
            return
        table = _table(self.scale)
        flat = values.reshape(-1)
        assert np.shares_memory(flat, values), "values must be contiguous"
        undecided = np.empty(min(_CHUNK, len(flat)), np.int64)
        for start in range(0, len(flat), _CHUNK):
            chunk = flat[start : start + _CHUNK]
            words = stream.words(len(chunk))
            n_undecided = add_noise(words, _BITS, _GUIDE_SHIFT, table.thresholds, table.guide, chunk, undecided)
            for i in undecided[:n_undecided]:
                word = int(words[i])
                size = self.decide(word & (2**_BITS - 1), stream)
                chunk[i] += -size if word >> _BITS else size

    def decide(self, first_bits: int, stream: ByteStream) -> int:
        """Find |X| for a U that starts with these 31 bits, drawing as many further bits as needed."""
        low = int(np.searchsorted(_table(self.scale).thresholds, first_bits))
        uniform = _Uniform(first_bits, stream)
        if self._below(uniform, low):
            return low
        step = 1
        while not self._below(uniform, low + step):
            low, step = low + step, 2 * step
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._below(uniform, middle) else (middle, high)
        return high

    def _below(self, uniform: "_Uniform", m: int) -> bool:
        """Decide whether U < P(|X| <= m)."""
        while True:
            precision = uniform.n_bits + 64
            lower, upper = probability_at_most(self.scale, m, precision)
            if (uniform.value + 1) << (precision - uniform.n_bits) <= lower:
                return True
            if uniform.value << (precision - uniform.n_bits) >= upper:
                return False
            uniform.refine()


@dataclass
class _Uniform:
    """A uniform U in [0, 1) of which the first n_bits are known: value / 2^n_bits <= U < (value + 1) / 2^n_bits."""

    value: int
    stream: ByteStream
    n_bits: int = _BITS

    def refine(self) -> None:
        self.value = (self.value << (8 * _MORE_BYTES)) | self.stream.bits(_MORE_BYTES)
        self.n_bits += 8 * _MORE_BYTES


@dataclass(frozen=True)
class _Table:
    """The thresholds, all below 2^31, and for every leading 16 bits the first threshold that can matter."""

    thresholds: np.ndarray

    @cached_property
    def guide(self) -> np.ndarray:
        starts = np.arange(1 << (_BITS - _GUIDE_SHIFT), dtype=np.int64) << _GUIDE_SHIFT
        return np.searchsorted(self.thresholds, starts).astype(np.int32)


@lru_cache(maxsize=16)
def _table(scale: Fraction) -> _Table:
    return _Table(np.array(thresholds(scale), np.uint32))


def thresholds(scale: Fraction) -> list[int]:
    """Compute T_m = floor(2^31 P(|X| <= m)) up to the first m where it is 2^31 - 1. O(scale) big-integer steps."""
    precision = 128
    while True:
        table = _thresholds_at(scale, precision)
        if table is not None:
            return table
        precision *= 2


def _thresholds_at(scale: Fraction, precision: int) -> list[int] | None:
    """The thresholds, or None if an interval of this precision straddles an integer."""
    one = 1 << precision
    low, high = exp_minus(1 / scale, precision)
    power_low, power_high = low, high
    table = []
    while True:
        tail_low = 2 * power_low * one // (one + high)
        tail_high = _divided_up(2 * power_high * one, one + low)
        t_low = ((one - tail_high) << _BITS) >> precision
        t_high = min(((one - tail_low) << _BITS) >> precision, 2**_BITS - 1)  # P < 1, however little the tail
        if t_low != t_high:
            return None
        table.append(t_low)
        if t_low == 2**_BITS - 1:
            return table
        power_low = power_low * low >> precision
        power_high = _shifted_up(power_high * high, precision)


def probability_at_most(scale: Fraction, m: int, precision: int) -> tuple[int, int]:
    """Enclose 2^precision * P(|X| <= m) by two integers."""
    one = 1 << precision
    low, high = exp_minus(1 / scale, precision)
    power_low, power_high = exp_minus((m + 1) / scale, precision)
    return one - _divided_up(2 * power_high * one, one + low), one - 2 * power_low * one // (one + high)


def exp_minus(t: Fraction, precision: int) -> tuple[int, int]:
    """Enclose 2^precision * exp(-t), t > 0, by two integers: the alternating series, then repeated squaring."""
    squarings = max(0, (t.numerator // t.denominator).bit_length() + 1)
    working = precision + 2 * squarings + 16
    one = 1 << working
    y_low = (t.numerator << working) // (t.denominator << squarings)
    y_high = y_low + 1
    low, high = one, one
    term_low, term_high, n = one, one, 0
    while term_high > 1:
        n += 1
        term_low = (term_low * y_low >> working) // n
        term_high = _divided_up(_shifted_up(term_high * y_high, working), n)
        low, high = (low - term_high, high - term_low) if n % 2 else (low + term_low, high + term_high)
    low, high = low - term_high - 1, high + term_high + 1  # the rest of an alternating series is below its last term
    for _ in range(squarings):
        low, high = max(low, 0) ** 2 >> working, _shifted_up(high**2, working)
    shift = working - precision
    return low >> shift, _shifted_up(high, shift)


def _divided_up(a: int, b: int) -> int:
    return (a + b - 1) // b


def _shifted_up(a: int, bits: int) -> int:
    return (a + (1 << bits) - 1) >> bits
