"""Tables that are kept apart by key, such as by state, and the places where work on them runs."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pgsr.checks import whole_number
from pgsr.errors import ArgumentError, TableError
from pgsr.machine.extras import extra
from pgsr.machine.parallel import DaskMap, Mapper, Threads
from pgsr.machine.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence


class Partitions(Protocol):
    """Tables of whole numbers by key and name. It must be possible to pickle it where work runs elsewhere."""

    def has(self, key: str, name: str) -> bool:
        """Say whether a table was written whole."""
        ...

    def read(self, key: str, name: str) -> np.ndarray:
        """Read a table, shape (rows, columns)."""
        ...

    def write(self, key: str, name: str, table: np.ndarray) -> None:
        """Write a table, in one step: it is there as a whole or not at all. An older one is replaced."""
        ...


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files, one per table, in folders that are called after the key: state=Georgia/name.parquet.

    So other programs see one data set with a column `state` per name. A file has one column `counts`, a row is a list
    of all its counts.

    Attributes:
        path: of the folder, which is made if it is not there.
        column: what keys are.

    Example:
        >>> import tempfile
        >>> folder = ParquetFolder(tempfile.mkdtemp(), "state")
        >>> folder.write("Georgia", "noisy-3", np.array([[1, 2], [3, -4]]))
        >>> folder.has("Georgia", "noisy-3"), folder.has("Georgia", "noisy-4")
        (True, False)
        >>> folder.read("Georgia", "noisy-3")
        array([[ 1,  2],
               [ 3, -4]])
    """

    path: str
    column: str = "state"

    def has(self, key: str, name: str) -> bool:
        return self._file(key, name).is_file()

    def read(self, key: str, name: str) -> np.ndarray:
        with extra("release"):
            import pyarrow as pa
            import pyarrow.parquet as pq

        file = self._file(key, name)
        try:
            column = pq.ParquetFile(file).read(["counts"]).column(0).combine_chunks()
        except (OSError, pa.ArrowException) as failed:
            raise TableError(f"{file} cannot be read as a table of counts; write it anew") from failed
        return column.flatten().to_numpy().reshape(len(column), column.type.list_size)

    def write(self, key: str, name: str, table: np.ndarray) -> None:
        with extra("release"):
            import pyarrow as pa
            import pyarrow.parquet as pq

        file = self._file(key, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(table).reshape(-1)), table.shape[1])
        with replacing(file, TableError) as stream:
            pq.write_table(pa.table({"counts": rows}), stream, compression="lz4")

    def _file(self, key: str, name: str) -> Path:
        for part in (key, name):
            if not part or "/" in part or "\\" in part or part.startswith("."):
                raise ArgumentError(f"{part!r} cannot be part of a file's name; leave out slashes and dots in front")
        return Path(self.path) / f"{self.column}={key}" / f"{name}.parquet"


@dataclass(frozen=True)
class Engine:
    """A mapper that tries again: what fails for lack of a worker, a file or memory is asked anew.

    It is itself a `Mapper`: it calls a function on every item and gives the results in the order of the items.

    Attributes:
        mapper: the builtin `map`, `Threads()`, an `Executor.map`, or `DaskMap(client)`.
        attempts: how often an item is tried in all.
        wait: seconds before items are tried again.

    Example:
        >>> list(Engine(map)(abs, [-1, 2]))
        [1, 2]
    """

    mapper: Mapper = field(default_factory=Threads)
    attempts: int = 3
    wait: float = 0.1

    def __post_init__(self) -> None:
        whole_number("attempts", self.attempts, 1, ArgumentError)

    @classmethod
    def named(cls, place: str) -> "Engine":
        """Make the engine of a name: "here", "threads", "dask", or the address of a Dask scheduler, tcp://host:8786.

        Raises:
            ArgumentError: an unknown name.
            MissingPackageError: Dask is not installed.
        """
        if place == "here":
            return cls(map)
        if place == "threads":
            return cls(Threads())
        if place != "dask" and "://" not in place:
            raise ArgumentError(f"{place!r} is no place to run; use here, threads, dask, or a scheduler's address")
        with extra("cluster"):
            from distributed import Client
        return cls(DaskMap(Client() if place == "dask" else Client(place)))

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
        items = list(items)
        results: list[Any] = [None] * len(items)
        left: Sequence[int] = range(len(items))
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(self.wait)
            last = attempt == self.attempts - 1
            tried = self.mapper(_Caught(function, everything=not last), [items[i] for i in left])
            again = []
            for i, (result, failed) in zip(left, tried, strict=True):
                results[i] = result
                if failed:
                    again.append(i)
            left = again
            if not left:
                break
        return results


@dataclass(frozen=True)
class _Caught:
    """A function that says whether it failed; the errors of the last attempt are raised."""

    function: Callable[[Any], Any]
    everything: bool

    def __call__(self, item: Any) -> tuple[Any, bool]:
        if not self.everything:
            return self.function(item), False
        try:
            return self.function(item), False
        except (OSError, MemoryError, TableError):
            return None, True
