"""The sums of cells that were measured besides the cells: of a second hierarchy, of a cross table, or as stated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import as_array
from pgsr.data.hierarchy import Hierarchy, Path
from pgsr.data.region_ids import region_id
from pgsr.errors import ProblemError, TooLargeError
from pgsr.problems.conditions.expressions import Expression
from pgsr.problems.conditions.resolved import ProblemCells

if TYPE_CHECKING:
    import scipy.sparse

LARGEST_VALUE = 2**50
"""Largest value of a sum, as of a cell."""

MOST_WEIGHT = 2**40
"""Largest weight, as of a cell."""


@dataclass(frozen=True, eq=False)
class MeasuredSums:
    """Sums over the cells x of a problem, each with a noisy value and a weight: w[k] |matrix[k] x - values[k]|^norm.

    Attributes:
        matrix: integers, shape (m, cells), cells region by region.
        values: y, int64, shape (m,).
        weights: w, from 1 on, int64, shape (m,).
        names: one each, as they stand in sentences and files.
    """

    matrix: "scipy.sparse.csr_array"
    values: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, expression: Expression, values: Any, weights: Any, place: ProblemCells) -> "MeasuredSums":
        """Take the entries of an expression as sums.

        Raises:
            ProblemError: values or weights are no integers, or not one per entry; a sum has no cell.
        """
        found = expression.resolve(place)
        n, name = len(found.constant), expression.name
        if not np.diff(found.matrix.indptr).all():
            raise ProblemError(f"{name} leaves no unknown in some entry; measure sums over cells")
        noisy = _numbers(values, n, found.shape, f"the values of {name}", LARGEST_VALUE)
        w = _numbers(weights, n, found.shape, f"the weights of {name}", MOST_WEIGHT)
        if (w < 1).any():
            raise ProblemError(f"a weight of {name} is below 1; leave out what was not measured")
        return cls(found.matrix, noisy - found.constant, w, tuple(found.names(np.arange(n))))

    @classmethod
    def of_hierarchy(
        cls,
        other: Hierarchy,
        values: np.ndarray,
        weights: np.ndarray,
        leaves: Mapping[Path, Path] | None,
        place: ProblemCells,
    ) -> "MeasuredSums":
        """Take the cells of another hierarchy over leaves of this one, each a sum over the leaves below it.

        Args:
            values, weights: shape (regions, K + 1); a weight of 0 leaves a cell out.
            leaves: the leaf here of every leaf there, by paths; None where both have the same last names.

        Raises:
            ProblemError: a leaf there has none here, or two of them have the same.
        """
        n_sizes, here = place.sizes.max_sizes[0] + 1, place.hierarchy
        leaf = n_sizes * _leaves_of(other, here, leaves)[:, None] + np.arange(n_sizes)
        ones = np.ones(leaf.size, np.int64), (np.arange(leaf.size), leaf.ravel())
        named = scipy.sparse.csr_array(ones, shape=(leaf.size, here.n_regions * n_sizes))
        cells = scipy.sparse.csr_array(leaves_below(other, n_sizes) @ named)
        kept = np.flatnonzero(weights.ravel())
        written = [region_id(path) for path in other.paths]
        names = tuple(f"cells({written[k // n_sizes]}, {k % n_sizes})" for k in kept.tolist())
        matrix = scipy.sparse.csr_array(cells[kept])
        return cls(matrix, values.ravel()[kept], weights.ravel()[kept], names)

    def and_also(self, other: "MeasuredSums") -> "MeasuredSums":
        """Put others behind these, over the same cells."""
        return MeasuredSums(
            scipy.sparse.csr_array(scipy.sparse.vstack([self.matrix, other.matrix])),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.weights, other.weights]),
            self.names + other.names,
        )

    def off(self, x: np.ndarray) -> np.ndarray:
        """Compute matrix x - values; exact for integers.

        Raises:
            TooLargeError: integers leave 64 bits.
        """
        cells = x.ravel()
        if cells.dtype.kind == "i" and float((abs(self.matrix) @ np.abs(cells.astype(float))).max(initial=0)) >= 2**61:
            raise TooLargeError("measured sums exceed 64-bit arithmetic; scale their coefficients down")
        return self.matrix @ cells - self.values

    @property
    def largest_row(self) -> int:
        """The largest sum of magnitudes of a sum's coefficients."""
        return int(abs(self.matrix).sum(axis=1).max()) if len(self) else 0


def leaves_below(tree: Hierarchy, n_sizes: int) -> "scipy.sparse.csr_array":
    """Make the matrix that adds cells of leaves up to those of all regions; shape (regions * K, leaves * K), K sizes.

    Example:
        >>> leaves_below(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), 1).toarray().tolist()
        [[1, 1], [1, 0], [0, 1]]
    """
    n = tree.n_regions - tree.n_inner
    below = scipy.sparse.csr_array((np.ones(n, np.int64), (np.arange(n), np.arange(n))), shape=(n, n))
    rows = [below]
    for level in range(tree.n_levels - 2, -1, -1):
        regions, children = tree.level(level), tree.level(level + 1)
        parent = tree.parent[children] - regions.start
        shape = regions.stop - regions.start, len(parent)
        up = scipy.sparse.csr_array((np.ones(len(parent), np.int64), (parent, np.arange(len(parent)))), shape=shape)
        below = scipy.sparse.csr_array(up @ below)
        rows.insert(0, below)
    each_size = scipy.sparse.csr_array(np.eye(n_sizes, dtype=np.int64))
    return scipy.sparse.csr_array(scipy.sparse.kron(scipy.sparse.csr_array(scipy.sparse.vstack(rows)), each_size))


def _leaves_of(other: Hierarchy, here: Hierarchy, leaves: Mapping[Path, Path] | None) -> np.ndarray:
    """Find the index here of every leaf there."""
    if leaves is None:
        by_name: dict[str, list[Path]] = {}
        for path in here.paths[here.leaves]:
            by_name.setdefault(path[-1], []).append(path)
        leaves = {}
        for path in other.paths[other.leaves]:
            found = by_name.get(path[-1], [])
            if len(found) != 1:
                many = "no leaf" if not found else f"{len(found)} leaves"
                raise ProblemError(
                    f"{many} of this hierarchy is called {path[-1]}; give leaves={{path there: path here, ...}}"
                )
            leaves[path] = found[0]
    place = {path: index for index, path in enumerate(here.paths) if index >= here.n_inner}
    index = []
    for path in other.paths[other.leaves]:
        if leaves.get(path) not in place:
            raise ProblemError(f"leaves has no leaf of this hierarchy for {region_id(path)}; name one for each")
        index.append(place[leaves[path]])
    if len(set(index)) < len(index):
        raise ProblemError("two leaves of the other hierarchy are the same leaf here; name another for one of them")
    return np.array(index)


def _numbers(given: Any, n: int, shape: tuple[int, int] | None, what: str, largest: int) -> np.ndarray:
    """Take one integer for all, one per entry, or a table of the entries' shape."""
    array = as_array(given)
    fits = array.ndim == 0 or array.shape == (n,) or (shape is not None and array.shape == shape)
    if array.dtype.kind not in "iu" or not fits:
        wanted = f"({n},)" if shape is None or 1 in shape else f"({n},) or {shape}"
        raise ProblemError(f"{what} are of shape {array.shape} and type {array.dtype}; give integers of shape {wanted}")
    if array.size and (int(array.max()) > largest or int(array.min()) < -largest):
        raise ProblemError(f"{what} exceed 2^{largest.bit_length() - 1}; scale them down")
    return np.broadcast_to(array.astype(np.int64).ravel(), n).copy()
