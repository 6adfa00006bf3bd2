"""The groups of all regions of a level as runs of equal sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.groups import Groups
from pgsr.data.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Runs:
    """The groups of the regions of a level: `count[i]` groups of `size[i]` in the region `owner[i]` of the level.

    Attributes:
        owner, size, count: int64, sorted by owner and then by size, counts positive; shape (runs,) each.
        precision: 1 / variance of the size of one group, 0 where the region was not measured; shape (runs,).
        n_regions: of the level.
    """

    owner: np.ndarray
    size: np.ndarray
    count: np.ndarray
    precision: np.ndarray
    n_regions: int

    @classmethod
    def of_fit(cls, counts: np.ndarray, variance: float) -> "Runs":
        """Make the runs of counts, shape (regions, K + 1), that were fitted to cumulative counts of this variance."""
        owner, size = np.nonzero(counts)
        count = counts[owner, size].astype(np.int64)
        return cls(owner, size, count, count / (2 * variance), len(counts))

    @classmethod
    def of_groups(cls, regions: Sequence[Groups], precisions: Sequence[np.ndarray]) -> "Runs":
        """Put the groups of the regions of a level one after the other."""
        owner = np.repeat(np.arange(len(regions)), [len(groups.size) for groups in regions])
        size, count, precision = (
            np.concatenate([np.empty(0, kind), *parts])
            for kind, parts in (
                (np.int64, [groups.size for groups in regions]),
                (np.int64, [groups.count for groups in regions]),
                (float, precisions),
            )
        )
        return cls(owner, size, count, precision, len(regions))

    @classmethod
    def pooled(
        cls, owner: np.ndarray, size: np.ndarray, count: np.ndarray, variance: np.ndarray, n_regions: int
    ) -> "Runs":
        """Make runs from parts in any order: those of one size in a region become one, with their mean variance."""
        width = int(size.max(initial=0)) + 1
        key, where = np.unique(owner * width + size, return_inverse=True)
        counts, total = np.zeros(len(key), np.int64), np.zeros(len(key))
        np.add.at(counts, where, count)
        np.add.at(total, where, variance * count)
        return cls(key // width, key % width, counts, inverse(total / counts), n_regions)

    @classmethod
    def joined(cls, regions: "Sequence[Runs]") -> "Runs":
        """Put the regions of several, one after the other, into one level."""
        before = np.cumsum([0, *(runs.n_regions for runs in regions)])
        owner = np.concatenate([runs.owner + start for runs, start in zip(regions, before, strict=False)])
        size, count, precision = (
            np.concatenate([getattr(runs, name) for runs in regions]) for name in ("size", "count", "precision")
        )
        return cls(owner, size, count, precision, int(before[-1]))

    def region(self, number: int) -> "Runs":
        """Give the groups of one region, as a level of its own."""
        here = slice(*self.first[number : number + 2])
        return Runs(np.zeros_like(self.owner[here]), self.size[here], self.count[here], self.precision[here], 1)

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
        precision = np.concatenate([self.precision, np.zeros(int(rest.sum()))])[order]
        return Runs(owner[order], size, count, precision, len(measured))

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
        """Add the groups of the regions of a level up to those of the level above it."""
        owner = (tree.parent[tree.level(level)] - tree.level(level - 1).start)[self.owner]
        n_above = tree.level(level - 1).stop - tree.level(level - 1).start
        return Runs.pooled(owner, self.size, self.count, inverse(self.precision), n_above)


def inverse(values: np.ndarray) -> np.ndarray:
    """Compute 1 / values; infinite where a value is 0."""
    with np.errstate(divide="ignore"):
        return 1 / values
