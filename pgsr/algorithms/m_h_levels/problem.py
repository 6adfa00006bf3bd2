"""The problem M_H with other sizes on every level."""

from dataclasses import dataclass

import numpy as np

from pgsr.checks import require_kind
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import ProblemError, TooLargeError
from pgsr.hierarchy import Hierarchy

_LARGEST = 2**50
"""Largest number times weight times levels, so that prices, sums along a branch, stay within 64 bits."""


@dataclass(frozen=True, eq=False)
class LevelProblem:
    """The nearest consistent non-negative integers to noisy counts whose largest size differs from level to level.

        minimise    sum over regions r, sizes s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x adds up as `CountsByLevel` says,   x >= 0 integer,
                    sum over s of x[root, s] = total, if given;   sum over s of x[leaf, s] = totals[leaf], if given.

    Attributes:
        noisy: y.
        total: public number of groups of the root, or None.
        totals: public numbers of groups of the leaves, shape (leaves,), or None; then `total` has to be None.
        weights: positive integers, shape (regions,); 1 where None.

    Raises:
        ProblemError: negative totals, both kinds of totals, weights that are not positive integers, wrong shapes.
        TooLargeError: numbers beyond 64-bit arithmetic.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> LevelProblem(CountsByLevel(tree, ([[9, 1, -1]], [[4, 2], [-4, 0]])), total=9).w
        array([1, 1, 1])
    """

    noisy: CountsByLevel
    total: int | None = None
    totals: np.ndarray | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_kind(self.noisy, CountsByLevel, "noisy", "give CountsByLevel(hierarchy, tables)")
        tree, total, totals = self.hierarchy, self.total, self.totals
        if total is not None and totals is not None:
            raise ProblemError("the root's total follows from the leaves' totals; give total or totals, not both")
        if total is not None and (isinstance(total, bool) or not isinstance(total, int | np.integer) or total < 0):
            raise ProblemError(f"total is {total!r}; give a whole number of groups, 0 or more")
        if tree.padded.any():
            region = int(np.flatnonzero(tree.padded)[0])
            raise ProblemError(
                f"region {'/'.join(tree.paths[region])} stands above a copy of itself; give every branch the same depth"
            )
        if totals is not None:
            _require_numbers("totals", totals, tree.n_regions - tree.n_inner, "leaf", 0)
        if self.weights is not None:
            _require_numbers("weights", self.weights, tree.n_regions, "region", 1)
        largest = max(*(max(int(t.max()), -int(t.min())) for t in self.noisy.tables), int(total or 0))
        if totals is not None:
            largest = max(largest, int(totals.max()))
        if int(self.w.max()) >= 2**31:
            raise TooLargeError("weights reach 2^31; scale the weights down")
        if largest * int(self.w.max()) * tree.n_levels > _LARGEST:
            raise TooLargeError("numbers times weights exceed 2^50; scale the weights down")

    @property
    def hierarchy(self) -> Hierarchy:
        return self.noisy.hierarchy

    @property
    def w(self) -> np.ndarray:
        """The weights of all regions, int64; shape (regions,)."""
        if self.weights is None:
            return np.ones(self.hierarchy.n_regions, np.int64)
        return np.asarray(self.weights, np.int64)


def _require_numbers(what: str, numbers: object, n: int, of: str, least: int) -> None:
    array = np.asarray(numbers)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ProblemError(
            f"{what} is {array.dtype} of shape {array.shape}; give one whole number per {of}, {n} in all"
        )
    if array.min() < least:
        raise ProblemError(f"{what} of {of} {int(array.argmin())} is {int(array.min())}; give {least} or more")
