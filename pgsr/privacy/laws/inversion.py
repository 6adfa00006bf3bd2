"""The exact sampler of a size |X| by inversion: one word, one draw, and integers decide everything.

A uniform U decides |X|: it is the smallest m with U < P(|X| <= m), and one more bit decides the sign (zero once,
whatever its sign). The first 31 bits u of U are compared with thresholds T_m = floor(2^31 P(|X| <= m)): u < T_m decides
for, u > T_m against, and u == T_m, one word in a million, draws more bits until integer interval arithmetic decides. No
floating point number is involved, and the tails have no end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from pgsr.privacy.random import ByteStream

BITS = 31
GUIDE_SHIFT = 15
_CHUNK = 1 << 18
_MORE_BYTES = 8


class SizeLaw(Protocol):
    """A hashable law of sizes 0, 1, ..., by enclosures of 2^precision P(|X| <= m)."""

    def probability_at_most(self, m: int, precision: int) -> tuple[int, int]:
        """Enclose the probability of at most m by integers that get closer, relatively, as the precision grows."""
        ...

    def enclosures(self, precision: int) -> Iterator[tuple[int, int]]:
        """List the enclosures for m = 0, 1, ..., without an end."""
        ...


def add_to(law: SizeLaw, values: np.ndarray, stream: ByteStream) -> None:
    """Add an independent draw with a fair sign to every entry of a contiguous int64 array, in place."""
    from pgsr.privacy.laws.inversion_kernel import add_noise

    if not values.size:
        return
    table = table_of(law)
    flat = values.reshape(-1)
    assert np.shares_memory(flat, values), "values must be contiguous"
    undecided = np.empty(min(_CHUNK, len(flat)), np.int64)
    for start in range(0, len(flat), _CHUNK):
        chunk = flat[start : start + _CHUNK]
        words = stream.words(len(chunk))
        n_undecided = add_noise(words, BITS, GUIDE_SHIFT, table.thresholds, table.guide, chunk, undecided)
        for i in undecided[:n_undecided]:
            word = int(words[i])
            size = decide(law, word & (2**BITS - 1), stream)
            chunk[i] += -size if word >> BITS else size


def decide(law: SizeLaw, first_bits: int, stream: ByteStream) -> int:
    """Find |X| for a U that starts with these 31 bits, drawing as many further bits as needed."""
    low = int(np.searchsorted(table_of(law).thresholds, first_bits))
    uniform = Uniform(first_bits, stream)

    def within(m: int) -> bool:
        return uniform.below(lambda precision: law.probability_at_most(m, precision))

    if within(low):
        return low
    step = 1
    while not within(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high


def thresholds(law: SizeLaw) -> list[int]:
    """Compute T_m = floor(2^31 P(|X| <= m)) up to the first m where it is 2^31 - 1.

    Example:
        >>> from fractions import Fraction
        >>> from pgsr.privacy.laws import DoubleGeometric
        >>> thresholds(DoubleGeometric(Fraction(1, 10)))
        [2147288665, 2147483639, 2147483647]
    """
    precision = 128
    while True:
        table = _thresholds_at(law, precision)
        if table is not None:
            return table
        precision *= 2


@dataclass(frozen=True)
class Thresholds:
    """The thresholds, all below 2^31, and for every leading 16 bits the first threshold that can matter."""

    thresholds: np.ndarray

    @cached_property
    def guide(self) -> np.ndarray:
        starts = np.arange(1 << (BITS - GUIDE_SHIFT), dtype=np.int64) << GUIDE_SHIFT
        return np.searchsorted(self.thresholds, starts).astype(np.int32)


@lru_cache(maxsize=16)
def table_of(law: SizeLaw) -> Thresholds:
    """Compute the table of a law, or find it where it was computed before."""
    return Thresholds(np.array(thresholds(law), np.uint32))


@dataclass
class Uniform:
    """A uniform U in [0, 1) of which the first n_bits are known: value / 2^n_bits <= U < (value + 1) / 2^n_bits."""

    value: int
    stream: ByteStream
    n_bits: int = BITS

    def below(self, enclose: Callable[[int], tuple[int, int]]) -> bool:
        """Decide whether U < p by further bits; enclose(precision) encloses 2^precision p by two integers."""
        while True:
            precision = self.n_bits + 64
            lower, upper = enclose(precision)
            if (self.value + 1) << (precision - self.n_bits) <= lower:
                return True
            if self.value << (precision - self.n_bits) >= upper:
                return False
            self.value = (self.value << (8 * _MORE_BYTES)) | self.stream.bits(_MORE_BYTES)
            self.n_bits += 8 * _MORE_BYTES


def _thresholds_at(law: SizeLaw, precision: int) -> list[int] | None:
    """The thresholds, or None if an interval of this precision straddles an integer."""
    table = []
    for low, high in law.enclosures(precision):
        t_low = low >> precision - BITS
        t_high = min(high >> precision - BITS, 2**BITS - 1)  # P < 1, however little the tail
        if t_low != t_high:
            return None
        table.append(t_low)
        if t_low == 2**BITS - 1:
            return table
    raise AssertionError("a law's enclosures have no end")
