"""Tables of any kind, read column by column as arrays, and given back as what they were with columns besides."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import count
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pgsr.checks import shown
from pgsr.data.plans import operators_of, require_no_guess
from pgsr.data.region_ids import region_name
from pgsr.errors import ArgumentError, TableError
from pgsr.machine.extras import extra

KINDS = "a pandas, Polars or Arrow table, a DuckDB relation, or a dictionary of arrays"


@dataclass(frozen=True, eq=False)
class ColumnFrame:
    """A table whose columns are read as arrays.

    Attributes:
        given: the table as it was given.
        columns: the columns by name, Narwhals series or what NumPy makes an array of.
        n_rows: the number of rows.
        read: the table as Narwhals reads it, None for a dictionary.
        spelled: of columns that were read as names, the names as they are spelled.
    """

    given: Any
    columns: Mapping[str, Any]
    n_rows: int
    read: nw.DataFrame[Any] | None = None
    spelled: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Any) -> "ColumnFrame":
        """Look at a table.

        Raises:
            TableError: it is no table, or its columns are of different lengths, or two have one name, or it is a
                relation whose types DuckDB guesses.
            MissingPackageError: it is a stream of Arrow, such as a DuckDB relation, and PyArrow is not installed.

        Example:
            >>> ColumnFrame.of({"state": ["GA", "MI"], "n": [3, 4]}).n_rows
            2
        """
        if isinstance(table, Mapping):
            lengths = {name: len(column) for name, column in table.items()}
            if len(set(lengths.values())) > 1:
                raise TableError(f"the columns have {lengths} rows; give columns of one length")
            found = cls(table, table, next(iter(lengths.values()), 0))
            for name, column in table.items():
                if found.by_label(column, f"column {name!r}") is not column:
                    raise TableError(f"the index of column {name!r} has another order; give a pd.DataFrame of them")
            return found
        try:
            read = nw.from_native(table, eager_only=True, pass_through=True)
        except nw.exceptions.DuplicateError as error:
            raise TableError(f"two columns of the table have one name, {' '.join(str(error).split())}") from None
        if not isinstance(read, nw.DataFrame) and hasattr(table, "__arrow_c_stream__"):
            with extra("release"):
                import pyarrow as pa
            if "duckdb" in type(table).__module__:  # later rows would be rounded
                remedy = (
                    "give the frame itself, what pandas or Polars reads of the file, or a table with declared types"
                )
                require_no_guess(operators_of(table), "the relation", remedy)
            # Once: a relation may give its rows in another order when it is asked again.
            with suppress(pa.ArrowInvalid):  # of a stream of one column, such as a Series
                read = nw.from_native(pa.table(table), eager_only=True)
        if not isinstance(read, nw.DataFrame):
            hint = "; collect() it first" if hasattr(table, "collect") else ""
            hint = "; reset_index() makes one of it" if hasattr(table, "reset_index") else hint
            raise TableError(f"the table is of type {type(table).__name__}{hint}; give {KINDS}")
        return cls(table, {name: read[name] for name in read.columns if isinstance(name, str)}, len(read), read)

    def codes(self, name: str) -> tuple[np.ndarray, list[str]]:
        """Read a column of names: a code for every row, -1 where there is none or "", and the names by their codes.

        Codes are in the order in which names first appear. Whole numbers become text, so 1 and 1.0 are "1", and dates
        such as "2020-01-01". Spellings that `region_name` makes one have one code.

        Raises:
            TableError: there is no such column, or it holds fractions, durations, or numbers and text.

        Example:
            >>> ColumnFrame.of({"state": ["MI", None, "GA", "MI "]}).codes("state")
            (array([ 0, -1,  1,  0]), ['MI', 'GA'])
        """
        array, missing = self._values(name)
        values = array.tolist()
        number = dict(zip(dict.fromkeys(values), count()))
        code = np.full(self.n_rows, -1, np.int64)
        code[~missing] = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
        plain = set(map(type, values)) in ({str}, {int})
        self.spelled[name] = texts = list(map(str, number)) if plain else _texts(number, _kinds(values), name)
        names = list(map(region_name, texts))
        place = dict(zip((text for text in dict.fromkeys(names) if text), count()))
        return np.array([*(place.get(text, -1) for text in names), -1])[code], list(place)

    def kinds(self, name: str) -> set[str]:
        """List the kinds of a column's values, such as "string" and "number", as sentences call them."""
        return _kinds_in(self._values(name)[0])

    def truths(self, name: str) -> np.ndarray:
        """Read a column of truths, or of numbers of which 0 is false; bool, False where one is missing."""
        return np.nan_to_num(self._numbers(name, {"number", "boolean"})) != 0

    def numbers(self, name: str) -> np.ndarray:
        """Read a column of numbers as int64, or as float64 with NaN where one is missing; shape (rows,).

        Raises:
            TableError: there is no such column, or it holds no numbers, or whole ones that would be rounded.

        Example:
            >>> ColumnFrame.of({"n": [3, None, 4]}).numbers("n")
            array([ 3., nan,  4.])
        """
        return self._numbers(name, {"number"})

    def _numbers(self, name: str, kinds: set[str]) -> np.ndarray:
        values, missing = self._values(name)
        held = _kinds_in(values)
        if not held <= kinds:
            raise TableError(f"column {name!r} holds {_listed(held)}, no numbers; convert it, such as by pd.to_numeric")
        found = _exact(values, name)
        if not missing.any():
            return found
        made = np.full(self.n_rows, np.nan)
        made[~missing] = exact_floats(found, name)
        return made

    def categories(self, name: str) -> list[str]:
        """List the categories of a column that has ordered ones, none for any other."""
        self.require(name)
        column = nw.from_native(self.columns[name], series_only=True, pass_through=True)
        if not isinstance(column, nw.Series):  # an array, or a Categorical of pandas
            kind = getattr(column, "dtype", None)
            return list(map(_text, kind.categories)) if getattr(kind, "ordered", False) else []  # pyright: ignore
        arrow = getattr(column.to_native(), "type", None)
        ordered = column.dtype == nw.Enum or getattr(arrow, "ordered", False)
        return list(map(_text, column.cat.get_categories().to_list())) if ordered else []

    def row_numbers(self, given: Any, what: str) -> np.ndarray:
        """Read a number per row: a column by its name, one for all, or an array, by labels where it has an index."""
        if isinstance(given, str):
            return self.numbers(given).astype(float)
        if isinstance(given, Iterable) and getattr(given, "ndim", 1):
            given = self.by_label(given, what)
        try:
            numbers = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            numbers = np.empty((0, 0))
        if numbers.shape not in ((), (self.n_rows,)):
            raise TableError(f"the {what} is {shown(given)}; give a column's name, or {self.n_rows} numbers")
        return np.full(self.n_rows, numbers) if numbers.ndim == 0 else numbers

    def by_label(self, given: Any, what: str) -> Any:
        """Put the rows of a pandas Series or frame in the order of the table's index, where both have one."""
        columns = self.given.values() if self.read is None else [self.given]
        index, *indexes = (getattr(table, "index", None) for table in (given, *columns))
        own: Any = next((each for each in indexes if hasattr(each, "equals")), None)
        if own is None or index is None or not hasattr(index, "equals") or index.equals(own):
            return given
        if index.is_unique and own.is_unique and len(index) == len(own) and index.isin(own).all():
            return given.reindex(own)
        raise TableError(f"the {what} has another index than the table; give that of the table, or .to_numpy()")

    def require(self, name: str) -> None:
        """Raise `TableError` unless there is such a column."""
        if name not in self.columns:
            names = [*self.columns] or [*getattr(self.given, "columns", ())]
            remedy = "" if self.columns else ", and names are text; rename them"
            raise TableError(f"the table has no column {name!r}; its columns are {', '.join(map(repr, names))}{remedy}")

    def _values(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Read the values that a column has, in their order, and which rows have none; shapes (there,), (rows,)."""
        self.require(name)
        column = nw.from_native(self.columns[name], series_only=True, pass_through=True)
        if isinstance(column, nw.Series):
            missing = column.is_null().to_numpy().astype(bool)
            values = column.drop_nulls().to_numpy()
        else:
            values = column if hasattr(column, "__array__") else np.fromiter(column, object, self.n_rows)
            missing = np.ma.getmaskarray(np.ma.asarray(values)).copy()
            values = np.asarray(values)[~missing]
        # NaN is a number to Polars and NumPy, and means none here; times become numbers in lists.
        absent = np.isnan(values) if values.dtype.kind in "fMm" else np.zeros(len(values), bool)
        if values.dtype.kind == "O" and not set(map(type, values)) <= {str, int}:
            absent = np.fromiter(map(_is_missing, values), bool, len(values))
        if values.dtype.kind in "Mm":
            values = np.fromiter(values, object, len(values))
        missing[np.flatnonzero(~missing)[absent]] = True
        return values[~absent], missing

    def __getstate__(self) -> dict[str, Any]:
        """Copy what is known; of a DuckDB relation the rows alone, as Arrow's, since its connection cannot travel."""
        theirs = self.read is not None and "duckdb" in type(self.given).__module__
        return {**vars(self), "given": self.read.to_native()} if theirs else vars(self)  # pyright: ignore

    def taking(self, columns: Mapping[str, np.ndarray]) -> Any:
        """Make a table of the given kind with these columns besides, row by row.

        Raises:
            TableError: one has the name of a column that is there.
        """
        for name in columns:
            if name in self.columns:
                raise TableError(f"the table has a column {name!r} already; rename it")
        if self.read is None:
            return {**self.given, **columns}
        backend = self.read.implementation
        made = self.read.with_columns(*(nw.new_series(name, of, backend=backend) for name, of in columns.items()))
        if "duckdb" in type(self.given).__module__:
            import duckdb

            return duckdb.from_arrow(made.to_native())
        return made.to_native()


def column_names(key: str, given: object) -> tuple[str, ...]:
    """Check names of columns, each once; raise `ArgumentError` with the argument's name where they are none."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise ArgumentError(f'{key}={shown(given)}; give a list of names of columns, such as ["state", "county"]')
    if not given or len(set(given)) < len(given):
        raise ArgumentError(f"{key}={given!r}; give one column or more, each once")
    return tuple(given)


def exact_floats(numbers: np.ndarray, name: str) -> np.ndarray:
    """Convert the numbers of a column to float64; raise `TableError` where a large one would be rounded."""
    try:
        made = numbers.astype(float)
    except OverflowError:
        made = np.full(len(numbers), np.inf)
    large = np.abs(made) >= 2**53
    if any(number != near for number, near in zip(numbers[large].tolist(), made[large].tolist(), strict=True)):
        raise TableError(
            f"column {name!r} holds numbers beyond 2^53 that would be rounded, as they are beyond 64 bits, or real "
            "numbers or empty values are beside them; scale it down"
        )
    return made


def _exact(values: np.ndarray, name: str) -> np.ndarray:
    """Convert to int64 where all are whole and within 64 bits, and otherwise to float64."""
    if values.dtype.kind in "if":
        return values.astype(float if values.dtype.kind == "f" else np.int64)
    with suppress(OverflowError, ValueError):  # infinite, or beyond 64 bits
        given = values.tolist()
        whole = list(map(int, given))
        if whole == given:
            return np.array(whole, np.int64)
    return exact_floats(values, name)


def _kinds_in(values: np.ndarray) -> set[str]:
    return _kinds(values.tolist() if values.dtype.kind == "O" else values[:1].tolist())


def _kinds(values: Iterable[object]) -> set[str]:
    return {_kind(value) for value in {type(value): value for value in values}.values()}


def _kind(value: object) -> str:
    """Tell the kind of a value, as sentences call it."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, np.timedelta64):  # a number to NumPy
        return "timedelta"
    if isinstance(value, int | float | np.number | Decimal):
        return "number"
    return "string" if isinstance(value, str) else type(value).__name__.removesuffix("64")


def _listed(kinds: Iterable[str]) -> str:
    return " and ".join(sorted(kinds))


def _texts(values: Iterable[Any], kinds: set[str], column: str) -> list[str]:
    """Write the names of a column as text; raise `TableError` where they are no names."""
    if len(kinds) > 1:
        raise TableError(f"column {column!r} mixes kinds of values, {_listed(kinds)}; convert it")
    numbers = [value for value in values if isinstance(value, float | Decimal)]
    large = any(isinstance(value, float) and abs(value) >= 2**53 for value in numbers)
    if large or "timedelta" in kinds or not all(float(value).is_integer() for value in numbers):
        held = "real numbers that may be rounded" if large else "durations" if "timedelta" in kinds else "fractions"
        raise TableError(f"column {column!r} has names and holds {held}; give text, dates or whole numbers")
    try:
        return list(map(_text, values))
    except UnicodeDecodeError:
        raise TableError(f"column {column!r} holds bytes that are no UTF-8; decode it") from None


def _text(value: object) -> str:
    """Write a name as text; whole numbers without a point, dates without a time, and what Arrow keeps as bytes."""
    if isinstance(value, datetime) and value.tzinfo is None:
        value = np.datetime64(value)
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))
    if isinstance(value, float | Decimal):
        return str(int(value))
    return value.decode() if isinstance(value, bytes) else str(value).lower() if isinstance(value, bool) else str(value)


def _is_missing(value: object) -> bool:
    """Say whether an object stands for none: None, NaN, or pandas' NA and NaT."""
    if value is None or isinstance(value, float | np.floating | Decimal):
        return value is None or math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")
