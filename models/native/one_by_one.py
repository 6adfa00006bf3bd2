"""The rows of a problem one by one, for interfaces that make one object per unknown and per row."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pgsr.models.native.levels import Levels


def comparisons(levels: Levels, x: list[np.ndarray]) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, the name and the comparison of every row, written with the operators of the unknowns.

    Args:
        levels: the problem.
        x: the counts by level as expressions of unknowns, arrays of objects of shape (regions, K + 1).
    """
    for l in levels.inner:
        names, S, F = levels.names("consistency", l, slice(levels.n_sums(l))), levels.S[l], levels.F[l]
        folded = x[l] if F is None else [[cells[F[:, i] > 0].sum() for i in range(F.shape[1])] for cells in x[l]]
        for r, i in np.ndindex(*names.shape):
            children = S.indices[S.indptr[r] : S.indptr[r + 1]]
            yield "consistency", str(names[r, i]), folded[r][i] == x[l + 1][children, i].sum()
    for l, regions, G in levels.totals:
        for cells, name, number in zip(x[l][regions], levels.region_names("total", l, regions), G, strict=True):
            yield "total", name, (cells[-1] if levels.total_is_last else cells.sum()) == int(number)
    for l, first in levels.ordered:
        names = levels.names("order", l, slice(first, -1))
        for r, i in np.ndindex(*names.shape):
            row: Any = x[l][r, first + i] <= x[l][r, first + i + 1]
            yield "order", str(names[r, i]), row
    cells = np.concatenate([part.ravel() for part in x])
    for row in levels.stated:
        left = sum(int(a) * cell for a, cell in zip(row.coefficients, cells[row.cells].tolist(), strict=True))
        if row.low == row.high:
            yield "stated equal", row.name, left == int(row.high)
        elif np.isfinite(row.high):
            yield "stated above", row.name, left <= int(row.high)
        if row.low != row.high and np.isfinite(row.low):
            yield "stated below", f"{row.name} (low)" if np.isfinite(row.high) else row.name, left >= int(row.low)


def unknowns(levels: Levels, make: Any) -> list[np.ndarray]:
    """Make one unknown per cell by `make(name, lower, upper)`, by level."""
    out = []
    for l in levels:
        z, names = np.empty(levels.y[l].shape, object), levels.names("z", l)
        for cell in np.ndindex(*z.shape):
            z[cell] = make(names[cell], float(levels.lower[l][cell]), float(levels.upper[l][cell]))
        out.append(z)
    return out
