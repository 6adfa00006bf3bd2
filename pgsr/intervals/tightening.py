"""Tighten bounds of counts by what holds of all counts, without excluding any counts that lie within them."""

from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.intervals.bounds import Bounds

SWEEPS = 20
"""Most sweeps. Bounds are valid after every one; more only make them narrower."""


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

    Shown by `tests/test_intervals_band.py::test_tightening_excludes_nothing_and_equals_brute_force_over_sizes`.
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
