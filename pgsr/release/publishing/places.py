"""The places of results: a folder that is not there yet, and how it gets its name in one step when it is complete.

It is made under a hidden name, by one process at a time, and no private file lies in it.
"""

import getpass
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pgsr.machine.extras import extra
from pgsr.machine.whole_files import sync
from pgsr.release.publishing.errors import ConfigError, ReleaseError

with extra("release"):
    from filelock import FileLock, Timeout

LONGEST_NAME = 255
"""The number of bytes that the name of a file may have on all usual disks."""

_HIDDEN = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")
"""The name of the hidden folder in which an output is made."""

REHEARSAL = "-rehearsal"
"""The end of the name of a rehearsal's folder."""


def folder_of(output: Path, rehearse: bool) -> Path:
    """Name the folder that is made, or that of its rehearsal."""
    return output.with_name(output.name + REHEARSAL) if rehearse else output


def require_path(path: Path, what: str) -> None:
    """Raise `ConfigError` unless a file or folder can have this path.

    Example:
        >>> require_path(Path(".."), "output")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ConfigError: the output '..' has no name of its own; write one, such as 'release'
    """
    if "\0" in str(path):
        raise ConfigError(f"the path of the {what}, {str(path)!r}, holds a NUL character; write another")
    if path.name in ("", ".."):
        raise ConfigError(f"the {what} {str(path)!r} has no name of its own; write one, such as 'release'")


def require_place(folder: Path) -> None:
    """Raise `ReleaseError` unless a release can be put under this name.

    While it is made it has a name that is ten characters longer.
    """
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError:
        raise ReleaseError(
            f"the path of the output, {str(folder)!r}, is no text in UTF-8; choose another; nothing was charged"
        ) from None
    if len(os.fsencode(folder.name)) > LONGEST_NAME - 10:
        raise ReleaseError(
            f"the name of the output, {folder.name[:40] + '...'!r}, is too long for most disks; choose one of at most "
            f"{LONGEST_NAME - 10} characters; nothing was charged"
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ReleaseError(f"the output {str(folder)!r} is no folder; choose another; nothing was charged")
    if folder.is_mount():
        raise ReleaseError(
            f"the output {str(folder)!r} is a mount point, which no folder can replace; name a folder inside it; "
            "nothing was charged"
        )
    if folder.exists() and any(folder.iterdir()):
        raise ReleaseError(
            f"the output folder {str(folder)!r} is not empty; remove it or choose another; nothing was charged"
        )
    if not folder.parent.is_dir() or not os.access(folder.parent, os.W_OK | os.X_OK):
        raise ReleaseError(
            f"the folder {str(folder.parent)!r} of the output does not exist or cannot be written to; make it; nothing "
            "was charged"
        )


def require_outside(output: Path, private: Mapping[str, Path | None]) -> None:
    """Raise `ConfigError` if a private file, given after its name, lies inside the output folder."""
    for name, path in private.items():
        if path is not None and output.absolute() in path.absolute().parents:
            raise ConfigError(f"the {name} lies inside the output folder, which is published; put it elsewhere")


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


def hidden_folder(folder: Path) -> Path:
    """Make the hidden folder of an output, beside it."""
    return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))


def output_of(hidden: Path) -> Path | None:
    """Find the output for which a hidden folder was made; None if this is no hidden folder."""
    name = _HIDDEN.fullmatch(hidden.name)
    return None if name is None or not hidden.is_dir() else hidden.with_name(name["name"])


def appear(part: Path, path: Path) -> None:
    """Put a file that is complete on the disk, and give it its name in one step."""
    sync(part)
    part.rename(path)
    sync(path.parent)


def name_folder(hidden: Path, folder: Path, unfinished: Path) -> None:
    """Put a complete hidden folder on the disk, and give it its name in one step.

    Args:
        hidden: the folder.
        folder: its name.
        unfinished: a file in it that says that it is not complete: it is removed, and put back if the name cannot be
            given.
    """
    hidden.chmod(0o755)  # mkdtemp makes folders that nobody else may enter
    settle(hidden)
    # Only the name is missing now. A process that is killed between these two leaves a complete folder.
    kept = unfinished.read_bytes()
    unfinished.unlink()
    try:
        hidden.rename(folder)  # replaces an empty folder, and fails on any other
    except BaseException:
        unfinished.write_bytes(kept)
        raise
    sync(folder.parent)


def settle(folder: Path) -> None:
    """Give all files of a folder, and itself, one time, and put them on the disk.

    Times between the files would tell how long the private steps took.
    """
    now = time.time()
    for path in (*folder.iterdir(), folder):
        os.utime(path, (now, now))
        sync(path)
