"""The groups of all regions of a level as runs of equal sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pgsr.algorithms.groups import GroupRuns
from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.matching.precisions import GivenPrecisions, MatchedPrecisions, MergedPrecisions, Precisions


@dataclass(frozen=True, eq=False)
class Runs:
    """The groups of the regions of a level: `count[i]` groups of `size[i]` in the region `owner[i]` of the level.

    Attributes:
        owner, size, count: int64, sorted by owner and then by size, counts positive; shape (runs,) each.
        precision: 1 / variance of the size of one group, 0 where the region was not measured or nobody asks.
        n_regions: of the level.
    """

    owner: np.ndarray
    size: np.ndarray
    count: np.ndarray
    precision: Precisions
    n_regions: int

    @classmethod
    def of_fit(cls, counts: np.ndarray, variance: Fraction) -> "Runs":
        """Make the runs of counts, shape (regions, K + 1), that were fitted to cumulative counts of this variance."""
        owner, size = np.nonzero(counts)
        count = counts[owner, size].astype(np.int64)
        precision = GivenPrecisions(count, np.zeros(len(count), np.int64), (1 / (2 * Fraction(variance)),))
        return cls(owner, size, count, precision, len(counts))

    @classmethod
    def of_groups(cls, regions: Sequence[GroupRuns], precisions: Sequence[GivenPrecisions]) -> "Runs":
        """Put the groups of the regions of a level one after the other."""
        owner = np.repeat(np.arange(len(regions)), [len(groups.size) for groups in regions])
        size, count = (
            np.concatenate([np.empty(0, np.int64), *parts])
            for parts in ([groups.size for groups in regions], [groups.count for groups in regions])
        )
        return cls(owner, size, count, GivenPrecisions.joined(precisions), len(regions))

    @classmethod
    def merged(
        cls,
        owner: np.ndarray,
        size: np.ndarray,
        count: np.ndarray,
        pairs: MatchedPrecisions,
        averaged: bool,
        n_regions: int,
    ) -> "Runs":
        """Make runs of matched pairs in any order: those of one size in a region become one."""
        order, first = _of_one_size(owner, size)
        owner, size, count = owner[order], size[order], count[order]
        sorted_pairs = replace(pairs, top=pairs.top[order], bottom=pairs.bottom[order], silent=pairs.silent[order])
        precision = MergedPrecisions(sorted_pairs, count, first, averaged)
        return cls(owner[first[:-1]], size[first[:-1]], _sums(count, first), precision, n_regions)

    @classmethod
    def joined(cls, regions: "Sequence[Runs]") -> "Runs":
        """Put the regions of several, one after the other, into one level."""
        before = np.cumsum([0, *(runs.n_regions for runs in regions)])
        owner = np.concatenate([runs.owner + start for runs, start in zip(regions, before, strict=False)])
        size, count = (np.concatenate([getattr(runs, name) for runs in regions]) for name in ("size", "count"))
        precision = GivenPrecisions.joined([runs.precision.given(np.arange(len(runs.size))) for runs in regions])
        return cls(owner, size, count, precision, int(before[-1]))

    def region(self, number: int) -> "Runs":
        """Give the groups of one region, as a level of its own."""
        here = np.arange(*self.first[number : number + 2])
        precision = self.precision.given(here)
        return Runs(np.zeros_like(self.owner[here]), self.size[here], self.count[here], precision, 1)

    def with_unmeasured(self, measured: np.ndarray, others: "Runs") -> "Runs":
        """Put the groups of the measured regions of a level, which these are, to those of its others, of precision 0.

        Args:
            measured: which regions of the level were; bool, shape (regions of the level,).
            others: the groups of all regions of the level; those of measured ones are left out.
        """
        rest = ~measured[others.owner]
        owner = np.concatenate([np.flatnonzero(measured)[self.owner], others.owner[rest]])
        order = np.argsort(owner, kind="stable")
        size, count = (
            np.concatenate([own, more[rest]])[order]
            for own, more in ((self.size, others.size), (self.count, others.count))
        )
        known = self.precision.given(np.arange(len(self.size)))
        precision = GivenPrecisions.joined([known, GivenPrecisions.none(int(rest.sum()))])
        return Runs(owner[order], size, count, precision.given(order), len(measured))

    @property
    def first(self) -> np.ndarray:
        """The runs of region r are first[r] .. first[r + 1] - 1; shape (regions + 1,)."""
        return np.searchsorted(self.owner, np.arange(self.n_regions + 1))

    def table(self, max_size: int) -> np.ndarray:
        """Count the groups of the regions in the classes 0..max_size, "max_size or more" the last; int64."""
        counts = np.zeros((self.n_regions, max_size + 1), np.int64)
        np.add.at(counts, (self.owner, np.minimum(self.size, max_size)), self.count)
        return counts

    def upwards(self, tree: Hierarchy, level: int) -> "Runs":
        """Add the groups of the regions of a level up to those of the level above it; nobody asks their precision."""
        owner = (tree.parent[tree.level(level)] - tree.level(level - 1).start)[self.owner]
        n_above = tree.level(level - 1).stop - tree.level(level - 1).start
        order, first = _of_one_size(owner, self.size)
        owner, size = owner[order][first[:-1]], self.size[order][first[:-1]]
        return Runs(owner, size, _sums(self.count[order], first), GivenPrecisions.none(len(size)), n_above)


def _of_one_size(owner: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort parts by region and size; the order, and where the parts of the next size begin, with the end last."""
    key = owner * (int(size.max(initial=0)) + 1) + size
    order = np.argsort(key, kind="stable")
    new = np.flatnonzero(np.diff(key[order], prepend=-1))
    return order, np.append(new, len(key))


def _sums(count: np.ndarray, first: np.ndarray) -> np.ndarray:
    return np.diff(np.append(0, np.cumsum(count))[first])
