"""The folder that is made under a hidden name, and gets its own in one step when it is complete and on the disk."""

import os
import re
import tempfile
import time
from pathlib import Path

from pgsr.machine.whole_files import sync

_HIDDEN = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")
"""The name of the hidden folder in which an output is made."""


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
