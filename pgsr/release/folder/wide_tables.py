"""The released counts in wide form: a CSV file per level, a row per region of the level and a column per size.

In every file every group stands once, so that its columns may be added up: a branch that ends above a level has its row
there, too. Which levels have a file is decided by public numbers alone.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from pgsr.data.estimate import Estimate
from pgsr.release.folder.artefact import WIDE
from pgsr.release.folder.columns import wide_columns
from pgsr.release.folder.released_tables import csv_bytes
from pgsr.release.stated.excess import with_sizes_below
from pgsr.release.stated.terms import Terms
from pgsr.tables.long import region_columns

MOST_SIZES, MOST_CELLS = 1_000, 10_000_000
"""The largest size of a level, and the number of its cells, up to which it has a file."""


def wide_files(terms: Terms, regions: Sequence[int]) -> dict[str, int]:
    """Name the files of a release under these terms, each with its level.

    Args:
        terms: of the release.
        regions: their number by level, root first.

    Example:
        >>> wide_files(Terms("demo", 5, "1", "m_h", level_names=("nation", "Census tract")), [1, 50])
        {'counts_wide_0_nation.csv': 0, 'counts_wide_1_census_tract.csv': 1}
        >>> wide_files(Terms("demo", {"nation": 5_000, "state": 5}, "1", "m_h"), [1, 50])
        {'counts_wide_1_state.csv': 1}
    """
    names, sizes = terms.names(len(regions)), terms.sizes(len(regions))
    return {
        _file_of(level, names[level]): level
        for level, (n, largest) in enumerate(zip(regions, sizes, strict=True))
        if largest <= MOST_SIZES and n * (largest + 1) <= MOST_CELLS
    }


def wide_tables(counts: Estimate, terms: Terms) -> Mapping[str, bytes]:
    """Write the files as bytes, by name, from counts by excess over `Terms.min_size`."""
    tree = counts.hierarchy
    names = terms.names(tree.n_levels)
    described = region_columns(tree, names)
    files = {}
    for file, level in wide_files(terms, tree.regions_per_level).items():
        here = tree.level(level)
        values = with_sizes_below(counts.rows(here.start, here.stop), terms.min_size)
        columns = wide_columns(terms, names, level)
        places = [
            described[name].slice(here.start, here.stop - here.start) for name in ("region_id", *names[: level + 1])
        ]
        table = pa.table([*places, *np.ascontiguousarray(values.T)], names=[column.name for column in columns])
        files[file] = csv_bytes(table, terms.publication.bom)
    return files


def _file_of(level: int, name: str) -> str:
    """Name the file of a level by plain letters of the level's name, which may be any public text."""
    plain = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    return WIDE.format(f"{level}_{plain}" if plain and plain != f"level_{level}" else str(level))
