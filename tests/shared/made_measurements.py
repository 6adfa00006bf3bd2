"""Measurements and cells made of matrices, of tables by level or of vectors, for tests that write these down."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pgsr import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.noise.measurement import Measurement


def cells_of(values: Iterable[Any]) -> np.ndarray:
    """Put the rows of a matrix, tables or vectors one after the other."""
    return np.concatenate([np.zeros(0, np.int64), *map(np.ravel, values)], dtype=np.int64)


def measurement_of(tree: Hierarchy, view: Any, values: Any, max_size: int, *about: Any, **more: Any) -> Measurement:
    """Make a measurement of a matrix, of tables by level, or of one vector per region with sizes 0..max_size."""
    by_level = isinstance(values, tuple) and all(np.ndim(table) == 2 for table in values)
    sizes = tuple(table.shape[1] - 1 for table in values) if by_level else (max_size,) * tree.n_levels
    views = view if isinstance(view, tuple) else (view,)
    return Measurement(Sizes(tree, sizes), views, cells_of(values), *about, **more)
