"""The integers of a whole hierarchy, one parent after the other."""

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import nearest
from pgsr.machine.blocks import row_blocks
from pgsr.methods.gate import Deadline

GRID = 1024
"""Values are read in multiples of 1 / GRID; the docstring of the room says why."""

UP = 0.514
"""A value goes up to the next multiple from 1 - UP of the way on.

No fraction whose denominator is below 512,000 lies there."""


def integers_near(
    tree: Hierarchy,
    values: np.ndarray,
    root_total: int,
    totals: np.ndarray | None,
    deadline: Deadline,
) -> np.ndarray:
    """Find integer cumulative counts near real ones, consistent, non-negative and non-decreasing, in their memory.

    Args:
        tree: the regions.
        values: real cumulative counts, float64, shape (regions, K + 1); consistent and non-decreasing up to rounding
            errors, below 2^43. They are gone afterwards.
        root_total: the public number of groups of the whole hierarchy.
        totals: every region's public number of groups, shape (regions,), which add up; None if only the root's is
            public.
        deadline: asked between regions.

    Returns:
        int64, of the same shape, in the memory of `values`.

    Raises:
        Stopped: out of time.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> values = np.array([[2.6, 4.1, 7.0], [1.4, 2.2, 3.0], [1.2, 1.9, 4.0]])
        >>> integers_near(tree, values, 7, np.array([7, 3, 4]), Deadline()).tolist()
        [[3, 4, 7], [2, 2, 3], [1, 2, 4]]

    Source: new here; `pgsr.algorithms.tree_rounding` derives it.
    """
    from pgsr.algorithms.tree_rounding.kernel import share

    out = values.view(np.int64)
    out[0] = np.clip(np.maximum.accumulate(nearest(on_grid(values[0]))), 0, root_total)
    out[0, -1] = root_total
    given = np.empty(0, np.int64) if totals is None else np.ascontiguousarray(totals)
    for region in range(tree.n_inner):
        deadline.check("no integers of all regions")
        children = slice(tree.first_child[region], tree.first_child[region + 1])
        rising = _rising(values[children], root_total, None if totals is None else totals[children])
        share(out[region], rising, totals is not None, given[children], out[children])
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
