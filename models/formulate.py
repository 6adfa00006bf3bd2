"""From a problem to a program, and from a solver's duals back to prices."""

import numpy as np
from scipy import sparse

from models.program import Program
from pgsr.certificate import Multipliers
from pgsr.hierarchy import Hierarchy
from pgsr.measurement import Totals
from pgsr.problem import Problem
from pgsr.views import View


def unsupported(problem: Problem) -> str | None:
    """None, or why `formulate` has no program for this problem."""
    if problem.view is not View.COUNTS or problem.monotone:
        return f"no solver model of {problem.label} is built yet; M_H and its relaxation are"
    if problem.norm != 2 or not problem.consistent:
        return f"no solver model of {problem.label} is built yet; M_H and its relaxation are"
    if problem.totals is Totals.REGIONS:
        return f"no solver model of {problem.label} with every region's total is built yet; state it with totals='root'"
    return None


def formulate(problem: Problem) -> Program:
    """M_H as a program in the unknowns z[r, s] = x[r, s] - y[r, s], row by row of regions:

        minimise    sum_{r,s} w[r] z[r, s]^2
        subject to  z[r, s] - sum_{c child of r} z[c, s] = -(y[r, s] - sum_c y[c, s])    inner r, all s
                    sum_s z[root, s] = G - sum_s y[root, s]
                    z[r, s] >= -y[r, s].

    Regions x sizes unknowns, inner regions x sizes (+ 1) rows.

    Source: Fioretto and Van Hentenryck 2019, program H1-H4 (H2 at the root only).
    """
    tree, y = problem.hierarchy, problem.target
    n_sizes = y.shape[1]
    blocks = [sparse.kron(incidence(tree), sparse.eye_array(n_sizes), format="csr")]
    if problem.totals is not None:
        row = sparse.csr_array((np.ones(n_sizes), (np.zeros(n_sizes, int), np.arange(n_sizes))), shape=(1, y.size))
        blocks.append(row)
    matrix = sparse.csr_array(sparse.vstack(blocks))
    # Integer arithmetic, so that the right-hand side is exact whatever the size of the counts.
    right = np.concatenate([-(y[: tree.n_inner] - children_sums(tree, y)).ravel(), _missing(problem)])
    return Program(
        weight=np.repeat(problem.w, n_sizes),
        matrix=matrix,
        right=right,
        lower=-y.ravel() if problem.nonnegative else None,
        integer=problem.integer,
        origin=y.ravel(),
    )


def incidence(tree: Hierarchy) -> sparse.csr_array:
    """+1 at an inner region, -1 at its children; shape (inner regions, regions)."""
    below = np.arange(1, tree.n_regions)
    rows = np.concatenate([np.arange(tree.n_inner), tree.parent[1:]])
    columns = np.concatenate([np.arange(tree.n_inner), below])
    signs = np.concatenate([np.ones(tree.n_inner), -np.ones(len(below))])
    return sparse.csr_array((signs, (rows, columns)), shape=(tree.n_inner, tree.n_regions))


def children_sums(tree: Hierarchy, values: np.ndarray) -> np.ndarray:
    """For every inner region the sum over its children; shape (inner regions, ...)."""
    parts = [tree.sum_children(values, level) for level in range(tree.n_levels - 1)]
    return np.concatenate(parts) if parts else np.empty((0, *values.shape[1:]), values.dtype)


def multipliers(problem: Problem, duals: np.ndarray) -> Multipliers:
    """Prices from the duals v of `matrix z = right` in the Lagrangian objective + v (matrix z - right)."""
    n_sizes = problem.target.shape[1]
    n_rows = problem.hierarchy.n_inner * n_sizes
    return Multipliers(duals[:n_rows].reshape(-1, n_sizes), -duals[n_rows:])


def _missing(problem: Problem) -> list[int]:
    if problem.totals is None:
        return []
    return [problem.measurement.root_total - int(problem.target[0].sum())]
