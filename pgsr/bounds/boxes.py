"""The boxes of entities in which the data of a lower bound vary: some groups, between two sizes."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log

import numpy as np

from pgsr.bounds.boxes_kernel import NO_BOX, best_boxes
from pgsr.bounds.range_risk import as_budget, range_risk, strength
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import Number

_NOISES = 40
"""A box has at most 40 / epsilon entities: more would be further from the counts, and the risk would hardly grow.

Under other budgets epsilon is the one under which neighbours are as hard to tell apart."""

_LARGEST = 20_000
"""A box has at most so many entities, whatever the budget is."""

_ONE_BY_ONE, _STEP = 1_000, 1.01
"""Boxes are chosen by the risks of all lengths up to the first number, and beyond it of lengths 1 % apart, on lines."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a block of regions, one after another; every array has shape (boxes,).

    The groups of ranks rank..rank + groups - 1 (0 is the smallest group of the region) have sizes size..size + sizes. A
    box holds k of its groups * sizes entities, filled from the largest rank down: the last k // sizes groups have all
    `sizes` of them, the one before k % sizes. Each k varies on its own: any combination is a data set, and the
    distance of two is the sum of |k - k'|. Groups in no box have the given sizes.

    Attributes:
        region: the row of the counts.
        rank, groups: the first group, and the number of groups.
        size, sizes: the least size, and how many entities a group may have beyond it.
        away: the largest distance from the given counts within the box.
    """

    region: np.ndarray
    rank: np.ndarray
    groups: np.ndarray
    size: np.ndarray
    sizes: np.ndarray
    away: np.ndarray

    @property
    def entities(self) -> np.ndarray:
        """The largest k."""
        return self.groups * self.sizes


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of the graphs of c[s], flat and by region: corners, and between two of them the middle.

    With the sizes s_1 < ... < s_d that occur in a region, its graph goes from s_1 - 1 to s_1 with no group, up by the
    groups of size s_1, on to s_2, up, ..., up by the groups of size s_d, and on to s_d + 1. It does not go beyond 0 and
    K. Every region has 4 d + 3 points, and corners at 0, 2, 4, ...

    Attributes:
        starts: first point of every region, and the number of points.
        size, groups: where the points are.
    """

    starts: np.ndarray
    size: np.ndarray
    groups: np.ndarray


def boxes(counts: np.ndarray, budget: Number | Loss) -> Boxes:
    """Choose boxes along the graph of the given counts, shape (regions, K + 1), whose Bayes risks add up to most.

    A chain of boxes leads from point to point of the graph, each from the end of one before or later, so that boxes
    have different groups and different sizes. What a box of p groups and q sizes is worth is B(p q); where one has a
    single corner of the graph it may be two, a group less in one and a size less in the other, along the corner.

    Complexity: of each region the points times the most points that 40 / epsilon entities have room for, in all
    about sizes that occur times sqrt(1 / epsilon).
    """
    points = _points(counts)
    room = int(counts.sum(axis=1, dtype=float).max()) * (counts.shape[1] - 1)
    budget = as_budget(budget)
    risk = _risks(budget, min(_LARGEST, ceil(_NOISES / strength(budget)), room))
    origin, in_two = np.full(len(points.size), NO_BOX), np.zeros(len(points.size), bool)
    best_boxes(points.starts, points.size, points.groups, risk, origin, in_two)
    end = np.flatnonzero(origin != NO_BOX)
    return _laid(points, origin[end], end, in_two[end], len(risk) - 1)


@lru_cache(8)
def _risks(budget: Loss, most: int) -> np.ndarray:
    """Compute the risk of every box that is allowed, by its entities; blocks of regions share it."""
    apart = _ONE_BY_ONE * _STEP ** np.arange(ceil(log(max(1, most / _ONE_BY_ONE), _STEP)))
    some = np.unique(np.minimum(np.append(np.arange(_ONE_BY_ONE), [*apart, most]), most).astype(np.int64))
    return np.interp(np.arange(1 + most), some, range_risk(some, budget))


def _laid(points: _Points, i: np.ndarray, j: np.ndarray, two: np.ndarray, most: int) -> Boxes:
    """Lay boxes between points i and j: whole, or shortened towards their only corner, or in two along its sides."""
    region = np.searchsorted(points.starts, j, side="right") - 1
    corner = (i - points.starts[region]) // 2 + 1  # the first one behind i
    single = j <= points.starts[region] + 2 * corner + 2
    up = single & (corner % 2 == 0)  # after a height, where groups may be larger; otherwise these may be smaller
    rank, size = points.groups[i], points.size[i]
    p, q = points.groups[j] - rank, points.size[j] - size
    groups = np.where(single, np.minimum(p, most), p)
    sizes = np.where(single, np.minimum(q, most // groups), q)
    # The corner after a height is at the last rank and the first size, others are at the first rank and the last size.
    one = [region, rank + np.where(up, p - groups, 0), groups, size + np.where(up, 0, q - sizes), sizes, groups * sizes]
    # Of two boxes one holds the corner's size of all groups but the corner's own, and one the rest of this group.
    groups, sizes = np.minimum(p - 1, most), np.minimum(q - 1, most)
    across = [region, rank + np.where(up, p - 1 - groups, 1), groups, np.where(up, size, size + q - 1)]
    across += [np.ones_like(p), groups + 1]  # away: data in two boxes lack one entity of the corner itself
    along = [region, rank + np.where(up, p - 1, 0), np.ones_like(p), np.where(up, size + 1, size + q - 1 - sizes)]
    along += [sizes, sizes]
    parts = ((one, ~two), (across, two & (p > 1)), (along, two & (q > 1)))
    return Boxes(*(np.concatenate([kind[n][chosen] for kind, chosen in parts]) for n in range(6)))


def _points(counts: np.ndarray) -> _Points:
    region, size = np.nonzero(counts)
    n_regions, largest = len(counts), counts.shape[1] - 1
    starts = np.concatenate([[0], np.cumsum(4 * np.bincount(region, minlength=n_regions) + 3)])
    foot = 4 * np.arange(len(region)) + 3 * region + 2  # the corner below a height
    upto = np.cumsum(counts, axis=1)[region, size]
    below = upto - counts[region, size]
    last, first = np.diff(region, append=-1) != 0, np.diff(region, prepend=-1) != 0
    following = np.where(last, np.minimum(size + 1, largest), np.roll(size, -1))
    sizes, groups = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.int64)
    sizes[foot[first] - 2] = sizes[foot[first] - 1] = np.maximum(size[first] - 1, 0)
    half, across = below + (upto - below) // 2, (size + following) // 2
    steps = ((size, below), (size, half), (size, upto), (across, upto), (following, upto))
    for step, (at, height) in enumerate(steps):
        sizes[foot + step], groups[foot + step] = at, height
    return _Points(starts, sizes, groups)
