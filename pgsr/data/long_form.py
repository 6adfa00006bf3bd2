"""The long form of a table by region and size: its columns and its rows, one row per region and size."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.data.region_ids import region_id
from pgsr.errors import ArgumentError
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd

OTHER_COLUMNS = (
    *("region_id", "level", "level_name", "is_leaf", "group_size", "n_groups", "lower", "upper"),
    *("size_class", "noisy_count", "noisy_cumulative_count", "statistic", "estimate"),
)
"""Columns besides those of names, here, in the tables of a release and in those of intervals."""

SIZE_CLASS = "size_class"
"""The column that names classes of sizes, "3" or "7 or more", where levels have sizes of their own."""

Cells = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The region, the size and the value of every row."""


def region_columns(paths: Sequence[Sequence[str]], is_leaf: np.ndarray, level_names: Sequence[str]) -> dict[str, Any]:
    """Make the columns that describe regions: `region_id`, `level`, `level_name`, `is_leaf`, a name per level or None.

    Every column has one entry per region.
    """
    levels = [len(path) - 1 for path in paths]
    return {
        "region_id": [region_id(path) for path in paths],
        "level": levels,
        "level_name": [level_names[level] for level in levels],
        "is_leaf": is_leaf,
        **{
            column: [path[level] if level < len(path) else None for path in paths]
            for level, column in enumerate(level_names)
        },
    }


def checked_level_names(n_levels: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Check the names of the levels, root first; level_0, level_1, ... if None is given.

    Raises:
        ArgumentError: there is not one per level, or a name is empty, repeated or that of another column.
    """
    if names is None:
        return tuple(f"level_{level}" for level in range(n_levels))
    names = tuple(names)
    if len(names) != n_levels:
        raise ArgumentError(f"there are {len(names)} names of levels and {n_levels} levels; give one each, root first")
    for given in names:
        if not isinstance(given, str) or not given or not given.isprintable() or names.count(given) > 1:
            raise ArgumentError(f"the name of a level is {given!r}; give different, printable names")
        if given in OTHER_COLUMNS:
            raise ArgumentError(
                f"a level is called {given!r}, which is the name of another column; choose another name"
            )
    return names


def require_other_names(columns: Collection[str], *others: str) -> None:
    """Raise `ArgumentError` if a level, whose name is among the columns, is called as another column."""
    for name in others:
        if name in columns:
            raise ArgumentError(
                f"a level is called {name!r}, which is the name of another column; give other names by level_names"
            )


def long_frame(columns: dict[str, Any], cells: Cells, value: str, size: str) -> "pd.DataFrame":
    """Make a data frame of the rows: what describes the region, then its size, then the value."""
    with extra("release"):
        import pandas as pd

    require_other_names(columns, size, value)
    region, sizes, values = cells
    described = pd.DataFrame(columns).take(region).reset_index(drop=True)
    return described.assign(**{size: sizes, value: values})
