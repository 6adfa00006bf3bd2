"""Values and weights as the numbers that problems are stated in, and how far these are from what was given."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from pgsr.data.read_only import read_only_arrays
from pgsr.errors import TooLargeError

LARGEST = 2**49
"""The largest number times weight times levels."""

MOST_WEIGHT = 2**30
"""The largest weight, as of the arcs of a flow."""

FINEST = 2**40
"""Real values are taken in units of 2^-k in which the largest is at most so many."""

LARGEST_WHOLE = 2**44
"""The largest whole value that real answers are found for as it is."""

MOST_SUMMED = 2**20
"""How many times as much as the largest all values may add up to, so that sums stay within 64 bits."""

LEAST_BITS = 2.0**-9
"""The largest part of itself by which a weight may be rounded; what needs more is held or refused."""

FINE_BITS = 2.0**-20
"""The same beside real answers in other distances than squares."""

MOST_RATIOS = 1_000
"""Most different weights whose ratios are tried as fractions of whole numbers."""

MOST_EXACT = 2**50
"""The largest whole number in an exact ratio of weights."""


@dataclass(frozen=True, eq=False)
@read_only_arrays
class WholeNumbers:
    """The values and weights of some cells: w (x - value)^2 is  low_w (x - low)^2 + high_w (x - low - 1)^2.

    Both sides differ by a constant, so a fraction is two measurements of whole numbers.

    Attributes:
        low: the whole number below the value, int64.
        low_w, high_w: weights of low and of low + 1, both 0 where there is no value; int64, or float64 of real answers.
        unit: what a 1 is, a power of 2.
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
    def links(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """The values and weights of the first measurement of every cell, and of the second, whose weight may be 0."""
        alone = self.low_w == 0
        first = self.low + alone, np.where(alone, self.high_w, self.low_w)
        return first, (self.low + 1, np.where(alone, 0, self.high_w))

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


def real_numbers(value: np.ndarray, weight: np.ndarray, *, largest: float, squares: bool) -> WholeNumbers:
    """Find whole values in a small unit, and weights in the ratio given, for real answers.

    Args:
        value, weight: reals of any shape; weight 0 where there is no value.
        largest: the largest number that conditions contain besides; with any, a unit is at most 1.
        squares: whether weights are of squares, which may be real numbers.

    Raises:
        TooLargeError: weights are too far apart to be kept.
    """
    y = np.where(weight > 0, value, 0.0)
    most, unit = max(float(np.abs(y).max(initial=0.0)), largest), 1.0
    if (y != np.floor(y)).any() or most > LARGEST_WHOLE:
        most = max(most, float(np.abs(y).sum()) / MOST_SUMMED)
        unit = 2.0 ** -int(np.floor(np.log2(FINEST / most)))
        unit = min(unit, 1.0) if largest else unit
    w, scale = exact_ratios(weight) or (_real_ratios if squares else _fine_ratios)(weight)
    return WholeNumbers(np.rint(y / unit).astype(np.int64), w, np.zeros_like(w), unit, scale)


def whole_numbers(value: np.ndarray, weight: np.ndarray, most: np.ndarray, faithful: np.ndarray) -> WholeNumbers:
    """Find whole values and weights for whole answers. Weights keep their ratios: exactly, or to `LEAST_BITS`.

    Args:
        value, weight: reals of any shape; weight 0 where there is no value.
        most: the largest weight that a cell may have, of the same shape.
        faithful: which weights have to keep their ratios; others may become larger than they are.

    Raises:
        TooLargeError: some weight is kept worse than that, see `too_heavy`.
    """
    there = weight > 0
    y = np.where(there, value, 0.0)
    low = np.floor(y)
    exact = exact_ratios(weight)
    if exact is not None and (exact[0] <= most).all():
        w, scale = exact
        if (y != low).any():
            times = max(1, int((most[there] / w[there]).min(initial=np.inf)))
            w, scale = w * times, scale * times
    else:
        scale = float((most[there] / weight[there]).min(initial=np.inf))
        w = np.where(there, np.maximum(1, np.rint(weight * scale)), 0).astype(np.int64)
        kept = there & faithful
        if (np.abs(w[kept] - weight[kept] * scale) > LEAST_BITS * weight[kept] * scale).any():
            raise TooLargeError("weights are too far apart for whole numbers; give weights nearer to each other")
    high_w = np.rint(w * (y - low)).astype(np.int64)
    return WholeNumbers(low.astype(np.int64), w - high_w, high_w, 1.0, scale)


def too_heavy(weight: np.ndarray, most: np.ndarray, faithful: np.ndarray) -> np.ndarray:
    """Find the cells whose weight `whole_numbers` cannot have beside the smallest one; bool, none if it can."""
    exact = exact_ratios(weight)
    kept = (weight > 0) & faithful
    if not kept.any() or (exact is not None and (exact[0] <= most).all()):
        return np.zeros(weight.shape, bool)
    return kept & (weight / most > float(weight[kept].min()) * 2 * LEAST_BITS)  # products may be beyond 64 bits


def exact_ratios(weight: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Find the smallest whole numbers in the ratio of weights, and how many make 1 of these; None without any.

    Ratios are those of whole numbers if they are to the last digits that 64 bits have: 1 / 1.3 to 1 is 10 to 13.

    Example:
        >>> exact_ratios(np.array([1 / 1.3, 0.0, 1.0]))[0]
        array([10,  0, 13])
    """
    there = weight > 0
    if not there.any():
        return np.zeros(weight.shape, np.int64), 1.0
    different, which = np.unique(weight[there], return_inverse=True)
    if len(different) > MOST_RATIOS:
        return None
    fractions, common = [], 1
    if different[-1] / MOST_EXACT > different[0]:
        return None
    for ratio in (different / different[0]).tolist():
        near = Fraction(ratio).limit_denominator(1_000_000)
        common = lcm(common, near.denominator)
        if abs(near - Fraction(ratio)) > Fraction(ratio) / 2**50 or common * near > MOST_EXACT:
            return None
        fractions.append(near)
    whole = [int(fraction * common) for fraction in fractions]
    if whole[-1] > MOST_EXACT:
        return None
    found = np.zeros(weight.shape, np.int64)
    found[there] = np.array(whole, np.int64)[which.ravel()]
    return found, float(whole[0]) / float(different[0])


def _fine_ratios(weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Find whole numbers in nearly the ratio of weights, to `FINE_BITS`."""
    scale = MOST_EXACT / float(weight.max())
    w = np.rint(weight * scale)
    if (np.abs(w - weight * scale) > FINE_BITS * w).any():
        raise TooLargeError("weights are more than 1e9 apart, which squares alone take; give weights nearer together")
    return w.astype(np.int64), scale


def _real_ratios(weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Divide weights by the smallest one."""
    least = float(weight[weight > 0].min())
    with np.errstate(over="ignore"):
        ratios, scale = weight / least, np.float64(1.0) / least
    if not (np.isfinite(ratios).all() and np.isfinite(scale)):
        raise TooLargeError(
            "the largest weight divided by the smallest is no number of 64 bits; give weights nearer to each other"
        )
    return ratios, float(scale)
