"""Guard the places of results: one process at a time makes a folder, which is on the disk when it gets its name."""

import getpass
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pgsr.release.errors import ReleaseError


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold a lock on the name of an output, so that two processes do not both pay for it.

    The lock is a file in the temporary folder: processes of one user on one machine see it. Two ways to the folder in
    which the output lies are one name.

    Raises:
        ReleaseError: another process holds it.
    """
    # The lock's file is not removed. Another process may have opened it and be about to lock it: it would get the lock
    # of a file that has no name any more, while a third one locks a new file of that name, and both would pay. The file
    # is empty, its name holds a digest, and the system clears its temporary folder.
    place = folder.parent.resolve() / folder.name
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:24]
    lock = FileLock(Path(tempfile.gettempdir()) / f"pgsr-{getpass.getuser()}-{name}.lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise ReleaseError(
            f"another process is making {folder.name!r} just now; wait for it, or choose another output; nothing was "
            "charged"
        ) from None


def settle(folder: Path) -> None:
    """Give all files of a folder, and itself, one time, and put them on the disk.

    Times between the files would tell how long the private steps took.
    """
    now = time.time()
    for path in (*folder.iterdir(), folder):
        os.utime(path, (now, now))
        sync(path)


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows has no way to do that
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
