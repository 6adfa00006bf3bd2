"""The noise of tables, one per level, where levels have sizes of their own."""

from collections.abc import Sequence

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.privacy.laws import Law
from pgsr.privacy.random import Source, StreamId

BLOCK_CELLS = 1 << 22
"""The number of cells of a level that get their noise at a time."""


def noisy_tables(
    view: View,
    laws: Sequence[Law],
    tree: Hierarchy,
    tables: Sequence[np.ndarray],
    source: Source,
    name: str,
    first_level: int = 0,
) -> tuple[np.ndarray, ...]:
    """Add noise to the counts of every level, or to their cumulative counts; new tables of the same kinds of integers.

    Noise is keyed by data set, view, level and the path of the root of the tables, so that a part of a hierarchy that
    is measured again under the same seed gets the same noise. The noise of a level is drawn row by row.

    Args:
        view: `View.COUNTS` or `View.CUMULATIVE`.
        laws: of every level of the whole hierarchy, root first.
        tree: the regions of the tables.
        tables: exact counts, root first.
        source: of the noise.
        name: of the data set.
        first_level: the level in the whole hierarchy of the root of `tree`.
    """
    noisy = []
    for level, table in enumerate(tables, first_level):
        stream = source.stream(StreamId(name, view.value, level, tree.paths[0]))
        found = np.empty(table.size, table.dtype)
        exact = table if view is View.COUNTS else np.cumsum(table, axis=1, dtype=table.dtype)
        for start in range(0, table.size, BLOCK_CELLS):
            block = exact.reshape(-1)[start : start + BLOCK_CELLS].astype(np.int64)
            laws[level].add_to(block, stream)
            found[start : start + BLOCK_CELLS] = _narrow(block, table.dtype)
        noisy.append(found.reshape(table.shape))
    return tuple(noisy)


def _narrow(block: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Convert to the kind of the table, at its limits where noise goes beyond: a function of the noisy counts alone."""
    limits = np.iinfo(kind)
    return np.clip(block, limits.min, limits.max).astype(kind)
