"""The distribution of the privacy loss of independent noise, and the least delta of a given epsilon that follows.

The loss of an output j is ln P(j)/Q(j), P and Q the laws of the output on neighbouring data sets. The losses of
independent noise add up, and the least delta at epsilon is the mean of max(0, 1 - exp(epsilon - loss)) over P.

Chances are integers in units of 2^-precision, losses multiples of a step, both exact fractions or rounded to one side,
so that a delta is bounded from above (or, to see how close that is, from below).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import gcd, isqrt, lcm

from pgsr.accounting.search import decimal_down
from pgsr.enclosure import divided_up, exp_minus, root_above, shifted_up
from pgsr.errors import BudgetError
from pgsr.laws import DiscreteGaussian, DoubleGeometric, Law

MOST_LOSSES = 1 << 12
"""Most losses of a distribution, about; where there would be more, the step is made longer."""

WIDEST_SIGMA = 1 << 10
"""Largest sigma of Gaussian noise whose loss is computed."""

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
    - Where a longer step h is taken, the chance of a loss between two of its places x, x + h is split between them such
      that the chances under P and under Q both stay what they are, which spreads the likelihood ratio and so makes it
      easier to tell P and Q apart (down: it is moved to x). That adds at most h^2 / 4 to the variance of a loss, and h
      is about 1/100 of the standard deviation of all, so that an epsilon grows by some 1e-5 of itself (down: by h).
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
        """Give the distribution of the sum of n independent losses, n >= 1, by repeated squaring.

        Where there are more than `MOST_LOSSES`, the step is doubled.
        """
        found, square = None, self
        while True:
            if n % 2:
                found = square if found is None else found.on(square.step).times(square)
            n //= 2
            if not n:
                return found or square
            square = square.times(square)
            if len(square.chances) > MOST_LOSSES:
                square = square.on(2 * square.step)

    def on(self, step: Fraction) -> "LossDistribution":
        """Move the losses to first, first + step, ... with another step, to the safe side."""
        if step == self.step:
            return self
        one = 1 << self.precision
        whole_low, whole_high = _exp(step, self.precision)
        chances = [0] * (((self.last - self.first) / step).__floor__() + 2)
        shares: dict[Fraction, tuple[int, int]] = {}
        for i, chance in enumerate(self.chances):
            place, above = divmod(i * self.step, step)
            if not above or not self.above:
                chances[place] += chance
                continue
            if above not in shares:
                low, high = _exp(above, self.precision)
                # Of the chance, (1 - exp(-above)) / (1 - exp(-step)) moves up.
                up_low = (one - high) * one // (one - whole_low)
                up_high = min(one, divided_up((one - low) * one, one - whole_high))
                shares[above] = up_low, up_high
            up_low, up_high = shares[above]
            chances[place] += shifted_up(chance * (one - up_low), self.precision)
            chances[place + 1] += shifted_up(chance * up_high, self.precision)
        return LossDistribution(self.first, step, tuple(chances), self.beyond, self.precision, self.above)


def loss_of_cell(law: Law, change: int, precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of one cell's noise where the cell changes by an integer k >= 1.

    Discrete Gaussian: (k^2 - 2 k j) / (2 sigma^2) at noise j. Double-geometric: (|j - k| - |j|) / scale.

    Raises:
        BudgetError: it is another law, or Gaussian with a sigma above 2^10.
    """
    if isinstance(law, DoubleGeometric):
        # Losses k t, (k - 2) t, ..., -k t: noise of at most 0, of 1, ..., k - 1, and of at least k.
        within, one = [law.probability_at_most(m, precision) for m in range(change)], 1 << precision
        between = _halves(within, low=not above)
        if above:
            chances = [shifted_up(one + within[0][1], 1), *between, shifted_up(one - within[-1][0], 1)]
        else:
            chances = [one + within[0][0] >> 1, *between, one - within[-1][1] >> 1]
        return LossDistribution(-change / law.scale, 2 / law.scale, tuple(chances[::-1]), 0, precision, above)
    if not isinstance(law, DiscreteGaussian):
        raise BudgetError(f"the loss of {law!r} is not known; use double-geometric or discrete Gaussian noise")
    if law.sigma_squared > WIDEST_SIGMA**2:
        raise BudgetError(f"the exact loss of Gaussian noise with sigma above {WIDEST_SIGMA:,} takes long; use its rho")
    within: list[tuple[int, int]] = []
    while not within or (1 << precision) - within[-1][0] > 1 << _DROPPED_BITS:
        within.append(law.probability_at_most(len(within), precision))
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
    step = _common_step([part.step for part in parts])
    span = root_above(sum(((part.last - part.first) ** 2 for part in parts), Fraction(0)))
    if len(parts) > 1 and span / step > MOST_LOSSES:
        step = decimal_down(span / MOST_LOSSES, 3)
    found, *rest = [part.on(step) for part in parts]
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


def _common_step(steps: list[Fraction]) -> Fraction:
    """Find the longest step of which all of these are multiples."""
    denominator = lcm(*(step.denominator for step in steps))
    return Fraction(gcd(*(step.numerator * (denominator // step.denominator) for step in steps)), denominator)


def _exp(t: Fraction, precision: int) -> tuple[int, int]:
    return exp_minus(t, precision) if t > 0 else (1 << precision, 1 << precision)
