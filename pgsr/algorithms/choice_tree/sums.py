"""The sums of a problem's parts: which parts there are, and which rows over cells are a set of them, each once."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.problem import Problem


def parts_of(problem: Problem) -> sparse.csr_array:
    """Make the matrix that adds parts up to cells: every point is one of parts, without further conditions on sums.

    Where regions are consistent parts are of leaves alone; where cells are ordered, each is what a cell has more than
    the one before. Shape (cells, parts).

    Example:
        >>> from pgsr import Hierarchy, View
        >>> tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
        >>> parts_of(Problem.of([[1, 2], [1, 2]], tree, View.CUMULATIVE)).toarray().tolist()
        [[1, 0], [1, 1], [1, 0], [1, 1]]
    """
    tree, n_sizes = problem.hierarchy, problem.max_size + 1
    leaves = tree.sum_up_sparse(sparse.csr_array(sparse.eye_array(tree.n_regions - tree.n_inner).astype(np.int64)))
    below = sparse.csr_array(sparse.kron(leaves, np.eye(n_sizes, dtype=np.int64)))
    if not problem.consistent:
        below = sparse.csr_array(sparse.eye_array(below.shape[0]).astype(np.int64))  # pyright: ignore
    if not problem.monotone:
        return below
    n_regions = below.shape[1] // n_sizes  # pyright: ignore
    upto = np.tril(np.ones((n_sizes, n_sizes), np.int64))
    return sparse.csr_array(below @ sparse.kron(sparse.eye_array(n_regions).astype(np.int64), upto))


@dataclass(frozen=True, eq=False)
class SumRows:
    """Rows lower <= matrix x <= upper over cells, as sets of parts between bounds.

    Attributes:
        sets: ones at the parts of each, shape (m, parts).
        lower, upper: of the sets, shape (m,), -UNBOUNDED or UNBOUNDED where there is none.
        is_set: whether a row is such a set, bool, shape (m,); what is said of the others is of no meaning.
        once: whether its parts have coefficient 1.
        holds: of rows in which nothing is left: whether they hold anyway; True of all others.
    """

    sets: sparse.csr_array
    lower: np.ndarray
    upper: np.ndarray
    is_set: np.ndarray
    once: np.ndarray
    holds: np.ndarray

    @classmethod
    def of(
        cls, matrix: sparse.csr_array, lower: np.ndarray, upper: np.ndarray, parts: sparse.csr_array, integer: bool
    ) -> "SumRows":
        """Find the sets: of a row whose parts have the same coefficient, the bounds divided by it."""
        of_parts = sparse.csr_array(matrix @ parts)
        of_parts.sum_duplicates()
        of_parts.eliminate_zeros()
        n = np.diff(of_parts.indptr)
        empty = n == 0
        factor = np.ones(len(n), np.int64)
        factor[~empty] = of_parts.data[of_parts.indptr[:-1][~empty]]
        same = np.ones(len(n), bool)
        np.logical_and.at(same, np.repeat(np.arange(len(n)), n), of_parts.data == np.repeat(factor, n))
        holds = ~empty | (((lower <= -UNBOUNDED) | (lower <= 0)) & ((upper >= UNBOUNDED) | (upper >= 0)))
        least, most, whole = divided(lower, upper, factor)
        ones = sparse.csr_array((np.ones(of_parts.nnz, np.int64), of_parts.indices, of_parts.indptr), of_parts.shape)
        return cls(ones, least, most, same & ~empty & (whole | integer), factor == 1, holds)


def divided(lower: np.ndarray, upper: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide lower <= factor x <= upper by the factor: the bounds of integers x, and whether no remainder is left."""
    size, turned = np.abs(factor), factor < 0
    low, high = np.where(turned, -upper, lower), np.where(turned, -lower, upper)
    no_low, no_high = low <= -UNBOUNDED, high >= UNBOUNDED
    whole = (no_low | (low % size == 0)) & (no_high | (high % size == 0))
    return np.where(no_low, -UNBOUNDED, -(-low // size)), np.where(no_high, UNBOUNDED, high // size), whole
