"""A ledger in a file that several processes share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import IO

from pgsr.figures.html import facts_table
from pgsr.machine.extras import extra
from pgsr.machine.whole_files import sync
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger.charge import BrokenLedgerError, Charge, LedgerError
from pgsr.release.ledger.contents import (
    REMEDY,
    LedgerContents,
    LedgerEntry,
    charge_line,
    hash_of,
    header_line,
    is_header,
    read,
)

with extra("release"):
    from filelock import FileLock, Timeout


@dataclass(frozen=True)
class LedgerFile:
    """A file of what may be spent on one data set, and of every charge, as lines of JSON that are only ever appended.

    A charge holds an exclusive lock from reading what is left until its line is on the disk, so two processes cannot
    both spend the last of a budget. Every line holds the SHA-256 of the line before it, and the file LEDGER.head that
    of the last line, so that a ledger that was edited or shortened is refused, as an absent or empty one is. A ledger
    protects against accidents, not against its owner, who can write both files anew; the head that a charge returns,
    noted elsewhere, tells that too (`pgsr ledger verify LEDGER --head HASH`).

    Args:
        path: of the file that `create`, or `pgsr ledger init`, made. LEDGER.head and LEDGER.lock lie beside it.
        wait: seconds to wait for another process before the charge is refused.

    Example:
        >>> import tempfile
        >>> from pgsr.privacy.accounting import PureEpsilon
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = LedgerFile.create(Path(folder.name) / "ledger.jsonl", "demo", PureEpsilon(1))
        >>> head = ledger.charge(Charge(PureEpsilon("3/4"), "first release"), "demo")
        >>> ledger.left, ledger.head == head
        (PureEpsilon(epsilon 1/4), True)
        >>> folder.cleanup()

    Shown by `test_ledger_file.py` and `test_ledger_contents.py`.
    """

    path: Path
    wait: float = 60.0

    def __post_init__(self) -> None:
        if "\0" in str(self.path):
            raise LedgerError(f"the path of the ledger, {str(self.path)!r}, holds a NUL character; write another")
        # Two names of one file must share one lock.
        object.__setattr__(self, "path", Path(self.path).resolve())

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        data_set: str,
        total: Loss,
        relation: Relation = Relation.ADD_REMOVE,
        unit: Unit = Unit.ENTITY,
    ) -> "LedgerFile":
        """Make the ledger of a new data set, readable by its owner alone, and put it on the disk.

        Raises:
            LedgerError: a ledger, or what is left of one, is there already; the total is 0, the data set has no name;
                or the file cannot be written.
        """
        ledger = cls(Path(path))
        if not total.positive:
            raise LedgerError("the total of a ledger is 0, which allows nothing; give an amount greater than 0")
        if not data_set or not data_set.isprintable():
            raise LedgerError("a ledger needs the public name of its data set; give a plain text")
        if ledger._unfinished():
            raise ledger._unfinished_error()
        for there in (ledger.path, ledger._head_path):
            if there.exists():
                raise LedgerError(
                    f"{there.name} is there already, and a second ledger would be a second budget; use it, restore it "
                    "from a copy, or choose another name for another data set"
                )
        line = header_line(data_set, total, Relation(relation), Unit.parse(unit), _now())
        try:
            with _opened(ledger.path, "xb") as file:  # fails if another process was quicker
                _write(file, line)
            ledger._note(hash_of(line))
        except OSError as error:
            raise LedgerError(
                f"the ledger {ledger.path.name} cannot be made ({error}); make its folder, and make it writable; a "
                "file of this name that is left behind may be removed"
            ) from None
        return ledger

    def read(self) -> LedgerContents:
        """Read everything in the ledger, checked.

        Raises:
            BrokenLedgerError: the ledger is empty, torn, shortened or edited.
            LedgerError: it is absent or cannot be read, or another process holds it for longer than `wait`.
        """
        with self._locked():
            return self._read()

    @property
    def files(self) -> dict[str, Path]:
        """The ledger's file and those beside it, by what they are, whether they are there or not."""
        beside = {"ledger's head": ".head", "ledger's new head": ".head.new", "ledger's lock": ".lock"}
        named = {what: self.path.with_name(f"{self.path.name}{end}") for what, end in beside.items()}
        return {"ledger": self.path, **named}

    @property
    def left(self) -> Loss:
        """The amount that may still be spent."""
        return self.read().left

    @property
    def rest(self) -> str:
        """The sentence of an outline: what is left of how much, or that the file is not there."""
        if not self.path.exists():
            return f"{self.path}: NOT THERE; `pgsr ledger init` makes one, once per data set"
        return f"{self.path}: {self.left} left, of {self.read().total}"

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The charges, oldest first."""
        return self.read().entries

    @property
    def head(self) -> str:
        """The SHA-256 of the last line."""
        return self.read().head

    def require(self, charge: Charge, data_set: str) -> None:
        """Raise `LedgerError` if the charge could not be made now; nothing is written to the ledger."""
        self.read().require(charge, data_set, self.path.name)

    def charge(self, charge: Charge, data_set: str) -> str:
        """Charge, and return the new head. Once it returns, the charge is on the disk; if it raises, there is none.

        Args:
            charge: the amount, and what it is spent on.
            data_set: the public name of the data.

        Raises:
            LedgerError: as `read`; or too little is left, the charge does not fit the ledger's data set, unit,
                relation or currency, or the file cannot be written.
        """
        with self._locked():
            before = self._read()
            before.require(charge, data_set, self.path.name)
            self._catch_up(before.head)
            return self._append(charge, data_set, before.head)

    def _repr_html_(self) -> str:
        """Describe the ledger and its balance, as HTML, or say why it cannot be read.

        What another process holds is waited for a second at most.
        """
        try:
            found = replace(self, wait=min(self.wait, 1.0)).read()
        except LedgerError as error:
            return facts_table("LedgerFile", {"file": self.path, "balance": f"unknown: {error}"})
        return facts_table(
            "LedgerFile",
            {
                "file": self.path,
                "data set": found.data_set,
                "balance": f"{found.left} left of {found.total}",
                "protects": f"{found.unit}, {found.relation}",
                "charges": len(found.entries),
                "head": found.head,
            },
        )

    @property
    def _head_path(self) -> Path:
        return self.files["ledger's head"]

    def _read(self) -> LedgerContents:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise self._unreadable(error) from None
        try:
            head = self._noted()
        except OSError as error:
            if self._unfinished():
                raise self._unfinished_error() from None
            raise BrokenLedgerError(
                f"{self._head_path.name} cannot be read ({error.strerror}), and without it nobody knows whether the "
                f"ledger was shortened; {REMEDY}"
            ) from None
        return read(data, head, self.path.name)

    def _noted(self) -> str:
        return self._head_path.read_text(encoding="ascii", errors="replace").strip()

    def _unfinished(self) -> bool:
        """Say whether `create` was interrupted before it noted the head: at most a header, and no head."""
        try:
            header, end, more = self.path.read_bytes().partition(b"\n")
        except OSError:
            return False
        return not more and not self._head_path.exists() and (not end or is_header(header + end))

    def _unfinished_error(self) -> BrokenLedgerError:
        return BrokenLedgerError(
            f"the ledger {self.path.name} has no .head file, as an unfinished init without any charge: remove it and "
            "call `pgsr ledger init` again; if it was ever charged, restore both files from a copy instead"
        )

    def _catch_up(self, head: str) -> None:
        """Note the head of a last line whose process ended before it did, so that the head is never two lines behind.

        Raises:
            LedgerError: it cannot be written.
        """
        try:
            if self._noted() != head:
                self._note(head)
        except OSError as error:
            raise LedgerError(f"the ledger {self.path.name} cannot be written ({error}); nothing was charged") from None

    def _append(self, charge: Charge, data_set: str, before: str) -> str:
        """Write the charge's line and its hash; if that fails, remove both: only what is on the disk is a charge."""
        size, line = self.path.stat().st_size, charge_line(charge, data_set, _now(), before)
        try:
            with _opened(self.path, "ab") as file:
                _write(file, line)
            self._note(hash_of(line))
        except OSError as error:
            self._take_back(size, before)
            raise LedgerError(f"the ledger {self.path.name} cannot be written ({error}); nothing was charged") from None
        return hash_of(line)

    def _take_back(self, size: int, head: str) -> None:
        try:
            os.truncate(self.path, size)
            if self._head_path.read_text(encoding="ascii").strip() != head:
                self._note(head)
        except OSError as error:
            raise LedgerError(
                f"the ledger {self.path.name} can neither be written nor put back ({error}), so the charge may stand; "
                "look at it with `pgsr ledger show`; nothing was released"
            ) from None

    def _note(self, head: str) -> None:
        """Put the head on the disk in one step, so that it is the old one or the new one."""
        new = self.files["ledger's new head"]
        with _opened(new, "wb") as file:
            _write(file, f"{head}\n".encode())
        os.replace(new, self._head_path)
        sync(self.path.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            mode = self.path.stat().st_mode
        except OSError as error:
            raise self._unreadable(error) from None
        if not S_ISREG(mode):
            raise LedgerError(f"{str(self.path)!r} is no plain file; name the file of a ledger; nothing was charged")
        lock = FileLock(self.files["ledger's lock"], timeout=self.wait, mode=0o600)
        try:
            lock.acquire(poll_interval=0.02)
        except Timeout:
            raise LedgerError(
                f"another process holds the ledger {self.path.name}; try again when it is done; nothing was charged"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"the ledger {self.path.name} cannot be locked ({error.strerror}); make its folder writable; nothing "
                "was charged"
            ) from None
        try:
            yield
        finally:
            lock.release()  # the end of the process gives it back, too

    def _unreadable(self, error: OSError) -> LedgerError:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return LedgerError(
                f"there is no ledger {str(self.path)!r}; `pgsr ledger init {self.path.name} --data-set NAME --total "
                "EPSILON` makes one for a NEW data set, and one that was lost is restored from a copy; nothing was "
                "charged"
            )
        return LedgerError(
            f"the ledger {self.path.name} cannot be read ({error.strerror}); make it readable; nothing was charged"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[IO[bytes]]:
    """Open a file without buffer, so that writes reach the system at once, and for its owner alone if it is made."""
    with open(path, mode, buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        yield file


def _write(file: IO[bytes], data: bytes) -> None:
    written = file.write(data)
    if written != len(data):
        raise OSError(f"{written} of {len(data)} bytes written; is the disk full?")
    os.fsync(file.fileno())
