"""Files that are written whole: a file of the same name is replaced in one step, or stays as it was."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from pgsr.errors import ArgumentError, PgsrError

FOLDERS_OPEN = os.name != "nt"
"""Windows opens no folders, and so cannot be asked to put one on the disk."""


def as_path(path: Any) -> Path:
    """Take the name of a file.

    Raises:
        ArgumentError: it is neither text nor a Path.

    Example:
        >>> as_path("small.mps").name
        'small.mps'
    """
    if not isinstance(path, str | Path):
        raise ArgumentError(f"the name of a file is {path!r}; give text or a pathlib.Path")
    return Path(path)


@contextmanager
def replacing(path: Path, error: type[PgsrError]) -> Iterator[BinaryIO]:
    """Open a new file beside `path`, which takes its place once all is written, with the mode that `open` gives.

    Raises:
        error: the folder is not there, or the file cannot be written; then nothing has changed.

    Example:
        >>> from pgsr.errors import TableError
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a.csv", TableError) as file:
        ...         _ = file.write(b"size,groups")
        ...     print([made.name for made in Path(folder).iterdir()])
        ['a.csv']
    """
    try:
        with _new_beside(path) as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as failed:
        if not path.parent.is_dir():
            raise error(f"{path} cannot be written: there is no folder {path.parent}; make it first") from failed
        reason = failed.strerror or failed
        raise error(f"{path} cannot be written: {reason}; choose another place, or make this one writable") from failed


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on the disk; names only where a system has a call for that."""
    if path.is_dir() and not FOLDERS_OPEN:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_beside(path: Path) -> BinaryIO:
    """Open a file of a new name; not by `tempfile`, whose files nobody else may read, whatever the umask says."""
    for turn in count():
        try:
            return path.with_name(f".pgsr-{os.getpid()}-{turn}").open("xb")
        except FileExistsError:
            continue
    raise AssertionError("there is always another name")
