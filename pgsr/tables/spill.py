"""The private folder to which rows are spilled, and the removal of what killed processes leave of it."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PREFIX = "pgsr-tables-"
"""The beginning of the names of these folders; the number of the process follows."""


@contextmanager
def private_folder(parent: Path) -> Iterator[str]:
    """Make a folder in `parent` that only this user can open, and delete it afterwards.

    Folders that killed processes of this user left in `parent` are deleted first. A folder is stale if no process has
    the number in its name and nobody holds its lock; a process elsewhere that shares the disk (in a container, say) has
    the lock only.

    Example:
        >>> with private_folder(Path(tempfile.gettempdir())) as folder:
        ...     oct(os.stat(folder).st_mode & 0o777)
        '0o700'

    Shown by `test_tables_hostile.py::test_folders_that_killed_processes_left_are_deleted`.
    """
    for name in os.listdir(parent):
        if name.startswith(PREFIX):
            _remove_if_stale(parent / name)
    folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _remove_if_stale(folder: Path) -> None:
    process = folder.name.removeprefix(PREFIX).split("-")[0]
    try:
        if not process.isdecimal() or psutil.pid_exists(int(process)) or folder.lstat().st_uid != os.getuid():
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # another process removed it meanwhile, or it is no folder of ours
        return
    try:
        if _lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock of a folder; return False if another process holds it, or the disk has no locks.

    Neither is an error: an old folder that stays costs space, and a folder in use must not be deleted.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
