"""Values and weights as the integers that problems are stated in, and how far these are from what was given."""

from dataclasses import dataclass

import numpy as np

from pgsr.errors import TooLargeError

LARGEST = 2**49
"""The largest number times weight times levels."""

MOST_WEIGHT = 2**30
"""The largest weight, as of the arcs of a flow."""

FINEST = 2**40
"""Real values are taken in units of 2^-k in which the largest is at most so many."""

WEIGHT_BITS = 16
"""The bits that are kept for weights beside real values, unless fewer give their ratios."""


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """The values and weights of some cells in integers: w (x - value)^2 is  low_w (x - low)^2 + high_w (x - low - 1)^2.

    Both sides differ by a constant, so a fraction is two measurements of whole numbers.

    Attributes:
        low: the whole number below the value, int64.
        low_w, high_w: weights of low and of low + 1, int64; both 0 where there is no value.
        unit: what a 1 is, a power of 2 at most 1.
        scale: how many weights make 1 of those that were given.
    """

    low: np.ndarray
    low_w: np.ndarray
    high_w: np.ndarray
    unit: float
    scale: float

    @property
    def fractional(self) -> np.ndarray:
        """Whether the value of a cell lies between two whole numbers, bool."""
        return (self.high_w > 0) & (self.low_w > 0)

    @property
    def halves(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The `links`, with a whole value measured twice at half its weight, so that both weights are above 0."""
        (first, first_w), (second, second_w) = self.links
        whole = second_w == 0
        half = np.where(whole, first_w // 2, second_w)
        return (first, np.where(whole, first_w - half, first_w)), (np.where(whole, first, second), half)

    @property
    def links(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The values and weights of the first measurement of every cell, and of the second, whose weight may be 0."""
        alone = self.low_w == 0
        first = self.low + alone, np.where(alone, self.high_w, self.low_w)
        return first, (self.low + 1, np.where(alone, 0, self.high_w))

    def part(self, which: slice, shape: tuple[int, ...]) -> "WholeNumbers":
        """Give the numbers of some cells, in this shape."""
        low, low_w, high_w = (part[which].reshape(shape) for part in (self.low, self.low_w, self.high_w))
        return WholeNumbers(low, low_w, high_w, self.unit, self.scale)

    def moved(self, value: np.ndarray) -> float:
        """How far the values that are meant here are from those given at most."""
        total = self.low_w + self.high_w
        there = total > 0
        meant = (self.low[there] + self.high_w[there] / total[there]) * self.unit
        return float(np.abs(meant - value[there]).max(initial=0.0))

    def reweighed(self, weight: np.ndarray) -> float:
        """How far the weights that are meant here are from those given at most, relative to each."""
        there = weight > 0
        meant = (self.low_w + self.high_w)[there] / self.scale
        return float(np.abs(meant / weight[there] - 1).max(initial=0.0))


def whole_numbers(value: np.ndarray, weight: np.ndarray, *, integer: bool, levels: int, largest: float) -> WholeNumbers:
    """Find integers for values and weights of any shape.

    Weights in whole ratios stay as they are; others are rounded to one part in as many as arithmetic leaves room for.

    Args:
        value, weight: reals; weight 0 where there is no value.
        integer: whether answers are whole; if not, values are taken in small units instead of as two whole numbers.
        levels: of the tree that the problem will have.
        largest: the largest number that conditions contain besides.

    Raises:
        TooLargeError: numbers leave no room for weights.
    """
    there = weight > 0
    y = np.where(there, value, 0.0)
    most = max(float(np.abs(y).max(initial=0.0)), largest, 1.0)
    fractions = bool((y != np.floor(y)).any())
    unit = 1.0
    if fractions and not integer:
        w, _ = _whole_weights(weight, 2**WEIGHT_BITS)
        finest = min(FINEST, LARGEST / (levels * int(w.max(initial=1))))
        unit = 2.0 ** -max(0, int(np.floor(np.log2(finest / (most + 1)))))
        y, most, fractions = np.rint(y / unit), most / unit, False
    room = min(MOST_WEIGHT, int(LARGEST / ((most + 1) * levels)))
    w, scale = _whole_weights(weight, room)
    if fractions:
        times = max(1, room // int(w.max(initial=1)))
        w, scale = w * times, scale * times
    if room < 1 or int(w.max(initial=1)) > room:
        raise TooLargeError(f"numbers reach {most * unit:,.0f}, which leaves no room for weights; give smaller ones")
    low = np.floor(y)
    high_w = np.rint(w * (y - low)).astype(np.int64)
    return WholeNumbers(low.astype(np.int64), w - high_w, high_w, unit, scale)


def _whole_weights(weight: np.ndarray, room: int) -> tuple[np.ndarray, float]:
    """Find integers in the ratio of weights, and how many make 1 of these."""
    there = weight > 0
    if not there.any():
        return np.zeros(weight.shape, np.int64), 1.0
    least, most = float(weight[there].min()), float(weight.max())
    ratio = weight / least
    if most / least <= room and np.abs(ratio - np.rint(ratio)).max() <= 1e-9 * most / least:
        return np.rint(ratio).astype(np.int64), 1.0 / least
    whole = np.rint(weight)
    if (weight == whole).all() and most <= 2**53:
        common = float(np.gcd.reduce(whole[there].astype(np.int64)))
        if most / common <= room:
            return (whole / common).astype(np.int64), 1.0 / common
    scale = max(room, 1) / most
    return np.where(there, np.maximum(1, np.rint(weight * scale)), 0).astype(np.int64), scale
