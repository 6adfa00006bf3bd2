"""Read the public counts of a stand-in, from whose shape thresholds of split views follow."""

from dataclasses import replace

import numpy as np

from pgsr.errors import TableError
from pgsr.privacy.budget import Number
from pgsr.publishing.errors import ConfigError
from pgsr.release.thresholds import StandIn
from pgsr.tables import Csv, Limits
from pgsr.tables.session import Session
from pgsr.tables.source import Source
from pgsr.tables.sql import name

LARGEST_SIZE = 10**7
"""The largest size that is read; a table with larger ones has another column where the size should be."""

_WHAT = "the table of the stand-in"
_INTEGERS = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT", "HUGEINT")


def read_stand_in(source: Source, size: str, groups: str, factor: Number, limits: Limits | None) -> StandIn:
    """Add up the groups of every size over the rows of a public table.

    Rows of several levels, as a release has them, count every group once per level, which leaves the shape as it is.

    Args:
        source: of the table.
        size, groups: the columns of sizes and of numbers of groups.
        factor: as of `StandIn`.
        limits: of reading.

    Raises:
        TableError: the table lacks a column, or one of them holds something else than whole numbers.
        ConfigError: there are no groups, or sizes or numbers below 0.
    """
    if isinstance(source, Csv):
        source = replace(source, cast={size: "integer", groups: "integer", **source.cast})
    with Session(limits or Limits(), [source], public=[source]) as session:
        types = session.require(source, [size, groups], _WHAT)
        for column in (size, groups):
            if types[column] not in _INTEGERS:
                raise TableError(f"column {column!r} of {_WHAT} holds no integers; name another, or cast it")
        sql = (
            f"SELECT {name(size)}, sum({name(groups)}), min({name(groups)}) FROM {session.scan(source, _WHAT)} "
            f"WHERE {name(size)} IS NOT NULL AND {name(groups)} IS NOT NULL GROUP BY 1"
        )
        rows = session.rows(sql, _WHAT)
    sizes, least = [size for size, _, _ in rows], [n for _, _, n in rows]
    if not rows or min(sizes) < 0 or min(least) < 0 or max(sizes) > LARGEST_SIZE:
        raise ConfigError(
            f"[stand_in] has rows of sizes from 0 to {LARGEST_SIZE:,} and of numbers of groups from 0 up; name the "
            "columns that hold these with size = ... and groups = ..."
        )
    counts = np.zeros(max(sizes) + 1, np.int64)
    counts[sizes] = [int(n) for _, n, _ in rows]
    return StandIn(counts.tolist(), factor)
