"""A privacy ledger in a file that several processes can share."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from pgsr.budget import Number, exact
from pgsr.release.errors import LedgerError

FORMAT = "pgsr ledger 1"


@dataclass(frozen=True)
class LedgerFile:
    """What may be spent on one data set in all, and every charge, as lines of JSON that are only ever appended.

    A charge holds an exclusive lock on the file from reading what is left until its line is on the disk, so two
    processes cannot both spend the last of a budget. The total is fixed when the file is created. A ledger protects
    against accidents, not against its owner.

    Args:
        path: of the file; it is created with the first charge.
        total: epsilon of all charges together.
        data_set: whose ledger it is.
        wait: seconds to wait for another process before the charge is refused.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = LedgerFile(Path(folder.name) / "ledger.jsonl", "1", "demo")
        >>> ledger.charge(Fraction(3, 4), "first release")
        >>> ledger.left
        Fraction(1, 4)
        >>> folder.cleanup()

    Shown by `tests/test_release_ledger.py::test_two_processes_cannot_both_spend_the_last`.
    """

    path: Path
    total: Number
    data_set: str
    wait: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "total", exact(self.total, "the ledger's total"))

    @property
    def left(self) -> Fraction:
        """What may still be spent; the total where there is no file yet.

        Raises:
            LedgerError: the file is torn, malformed, of another total or data set, or cannot be read.
        """
        if not self.path.exists():
            return exact(self.total)
        with self._locked(os.O_RDONLY) as descriptor:
            return self._left(descriptor) if os.fstat(descriptor).st_size else exact(self.total)

    def require(self, amount: Fraction, what: str) -> None:
        """Raise `LedgerError` if `amount` could not be charged now; nothing is written."""
        self._require(exact(amount, f"the charge for {what}"), self.left, what)

    def charge(self, amount: Fraction, what: str) -> None:
        """Spend `amount` on `what`. Once this returns, the charge is on the disk; if it raises, nothing is charged.

        Raises:
            LedgerError: less than `amount` is left, the file cannot be trusted or written, or another process holds
                it for longer than `wait`.
        """
        amount = exact(amount, f"the charge for {what}")
        with self._locked(os.O_RDWR | os.O_CREAT | os.O_APPEND) as descriptor:
            before = os.fstat(descriptor).st_size
            lines = [] if before else [{"format": FORMAT, "data_set": self.data_set, "total": str(self.total)}]
            self._require(amount, self._left(descriptor) if before else exact(self.total), what)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            lines.append({"epsilon": str(amount), "what": what, "at": at})
            self._append(descriptor, before, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def _require(self, amount: Fraction, left: Fraction, what: str) -> None:
        if amount > left:
            raise LedgerError(
                f"{what} would spend epsilon {amount}, and {left} of {self.total} is left in {self.path.name}; "
                "lower its epsilon"
            )

    def _append(self, descriptor: int, before: int, data: bytes) -> None:
        try:
            written = os.write(descriptor, data)
            if written < len(data):
                raise OSError(f"{written} of {len(data)} bytes written; is the disk full?")
            os.fsync(descriptor)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            os.ftruncate(descriptor, before)  # a charge that is not safely on the disk is none
            raise LedgerError(f"the ledger {self.path.name} cannot be written ({error}); nothing was charged") from None

    def _left(self, descriptor: int) -> Fraction:
        data, part = b"", os.read(descriptor, 1 << 20)
        while part:
            data, part = data + part, os.read(descriptor, 1 << 20)
        if not data.endswith(b"\n"):
            raise LedgerError(
                f"the last line of the ledger {self.path.name} is torn: a charge may be missing, so nothing more is "
                "spent; complete the line, or restore the file, by hand"
            )
        try:
            header, *charges = map(json.loads, data.decode().splitlines())
            known = header["format"], header["data_set"], Fraction(header["total"])
            spent = sum((exact(str(charge["epsilon"])) for charge in charges), Fraction(0))
        except (ValueError, KeyError, TypeError, ArithmeticError):
            raise LedgerError(f"the ledger {self.path.name} is malformed; restore it, nothing more is spent") from None
        for have, want, name in zip(
            known, (FORMAT, self.data_set, self.total), ("format", "data set", "total"), strict=True
        ):
            if have != want:
                raise LedgerError(
                    f"the ledger {self.path.name} has {name} {str(have)!r}, the configuration {str(want)!r}; "
                    f"a ledger's {name} is fixed when it is created"
                )
        return exact(self.total) - spent

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError(
                f"the ledger {self.path.name} cannot be opened ({error.strerror}); make its folder, and make it "
                "writable; nothing was charged"
            ) from None
        try:
            self._lock(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)  # gives the lock back, too; so does a crash

    def _lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + self.wait
        while True:
            try:
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() >= deadline:
                    raise LedgerError(
                        f"another process holds the ledger {self.path.name}; try again when it is done"
                    ) from None
                time.sleep(0.02)
