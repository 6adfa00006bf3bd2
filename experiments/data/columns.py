"""The reading of a table of a file: some of its columns, each an array of texts or of whole numbers."""

import lzma
import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import DataError
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd


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
