"""The rounding of real optima onto a grid on which they satisfy every condition exactly."""

import numpy as np

from pgsr import Problem, View
from pgsr.errors import ArgumentError
from pgsr.noise.measurement import Totals


def on_grid(problem: Problem, x: np.ndarray, unit: int) -> np.ndarray:
    """Round the leaves, or all regions that stand alone, to multiples of 1 / unit, and repair what has to add up.

    The nearest multiples keep order and signs. What a total of counts then misses is spread over its cells, a unit each
    at most as a rule; what a number of entities misses, where conditions state one of every lowest region, or the
    root's total of cumulative counts, goes to one pair of cells, or one cell. Regions above are sums, so consistency
    holds exactly.

    Args:
        problem: in reals.
        x: feasible to its tolerance, shape (regions, K + 1).
        unit: the multiples are of 1 / unit.

    Returns:
        unit times the point, int64 of x's shape.
    """
    tree = problem.hierarchy
    rows = np.arange(*tree.leaves.indices(tree.n_regions)) if problem.consistent else np.arange(tree.n_regions)
    grid = np.rint(np.asarray(x, float)[rows] * unit).astype(np.int64)
    totals = problem.stated_totals
    groups = None if totals is None else totals.astype(np.int64) * unit
    if problem.monotone:
        grid = np.maximum.accumulate(np.maximum(grid, 0), axis=1)
        if groups is not None and problem.totals is Totals.REGIONS:
            grid = np.minimum(grid, groups[rows, None])
            grid[:, -1] = groups[rows]
        elif groups is not None:
            missing = int(groups[0] - grid[:, -1].sum())
            grid[int(np.argmax(grid[:, -1] - grid[:, -2])), -1] += missing
    else:
        if problem.nonnegative:
            grid = np.maximum(grid, 0)
        if problem.conditions is not None:
            _repair_entities(problem, grid, groups, rows, unit)
        elif groups is not None and problem.totals is Totals.REGIONS:
            for row, missing in zip(grid, (groups[rows] - grid.sum(axis=1)).tolist(), strict=True):
                _spread(row, missing)
        elif groups is not None and problem.view is View.COUNTS:
            flat = grid.ravel()
            _spread(flat, int(groups[0] - flat.sum()))
            grid = flat.reshape(grid.shape)
    if not problem.consistent:
        return grid
    full = np.zeros(x.shape, np.int64)
    full[rows] = grid
    for level in range(tree.n_levels - 2, -1, -1):
        full[tree.level(level)] = tree.sum_children(full, level)
    return full


def _spread(cells: np.ndarray, missing: int) -> None:
    """Add up to `missing` more or less, evenly over the cells that are large enough for their part of it."""
    part = -(-abs(missing) // len(cells))
    able = np.flatnonzero(cells > part * len(cells))
    able = able if len(able) else np.array([np.argmax(cells)])
    each, rest = divmod(missing, len(able))
    cells[able] += each
    cells[able[:rest]] += 1


def _repair_entities(
    problem: Problem, grid: np.ndarray, groups: np.ndarray | None, rows: np.ndarray, unit: int
) -> None:
    """Give what is missing in groups and entities of every leaf to its best pair of neighbouring sizes."""
    assert problem.conditions is not None
    assert groups is not None
    sizes, people = np.arange(grid.shape[1]), problem.conditions.row_lower
    if len(people) != len(rows):
        raise ArgumentError(f"{problem!r} states other conditions than entities(level=...) of the lowest regions")
    missing = groups[rows] - grid.sum(axis=1)
    entities = people * unit - grid @ sizes
    first = np.argmax(np.minimum(grid[:, :-1], grid[:, 1:]), axis=1)
    second = entities - first * missing  # first * a + (first + 1) * b = entities with a + b = missing
    each = np.arange(len(grid))
    grid[each, first + 1] += second
    grid[each, first] += missing - second
