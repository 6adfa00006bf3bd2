"""The files that the project reads but does not ship: found in a folder, and checked as they are read.

Every reader states its files as values of `DataFile`; `pgsr.experiments.data.recipes` adds where each comes from and
how it is made.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.columns import read

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
        content: the checksum of these columns by `content_sum` of `pgsr.experiments.data.contents`; None where it
            is not known.

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
        """The name by which `python -m pgsr.experiments data` calls it: the file's without its endings."""
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
                f"it comes from and how it is made: python -m pgsr.experiments data fetch {self.name}, and "
                "docs/study/data.md"
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
            f"set {VARIABLE} or pass folder=...; how to fill it: python -m pgsr.experiments data list, and "
            "docs/study/data.md"
        )
    return Path(home)
