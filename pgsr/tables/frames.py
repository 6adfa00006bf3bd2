"""The readers of a source as a pandas frame, and of any table as columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from pgsr.data.columns import ColumnFrame
from pgsr.tables.session import Limits, Session
from pgsr.tables.source import Source, source

NULLABLE = {
    getattr(pa, kind.lower())(): getattr(pd, f"{kind}Dtype")()
    for kind in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
}
"""Whole numbers stay whole where some are missing; pandas alone would turn the column into floats."""


def read_frame(source: Source, what: str, columns: Sequence[str], if_present: Sequence[str]) -> pd.DataFrame:
    """Read some columns of all rows, in their order and in types that follow from schema and declarations alone.

    Args:
        source: where the rows are; private.
        what: the table's name in messages.
        columns: those that must be there.
        if_present: those that are read if they are there.

    Raises:
        TableError: a column is missing, or the source cannot be read as declared.

    Example:
        >>> from pgsr.tables.source import Frame
        >>> read_frame(Frame(pa.table({"a": [1, None], "b": ["x", "y"]})), "the table", ["a"], []).dtypes.to_dict()
        {'a': Int64Dtype()}
    """
    with Session(Limits(), [source]) as session:
        names = session.names(source, what)
        session.require(source, [*columns, *(column for column in if_present if column in names)], what)
        return session.table(f"SELECT * FROM {session.scan(source, what)}", what).to_pandas(types_mapper=NULLABLE.get)


def columns_of(
    table: Any, what: str, names: Sequence[str], numbers: Sequence[str], if_present: Sequence[str]
) -> ColumnFrame:
    """Look at a table, or read these columns of a file: those of names as text, where nothing says what they are."""
    if not isinstance(table, str | Path | Source):
        return ColumnFrame.of(table)
    frame = read_frame(source(table), what, [*names, *numbers], if_present)
    for column in numbers:  # text in CSV files; what is no number becomes NaN, which is refused
        if pd.api.types.is_string_dtype(frame[column]):
            whole = frame[column].str.replace(r"\.0*$", "", regex=True)  # beside 5.0, 2^53 + 1 would be rounded
            frame[column] = pd.to_numeric(whole, errors="coerce")
    return ColumnFrame.of(frame)
