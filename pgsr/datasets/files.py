"""The files that the project reads but does not ship: found in a folder, and checked as they are read.

Every reader states its files as values of `DataFile`; `pgsr.datasets.recipes` adds where each comes from and how it is
made, and `python -m pgsr.datasets` tells, makes and checks them.
"""

import lzma
import os
import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import DataError
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "PGSR_DATA"
"""The environment variable that names the folder."""


@dataclass(frozen=True)
class Total:
    """A number that must come out of a file: of its rows, of what its columns add up to, or of distinct texts.

    Attributes:
        what: what is counted, such as "households".
        value: the number.
        of: columns of whole numbers that are multiplied row by row, then added up; without any, rows are counted.
        distinct: a column of texts whose distinct values are counted, instead.
        where: a column of texts and the value of the rows that count; all rows if None.

    Example:
        >>> Total("pickups", 130_962_398, of=("size", "n_groups")).value
        130962398
    """

    what: str
    value: int
    of: tuple[str, ...] = ()
    distinct: str | None = None
    where: tuple[str, str] | None = None


@dataclass(frozen=True)
class DataFile:
    """A file of real data: its name, the columns that count, and what must come out of them.

    Attributes:
        file: its name in the folder.
        text: columns of texts, among them codes with zeros in front.
        whole: columns of whole numbers; `read` refuses those below 0.
        may_miss: those of both in which a row may have no entry.
        totals: numbers that must come out.
        content: the checksum of these columns by `pgsr.datasets.contents.content_sum`; None where nobody here has had
            the file.

    Example:
        >>> cells = DataFile("cells.csv.gz", text=("half",), whole=("size", "n_groups"))
        >>> cells.name, cells.columns
        ('cells', ('half', 'size', 'n_groups'))
    """

    file: str
    text: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    may_miss: tuple[str, ...] = ()
    totals: tuple[Total, ...] = ()
    content: str | None = None

    @property
    def name(self) -> str:
        """The name by which `python -m pgsr.datasets` calls it: the file's without its endings."""
        return self.file.partition(".")[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that count, texts first."""
        return (*self.text, *self.whole)

    def path(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Find the file in `folder`, or in the folder that PGSR_DATA names.

        Raises:
            DataError: neither names a folder, or the file does not lie there.
        """
        home = home_of(folder, self.file)
        path = home / self.file
        if not path.is_file():
            source = f"environment variable {VARIABLE}" if folder is None else "argument folder"
            raise DataError(
                f"{path} does not exist; put {self.file} there, or name its folder ({source}; see {VARIABLE}); where "
                f"it comes from and how it is made: python -m pgsr.datasets fetch {self.name}, and docs/data.md"
            )
        return path

    def read(
        self, folder: str | os.PathLike[str] | None = None, columns: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Read the columns, or these of them, one array each; texts are str, whole numbers int64.

        Raises:
            DataError: there is no file, it cannot be read, lacks a column, or holds something else in it.
        """
        wanted = self.columns if columns is None else columns
        text = [column for column in self.text if column in wanted]
        whole = [column for column in self.whole if column in wanted]
        return read(self.path(folder), text, whole, may_miss=self.may_miss)


def home_of(folder: str | os.PathLike[str] | None, wanted: str) -> Path:
    """Name the folder of real data: `folder`, or that of PGSR_DATA.

    Raises:
        DataError: neither is named.

    Example:
        >>> home_of("data", "a file").name
        'data'
    """
    home = os.environ.get(VARIABLE) if folder is None else folder
    if not home:
        raise DataError(
            f"{wanted} is looked for in the folder that the environment variable {VARIABLE} names, and it is not set; "
            f"set {VARIABLE} or pass folder=...; how to fill it: python -m pgsr.datasets list, and docs/data.md"
        )
    return Path(home)


def read(
    path: Path, text: Sequence[str], whole: Sequence[str], *, may_miss: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Read some columns of a Parquet or CSV file, or of a pickled frame (.pkl.compress), by name, one array each.

    A pickle may run code of whoever wrote it, so it is read from installed packages alone, which may do so anyway.

    Args:
        path: the file.
        text: columns read as text, so that "01001" keeps its zero; arrays of str.
        whole: columns of whole numbers from 0 up; arrays of int64.
        may_miss: those columns of `text` in which a row may have no entry; it is then "".

    Raises:
        DataError: the file cannot be read, lacks a column, or holds something else in it.
    """
    with extra("release"):
        import pandas as pd
        import pyarrow.parquet

    wanted = [*text, *whole]
    try:
        if path.suffix == ".parquet":
            present = pyarrow.parquet.read_schema(path).names
            require_columns(wanted, present, path)
            frame = pd.read_parquet(path, columns=wanted)
        elif path.suffix == ".compress":
            pickled: Any = pd.read_pickle(path, compression="xz")
            require_columns(wanted, list(pickled.columns), path)
            frame = pickled[wanted].assign(**{column: _codes_as_text(pickled[column]) for column in text})
        else:
            present = list(pd.read_csv(path, nrows=0).columns)
            require_columns(wanted, present, path)
            frame = pd.read_csv(path, usecols=wanted, dtype=dict.fromkeys(text, str))
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, pickle.UnpicklingError) as fault:
        raise DataError(f"{path} cannot be read ({fault}); fetch the file again") from fault
    columns = {}
    for column in text:
        values = frame[column].fillna("") if column in may_miss else frame[column]
        columns[column] = _text(values.to_numpy(object), column, path)
    for column in whole:
        columns[column] = _whole(frame[column].to_numpy(), column, path)
    return columns


def require_columns(wanted: Sequence[str], present: Sequence[str], path: Path) -> None:
    """Raise a `DataError` that names the columns of `wanted` that a file lacks, if there are any.

    Example:
        >>> require_columns(["size"], ["size", "n_groups"], Path("cells.csv"))
    """
    missing = [column for column in wanted if column not in present]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}, only {', '.join(present)}; is it the right file?")


def _codes_as_text(values: "pd.Series") -> "pd.Series":
    """Write codes that a frame keeps as numbers: 3 for 3 and for 3.0, which is how it keeps them beside gaps."""
    whole = values.astype("Int64") if values.dtype.kind == "f" else values
    return whole.astype("string").astype(object)


def _text(values: np.ndarray, column: str, path: Path) -> np.ndarray:
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"column {column} of {path} is not text throughout; write ids as text, with their zeros")
    return values.astype(str)


def _whole(values: np.ndarray, column: str, path: Path) -> np.ndarray:
    if values.dtype.kind not in "iu" or (values < 0).any():
        raise DataError(f"column {column} of {path} does not hold whole numbers from 0 up; is it the right file?")
    return values.astype(np.int64)
