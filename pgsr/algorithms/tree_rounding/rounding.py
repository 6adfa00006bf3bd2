"""The integers of a whole hierarchy, one parent after the other."""

from collections.abc import Sequence

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.machine.blocks import row_blocks
from pgsr.methods.gate import NO_LIMIT, Deadline

GRID = 1024
"""Values are read in multiples of 1 / GRID; the docstring of the room says why."""

UP = 0.514
"""A value goes up to the next multiple from 1 - UP of the way on.

No fraction whose denominator is below 512,000 lies there."""


def integers_near(
    tree: Hierarchy,
    values: Sequence[np.ndarray],
    root_total: int,
    totals: np.ndarray | None = None,
    root: np.ndarray | None = None,
    deadline: Deadline = NO_LIMIT,
    *,
    in_place: bool = False,
) -> tuple[np.ndarray, ...]:
    """Find integer cumulative counts near real ones, consistent, non-negative and non-decreasing.

    What children of a smaller largest size share are the sizes below it and the total; the region's own tail is the
    part that its parent gave it.

    Args:
        tree: the regions.
        values: real cumulative counts, one table per level, root first, of shape (regions of the level, K + 1);
            consistent and non-decreasing up to rounding errors, below 2^43. K does not rise from the root down.
        root_total: the public number of groups of the whole hierarchy.
        totals: every region's public number of groups, shape (regions,), which add up; None if only the root's is
            public, where all levels have the same sizes.
        root: the cumulative counts of the root, if they are known; int64, shape (K + 1,).
        deadline: asked between regions.
        in_place: write the integers over the values, float64, which are gone then.

    Returns:
        int64, tables of the same shapes.

    Raises:
        Stopped: out of time.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values = np.array([[2.6, 4.1, 6.0, 7.0]]), np.array([[1.4, 3.0], [1.2, 4.0]])
        >>> [table.tolist() for table in integers_near(tree, values, 7, np.array([7, 3, 4]))]
        [[[3, 4, 6, 7]], [[2, 3], [1, 4]]]

    Source: new here; `pgsr.algorithms.tree_rounding` derives it.
    """
    from pgsr.algorithms.tree_rounding.kernel import share

    out = tuple(table.view(np.int64) if in_place else np.empty(table.shape, np.int64) for table in values)
    found = np.clip(np.maximum.accumulate(nearest(on_grid(values[0][0]))), 0, root_total) if root is None else root
    out[0][0], out[0][0, -1] = found, root_total
    given = np.empty(0, np.int64) if totals is None else np.ascontiguousarray(totals)
    for level in range(tree.n_levels - 1):
        here, below = tree.level(level), tree.level(level + 1).start
        n_shared = values[level + 1].shape[1]
        for region in range(here.start, here.stop):
            deadline.check("no integers of all regions")
            children = slice(tree.first_child[region], tree.first_child[region + 1])
            places = slice(children.start - below, children.stop - below)
            rising = _rising(values[level + 1][places], root_total, None if totals is None else totals[children])
            shared = out[level][region - here.start]
            if len(shared) > n_shared:  # the cells that children tell apart, and the total
                shared = np.append(shared[: n_shared - 1], shared[-1:])
            share(shared, rising, totals is not None, given[children], out[level + 1][places])
    return out


def _rising(values: np.ndarray, root_total: int, totals: np.ndarray | None) -> np.ndarray:
    """Bring values into order and below the totals, which are put at the end."""
    out = np.empty(values.shape)
    for rows in row_blocks(slice(0, len(values)), values.shape[1]):
        most = root_total if totals is None else totals[rows, None]
        np.maximum.accumulate(np.clip(on_grid(values[rows]), 0, most), axis=1, dtype=float, out=out[rows])
    if totals is not None:
        out[:, -1] = totals
    return out


def on_grid(values: np.ndarray) -> np.ndarray:
    """Read real values in multiples of 1 / GRID, as `integers_near` does.

    Example:
        >>> 1024 * on_grid(np.array([2.0, 2.0004, 2.0006]))
        array([2048., 2048., 2049.])
    """
    return np.floor(values * GRID + UP) / GRID
