"""The distribution of the privacy loss of independent noise, and the least delta of a given epsilon that follows.

The loss of an output j is ln P(j)/Q(j), P and Q the laws of the output on neighbouring data sets. The losses of
independent noise add up, and the least delta at epsilon is the mean of max(0, 1 - exp(epsilon - loss)) over P.

Chances are integers in units of 2^-precision, losses multiples of a step, both exact fractions or rounded to one side,
so that a delta is bounded from above (or, to see how close that is, from below).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice, pairwise
from math import gcd, isqrt, lcm

from pgsr.enclosure import divided_up, exp_minus, shifted_up
from pgsr.errors import BudgetError
from pgsr.laws import DiscreteGaussian, DoubleGeometric, Law

MOST_LOSSES = 1 << 12
"""Most losses of a distribution, about; where there would be more, the step is made longer."""

_DEVIATION = 1 << 7
"""Steps that a standard deviation of the loss of one cell has at most."""

_GUARD_BITS = 48
_DROPPED_BITS = 16


@dataclass(frozen=True)
class LossDistribution:
    """Bounds of the chances of the losses first, first + step, ..., under P.

    With `above`, the pair of laws that it describes is at least as easy to tell apart as P and Q are: every delta is at
    least the true one. Without, at most. Where rounding was possible, it went to that side:

    - A chance is rounded up (down).
    - The chance of a loss between two multiples x, x + h of the step is split between them such that the chances under
      P and under Q both stay what they are, which spreads the likelihood ratio and so makes it easier to tell P and Q
      apart (down: it is moved to x). With n distributions that is an error of epsilon of the order n h^2 (n h).
    - Losses beyond both ends, of chance 2^(16 - precision) at most: up to infinity and to the least one kept (dropped).

    Attributes:
        first, step: of losses.
        chances: in units of 2^-precision.
        beyond: chance of an infinite loss.
        precision: in bits.
        above: whether deltas are bounded from above.
    """

    first: Fraction
    step: Fraction
    chances: tuple[int, ...]
    beyond: int
    precision: int
    above: bool = True

    @property
    def last(self) -> Fraction:
        """The largest finite loss."""
        return self.first + (len(self.chances) - 1) * self.step

    def delta(self, epsilon: Fraction) -> Fraction:
        """Bound the least delta at this epsilon, at least 0.

        Source: Balle & Wang 2018, theorem 5; Koskela, Jalko & Honkela 2020, lemma 1.
        """
        start = max(0, ((epsilon - self.first) / self.step).__floor__() + 1)
        one, total = 1 << self.precision, self.beyond << self.precision
        if start < len(self.chances):
            # exp(epsilon - loss) is rounded down for a delta from above.
            side = 0 if self.above else 1
            power = _exp(self.first + start * self.step - epsilon, self.precision)[side]
            ratio = _exp(self.step, self.precision)[side]
            for chance in islice(self.chances, start, None):
                total += chance * max(0, one - power)
                power = power * ratio >> self.precision if self.above else shifted_up(power * ratio, self.precision)
        return min(Fraction(1), Fraction(total, one * one))

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Find the least epsilon of at least 0 with this delta, rounded up by at most 2^-40; None if there is none."""
        low, high = Fraction(0), max(self.last, Fraction(0))
        if self.delta(low) <= delta:
            return low
        if self.delta(high) > delta:
            return None
        bits = 40
        low_units, high_units = 0, divided_up(high.numerator << bits, high.denominator)
        while high_units - low_units > 1:
            middle = (low_units + high_units) // 2
            if self.delta(Fraction(middle, 1 << bits)) <= delta:
                high_units = middle
            else:
                low_units = middle
        return Fraction(high_units, 1 << bits)

    def times(self, other: "LossDistribution") -> "LossDistribution":
        """Give the distribution of the sum of independent losses on the same step."""
        if (self.step, self.precision, self.above) != (other.step, other.precision, other.above):
            raise ValueError("losses on different steps, or rounded differently; give both the same step first")
        chances = _convolved(self.chances, other.chances, self.precision, self.above)
        first, beyond = self.first + other.first, self.beyond + other.beyond
        return _trimmed(LossDistribution(first, self.step, chances, beyond, self.precision, self.above))

    def power(self, n: int) -> "LossDistribution":
        """Give the distribution of the sum of n independent losses, n >= 1, by repeated squaring."""
        if n == 1:
            return self
        half = self.power(n // 2)
        square = half.times(half)
        return square.times(self) if n % 2 else square

    def on(self, step: Fraction) -> "LossDistribution":
        """Move the losses to multiples of another step, to the safe side."""
        start = (self.first / step).__floor__()
        end = (self.last / step).__floor__() + 1
        chances = [0] * (end - start + 1)
        one = 1 << self.precision
        whole_low, whole_high = _exp(step, self.precision)
        shares: dict[Fraction, tuple[int, int]] = {}
        for i, chance in enumerate(self.chances):
            loss = self.first + i * self.step
            place = (loss / step).__floor__()
            above = loss - place * step
            if not above or not self.above:
                chances[place - start] += chance
                continue
            if above not in shares:
                low, high = _exp(above, self.precision)
                # of the chance, (1 - exp(-above)) / (1 - exp(-step)) moves up
                up_low = (one - high) * one // (one - whole_low)
                up_high = min(one, divided_up((one - low) * one, one - whole_high))
                shares[above] = up_low, up_high
            up_low, up_high = shares[above]
            chances[place - start] += shifted_up(chance * (one - up_low), self.precision)
            chances[place - start + 1] += shifted_up(chance * up_high, self.precision)
        return LossDistribution(start * step, step, tuple(chances), self.beyond, self.precision, self.above)


def loss_of_cell(law: Law, change: int, precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of one cell's noise where the cell changes by an integer k >= 1.

    Discrete Gaussian: (k^2 - 2 k j) / (2 sigma^2) at noise j. Double-geometric: (|j - k| - |j|) / scale.

    Raises:
        BudgetError: it is another law.
    """
    ends = (law.probability_at_most(m, precision) for m in count())
    if isinstance(law, DoubleGeometric):
        # Losses k t, (k - 2) t, ..., -k t: noise of at most 0, of 1, ..., k - 1, and of at least k.
        within, one = list(islice(ends, change)), 1 << precision
        between = _halves(within, low=not above)
        if above:
            chances = [shifted_up(one + within[0][1], 1), *between, shifted_up(one - within[-1][0], 1)]
        else:
            chances = [one + within[0][0] >> 1, *between, one - within[-1][1] >> 1]
        return LossDistribution(-change / law.scale, 2 / law.scale, tuple(chances[::-1]), 0, precision, above)
    if not isinstance(law, DiscreteGaussian):
        raise BudgetError(f"the loss of {law!r} is not known; use double-geometric or discrete Gaussian noise")
    within = []
    for end in ends:
        within.append(end)
        if (1 << precision) - end[0] <= 1 << _DROPPED_BITS:
            break
    tail = (1 << precision) - within[-1][0] if above else 0  # of both ends
    middle = within[0][1] if above else within[0][0]
    half = _halves(within, low=not above)
    rate = change / law.sigma_squared
    found = LossDistribution(
        change * rate / 2 - (len(within) - 1) * rate, rate, (*half[::-1], middle, *half), tail, precision, above
    )
    longer = isqrt((law.sigma_squared / _DEVIATION**2).__floor__())
    return found.on(rate * longer) if longer > 1 else found


def loss_of_cells(cells: dict[tuple[Law, int], int], precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of independent noise on many cells.

    Args:
        cells: (law, change of the cell, at least 1) -> number of cells.
        precision: in bits.
        above: whether deltas are bounded from above.
    """
    parts = [loss_of_cell(law, k, precision, above).power(n) for (law, k), n in cells.items()]
    step = _common_step([(part.step, part.first) for part in parts])
    span = sum((part.last - part.first for part in parts), Fraction(0))
    if span / step > MOST_LOSSES:
        step = span / MOST_LOSSES
    found, *rest = [part.on(step) for part in parts] if len(parts) > 1 else parts
    for part in rest:
        found = found.times(part)
    return found


def precision_for(delta: Fraction) -> int:
    """Choose a precision at which rounding is far below delta."""
    return (delta.denominator // delta.numerator).bit_length() + _GUARD_BITS + _DROPPED_BITS


def _halves(within: list[tuple[int, int]], *, low: bool) -> list[int]:
    """Bound P(X = j) for j = 1, 2, ... from enclosures of P(|X| <= j)."""
    if low:
        return [max(0, b[0] - a[1]) >> 1 for a, b in pairwise(within)]
    return [shifted_up(b[1] - a[0], 1) for a, b in pairwise(within)]


def _convolved(a: tuple[int, ...], b: tuple[int, ...], precision: int, above: bool) -> tuple[int, ...]:
    """Convolve exactly, by one product of two integers that hold all numbers side by side; then round."""
    bits = max(a).bit_length() + max(b).bit_length() + min(len(a), len(b)).bit_length()
    n_bytes = bits // 8 + 1
    product = _packed(a, n_bytes) * _packed(b, n_bytes)
    data = product.to_bytes(n_bytes * (len(a) + len(b)), "little")
    sums = (int.from_bytes(data[i * n_bytes : (i + 1) * n_bytes], "little") for i in range(len(a) + len(b) - 1))
    return tuple(shifted_up(x, precision) if above else x >> precision for x in sums)


def _packed(numbers: Iterable[int], n_bytes: int) -> int:
    return int.from_bytes(b"".join(x.to_bytes(n_bytes, "little") for x in numbers), "little")


def _trimmed(found: LossDistribution) -> LossDistribution:
    """Cut off both ends while what is cut has next to no chance."""
    chances, most = found.chances, 1 << _DROPPED_BITS
    start, below = _cut(chances, most)
    from_end, over = _cut(chances[::-1], most)
    kept = list(chances[start : len(chances) - from_end])
    if not found.above:
        below = over = 0
    kept[0] += below
    first = found.first + start * found.step
    return LossDistribution(first, found.step, tuple(kept), found.beyond + over, found.precision, found.above)


def _cut(chances: tuple[int, ...], most: int) -> tuple[int, int]:
    total = 0
    for place, chance in enumerate(chances):
        if total + chance > most or place == len(chances) // 2:
            return place, total
        total += chance
    return 0, 0


def _common_step(lattices: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Find the longest step of which all losses are multiples."""
    numbers = [x for pair in lattices for x in pair if x]
    denominator = lcm(*(x.denominator for x in numbers))
    return Fraction(gcd(*(x.numerator * (denominator // x.denominator) for x in numbers)), denominator)


def _exp(t: Fraction, precision: int) -> tuple[int, int]:
    return exp_minus(t, precision) if t > 0 else (1 << precision, 1 << precision)
