"""Keep for the operator alone what is not for publication: numbers of rows, faults found in them, and times."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from pgsr.release.publishing.console import fault_of
from pgsr.release.publishing.errors import ReleaseError
from pgsr.tables.inputs import PrivateLog


@dataclass
class OperatorLog:
    """The lines of one run, appended to a file outside the release that only its owner can read.

    Attributes:
        run: what the run is, "release" or "rehearsal"; the first line says it.
        rows: filled by the reading of the tables.
    """

    run: str = "release"
    rows: PrivateLog = field(default_factory=PrivateLog)
    _lines: list[str] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _path: Path | None = None

    def note(self, step: str) -> None:
        """Note a step that is done, with the time since the start."""
        self._lines.append(f"{step} after {time.perf_counter() - self._start:.2f} s")

    def open(self, path: Path) -> None:
        """Choose the file, and close it to all but its owner; `close` writes it.

        Raises:
            ReleaseError: nothing can be written there, or others may read it.
        """
        try:
            _make_private(path)
        except OSError as error:
            raise ReleaseError(
                f"the private log cannot be written ({fault_of(error)}); name another with log = ...; nothing was "
                "charged"
            ) from None
        self._path = path

    def keep(self, path: Path, tell: Callable[[str], None]) -> str:
        """Open and close at once, for a table that was refused, and say where what the refusal leaves out can be read.

        What is said is empty where there is nothing to read. A log that cannot be written is told, not raised.
        """
        try:
            self.open(path)
        except ReleaseError as error:
            # The refusal of the table is being raised, and says what to mend; a fault of the log would take its place.
            tell(str(error))
            return ""
        written = self.close(tell)
        known = written and self.rows.faults
        return f"; how many, and where, stands in the private log {str(path)!r}" if known else ""

    def close(self, tell: Callable[[str], None]) -> bool:
        """Append what was noted, if the log was opened, and return whether it is there.

        A line that cannot be written is told, not raised.
        """
        numbers = (
            _number(self.rows.entities, "rows of entities"),
            _number(self.rows.clipped_groups, "groups above max_size"),
            _number(self.rows.clipped_quantities, "quantities above max_quantity"),
            *self.rows.faults,
        )
        lines = (f"{self.run}: PRIVATE, not for publication", *numbers, *self._lines, "")
        text = "".join(f"{line}\n" for line in lines)
        if self._path is None:
            return False
        try:
            # Names of files may hold what UTF-8 cannot write.
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            # By now the release is paid for and may have its name, or another fault is being raised.
            tell(f"the private log could not be written: {fault_of(error)}")
            return False
        return True


def _make_private(path: Path) -> None:
    """Make a file if it is not there, and take it from all but its owner; an earlier one may have been left open.

    Raises:
        OSError: it cannot be written, it is somebody else's, or it is a pipe that nobody reads.
    """
    waiting = getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody reads is waited for otherwise
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | waiting, 0o600)
    try:
        found = os.fstat(descriptor)
        if os.name != "nt" and S_ISREG(found.st_mode) and found.st_mode & 0o077:
            os.chmod(path, 0o600)
    finally:
        os.close(descriptor)


def _number(n: int | None, of: str) -> str:
    return f"{of}: not counted" if n is None else f"{n} {of}"
