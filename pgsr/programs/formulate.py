"""The translation of a problem into a program, block by block."""

import numpy as np
from scipy import sparse

from pgsr.hierarchy import Hierarchy
from pgsr.measurement import Totals
from pgsr.programs.program import Program
from pgsr.programs.statement import Statement
from pgsr.views import View


def formulate(problem: Statement) -> Program:
    """Formulate any problem as a program in the unknowns z[r, i] = x[r, i] - y[r, i], row by row of regions:

        minimise    sum_{r,i} w[r] |z[r, i]|^norm
        subject to  `consistency_rows`, `totals_rows`, `entities_rows`, `order_rows`, and z[r, i] >= -y[r, i] for
                    non-negative problems.

    The papers' variants are conditions switched on and off:

        naive             totals of every region                           counts        QP, MIQP
        isotonic          order, end cell = G                              cumulative    QP, MIQP; norm 1: LP, MILP
        isotonic          order, 0 <= x <= K                               ranked        the same
        mean consistency  consistency, signs free                          both          QP
        M_H               consistency, root's total or every region's      counts        QP, MIQP
        with entities     the same, numbers of entities; no network        counts        QP, MIQP
        M_c               consistency, order, root's total or every one's  cumulative    QP, MIQP; norm 1: LP, MILP

    Where regions are tied together, order and non-negativity of cumulative counts are stated at the leaves only: sums
    of non-decreasing vectors are non-decreasing. For the same reason every region's total is stated at the leaves,
    and so are its entities.

    Complexity: O(cells) numbers; no loop over cells.

    Source: Fioretto and Van Hentenryck 2019, programs H1-H4 and C1-C5 (H2 at the root only); Kuo et al. 2018, section
    4.
    """
    if problem.view is View.RANKED:
        return _ranked(problem)
    y = problem.target
    matrix, right = _stacked(y.size, [consistency_rows(problem), totals_rows(problem), entities_rows(problem)])
    order, order_right = order_rows(problem)
    lower = np.full(y.shape, -np.inf)
    if problem.nonnegative and not problem.monotone:
        lower[:] = -y
    elif problem.nonnegative:
        lower[ordered_regions(problem), 0] = -y[ordered_regions(problem), 0]
    return Program(
        norm=problem.norm,
        weight=np.repeat(problem.w, y.shape[1]),
        matrix=matrix,
        right=right,
        order=order,
        order_right=order_right,
        lower=lower.ravel(),
        upper=np.full(y.size, np.inf),
        integer=problem.integer,
        origin=y.ravel(),
        reach=_reach(problem),
    )


def consistency_rows(problem: Statement) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of consistency, one per inner region and cell:

    z[r, i] - sum_{c child of r} z[c, i] = -(y[r, i] - sum_c y[c, i])    for every inner r and every i
    """
    tree, y = problem.hierarchy, problem.target
    if not problem.consistent:
        return _none(y.size)
    rows = sparse.kron(incidence(tree), sparse.eye_array(y.shape[1]), format="csr")
    # Integer arithmetic, so that the right-hand side is exact whatever the size of the counts.
    return sparse.csr_array(rows), -(y[: tree.n_inner] - children_sums(tree, y)).ravel()


def totals_rows(problem: Statement) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of public totals G[r], one per region of `regions_with_total`:

    counts:      sum_s z[r, s] = G[r] - sum_s y[r, s]
    cumulative:  z[r, K] = G[r] - y[r, K]
    """
    y = problem.target
    regions = regions_with_total(problem)
    if not len(regions):
        return _none(y.size)
    totals = problem.stated_totals
    assert totals is not None, "regions with a total have one"
    n_sizes = y.shape[1]
    if problem.view is View.COUNTS:
        rows, cells = np.repeat(np.arange(len(regions)), n_sizes), np.arange(n_sizes) + n_sizes * regions[:, None]
        have = y[regions].sum(axis=1)
    else:
        rows, cells = np.arange(len(regions)), n_sizes * regions + n_sizes - 1
        have = y[regions, -1]
    ones = np.ones(cells.size)
    return sparse.csr_array((ones, (rows, cells.ravel())), shape=(len(regions), y.size)), totals[regions] - have


