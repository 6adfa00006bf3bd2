"""The translation of a problem into a program, block by block."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy import sparse

from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.problems.conditions.matrices import UNBOUNDED, Conditions
from pgsr.problems.fields import ProblemFields
from pgsr.problems.programs.auxiliary import widened, with_choices
from pgsr.problems.programs.program import Program

Block = tuple[sparse.csr_array, np.ndarray]
"""Rows and their right-hand sides."""

Stated = TypeVar("Stated", bound=ProblemFields)


def program_of(problem: ProblemFields, box: tuple[np.ndarray, np.ndarray] | None = None) -> Program:
    """Formulate any problem as a program in the unknowns z[r, i] = x[r, i] - y[r, i], row by row of regions:

        minimise    sum_{r,i} w[r] |z[r, i]|^norm
        subject to  `consistency_rows`, `totals_rows`, `order_rows`, `stated_rows`, stated bounds of cells, and
                    z[r, i] >= -y[r, i] for non-negative problems,

    and with further unknowns and rows where `pgsr.problems.programs.auxiliary` has some. Conditions joined by `either`
    need two numbers that every cell of some optimum is between, `box`; `Problem.intervals` has some if it is None. In
    regions without weight y is the sum of the children's y (`with_sums`).

    Where regions are tied together, order, non-negativity of cumulative counts and every region's total are stated at
    the leaves only, as sums keep them. Where levels have sizes of their own, the order of sizes that children do not
    tell apart is stated besides (`ordered_cells`).

    Complexity: O(cells) numbers; no loop over cells.

    Source: Fioretto and Van Hentenryck 2019, programs H1-H4 and C1-C5 (H2 at the root only); Kuo et al. 2018, section
    4.
    """
    if problem.view is View.RANKED:
        return _ranked(problem)
    problem = with_sums(problem)
    y, sizes = problem.cells, problem.sizes
    equal, above, below = stated_rows(problem)
    matrix, right = _stacked(y.size, [consistency_rows(problem), totals_rows(problem)])
    order, order_right = _stacked(y.size, [order_rows(problem)])
    lower = np.full(y.shape, -np.inf)
    if problem.nonnegative and not problem.monotone:
        lower[:] = -y
    elif problem.nonnegative:
        first = sizes.first_cell[:-1][regions_with_least(problem)]
        lower[first] = -y[first]
    upper = np.full(y.shape, np.inf)
    stated = problem.conditions
    if stated is not None:
        lower = np.where(stated.lower > -UNBOUNDED, np.maximum(lower, stated.lower - y), lower)
        upper = np.where(stated.upper < UNBOUNDED, stated.upper - y, upper)
    program = Program(
        norm=problem.norm,
        weight=problem.cell_weights,
        matrix=matrix,
        right=right,
        order=order,
        order_right=order_right,
        lower=lower,
        upper=upper,
        integer=problem.integer,
        origin=y,
        reach=(lower, upper),
        n_cells=y.size,
    )
    if stated is not None and stated.choices is not None:
        program = with_choices(program, stated.choices, problem.intervals if box is None else box)
    matrix, right = _stacked(program.n, [(program.matrix, program.right), equal])
    order, order_right = _stacked(program.n, [(program.order, program.order_right), above, below])
    switch = program.switch
    if switch is not None:
        switch = np.append(switch, np.full(len(order_right) - len(switch), -1))
    return replace(program, matrix=matrix, right=right, order=order, order_right=order_right, switch=switch)


def with_sums(problem: Stated) -> Stated:
    """Put the sums of the children in place of values without weight, which are not part of the objective.

    The unknowns z = x - y of such regions are then as small as those of the others, and so is what is on the right.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> problem = Problem.of([[0, 0], [1, 5], [2, 7]], tree, weights=np.array([0, 1, 1]))
        >>> with_sums(problem).target[0]
        array([ 3, 12])
    """
    tree = problem.hierarchy
    unmeasured = ~problem.measured[: tree.n_inner]
    if not problem.consistent or not unmeasured.any():
        return problem
    y = problem.target.copy()
    for level in range(tree.n_levels - 2, -1, -1):
        regions = tree.level(level)
        y[regions] = np.where(unmeasured[regions, None], tree.sum_children(y, level), y[regions])
    return replace(problem, cells=y.ravel())


def consistency_rows(problem: ProblemFields) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of consistency, one per inner region r and size i of the level below:

    f(z[r])[i] - sum_{c child of r} z[c, i] = -(f(y[r])[i] - sum_c y[c, i])

    where f folds a region's sizes into those of its children (`pgsr.data.sizes.Sizes.folded`); where all levels have
    the same sizes it changes nothing.
    """
    tree, sizes = problem.hierarchy, problem.sizes
    if not problem.consistent:
        return _none(sizes.n_cells)
    blocks, right, start = [], [], 0
    for level in range(tree.n_levels - 1):
        here, below = tree.level(level), tree.level(level + 1)
        width = sizes.max_sizes[level + 1] + 1
        # Every row's number, in place of a price: `spread` gives each cell that of the sum that it is a part of.
        number = start + np.arange((here.stop - here.start) * width).reshape(-1, width)
        blocks.append((sizes.spread(number, level).ravel(), sizes.cells_of(level), 1.0))
        of_children = number[tree.parent[below] - here.start].ravel()
        blocks.append((of_children, sizes.cells_of(level + 1), -1.0))
        # Integer arithmetic, so that the right-hand side is exact whatever the size of the counts.
        folded = sizes.folded(problem.tables[level], level, problem.view)
        right.append((sizes.children_sums(problem.tables, level) - folded).ravel())
        start += number.size
    if not blocks:
        return _none(sizes.n_cells)
    rows, columns = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    signs = np.concatenate([np.full(len(block[0]), block[2]) for block in blocks])
    return sparse.csr_array((signs, (rows, columns)), shape=(start, sizes.n_cells)), np.concatenate(right)


