"""Lower and upper bounds of the counts of many regions, what follows for sums and parts, and how they are narrowed."""

from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy

Pair = tuple[np.ndarray, np.ndarray]
"""A lower and an upper bound, of the same shape."""

SWEEPS = 20
"""Most sweeps of `tightened`. Bounds are valid after every one; more only make them narrower."""


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
        (low, high), (least, most) = self.cumulative, map(sums_beyond, self.counts)
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


def tightened(tree: Hierarchy, bounds: Bounds, sweeps: int = SWEEPS) -> Bounds | None:
    """Narrow bounds of all regions until nothing changes; None if no counts lie within them.

    For counts x[r, s] and cumulative counts c[r, s] (c[r, -1] = 0) these hold, and each bounds what it names:

        c[r, s] = c[r, s - 1] + x[r, s],        x[p, s] = sum over the children r of p of x[r, s],   the same of c.

    An equation a = b_1 + ... + b_n gives  a within the sums of the bounds of b,  and  b_i within the bounds of a less
    those of the others. A sweep applies the first equation over all sizes at once, in both directions, and the second
    up the tree and down again.

    Args:
        tree: the regions.
        bounds: arrays of shape (regions, K + 1), whose upper bounds add up to less than 2^62 over regions or sizes.
        sweeps: how many at most.

    Shown by `test_intervals_band.py::test_tightening_excludes_nothing_and_equals_brute_force_over_sizes`.
    """
    box = _Box(tree, *(side.copy() for side in (*bounds.counts, *bounds.cumulative)))
    for _ in range(sweeps):
        changed = box.over_sizes()
        changed |= box.up_the_tree()
        changed |= box.down_the_tree()
        if box.is_empty():
            return None
        if not changed:
            break
    return Bounds((box.x_low, box.x_high), (box.c_low, box.c_high))


@dataclass
class _Box:
    """The bounds while they are narrowed, in place; every step says whether it changed something."""

    tree: Hierarchy
    x_low: np.ndarray
    x_high: np.ndarray
    c_low: np.ndarray
    c_high: np.ndarray

    def over_sizes(self) -> bool:
        # c[s] >= c[t] + x[t + 1] + ... + x[s] for t < s: a running maximum of c - (x[0] + ... + x[t]), from c[-1] = 0.
        least, most = np.cumsum(self.x_low, axis=1), np.cumsum(self.x_high, axis=1)
        changed = _raise(self.c_low, np.maximum.accumulate(np.maximum(self.c_low - least, 0), axis=1) + least)
        changed |= _lower(self.c_high, np.minimum.accumulate(np.minimum(self.c_high - most, 0), axis=1) + most)
        # And from larger sizes: c[s] <= c[t] - (x[s + 1] + ... + x[t]) for t > s.
        changed |= _lower(self.c_high, _from_the_end(np.minimum, self.c_high - least) + least)
        changed |= _raise(self.c_low, _from_the_end(np.maximum, self.c_low - most) + most)
        changed |= _raise(self.x_low[:, 1:], self.c_low[:, 1:] - self.c_high[:, :-1])
        changed |= _lower(self.x_high[:, 1:], self.c_high[:, 1:] - self.c_low[:, :-1])
        changed |= _raise(self.x_low[:, 0], self.c_low[:, 0])
        return changed | _lower(self.x_high[:, 0], self.c_high[:, 0])

    def up_the_tree(self) -> bool:
        changed = False
        for low, high in self._pairs():
            for level in reversed(range(self.tree.n_levels - 1)):
                here = self.tree.level(level)
                changed |= _raise(low[here], self.tree.sum_children(low, level))
                changed |= _lower(high[here], self.tree.sum_children(high, level))
        return changed

    def down_the_tree(self) -> bool:
        changed = False
        for low, high in self._pairs():
            for level in range(self.tree.n_levels - 1):
                here, below = self.tree.level(level), self.tree.level(level + 1)
                parent = self.tree.parent[below] - here.start
                room = high[here] - self.tree.sum_children(low, level)
                need = low[here] - self.tree.sum_children(high, level)
                most, least = low[below] + room[parent], high[below] + need[parent]
                changed |= _lower(high[below], most)
                changed |= _raise(low[below], least)
        return changed

    def is_empty(self) -> bool:
        return any(bool((low > high).any()) for low, high in self._pairs())

    def _pairs(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        return (self.x_low, self.x_high), (self.c_low, self.c_high)


def _from_the_end(running: np.ufunc, values: np.ndarray) -> np.ndarray:
    return running.accumulate(values[:, ::-1], axis=1)[:, ::-1]


def _raise(low: np.ndarray, values: np.ndarray) -> bool:
    changed = bool((values > low).any())
    np.maximum(low, values, out=low)
    return changed


def _lower(high: np.ndarray, values: np.ndarray) -> bool:
    changed = bool((values < high).any())
    np.minimum(high, values, out=high)
    return changed


def sums_beyond(counts: np.ndarray) -> np.ndarray:
    """Add up the counts of all larger sizes, for every size; shape kept."""
    return counts.sum(axis=-1, keepdims=True) - np.cumsum(counts, axis=-1)
