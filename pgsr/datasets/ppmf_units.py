"""The counting of a file of units of the Privacy-Protected Microdata Files: the microdata of the Census of 2020.

The file has a row for each of 140 million housing units and group quarters, tens of gigabytes with all its geographic
columns. So `convert` counts its rows by block once, and `PpmfBlocks` reads the small table that it writes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.checks import require_kind
from pgsr.datasets.files import DataFile
from pgsr.errors import DataError, TableError
from pgsr.machine.extras import extra
from pgsr.machine.replacing import replacing

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_SIZE = 7
"""The last size in the file, which means 7 persons or more."""

VACANT, GROUP_QUARTERS = 0, LARGEST_SIZE + 1
"""The classes of units beside those of 1 to 7 persons; a vacant unit has 0."""

CLASSES = ("vacant", *(f"size_{size}" for size in range(1, LARGEST_SIZE + 1)), "group_quarters")
"""The columns of numbers of units, by class."""

CODES = {"state": 2, "county": 3, "tract": 6, "block_group": 1, "block": 4}
"""The columns that name a block, and how many digits each has. Read in a row they are its code, of 16 digits."""

FILE = DataFile("ppmf_block_units.parquet", text=tuple(CODES), whole=CLASSES)

HOUSING_UNIT, QUARTERS = "2", "4"
"""Types of records: a housing unit, occupied or vacant, and group quarters."""


@dataclass(frozen=True)
class UnitFields:
    """The names of the columns of a file of units that are read; other columns are skipped.

    The defaults, and the meaning of their values, are those of the programs of the Census Bureau that write the file,
    which are published. The record layout of the published file itself was not at hand, and nobody has run this reader
    on the real file yet: where a column is called otherwise, say so.

    Attributes:
        state, county, tract, block_group, block: numbers of 2, 3, 6, 1 and 4 digits; zeros in front may be missing.
        record_type: 2 for a housing unit, 4 for group quarters.
        size: of a housing unit, 0 if it is vacant, else 1 to 7, and 7 means 7 or more. It is not read for group
            quarters.
    """

    state: str = "TABBLKST"
    county: str = "TABBLKCOU"
    tract: str = "TABTRACTCE"
    block_group: str = "TABBLKGRPCE"
    block: str = "TABBLK"
    record_type: str = "RTYPE"
    size: str = "HHSIZE"


def convert(
    units: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    fields: UnitFields | None = None,
    delimiter: str = ",",
    progress: bool | Callable[[int], None] = False,
) -> Path:
    """Count the units of every block by household size, and write ppmf_block_units.parquet.

    The table has a row per block that has a unit, in the order of their codes, and a row group per state. Columns:
    state, county, tract, block_group and block, with their zeros; and the numbers of units vacant, size_1, ..., size_7
    (7 or more) and group_quarters.

    It works for the file of units of 2020, and for those of the demonstrations with data of 2010 that have sizes of
    households; demonstrations of redistricting data have none. The files are public, so errors name their lines.

    Args:
        units: a CSV file, text that is a pattern for several such as "ppmf/*.csv.gz", or a list of both. Files ending
            in .gz, .bz2 or .zst are decompressed.
        folder: where to write.
        fields: the names of the columns, if they are not those of `UnitFields()`.
        delimiter: the sign between fields; "|" in the files that the Bureau's own programs write.
        progress: whether to show the number of units counted so far; or what is told it.

    Returns:
        The file.

    Raises:
        DataError: no such file, a file that is no CSV with these columns, or a row with something else in them.

    Complexity: one pass. Memory: 16 MiB of a file at a time, and about 50 bytes for every block and size that occurs.

    Source:
        U.S. Census Bureau, programs of the 2020 Disclosure Avoidance System, writer of the file of units: names of
        columns, types of records, sizes 0 to 7.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "units.csv").write_text(
        ...     "RTYPE,HHSIZE,TABBLKST,TABBLKCOU,TABTRACTCE,TABBLK,TABBLKGRPCE\\n2,3,10,001,040100,1000,1\\n"
        ... )
        >>> convert(folder / "units.csv", folder).name
        'ppmf_block_units.parquet'
    """
    fields = UnitFields() if fields is None else fields
    require_kind(fields, UnitFields, "fields", "give UnitFields(state=...), or None for the names of 2020")
    patterns = [units] if isinstance(units, str | os.PathLike) else units
    patterns = [pattern if isinstance(pattern, Path) else os.fspath(pattern) for pattern in patterns]
    keys, numbers = _counted(patterns, fields, delimiter, progress)
    path = Path(folder) / FILE.file
    _write(path, keys, numbers)
    return path


def _counted(
    patterns: Sequence[str | Path], fields: UnitFields, delimiter: str, progress: bool | Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Count units by block and class: keys code * number of classes + class, ascending, and how many units each has."""
    from pgsr.tables.source import files

    parts: list[tuple[np.ndarray, np.ndarray]] = []
    with _shown(progress) as tell:
        n_units = 0
        try:
            listed = [file for pattern in patterns for file in files(pattern)]
        except TableError as fault:
            raise DataError(str(fault)) from fault
        for file in listed:
            for found in _keys(file, fields, delimiter):
                parts.append(np.unique(found, return_counts=True))
                # Parts at least halve in length from one to the next, so that every key is merged a few times only.
                while len(parts) > 1 and len(parts[-2][0]) < 2 * len(parts[-1][0]):
                    parts.append(_merged([parts.pop(), parts.pop()]))
                n_units += len(found)
                tell(n_units)
    if not n_units:
        raise DataError(f"{', '.join(map(str, patterns))} has no units; is it the right file?")
    return _merged(parts)


