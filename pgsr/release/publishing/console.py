"""Say to the person who runs the program what is wrong with the machine, and go on where nobody can hear it."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsr.errors import PgsrError
from pgsr.release.publishing.errors import ReleaseError

STOPPED_CHARGING = "stopped while charging; `pgsr ledger show` tells whether the charge stands"
"""What is said of Ctrl-C while a ledger is charged."""

_REMEDIES = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.ENAMETOOLONG: "a file name is too long for this disk; choose a shorter one",
    errno.EACCES: "access is denied; change the permissions, or choose another folder",
    errno.EPERM: "access is denied; change the permissions, or choose another folder",
    errno.EROFS: "the disk can only be read; choose another folder",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.EIO: "the disk reports an error; choose another one",
}


def fault_of(error: OSError) -> str:
    """Put an error of the operating system in words, with the file's name if it is known, and the remedy.

    Example:
        >>> fault_of(OSError(errno.ENOSPC, "No space left on device", "/data/release/counts.parquet"))
        "'counts.parquet' cannot be written or read: the disk is full; make room"
    """
    name = Path(str(error.filename)).name if error.filename else ""
    shown = f"{name if len(name) < 80 else name[:77] + '...'!r}"
    what = f"{shown} cannot be written or read: " if name else ""
    return what + _REMEDIES.get(error.errno or 0, error.strerror or type(error).__name__)


def unfailing(say: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return a function that says the same, and goes on where nobody can hear it: a closed pipe, a full disk, None.

    Whatever else `say` raises is raised.

    Example:
        >>> def closed(line: str) -> None:
        ...     raise BrokenPipeError
        >>> unfailing(closed)("charging the ledger")
    """

    def said(line: str) -> None:
        # Nothing may be raised here: these words are said between a charge and its release, and `| head`, which reads
        # the first of them and closes the pipe, must not end what was paid for.
        try:
            if say is not None:
                say(line)
        except OSError:
            pass
        except SystemExit as end:
            if not isinstance(end.__context__, BrokenPipeError):  # rich's console makes one out of the other
                raise

    return said


@contextmanager
def told_if_stopped(say: Callable[[str], None], sentence: str = "stopped, nothing spent") -> Iterator[None]:
    """Say this sentence if somebody ends the process meanwhile, by Ctrl-C for example, and let it end.

    Example:
        >>> try:
        ...     with told_if_stopped(print):
        ...         raise KeyboardInterrupt
        ... except KeyboardInterrupt:
        ...     pass
        stopped, nothing spent
    """
    try:
        yield
    except KeyboardInterrupt:
        say(sentence)
        raise


@contextmanager
def cost_told(cost: Callable[[], str], say: Callable[[str], None]) -> Iterator[None]:
    """Say of every failure after the noise was drawn what it costs and what is left, by a `ReleaseError`.

    Args:
        cost: says what is spent, what is kept and how to go on.
        say: is told the same where somebody ends the process, which then ends.
    """
    try:
        yield
    except BaseException as error:
        said = cost()
        if not isinstance(error, Exception):
            say(f"stopped after the noise was drawn, so {said}")
            raise
        if isinstance(error, OSError):
            why = fault_of(error)
        elif isinstance(error, PgsrError):
            why = str(error)
        elif isinstance(error, MemoryError):
            why = "memory ran out; free some, or lower max_size"
        else:  # its text may quote data
            why = (
                f"{type(error).__name__}, which no release should raise; `pgsr release CONFIG --rehearse --debug` "
                "tells where, at no charge"
            )
        raise ReleaseError(f"the release failed after the noise was drawn, so {said}: {why}") from error
