"""The groups of all regions of a level as runs of equal sizes, and one level matched to the one below it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest


@dataclass(frozen=True, eq=False)
class Runs:
    """The groups of the regions of a level: `count[i]` groups of `size[i]` in the region `owner[i]` of the level.

    Attributes:
        owner, size, count: int64, sorted by owner and then by size, counts positive; shape (runs,) each.
        precision: 1 / variance of the size of one group; shape (runs,).
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
    def pooled(
        cls, owner: np.ndarray, size: np.ndarray, count: np.ndarray, variance: np.ndarray, n_regions: int
    ) -> "Runs":
        """Make runs from parts in any order: those of one size in a region become one, with their mean variance."""
        width = int(size.max(initial=0)) + 1
        key, where = np.unique(owner * width + size, return_inverse=True)
        counts, total = np.zeros(len(key), np.int64), np.zeros(len(key))
        np.add.at(counts, where, count)
        np.add.at(total, where, variance * count)
        return cls(key // width, key % width, counts, 1 / (total / counts), n_regions)

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
        return Runs.pooled(owner, self.size, self.count, 1 / self.precision, n_above)


def merged(parents: Runs, children: Runs, tree: Hierarchy, level: int, last: int) -> Runs:
    """Match the groups of the regions above to those of their children on this level, and merge their sizes.

    Args:
        parents: of level - 1, with sizes as they were merged before.
        children: of the level, each fitted alone.
        last: the last class of the level; the children's groups in it are of this size or any larger one.
    """
    from pgsr.algorithms.matching.kernel import match_runs

    above = tree.level(level - 1)
    starts = np.append(tree.first_child[above] - above.stop, children.n_regions)
    ends_above, ends = parents.first, children.first[starts]
    tops, bottoms, counts = [], [], []
    for parent in range(parents.n_regions):
        there, below = slice(*ends_above[parent : parent + 2]), slice(*ends[parent : parent + 2])
        order = below.start + np.argsort(children.size[below], kind="stable")
        top, place, count = match_runs(
            parents.size[there], parents.count[there], children.size[order], children.count[order]
        )
        tops.append(there.start + top)
        bottoms.append(order[place])
        counts.append(count)
    top, bottom, count = map(np.concatenate, (tops, bottoms, counts))
    by_child = np.argsort(children.owner[bottom], kind="stable")
    top, bottom, count = top[by_child], bottom[by_child], count[by_child]
    x, y = parents.size[top], children.size[bottom]
    px, py = parents.precision[top], np.where((y == last) & (x > last), 0.0, children.precision[bottom])
    size = nearest((px * x + py * y) / (px + py))
    return Runs.pooled(children.owner[bottom], size, count, 1 / (px + py), children.n_regions)
