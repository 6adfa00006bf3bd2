"""The files that the project reads but does not ship: found in a folder, and checked as they are read."""

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pgsr.errors import DataError

VARIABLE = "PGSR_DATA"
"""The environment variable that names the folder."""


def locate(file: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Find the path of `file` in `folder`, or in the folder that PGSR_DATA names.

    Raises:
        DataError: neither names a folder, or the file does not lie there.
    """
    home = os.environ.get(VARIABLE) if folder is None else folder
    if not home:
        raise DataError(
            f"{file} is looked for in the folder that the environment variable {VARIABLE} names, and it is not set; "
            f"set {VARIABLE} or pass folder=..."
        )
    path = Path(home) / file
    if not path.is_file():
        source = f"environment variable {VARIABLE}" if folder is None else "argument folder"
        raise DataError(f"{path} does not exist; put {file} there, or name its folder ({source}; see {VARIABLE})")
    return path


def read(
    path: Path, text: Sequence[str], whole: Sequence[str], *, may_miss: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Read some columns of a Parquet or CSV file by name, one array each.

    Args:
        path: the file.
        text: columns read as text, so that "01001" keeps its zero; arrays of str.
        whole: columns of whole numbers from 0 up; arrays of int64.
        may_miss: those columns of `text` in which a row may have no entry; it is then "".

    Raises:
        DataError: the file cannot be read, lacks a column, or holds something else in it.
    """
    import pandas as pd
    import pyarrow.parquet

    wanted = [*text, *whole]
    try:
        if path.suffix == ".parquet":
            present = pyarrow.parquet.read_schema(path).names
            _check_present(wanted, present, path)
            frame = pd.read_parquet(path, columns=wanted)
        else:
            present = list(pd.read_csv(path, nrows=0).columns)
            _check_present(wanted, present, path)
            frame = pd.read_csv(path, usecols=wanted, dtype=dict.fromkeys(text, str))
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zlib.error) as fault:
        raise DataError(f"{path} cannot be read ({fault}); fetch the file again") from fault
    columns = {}
    for column in text:
        values = frame[column].fillna("") if column in may_miss else frame[column]
        columns[column] = _text(values.to_numpy(object), column, path)
    for column in whole:
        columns[column] = _whole(frame[column].to_numpy(), column, path)
    return columns


def _check_present(wanted: Sequence[str], present: Sequence[str], path: Path) -> None:
    missing = [column for column in wanted if column not in present]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}, only {', '.join(present)}; is it the right file?")


def _text(values: np.ndarray, column: str, path: Path) -> np.ndarray:
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"column {column} of {path} is not text throughout; write ids as text, with their zeros")
    return values.astype(str)


def _whole(values: np.ndarray, column: str, path: Path) -> np.ndarray:
    if values.dtype.kind not in "iu" or (values < 0).any():
        raise DataError(f"column {column} of {path} does not hold whole numbers from 0 up; is it the right file?")
    return values.astype(np.int64)
