"""The coordinates along which the data of a lower bound vary: cumulative counts and ranked sizes, each in a range."""

from dataclasses import dataclass

import numpy as np

from pgsr.bounds.range_risk import range_risk
from pgsr.bounds.splits_kernel import BOTH, EARLIER, LATER, best_splits
from pgsr.privacy.budget import Number


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates of a block of regions, one after another; every array has shape (coordinates,).

    Each is a whole number from `low` to `high` that varies on its own: any combination of values is a data set, and
    one entity more or less changes one coordinate by one. What no coordinate touches is as in the given counts.

    Attributes:
        region: the row of the counts.
        cumulative: whether it is c[place], a number of groups; otherwise it is a size, that of the group of rank
            `place` (0 for the smallest).
        place: a size, or a rank.
        low, high: the range.
    """

    region: np.ndarray
    cumulative: np.ndarray
    place: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class _Segments:
    """The segments of the graphs of c[s], flat and by region.

    With the sizes s_1 < ... < s_d that occur in a region, its segments are: gap 0 (from s_1 - 1 to s_1), height 1
    (groups of size s_1), gap 1 (from s_1 to s_2), height 2, ..., height d, gap d (from s_d to s_d + 1). A gap at an end
    is 0 where sizes end there, at 0 or K.

    Attributes:
        starts: first segment of every region, and the number of segments.
        region, height: of every segment, the region, and whether it is a height.
        length: of every segment, in groups or sizes.
        size: of a height, its groups' size; of a gap, the one at which it ends.
        groups: of a height, how many groups are smaller; of a gap, how many lie before it.
    """

    starts: np.ndarray
    region: np.ndarray
    height: np.ndarray
    length: np.ndarray
    size: np.ndarray
    groups: np.ndarray


def coordinates(counts: np.ndarray, epsilon: Number) -> Coordinates:
    """Choose coordinates near the given counts, shape (regions, K + 1), whose Bayes risks add up to much.

    The corners of the graph of c[s] are where a height meets a gap. At a corner with p groups of the height and q sizes
    of the gap to itself there may be a cumulative count with range p, the size of one group with range q, or both with
    ranges p - 1 and q - 1. Every segment goes to one of its two corners or is halved, as is best in all.

    Complexity: linear in the number of sizes that occur, beside `range_risk` of the distinct lengths.
    """
    segments = _segments(counts)
    before, kind = _split(segments, epsilon)
    at = np.flatnonzero(kind)
    less = (kind[at] == BOTH).astype(np.int64)
    ahead, behind = segments.length[at - 1] - before[at - 1], before[at]
    up = segments.height[at - 1]  # from a height to a gap: groups may be larger; otherwise they may be smaller
    size, groups = np.where(up, segments.size[at - 1], segments.size[at]), segments.groups[at]
    n_groups, n_sizes = np.where(up, ahead, behind), np.where(up, behind, ahead)
    has_count = (kind[at] & np.where(up, EARLIER, LATER)) > 0
    has_rank = (kind[at] & np.where(up, LATER, EARLIER)) > 0
    counts_of = (
        np.where(up, size, size - 1),
        np.where(up, groups - n_groups, groups + less),
        np.where(up, groups - less, groups + n_groups),
    )
    ranks = (
        np.where(up, groups - 1, groups),
        np.where(up, size + less, size - n_sizes),
        np.where(up, size + n_sizes, size - less),
    )
    place, low, high = (
        np.concatenate([count[has_count], rank[has_rank]]) for count, rank in zip(counts_of, ranks, strict=True)
    )
    region = segments.region[at]
    return Coordinates(
        np.concatenate([region[has_count], region[has_rank]]),
        np.arange(len(place)) < has_count.sum(),
        place,
        low,
        high,
    )


def _segments(counts: np.ndarray) -> _Segments:
    region, size = np.nonzero(counts)
    n_regions, largest = len(counts), counts.shape[1] - 1
    starts = np.concatenate([[0], np.cumsum(2 * np.bincount(region, minlength=n_regions) + 1)])
    at = 2 * np.arange(len(region)) + region + 1  # of heights; every region has one gap more than heights
    groups, upto = counts[region, size], np.cumsum(counts, axis=1)[region, size]
    last = np.flatnonzero(np.diff(region, append=-1))
    following = np.roll(size, -1)
    following[last] = np.minimum(size[last] + 1, largest)
    first = np.flatnonzero(np.diff(region, prepend=-1))
    length, sizes, below = (np.zeros(starts[-1], np.int64) for _ in range(3))
    length[at], sizes[at], below[at] = groups, size, upto - groups
    length[at + 1], sizes[at + 1], below[at + 1] = following - size, following, upto
    length[at[first] - 1] = np.minimum(size[first], 1)
    height = np.zeros(len(length), bool)
    height[at] = True
    return _Segments(starts, np.repeat(np.arange(n_regions), np.diff(starts)), height, length, sizes, below)


def _split(segments: _Segments, epsilon: Number) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of every segment goes to the corner before it, and along what that corner has coordinates."""
    length = segments.length
    before = np.stack([np.zeros_like(length), length // 2, length], axis=1)
    parts = np.stack([before, length[:, None] - before], axis=2)
    risk = range_risk(np.concatenate([parts, np.maximum(parts - 1, 0)], axis=2), epsilon)
    less = np.where(parts > 0, risk[:, :, 2:], -1)
    way, kind = np.zeros(len(length), np.int8), np.zeros(len(length), np.int8)
    best_splits(segments.starts, np.ascontiguousarray(risk[:, :, :2]), less, way, kind)
    return before[np.arange(len(length)), way], kind
