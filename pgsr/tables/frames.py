"""The reader of a source as a pandas frame."""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from pgsr.errors import TableError
from pgsr.tables.session import Limits, Session
from pgsr.tables.source import Source

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
        missing = [column for column in columns if column not in names]
        if missing:
            raise TableError(f"{what} has no column {missing[0]!r}; its columns are {', '.join(map(repr, names))}")
        session.require(source, [*columns, *(column for column in if_present if column in names)], what)
        return session.table(f"SELECT * FROM {session.scan(source, what)}", what).to_pandas(types_mapper=NULLABLE.get)