def _merged(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.concatenate([key for key, _ in parts])
    numbers = np.concatenate([number for _, number in parts])
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(numbers, starts)


def _keys(file: str, fields: UnitFields, delimiter: str) -> Iterator[np.ndarray]:
    """Read the keys of the units of a file, block of rows by block of rows."""
    from pgsr.tables.csv_files import CsvFault, column_names, text_tables
    from pgsr.tables.source import Csv

    if Path(file).suffix.lower() == ".zip":
        raise DataError(f"{file} is a zip archive; unpack it, and give the CSV file inside")
    source, wanted, line = Csv(file, delimiter=delimiter), astuple(fields), 2
    try:
        present = column_names(source)
        missing = [name for name in wanted if name not in present]
        if missing:
            raise DataError(
                f"{file} has no column {', '.join(missing)}, only {', '.join(present)}; is it the file of units? Name "
                "columns that are called otherwise by fields=UnitFields(...), and another sign than a comma by "
                "delimiter=..."
            )
        for table in text_tables(source, wanted):
            yield _keys_of(table, fields, _Lines(file, line))
            line += len(table)
    except CsvFault as fault:
        raise DataError(f"the file of units {fault.sentence} ({fault.place})") from fault


@dataclass(frozen=True)
class _Lines:
    """Rows of a file that begin at some line."""

    file: str
    first: int

    def require(self, good: np.ndarray, field: str, column: "pa.ChunkedArray", expected: str) -> None:
        """Raise an error that names the first line that is not good."""
        if not good.all():
            row = int(np.argmin(good))
            raise DataError(
                f"line {self.first + row:,} of {self.file} has {field} {column[row].as_py()!r}, not {expected}; is it "
                "the file of units?"
            )


def _keys_of(table: "pa.Table", fields: UnitFields, lines: _Lines) -> np.ndarray:
    with extra("release"):
        import pyarrow as pa
        import pyarrow.compute as pc

    code = np.zeros(len(table), np.int64)
    for part, n_digits in CODES.items():
        name = getattr(fields, part)
        digits = f"a number of {n_digits} digit{'s' if n_digits > 1 else ''}"
        code = code * 10**n_digits + _numbers(table[name], f"[0-9]{{1,{n_digits}}}", name, digits, lines)
    kind = table[fields.record_type]
    known = f"{HOUSING_UNIT}, a housing unit, or {QUARTERS}, group quarters"
    lines.require(_matches(kind, f"{HOUSING_UNIT}|{QUARTERS}"), fields.record_type, kind, known)
    quarters = _matches(kind, QUARTERS)
    read = pc.call_function("if_else", [pa.array(quarters), pa.scalar(str(VACANT)), table[fields.size]])
    size = _numbers(read, f"[0-{LARGEST_SIZE}]", fields.size, f"a size from 0 to {LARGEST_SIZE}", lines)
    return code * len(CLASSES) + np.where(quarters, GROUP_QUARTERS, size)


def _numbers(column: "pa.ChunkedArray", pattern: str, field: str, expected: str, lines: _Lines) -> np.ndarray:
    lines.require(_matches(column, pattern), field, column, expected)
    return column.cast("int64").to_numpy()


def _matches(column: "pa.ChunkedArray", pattern: str) -> np.ndarray:
    """Say which texts are of a pattern; a missing one is of none."""
    with extra("release"):
        import pyarrow.compute as pc

    options = pc.MatchSubstringOptions(f"^({pattern})$")
    return pc.call_function("match_substring_regex", [column], options).fill_null(False).to_numpy()


def _write(path: Path, keys: np.ndarray, numbers: np.ndarray) -> None:
    """Write the table of blocks, state by state."""
    with extra("release"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    code, kind = np.divmod(keys, len(CLASSES))
    below = 10 ** sum(list(CODES.values())[1:])
    starts = np.flatnonzero(np.diff(code // below, prepend=-1))
    text = {name: pa.string() for name in CODES}
    schema = pa.schema([*text.items(), *((name, pa.int32()) for name in CLASSES)])
    with replacing(path, DataError) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for start, stop in zip(starts, [*starts[1:], len(code)], strict=True):
            blocks, row = np.unique(code[start:stop], return_inverse=True)
            units = np.zeros((len(blocks), len(CLASSES)), np.int32)
            units[row, kind[start:stop]] = numbers[start:stop]
            columns: dict[str, Any] = {}
            for name, n_digits in reversed(CODES.items()):
                blocks, digits = np.divmod(blocks, 10**n_digits)
                columns[name] = pa.array([f"{number:0{n_digits}d}" for number in digits.tolist()])
            columns = {name: columns[name] for name in CODES} | dict(zip(CLASSES, units.T, strict=True))
            table = pa.table(columns, schema)
            writer.write_table(table, row_group_size=len(table))


@contextmanager
def _shown(progress: bool | Callable[[int], None]) -> Iterator[Callable[[int], None]]:
    """Give what is to be told the number of units counted so far."""
    if progress is not True:
        yield progress if callable(progress) else lambda n_units: None
        return
    with extra("release"):
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(SpinnerColumn(), TextColumn("{task.completed:,.0f} units counted"), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=None)
        yield lambda n_units: bar.update(task, completed=n_units)
