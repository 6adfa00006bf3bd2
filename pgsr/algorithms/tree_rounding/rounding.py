"""The integers of a whole hierarchy, one parent after the other."""

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
    values: np.ndarray,
    root_total: int,
    totals: np.ndarray | None = None,
    deadline: Deadline = NO_LIMIT,
    *,
    in_place: bool = False,
) -> np.ndarray:
    """Find integer cumulative counts near real ones, consistent, non-negative and non-decreasing.

    Args:
        tree: the regions.
        values: real cumulative counts, shape (regions, K + 1); consistent and non-decreasing up to rounding errors,
            below 2^43.
        root_total: the public number of groups of the whole hierarchy.
        totals: every region's public number of groups, shape (regions,), which add up; None if only the root's is
            public.
        deadline: asked between regions.
        in_place: write the integers over the values, float64, which are gone then.

    Returns:
        int64, shape (regions, K + 1).

    Raises:
        Stopped: out of time.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> integers_near(tree, np.array([[2.6, 4.1, 6.0], [1.4, 2.1, 3.0], [1.2, 2.0, 3.0]]), 6, np.array([6, 3, 3]))
        array([[3, 4, 6],
               [2, 2, 3],
               [1, 2, 3]])

    Source: new here; `pgsr.algorithms.tree_rounding` derives it.
    """
    from pgsr.algorithms.tree_rounding.kernel import share

    out = values.view(np.int64) if in_place else np.empty(values.shape, np.int64)
    out[0] = np.clip(np.maximum.accumulate(nearest(on_grid(values[0]))), 0, root_total)
    out[0, -1] = root_total
    given = np.empty(0, np.int64) if totals is None else np.ascontiguousarray(totals)
    for region in range(tree.n_inner):
        deadline.check("no integers of all regions")
        children = slice(tree.first_child[region], tree.first_child[region + 1])
        rising = np.empty(values[children].shape)
        for rows in row_blocks(children, values.shape[1]):
            most = root_total if totals is None else totals[rows, None]
            np.maximum.accumulate(
                np.clip(on_grid(values[rows]), 0, most), axis=1, dtype=float,
                out=rising[rows.start - children.start : rows.stop - children.start],
            )  # fmt: skip
        if totals is not None:
            rising[:, -1] = totals[children]
        share(out[region], rising, totals is not None, given[children], out[children])
    return out


def on_grid(values: np.ndarray) -> np.ndarray:
    """Read real values in multiples of 1 / GRID, as `integers_near` does.

    Example:
        >>> 1024 * on_grid(np.array([2.0, 2.0004, 2.0006]))
        array([2048., 2048., 2049.])
    """
    return np.floor(values * GRID + UP) / GRID