def totals_rows(problem: ProblemFields) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of public totals G[r], one per region of `regions_with_total`:

    counts:      sum_s z[r, s] = G[r] - sum_s y[r, s]
    cumulative:  z[r, K] = G[r] - y[r, K]
    """
    y, sizes = problem.cells, problem.sizes
    regions = regions_with_total(problem)
    if not len(regions):
        return _none(y.size)
    totals = problem.stated_totals
    assert totals is not None, "regions with a total have one"
    if problem.view is View.COUNTS:
        matrix = _sums_of_regions(problem, regions, np.ones(len(y)))
    else:
        rows, cells = np.arange(len(regions)), sizes.last_cell[regions]
        matrix = sparse.csr_array((np.ones(len(cells)), (rows, cells)), shape=(len(regions), y.size))
    return matrix, totals[regions] - matrix.astype(np.int64) @ y


def _sums_of_regions(problem: ProblemFields, regions: np.ndarray, data: np.ndarray) -> sparse.csr_array:
    """Build one row per region, with `data` of all cells at the region's own; data of all cells, shape (cells,)."""
    first, n = problem.sizes.first_cell, len(regions)
    widths = first[regions + 1] - first[regions]
    rows = np.repeat(np.arange(n), widths)
    cells = np.arange(len(rows)) + np.repeat(first[regions] - np.cumsum(widths) + widths, widths)
    return sparse.csr_array((data[cells], (rows, cells)), shape=(n, len(data)))


def order_rows(problem: ProblemFields) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of monotone cumulative counts, one per cell of `ordered_cells`:

    z[r, i] - z[r, i + 1] <= y[r, i + 1] - y[r, i]
    """
    if not problem.monotone:
        return _none(problem.sizes.n_cells)
    y, first = problem.cells, ordered_cells(problem)
    return _differences(first, y.size), y[first + 1] - y[first]


def stated_rows(problem: ProblemFields) -> tuple[Block, Block, Block]:
    """Build the rows a[k] x that `Problem.where` stated: equal to, at most and at least their bounds, the last negated:

    a[k] z = b[k] - a[k] y,    a[k] z <= upper[k] - a[k] y,    -a[k] z <= a[k] y - lower[k]
    """
    y, conditions = problem.cells, problem.conditions
    if conditions is None:
        return _none(y.size), _none(y.size), _none(y.size)
    have = conditions.rows @ y
    equal, above, below = stated_sides(conditions)
    rows = sparse.csr_array(conditions.rows.astype(float))
    return (
        (sparse.csr_array(rows[equal]), conditions.row_lower[equal] - have[equal]),
        (sparse.csr_array(rows[above]), conditions.row_upper[above] - have[above]),
        (sparse.csr_array(-rows[below]), have[below] - conditions.row_lower[below]),
    )


def stated_sides(stated: Conditions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Say which stated rows are equalities, which have an upper and which a lower bound; bool, shape (m,) each."""
    equal = stated.row_lower == stated.row_upper
    return equal, ~equal & (stated.row_upper < UNBOUNDED), ~equal & (stated.row_lower > -UNBOUNDED)


