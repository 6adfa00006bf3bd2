"""Lower and upper bounds of the counts of many regions, and what follows from them for sums and parts."""

from dataclasses import dataclass

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]
"""A lower and an upper bound, of the same shape."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of counts and of cumulative counts, by region and size; every array has shape (..., K + 1), int64.

    Attributes:
        counts: lower and upper bounds of x[s], the number of groups of size s.
        cumulative: lower and upper bounds of c[s] = x[0] + ... + x[s]; those of c[K] bound the number of groups.

    Example:
        >>> counts, cumulative = np.array([2, 1, 0, 1]), np.array([2, 3, 3, 4])
        >>> exact = Bounds((counts, counts), (cumulative, cumulative))
        >>> exact.tails()[0]
        array([2, 1, 1, 0])
    """

    counts: Pair
    cumulative: Pair

    def tails(self) -> Pair:
        """Bound the number of groups larger than s, for every s: t[s] = c[K] - c[s] = x[s + 1] + ... + x[K]."""
        (low, high), (least, most) = self.cumulative, map(_sums_beyond, self.counts)
        return np.maximum(low[..., -1:] - high, least), np.minimum(high[..., -1:] - low, most)

    def between(self, first: int, last: int) -> Pair:
        """Bound the number of groups of the sizes first..last."""
        (below_low, below_high), (low, high) = self.below(first), self.up_to(last)
        least, most = (side[..., first : last + 1].sum(axis=-1) for side in self.counts)
        return np.maximum(low - below_high, least), np.minimum(high - below_low, most)

    def outside(self, first: int, last: int) -> Pair:
        """Bound the number of groups of all sizes but first..last."""
        tail_low, tail_high = self.tails()
        (below_low, below_high), (low, high) = self.below(first), self.between(first, last)
        (total_low, total_high) = self.up_to(-1)
        least = np.maximum(below_low + tail_low[..., last], total_low - high)
        return least, np.minimum(below_high + tail_high[..., last], total_high - low)

    def up_to(self, size: int) -> Pair:
        """Bound the number of groups of at most this size."""
        low, high = self.cumulative
        return low[..., size], high[..., size]

    def below(self, size: int) -> Pair:
        """Bound the number of groups smaller than this size."""
        if size:
            return self.up_to(size - 1)
        none = np.zeros_like(self.cumulative[0][..., 0])
        return none, none


def _sums_beyond(counts: np.ndarray) -> np.ndarray:
    """Add up the counts of all larger sizes; shape kept."""
    return counts.sum(axis=-1, keepdims=True) - np.cumsum(counts, axis=-1)
