"""What an expression is in numbers: entries as rows of a matrix over the cells of one problem, and constants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import ProblemError

if TYPE_CHECKING:
    import scipy.sparse

LARGEST_NUMBER = 2**50
"""Largest coefficient or constant, so that sums over cells stay within 64 bits."""

LARGEST_PRODUCT = 2**62
"""Largest number that may occur on the way to one of these."""


@dataclass(frozen=True)
class ProblemCells:
    """The cells of one problem, which expressions are resolved against.

    Attributes:
        sizes: the regions, and their sizes 0..K.
        view: `View.COUNTS` or `View.CUMULATIVE`.
    """

    sizes: Sizes
    view: View

    @property
    def hierarchy(self) -> Hierarchy:
        return self.sizes.hierarchy


@dataclass(frozen=True, eq=False)
class Resolved:
    """An expression as numbers: entry i is matrix[i] x + constant[i] over the cells x, region by region.

    Attributes:
        matrix: integers, shape (n, cells).
        constant: int64, shape (n,).
        names: writes the entries at some positions, an array, as they stand in sentences; only some are ever asked for.
        shape: (regions, sizes) where the entries are a table, row by row; None where they are a list of numbers.
        is_array: whether an array of this shape takes part, which stands against a table of the same shape only.
    """

    matrix: "scipy.sparse.csr_array"
    constant: np.ndarray
    names: Callable[[np.ndarray], list[str]]
    shape: tuple[int, int] | None = None
    is_array: bool = False

    def __post_init__(self) -> None:
        if int(np.abs(self.constant).max(initial=0)) > LARGEST_NUMBER:
            raise ProblemError("a constant of the conditions exceeds 2^50; scale the condition down")


def matched(left: Resolved, right: Resolved, name: str) -> tuple[Resolved, Resolved]:
    """Give both as many entries: one entry alone is repeated.

    Raises:
        ProblemError: they have different numbers of entries, or of regions or sizes, neither of them one.
    """
    n, m = len(left.constant), len(right.constant)
    as_wide = left.shape == right.shape or None in (left.shape, right.shape)
    if n == m and (as_wide or not (left.is_array or right.is_array)):
        return left, right
    if 1 not in (n, m) or n == m:
        by_shape = left.is_array or right.is_array
        here, there = (
            f"{side.shape[0]:,} x {side.shape[1]:,}" if by_shape and side.shape else f"{len(side.constant):,}"
            for side in (left, right)
        )
        raise ProblemError(
            f"{name}: {here} entries on the left and {there} on the right; select as many of both, or one, or add up"
        )
    return (_repeated(left, m), right) if n == 1 else (left, _repeated(right, n))


def _repeated(one: Resolved, n: int) -> Resolved:
    ones = scipy.sparse.csr_array(np.ones((n, 1), np.int64))
    return Resolved(
        scipy.sparse.csr_array(ones @ one.matrix),
        np.repeat(one.constant, n),
        lambda entries: one.names(np.zeros(1, int)) * len(entries),
    )


def rows_of(columns: np.ndarray, data: np.ndarray, widths: np.ndarray, place: ProblemCells) -> "scipy.sparse.csr_array":
    """Make the matrix of rows one after the other, of which row i has the next widths[i] columns and numbers."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    return scipy.sparse.csr_array((data, columns, ends), shape=(len(widths), place.sizes.n_cells))


def require_products(one: Resolved, factor: int) -> None:
    """Refuse a factor, or a number of entries to be added up, by which 64 bits might not hold an expression's numbers.

    Raises:
        ProblemError: they might not.
    """
    largest = max(int(np.abs(part).max(initial=0)) for part in (one.matrix.data, one.constant))
    if largest * abs(factor) > LARGEST_PRODUCT:
        raise ProblemError(
            "numbers of the conditions exceed 2^62 once multiplied or added up; scale the condition down"
        )


def without_zeros(matrix: "scipy.sparse.csr_array") -> "scipy.sparse.csr_array":
    """Add entries of one place up and drop zeros, in place; refuse coefficients beyond `LARGEST_NUMBER`."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz and int(np.abs(matrix.data).max()) > LARGEST_NUMBER:
        raise ProblemError("a coefficient of the conditions exceeds 2^50; scale the condition down")
    return matrix