def regions_with_total(problem: ProblemFields) -> np.ndarray:
    """The regions whose public total has a row; the other totals follow from consistency."""
    if problem.totals is None:
        return np.arange(0)
    if problem.totals is Totals.ROOT:
        return np.arange(1)
    totals = problem.stated_totals
    assert totals is not None, "totals of regions are stated"
    return _not_implied(problem, totals)


def _not_implied(problem: ProblemFields, sums: np.ndarray) -> np.ndarray:
    """The leaves, where regions are tied together and sums add up; where they do not, all, to show it."""
    tree = problem.hierarchy
    if problem.consistent and np.array_equal(sums, tree.sum_up(sums[tree.leaves])):
        return np.arange(*tree.leaves.indices(tree.n_regions))
    return np.arange(tree.n_regions)


def ordered_from(problem: ProblemFields, level: int) -> int:
    """Find the first size of a level's regions whose order with the next size is stated; K where none is.

    Sums of children in order are in order, and so is the number of groups.
    """
    last = level == problem.hierarchy.n_levels - 1
    return 0 if last or not problem.consistent else problem.sizes.max_sizes[level]


def ordered_cells(problem: ProblemFields) -> np.ndarray:
    """List the cells whose order with the next size of the same region is stated, by their places among all cells."""
    tree, sizes = problem.hierarchy, problem.sizes
    found = []
    for level, largest in enumerate(sizes.max_sizes):
        stated = np.arange(ordered_from(problem, level), largest)
        found.append((sizes.first_cell[tree.level(level), None] + stated).ravel())
    return np.concatenate(found)


def regions_with_least(problem: ProblemFields) -> np.ndarray:
    """Say in which regions size 0 has a bound of its own: in the others sums of non-negative values are there."""
    stated = np.full(problem.hierarchy.n_regions, not problem.consistent)
    stated[problem.hierarchy.leaves] = True
    return stated


def _ranked(problem: ProblemFields) -> Program:
    """Formulate ranked sizes, every region alone: order within a region, 0 <= x <= K."""
    y, lengths = problem.cells, np.diff(problem.first_cell)
    ends = np.cumsum(lengths) - 1
    first = np.setdiff1d(np.arange(len(y)), ends[lengths > 0])
    none, nothing = _none(len(y))
    lower, upper = -y.astype(float), problem.max_size - y.astype(float)
    return Program(
        norm=problem.norm,
        weight=np.repeat(problem.w, lengths),
        matrix=none,
        right=nothing,
        order=_differences(first, len(y)),
        order_right=y[first + 1] - y[first],
        lower=lower,
        upper=upper,
        integer=problem.integer,
        origin=y,
        reach=(lower, upper),
        n_cells=len(y),
    )


def _differences(first: np.ndarray, n: int) -> sparse.csr_array:
    """Build the rows z[i] - z[i + 1] for every i in `first`."""
    rows = np.repeat(np.arange(len(first)), 2)
    columns = np.stack([first, first + 1], axis=1).ravel()
    return sparse.csr_array((np.tile([1.0, -1.0], len(first)), (rows, columns)), shape=(len(first), n))


def _none(n: int) -> tuple[sparse.csr_array, np.ndarray]:
    return sparse.csr_array((0, n)), np.zeros(0, np.int64)


def _stacked(n: int, blocks: list[tuple[sparse.csr_array, np.ndarray]]) -> tuple[sparse.csr_array, np.ndarray]:
    kept = [(widened(rows, n), right) for rows, right in blocks if len(right)] or [_none(n)]
    if len(kept) == 1:
        return kept[0]
    return sparse.csr_array(sparse.vstack([rows for rows, _ in kept])), np.concatenate([right for _, right in kept])
