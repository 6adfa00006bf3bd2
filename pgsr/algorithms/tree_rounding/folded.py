"""Integers near real cumulative counts where levels have sizes of their own, from the root down."""

from collections.abc import Sequence

import numpy as np

from pgsr.algorithms.tree_rounding.rounding import on_grid
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.methods.gate import NO_LIMIT, Deadline


def integers_by_level(
    tree: Hierarchy,
    values: Sequence[np.ndarray],
    totals: Sequence[np.ndarray],
    root: np.ndarray | None = None,
    deadline: Deadline = NO_LIMIT,
) -> tuple[np.ndarray, ...]:
    """Find integer cumulative counts with sizes per level that are near real ones and add up.

    As `integers_near` with the same sizes everywhere: the root is rounded, and every region shares its integers among
    its children, size by size. What children of a smaller largest size share are the sizes below it and the total; the
    region's own tail is the part that its parent gave it.

    Args:
        tree: the regions.
        values: real cumulative counts per level, consistent and non-decreasing up to rounding errors; shape (regions of
            the level, K + 1). Totals stand in the place of the last ones.
        totals: numbers of groups per level, which add up; int64, shape (regions of the level,).
        root: cumulative counts of the root, if they are known; int64, shape (K + 1,).
        deadline: asked between levels.

    Returns:
        int64, shape (regions of the level, K + 1) per level.

    Raises:
        Stopped: out of time.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values = np.array([[2.6, 4.1, 6.0, 7.0]]), np.array([[1.4, 3.0], [1.2, 4.0]])
        >>> [table.tolist() for table in integers_by_level(tree, values, (np.array([7]), np.array([3, 4])))]
        [[[3, 4, 6, 7]], [[2, 3], [1, 4]]]
    """
    from pgsr.algorithms.tree_rounding.kernel import share

    rising = [_rising(*pair) for pair in zip(values, totals, strict=True)]
    found = [np.empty(table.shape, np.int64) for table in rising]
    found[0][0] = nearest(rising[0][0]) if root is None else root
    for level in range(tree.n_levels - 1):
        deadline.check("no integers of all regions")
        here, n_shared = tree.level(level), rising[level + 1].shape[1]
        first = tree.first_child[here.start : here.stop + 1] - here.stop
        # A region's cells that its children tell apart, and its total.
        shared = np.append(found[level][:, : n_shared - 1], found[level][:, -1:], axis=1)
        for region, (start, stop) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
            children = slice(start, stop)
            given = rising[level + 1][children], True, totals[level + 1][children]
            share(shared[region], *given, found[level + 1][children])
    return tuple(found)


def _rising(values: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Bring values into order and below the totals, which are put at the end."""
    out = np.empty(values.shape)
    np.maximum.accumulate(np.clip(on_grid(values[:, :-1]), 0, totals[:, None]), axis=1, out=out[:, :-1])
    out[:, -1] = totals
    return out
