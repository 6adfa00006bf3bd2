"""Tables of any kind, read column by column through Arrow, and given back as what they were with columns besides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.errors import TableError

KINDS = "a pandas, Polars or Arrow table, a DuckDB relation, or a dictionary of arrays"


@dataclass(frozen=True, eq=False)
class Frame:
    """A table whose columns are read as arrays.

    Attributes:
        given: the table as it was given.
        columns: the columns by name, what `pyarrow.array` takes or an Arrow column.
        n_rows: the number of rows.
    """

    given: Any
    columns: Mapping[str, Any]
    n_rows: int

    @classmethod
    def of(cls, table: Any) -> "Frame":
        """Look at a table.

        Raises:
            TableError: it is no table, or its columns are of different lengths.

        Example:
            >>> Frame.of({"state": ["GA", "MI"], "n": [3, 4]}).n_rows
            2
        """
        if isinstance(table, Mapping):
            lengths = {name: len(column) for name, column in table.items()}
            if len(set(lengths.values())) > 1:
                raise TableError(f"the columns have {lengths} rows; give columns of one length")
            return cls(table, table, next(iter(lengths.values()), 0))
        if _package(table) == "pandas":
            return cls(table, {name: table[name] for name in table.columns if isinstance(name, str)}, len(table))
        import pyarrow as pa

        if isinstance(table, pa.Table) or hasattr(table, "__arrow_c_stream__"):
            arrow = pa.table(table)
            return cls(table, dict(zip(arrow.column_names, arrow.columns, strict=True)), arrow.num_rows)
        hint = "; collect() it first" if hasattr(table, "collect") else ""
        raise TableError(f"the table is of type {type(table).__name__}{hint}; give {KINDS}")

    def codes(self, name: str) -> tuple[np.ndarray, "Labels"]:
        """Read a column of names: a code for every row, -1 where there is none or "", and the names by their codes.

        Codes are in the order in which names first appear. Whole numbers become text, so 1 and 1.0 are "1".

        Raises:
            TableError: there is no such column, or it holds fractions or no names at all.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._arrow(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = pc.cast(column, kind.value_type), kind.value_type
        if pa.types.is_floating(kind):
            try:
                column = pc.cast(column, pa.int64())
            except pa.ArrowInvalid:
                raise TableError(
                    f"column {name!r} names regions and holds fractions; give text or whole numbers"
                ) from None
        encoded = column.combine_chunks().dictionary_encode()
        code = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not pa.types.is_integer(encoded.dictionary.type):
            empty = pc.cast(encoded.dictionary, pa.string()).index("").as_py()
            code[code == (-2 if empty < 0 else empty)] = -1
        return code, Labels(encoded.dictionary)

    def numbers(self, name: str) -> np.ndarray:
        """Read a column of numbers as int64, or as float64 with NaN where one is missing; shape (rows,).

        Raises:
            TableError: there is no such column, or it holds no numbers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._arrow(name)
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
        if not any(fits(column.type) for fits in kinds):
            raise TableError(f"column {name!r} holds {column.type}, no numbers; convert it")
        whole = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
        if whole and not column.null_count:
            return pc.cast(column, pa.int64()).to_numpy().astype(np.int64)
        column = pc.fill_null(pc.cast(column, pa.float64(), safe=False), np.nan)
        return np.asarray(column.to_numpy(), float)

    def require(self, name: str) -> None:
        """Raise `TableError` unless there is such a column."""
        if name not in self.columns:
            known = ", ".join(map(repr, self.columns))
            raise TableError(f"the table has no column {name!r}; its columns are {known}")

    def _arrow(self, name: str) -> Any:
        import pyarrow as pa

        self.require(name)
        column = self.columns[name]
        if isinstance(column, pa.ChunkedArray):
            return column
        try:
            made = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(f"column {name!r} mixes kinds of values, {error}; convert it") from None
        return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])

    def taking(self, columns: Mapping[str, np.ndarray]) -> Any:
        """Make a table of the given kind with these columns besides, row by row.

        Raises:
            TableError: one has the name of a column that is there.
        """
        for name in columns:
            if name in self.columns:
                raise TableError(f"the table has a column {name!r} already; rename it")
        package = _package(self.given)
        if isinstance(self.given, Mapping):
            return {**self.given, **columns}
        if package == "pandas":
            return self.given.assign(**columns)
        if package == "polars":
            import polars  # pyright: ignore[reportMissingImports]

            return self.given.with_columns(**{name: polars.Series(values) for name, values in columns.items()})
        import pyarrow as pa

        # From the columns that were read: a relation may give its rows in another order when it is asked again.
        table = pa.table({**self.columns, **{name: pa.array(values) for name, values in columns.items()}})
        if "duckdb" in package:
            import duckdb

            return duckdb.from_arrow(table)
        return table


def _package(table: Any) -> str:
    return type(table).__module__.partition(".")[0].lstrip("_")


@dataclass(frozen=True, eq=False)
class Labels(Sequence[str]):
    """The names behind codes, in an Arrow array, which turns one into text when it is asked for."""

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return (
            str(self.values[index].as_py())
            if not isinstance(index, slice)
            else [*map(str, self.values[index].to_pylist())]
        )

    def find(self, others: "Labels") -> np.ndarray:
        """Find the codes here of the names of others, -1 for those that are not here; shape (others,)."""
        number = {name: code for code, name in enumerate(self[:])}
        return np.array([number.get(name, -1) for name in others[:]], np.int64)
