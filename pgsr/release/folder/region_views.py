"""The regions that summary.html shows one by one: which they are, and what is said of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.release.folder.released_tables import Ends
from pgsr.release.stated.excess import with_sizes_below

MOST_BARS = 60
"""The largest number of bars; more sizes than that are put together in ranges."""

MOST_REGIONS = 100
"""The largest number of regions that have a chart and a table of their own."""


@dataclass(frozen=True)
class RegionView:
    """One region as the page shows it.

    Attributes:
        name: its names from the second level down; the root's name.
        level: 0 for the root.
        counts: released, of every size; shape (K + 1,).
        lower, upper: ends of their intervals; None where there are none.
    """

    name: str
    level: int
    counts: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None

    @property
    def n_groups(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """The mean size, groups of the largest size and more taken as of this size; None without groups."""
        total = self.n_groups
        return int(self.counts @ np.arange(len(self.counts))) / total if total else None

    def share_from(self, size: int) -> float | None:
        """The share of groups of this size or more; None without groups."""
        total = self.n_groups
        return int(self.counts[size:].sum()) / total if total else None

    @cached_property
    def bins(self) -> tuple[list[str], list[int]]:
        """The labels and the heights of its bars."""
        return size_bins(self.counts)

    @property
    def ends(self) -> tuple[list[int], list[int]] | None:
        """The ends of the bars' intervals; None without intervals, or where a bar is a range: its ends are unknown."""
        if self.lower is None or self.upper is None or len(self.bins[0]) < len(self.counts):
            return None
        return self.lower.tolist(), self.upper.tolist()


def region_views(tree: Hierarchy, counts: Estimate, ends: Ends | None, min_size: int = 0) -> list[RegionView]:
    """Choose at most `MOST_REGIONS` regions: level by level from the root down, the largest of a level first.

    Args:
        tree: the regions.
        counts, ends: by excess over `min_size`.
        min_size: no group is smaller.
    """
    levels = np.array([len(tree.real_paths[region]) - 1 for region in tree.listed])
    totals = np.concatenate([table.sum(axis=1) for table in level_tables(tree, counts)])[tree.listed]
    chosen = tree.listed[np.lexsort((tree.listed, -totals, levels))[:MOST_REGIONS]]
    return list(_views(tree, counts, ends, chosen, min_size))


def level_tables(tree: Hierarchy, counts: Estimate, min_size: int = 0) -> list[np.ndarray]:
    """Split counts by excess over `min_size` into a table by size per level; shape (regions of the level, K + 1)."""
    levels = map(tree.level, range(tree.n_levels))
    return [with_sizes_below(counts.rows(here.start, here.stop), min_size) for here in levels]


def large_size(root: np.ndarray, most: int) -> int:
    """Choose from which size on groups are called large: the first that at most a tenth of the root's groups reach.

    Args:
        root: released counts of the root.
        most: a size that all levels have; no larger one is chosen.

    Example:
        >>> large_size(np.array([0, 60, 31, 8, 1]), 4)
        3
    """
    reached = np.cumsum(root[::-1])[::-1]
    few = np.flatnonzero(10 * reached <= reached[0])
    return min(most, max(1, int(few[0]))) if len(few) else most


def size_bins(counts: np.ndarray) -> tuple[list[str], list[int]]:
    """Put sizes together in at most `MOST_BARS` ranges of equal width; labels and numbers of groups.

    The largest size stands for itself, because larger groups are counted there.

    Example:
        >>> size_bins(np.array([4, 3, 2, 1]))
        (['0', '1', '2', '3+'], [4, 3, 2, 1])
    """
    largest = len(counts) - 1
    width = -(-largest // MOST_BARS)
    labels, values = [], []
    for start in range(0, largest, width):
        stop = min(start + width, largest)
        labels.append(str(start) if width == 1 else f"{start:,}-{stop - 1:,}")
        values.append(int(counts[start:stop].sum()))
    return [*labels, f"{largest:,}+"], [*values, int(counts[-1])]


def _views(
    tree: Hierarchy, counts: Estimate, ends: Ends | None, regions: np.ndarray, min_size: int
) -> Iterator[RegionView]:
    tables = level_tables(tree, counts)
    starts = np.cumsum([0, *(table.size for table in tables)])
    lower, upper = (None, None) if ends is None else (ends.lower, ends.upper)
    for region in regions.tolist():
        level, path = int(tree.level_of[region]), tree.real_paths[region]
        table, row = tables[level], region - tree.level(level).start
        cells = slice(int(starts[level]) + row * table.shape[1], int(starts[level]) + (row + 1) * table.shape[1])
        shown = [None if side is None else with_sizes_below(side[cells], min_size) for side in (lower, upper)]
        yield RegionView(" / ".join(path[1:] or path), len(path) - 1, with_sizes_below(table[row], min_size), *shown)
