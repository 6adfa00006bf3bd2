"""Stand-ins for private counts, made from public facts alone: a tree, numbers of groups, and a law of sizes."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pgsr.checks import whole_number
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ArgumentError


def stand_in(regions: Sequence[int], groups: int, max_size: int, mean_size: float) -> CountOfCounts:
    """Make counts of a wished shape, to plan with where no earlier table is at hand.

    Regions have equally many children, and leaves equally many groups, up to one. Sizes are drawn by `geometric_law`.

    Args:
        regions: their number on every level: 1, then from the root down.
        groups: their number in all.
        max_size: K, in which larger groups count.
        mean_size: members per group, before larger groups are counted as K.

    Raises:
        ArgumentError: an argument is no such number, or a level has fewer regions than the one above.

    Example:
        >>> made = stand_in((1, 2, 5), groups=1_000, max_size=4, mean_size=1.5)
        >>> made
        CountOfCounts(stand-in: Hierarchy(8 regions, levels 1 / 2 / 5), sizes 0..4, 1,000 groups)
        >>> made.totals.tolist()
        [1000, 600, 400, 200, 200, 200, 200, 200]
    """
    levels = list(regions)
    for name, value in (*(("regions", n) for n in levels), ("groups", groups), ("max_size", max_size)):
        whole_number(name, value, 1, ArgumentError)
    if levels[:1] != [1] or levels != sorted(levels):
        raise ArgumentError(f"regions={regions!r}; give their number on every level, 1 and then no fewer from the root")
    if not 0 < mean_size < float("inf"):
        raise ArgumentError(f"mean_size={mean_size!r}; give a number above 0")
    parents, start = [-1], 0
    for above, here in pairwise(levels):
        parents += [start + place * above // here for place in range(here)]
        start += above
    tree = Hierarchy.from_parents([f"region {place}" for place in range(len(parents))], parents)
    return stand_in_of(tree, spread_evenly(groups, levels[-1]), geometric_law(mean_size, max_size))


def stand_in_of(
    hierarchy: Hierarchy,
    leaf_totals: Sequence[int] | np.ndarray,
    size_law: Sequence[float],
    seed: int = 0,
    max_sizes: Sequence[int] | None = None,
) -> CountOfCounts:
    """Make a stand-in from public facts alone: the tree, every leaf's number of groups, and a law of sizes 0..K.

    The groups of every leaf are drawn from `size_law` (a published national table, a textbook law), so that rare sizes
    occur somewhere, as in real data. With sizes per level they are drawn by class, without the large tables of which
    these would be folded; above the leaves, groups of the last class get sizes by the law of larger ones, which is what
    drawing all sizes at once would do.

    Args:
        hierarchy: the regions.
        leaf_totals: number of groups of every leaf, in the order of `hierarchy.paths`.
        size_law: proportions of sizes 0..K, not negative, not all 0.
        seed: of the draws, which need no secrecy.
        max_sizes: the largest size of every level, root first, where levels have sizes of their own; K is the root's.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> made = stand_in_of(tree, [40, 60], [0, 3, 2, 1], max_sizes=(3, 1))
        >>> [table.sum(axis=1).tolist() for table in made.tables], made.max_sizes
        ([[100], [40, 60]], (3, 1))
    """
    totals, law = _checked_law(hierarchy, leaf_totals, size_law)
    generator = np.random.default_rng(seed)
    if max_sizes is None:
        return CountOfCounts(hierarchy, generator.multinomial(totals, law), "stand-in")
    if len(max_sizes) != hierarchy.n_levels or len(law) != max_sizes[0] + 1:
        raise ArgumentError(
            f"{len(max_sizes)} largest sizes and a law of {len(law)} sizes for {hierarchy.n_levels} levels; give one "
            "largest size per level, and a proportion for every size of the root"
        )
    last = max_sizes[-1]
    tables = [generator.multinomial(totals, np.append(law[:last], law[last:].sum()))]
    for level in range(hierarchy.n_levels - 2, -1, -1):
        k, below = max_sizes[level], hierarchy.sum_below(tables[0], level)
        larger = np.append(law[last:k], law[k:].sum())
        chances = larger / larger.sum() if larger.any() else np.eye(len(larger))[0]
        tables.insert(0, np.concatenate([below[:, :last], generator.multinomial(below[:, last], chances)], axis=1))
        last = k
    return CountOfCounts(hierarchy, tuple(tables), "stand-in")


def geometric_law(mean_size: float, max_size: int) -> list[float]:
    """Compute the chances of the sizes 0..K under a geometric law, where larger groups count as K, as in a release:

        (1 - r) r^size below K, r^K at K, with r = mean_size / (1 + mean_size).

    Their mean is mean_size (1 - r^K), less than `mean_size` by what counting larger groups as K takes away.

    Example:
        >>> geometric_law(1.0, 3)
        [0.5, 0.25, 0.125, 0.125]
    """
    ratio = mean_size / (1 + mean_size)
    return [ratio**size / (1 + mean_size) for size in range(max_size)] + [ratio**max_size]


def spread_evenly(groups: int, n_leaves: int) -> np.ndarray:
    """Spread groups over leaves, as evenly as can be.

    Example:
        >>> spread_evenly(8, 3)
        array([3, 3, 2])
    """
    return groups // n_leaves + (np.arange(n_leaves) < groups % n_leaves)


def _checked_law(
    hierarchy: Hierarchy, leaf_totals: Sequence[int] | np.ndarray, size_law: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Check the numbers of groups of the leaves, and make proportions of sizes add up to 1."""
    totals, law = np.asarray(leaf_totals), np.asarray(size_law, float)
    n_leaves = hierarchy.n_regions - hierarchy.n_inner
    if totals.shape != (n_leaves,) or totals.dtype.kind not in "iu" or (totals < 0).any():
        raise ArgumentError(f"leaf_totals are {n_leaves} whole numbers, one per leaf, not negative")
    if law.ndim != 1 or len(law) < 2 or not np.isfinite(law).all() or (law < 0).any() or not law.any():
        raise ArgumentError("size_law is one proportion per size 0..K, not negative and not all 0")
    return totals, law / law.sum()