def entities_rows(problem: Statement) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of numbers of entities E[r], one per region of `regions_with_entities`:

    sum_s s z[r, s] = E[r] - sum_s s y[r, s]
    """
    y = problem.target
    if problem.entities is None:
        return _none(y.size)
    regions, sizes = regions_with_entities(problem), np.arange(y.shape[1])
    rows, cells = np.repeat(np.arange(len(regions)), len(sizes)), sizes + len(sizes) * regions[:, None]
    data = np.tile(sizes.astype(float), len(regions))
    matrix = sparse.csr_array((data, (rows, cells.ravel())), shape=(len(regions), y.size))
    return matrix, problem.entities[regions] - y[regions] @ sizes


def order_rows(problem: Statement) -> tuple[sparse.csr_array, np.ndarray]:
    """Build the rows of monotone cumulative counts, one per neighbouring pair of cells:

    z[r, i] - z[r, i + 1] <= y[r, i + 1] - y[r, i]
    """
    y = problem.target
    if not problem.monotone:
        return _none(y.size)
    stated = ordered_regions(problem)
    first = (y.shape[1] * np.arange(*stated.indices(len(y)))[:, None] + np.arange(y.shape[1] - 1)).ravel()
    return _differences(first, y.size), np.diff(y[stated], axis=1).ravel()


def incidence(tree: Hierarchy) -> sparse.csr_array:
    """Build the matrix with +1 at an inner region and -1 at its children; shape (inner regions, regions)."""
    below = np.arange(1, tree.n_regions)
    rows = np.concatenate([np.arange(tree.n_inner), tree.parent[1:]])
    columns = np.concatenate([np.arange(tree.n_inner), below])
    signs = np.concatenate([np.ones(tree.n_inner), -np.ones(len(below))])
    return sparse.csr_array((signs, (rows, columns)), shape=(tree.n_inner, tree.n_regions))


def children_sums(tree: Hierarchy, values: np.ndarray) -> np.ndarray:
    """Add up over the children of every inner region; shape (inner regions, ...)."""
    parts = [tree.sum_children(values, level) for level in range(tree.n_levels - 1)]
    return np.concatenate(parts) if parts else np.empty((0, *values.shape[1:]), values.dtype)


def _reach(problem: Statement) -> tuple[np.ndarray, np.ndarray]:
    """Compute two numbers per cell that every optimum's z lies between; shape (cells,) each.

    A feasible point of objective f shows |z| <= (f / w)^(1 / norm) for every cell of an optimum. Cells without weight
    are sums of cells with weight. Where x >= 0 and totals are public, 0 <= x <= total besides.
    """
    tree, y, w = problem.hierarchy, problem.target, problem.w[:, None]
    totals = problem.stated_totals
    if problem.entities is not None:  # counts, consistent; more than that in a cell is never needed
        largest = int(totals[0]) if totals is not None else int(np.abs(y).sum()) + int(problem.entities[0])
        return (-y if problem.nonnegative else -largest - y).ravel(), (largest - y).ravel()
    point = np.zeros(y.shape, np.int64)
    column = 0 if problem.view is View.COUNTS else -1
    if totals is not None and problem.totals is Totals.REGIONS:
        point[:, column] = totals
    elif totals is not None:  # all groups in the first leaf below the first child, and so on
        point[tree.level_start[:-1] if problem.consistent else 0, column] = totals[0]
    f = float((w * np.abs(point - y).astype(float) ** problem.norm).sum())
    far = np.ceil((f / np.maximum(w, 1)) ** (1 / problem.norm)) + 1
    everywhere = (float(np.abs(y).max(initial=0)) + float(far.max())) * tree.n_regions
    low, high = np.where(w > 0, -far, -everywhere - y), np.where(w > 0, far, everywhere - y)
    if problem.nonnegative:
        low = np.maximum(low, -y)
    if problem.nonnegative and (problem.view is View.COUNTS or problem.monotone) and totals is not None:
        if problem.totals is Totals.REGIONS:
            high = np.minimum(high, totals[:, None] - y)
        elif problem.consistent:
            high = np.minimum(high, totals[0] - y)
    return low.ravel(), np.maximum(low, high).ravel()


def regions_with_total(problem: Statement) -> np.ndarray:
    """The regions whose public total has a row; the other totals follow from consistency."""
    tree = problem.hierarchy
    if problem.totals is None:
        return np.arange(0)
    if problem.totals is Totals.ROOT:
        return np.arange(1)
    return np.arange(*tree.leaves.indices(tree.n_regions)) if problem.consistent else np.arange(tree.n_regions)


def regions_with_entities(problem: Statement) -> np.ndarray:
    """The regions whose number of entities has a row; problems with entities are consistent."""
    tree = problem.hierarchy
    root_alone = problem.entities is None or len(problem.entities) == 1
    return np.arange(1) if root_alone else np.arange(*tree.leaves.indices(tree.n_regions))


def ordered_regions(problem: Statement) -> slice:
    """The regions whose order is stated."""
    return problem.hierarchy.leaves if problem.consistent else slice(0, problem.hierarchy.n_regions)


def _ranked(problem: Statement) -> Program:
    """Formulate ranked sizes, every region alone: order within a region, 0 <= x <= K."""
    y = np.concatenate(problem.values)
    lengths = np.array([len(values) for values in problem.values])
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
        reach=(-y, problem.max_size - y),
    )


def _differences(first: np.ndarray, n: int) -> sparse.csr_array:
    """Build the rows z[i] - z[i + 1] for every i in `first`."""
    rows = np.repeat(np.arange(len(first)), 2)
    columns = np.stack([first, first + 1], axis=1).ravel()
    return sparse.csr_array((np.tile([1.0, -1.0], len(first)), (rows, columns)), shape=(len(first), n))


def _none(n: int) -> tuple[sparse.csr_array, np.ndarray]:
    return sparse.csr_array((0, n)), np.zeros(0, np.int64)


def _stacked(n: int, blocks: list[tuple[sparse.csr_array, np.ndarray]]) -> tuple[sparse.csr_array, np.ndarray]:
    kept = [(rows, right) for rows, right in blocks if len(right)] or [_none(n)]
    return sparse.csr_array(sparse.vstack([rows for rows, _ in kept])), np.concatenate([right for _, right in kept])
