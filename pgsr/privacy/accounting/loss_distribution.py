"""The distribution of the privacy loss of independent noise, and the least delta of a given epsilon that follows.

The loss of an output j is ln P(j)/Q(j), P and Q the laws of the output on neighbouring data sets. The losses of
independent noise add up, and the least delta at epsilon is the mean of max(0, 1 - exp(epsilon - loss)) over P.

Chances are integers in units of 2^-precision, losses multiples of a step, both exact fractions or rounded to one side,
so that a delta is bounded from above (or, to see how close that is, from below).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from pgsr.privacy.enclosure import divided_up, exp_minus, shifted_up

MOST_LOSSES = 1 << 12
"""Most losses of a distribution, about; where there would be more, the step is made longer."""

DROPPED_BITS = 16
"""Of the chance that may be cut off at both ends, in units of 2^-precision."""


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
    above: bool

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
            power = exp_bounds(self.first + start * self.step - epsilon, self.precision)[side]
            ratio = exp_bounds(self.step, self.precision)[side]
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
        return trimmed(LossDistribution(first, self.step, chances, beyond, self.precision, self.above))

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

    def on(self, step: Fraction, origin: Fraction | None = None) -> "LossDistribution":
        """Move the losses to places that are `step` apart, to the safe side.

        Args:
            step: between places.
            origin: one of the places; `first` if None.
        """
        shift = Fraction(0) if origin is None else (self.first - origin) % step
        if step == self.step and not shift:
            return self
        one = 1 << self.precision
        whole_low, whole_high = exp_bounds(step, self.precision)
        chances = [0] * (((self.last - self.first + shift) / step).__floor__() + 2)
        shares: dict[Fraction, tuple[int, int]] = {}
        for i, chance in enumerate(self.chances):
            place, above = divmod(i * self.step + shift, step)
            if not above or not self.above:
                chances[place] += chance
                continue
            if above not in shares:
                low, high = exp_bounds(above, self.precision)
                # Of the chance, (1 - exp(-above)) / (1 - exp(-step)) moves up.
                up_low = (one - high) * one // (one - whole_low)
                up_high = min(one, divided_up((one - low) * one, one - whole_high))
                shares[above] = up_low, up_high
            up_low, up_high = shares[above]
            chances[place] += shifted_up(chance * (one - up_low), self.precision)
            chances[place + 1] += shifted_up(chance * up_high, self.precision)
        return LossDistribution(self.first - shift, step, tuple(chances), self.beyond, self.precision, self.above)

    def deltas(self, first: int, n: int) -> list[int]:
        """Bound the least deltas at the losses first, ..., first + n - 1, counted in steps, from above.

        In units of 2^-precision. The sums of chances and of chances times exp(epsilon - loss) are carried downwards.
        """
        low, _ = exp_bounds(self.step, self.precision)
        found, over, shrunk = [0] * n, self.beyond, 0
        for place in range(max(first + n, len(self.chances)) - 1, first - 1, -1):
            if 0 <= place + 1 < len(self.chances):
                over, shrunk = over + self.chances[place + 1], shrunk + self.chances[place + 1]
            shrunk = shrunk * low >> self.precision
            if place < first + n:
                found[place - first] = max(0, over - shrunk)
        return found


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


def trimmed(found: LossDistribution) -> LossDistribution:
    """Cut off both ends while what is cut has next to no chance."""
    chances, most = found.chances, 1 << DROPPED_BITS
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


def exp_bounds(t: Fraction, precision: int) -> tuple[int, int]:
    """Enclose 2^precision * exp(-t), t >= 0, by two integers."""
    return exp_minus(t, precision) if t > 0 else (1 << precision, 1 << precision)
