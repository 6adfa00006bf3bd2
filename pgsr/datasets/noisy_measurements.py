"""A reader of the Census Bureau's noisy measurement files, whose counts add up once `pgsr.reconcile` has seen them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import DataError
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("geocode", "parentGeocode", "geolevel", "dp_queries")
"""The fields of a geographic unit that are read."""

NODE = "GeounitNode"
"""The column that holds these fields, where they are not columns themselves."""


def noisy_measurements(path: str | Path, query: str) -> "pd.DataFrame":
    """Read one query of a noisy measurement file: a row per geographic unit and cell of the query.

    A file is Parquet with a row per geographic unit: `geocode`, `parentGeocode`, `geolevel` and `dp_queries`, a map
    from names of queries to records, of which `DPanswer`, the noisy values as bytes, `Var`, their variance, and
    `query.shape` are read.

    What is established: these names and types are those by which the Bureau's published programs write and read such
    files (github.com/uscensusbureau/DAS_2020_GLS_Uncertainty_Evaluation, GLS/das_decennial/programs/nodes/
    node4sparksql.py). That the bytes are little-endian 64-bit integers, row by row of the query, is what NumPy's
    `tobytes` gives there, and is checked by their number alone. No real file was read; the test reads a generated one.

    Args:
        path: a Parquet file, or a folder of them.
        query: the name of a query, such as "total_dpq".

    Returns:
        Columns `geocode`, `parent`, empty at the top, `geolevel`, `cell`, `n`, empty where the query has no budget, and
        `variance`; they go into `pgsr.reconcile(frame, {"geocode": "parent"}, "n", size="cell", variance="variance")`.

    Raises:
        DataError: no such file, fields or query, or values whose number is not that of the query's cells.

    Complexity: O(units) besides reading, which takes in the maps of all queries.

    Source: U.S. Census Bureau, 2020 Census noisy measurement files.
    """
    with extra("release"):
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq

    if not Path(path).exists():
        raise DataError(f"{path} does not exist; give a Parquet file or a folder of them")
    table = pq.read_table(path)
    if NODE in table.column_names:
        table = pa.Table.from_struct_array(table[NODE])
    missing = [name for name in FIELDS if name not in table.column_names]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(table.column_names)}")
    geocode, parent, geolevel = (table[name].to_pylist() for name in FIELDS[:3])
    unit, answers, variances, cells = _answers(table["dp_queries"], query, geocode, str(path))
    parts = {
        "geocode": np.repeat(np.array(geocode, object)[unit], cells),
        "parent": np.repeat(np.array(_parents(geocode, parent, geolevel), object)[unit], cells),
        "geolevel": np.repeat(np.array(geolevel, object)[unit], cells),
        "cell": np.tile(np.arange(cells), len(unit)),
        "n": pd.array(answers, "Int64"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        "variance": np.repeat(variances, cells),
    }
    return pd.DataFrame(parts)


def _answers(column: Any, query: str, geocode: list[str], path: str) -> tuple[np.ndarray, list, np.ndarray, int]:
    """Find the units that have the query, all their answers, None without one, their variances, and cells per unit."""
    maps = column.combine_chunks()
    names = np.array(maps.keys.to_pylist(), object)
    unit_of = np.repeat(np.arange(len(maps)), np.diff(maps.offsets.to_numpy()))
    found = np.flatnonzero(names == query)
    if not len(found):
        known = ", ".join(sorted(set(names))[:20])
        raise DataError(f"{path} has no query {query!r}; it has {known}")
    records = maps.items.take(found)
    shapes = records.field("query").field("shape").to_pylist()
    cells = int(np.prod(shapes[0]))
    answers: list[int | None] = []
    for unit, shape, value in zip(unit_of[found], shapes, records.field("DPanswer").to_pylist(), strict=True):
        if int(np.prod(shape)) != cells or (value is not None and len(value) != 8 * cells):
            have = "none" if value is None else f"{len(value)} bytes"
            raise DataError(
                f"{query!r} of {geocode[unit]} has the shape {shape} and {have} of values; {cells} cells of 8 bytes "
                "were expected, as in the first unit"
            )
        answers += [None] * cells if value is None else np.frombuffer(value, "<i8").tolist()
    return unit_of[found], answers, np.asarray(records.field("Var").to_pylist(), float), cells


def _parents(geocode: list[str], parent: list[str], geolevel: list[str]) -> list[str | None]:
    """Give the parent of every unit, None for those at the top: a part of the nation has no row for what is above it.

    Raises:
        DataError: units of several levels have parents without a row.
    """
    known = set(geocode)
    top = [above not in known or above == code for code, above in zip(geocode, parent, strict=True)]
    levels = {level for level, first in zip(geolevel, top, strict=True) if first}
    if len(levels) > 1:
        lost = next(
            code for code, level, first in zip(geocode, geolevel, top, strict=True) if first and level != geolevel[0]
        )
        raise DataError(
            f"units of {' and '.join(sorted(levels))} have no parent in the file, such as {lost}; add the rest"
        )
    return [None if first else above for above, first in zip(parent, top, strict=True)]
