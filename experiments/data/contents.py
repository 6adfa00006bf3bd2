"""What lies in a file of real data: its checksum, whatever library wrote it, and its totals."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.columns import require_columns
from pgsr.experiments.data.files import DataFile, Total
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FileContents:
    """What was found in a file.

    Attributes:
        data: what it should be.
        path: where it lies.
        content: the checksum of its columns.
        totals: the numbers that came out, in the order of `data.totals`.
    """

    data: DataFile
    path: Path
    content: str
    totals: tuple[int, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        """List the differences from the recipe, a sentence each; none where all is right."""
        found = [
            f"{total.what}: {value:,}, and {total.value:,} must come out"
            for total, value in zip(self.data.totals, self.totals, strict=True)
            if value != total.value
        ]
        if self.data.content not in (None, self.content):
            found.append(f"content {self.content[:16]}..., and {str(self.data.content)[:16]}... must come out")
        return tuple(found)


def contents(data: DataFile, folder: str | os.PathLike[str] | None = None) -> FileContents:
    """Read a file, and find its checksum and totals.

    Raises:
        DataError: no such folder or file, it cannot be read, or lacks a column.

    Complexity: O(rows log rows); all rows are held as text.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "cells.csv").write_text("half,size,n_groups\\nlower,2,10\\nupper,5,1\\n")
        >>> totals = (Total("groups", 11, of=("n_groups",)), Total("members", 26, of=("size", "n_groups")))
        >>> found = contents(DataFile("cells.csv", ("half",), ("size", "n_groups"), totals=totals), folder)
        >>> found.totals, found.differences
        ((11, 25), ('members: 25, and 26 must come out',))
    """
    path = data.path(folder)
    table = _table(data, path)
    return FileContents(data, path, _sum_of(table), tuple(_number(total, table) for total in data.totals))


def content_sum(data: DataFile, folder: str | os.PathLike[str] | None = None) -> str:
    """Compute the checksum of a file's columns, which depends neither on its format nor on the order of its rows.

    It is the SHA-256 of text in UTF-8: a line with the columns' names, then a line per row, sorted by their bytes. A
    line is its fields, separated by tabs, and a line feed; whole numbers are decimal, and a missing entry is empty.
    Columns of the file that `data` does not name do not count.

    Raises:
        DataError: no such folder or file, it cannot be read, or lacks a column.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "cells.csv").write_text("half,size\\nupper,5\\nlower,2\\n")
        >>> found = content_sum(DataFile("cells.csv", ("half",), ("size",)), folder)
        >>> found == hashlib.sha256(b"half\\tsize\\nlower\\t2\\nupper\\t5\\n").hexdigest()
        True
    """
    return _sum_of(_table(data, data.path(folder)))


def _table(data: DataFile, path: Path) -> "pa.Table":
    """Read the columns of `data`, texts as string and whole numbers as int64."""
    with extra("release"):
        import pyarrow as pa
        from pyarrow import csv, parquet

    types = dict.fromkeys(data.text, pa.string()) | dict.fromkeys(data.whole, pa.int64())
    try:
        if path.suffix == ".parquet":
            require_columns(data.columns, parquet.read_schema(path).names, path)
            return parquet.read_table(path, columns=list(types)).cast(pa.schema(types))
        with csv.open_csv(path) as lines:
            require_columns(data.columns, lines.schema.names, path)
        options = csv.ConvertOptions(column_types=types, include_columns=list(types))
        return csv.read_csv(path, convert_options=options)
    except (OSError, pa.ArrowException) as fault:
        first = str(fault).partition("\n")[0]
        raise DataError(f"{path} cannot be read ({first}); fetch or convert the file again") from fault


def _sum_of(table: "pa.Table") -> str:
    with extra("release"):
        import pyarrow as pa
        import pyarrow.compute as pc

    texts = [column.cast(pa.large_string()).fill_null("") for column in table.columns]
    glue = pa.scalar("\t", pa.large_string())
    joined = pc.call_function("binary_join_element_wise", [*texts, glue])
    order = pc.call_function("array_sort_indices", [joined])
    digest = hashlib.sha256(("\t".join(table.column_names) + "\n").encode())
    for start in range(0, len(order), _ROWS):
        digest.update("".join(f"{line}\n" for line in joined.take(order[start : start + _ROWS]).to_pylist()).encode())
    return digest.hexdigest()


_ROWS = 1_000_000
"""Rows that are turned into Python's texts at a time."""


def _number(total: Total, table: "pa.Table") -> int:
    with extra("release"):
        import pyarrow as pa

    kept = np.ones(len(table), bool)
    if total.where is not None:
        kept = table[total.where[0]].to_numpy() == total.where[1]
    if total.distinct is not None:
        return len(table[total.distinct].filter(pa.array(kept)).unique())
    product = kept.astype(np.int64)
    for column in total.of:
        product *= table[column].fill_null(0).to_numpy()
    return int(product.sum())
