"""The store of results: one JSON file per cell under <root>/<experiment>/<profile>/.

A file is written under another name, flushed to disk and renamed, and the folder is flushed: after a crash it is there
whole or not at all. It holds a digest of itself, so what a disk or an editor did to it is noticed and the cell is
computed again. Two writers use different temporary names; the last one wins, with a whole file.
"""

import contextlib
import errno
import hashlib
import json
import os
import platform
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from pgsr import PgsrError
from pgsr.experiments.engine.experiment import Cell, Profile
from pgsr.machine.extras import version_of
from pgsr.machine.whole_files import sync

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
PACKAGES = (
    "pgsr",
    "numpy",
    "scipy",
    "numba",
    "ortools",
    "cvxpy",
    "clarabel",
    "osqp",
    "piqp",
    "scs",
    "highspy",
    "gurobipy",
    "pyscipopt",
)
ABANDONED = 3600.0
"""Seconds after which a temporary file counts as left over by a writer that crashed."""


class StoreError(PgsrError):
    """An error in writing or reading results; the message names the place and the remedy."""


class CellState(StrEnum):
    """The way in which a cell ended.

    Failed cells are run again, and those whose package or licence is absent; timed out ones too, once they may take
    longer. An absent package is no failure: the user chose what to install.
    """

    DONE = "done"
    TIMED_OUT = "timed out"
    ABSENT = "not installed"
    FAILED = "failed"


@dataclass(frozen=True)
class StoredCell:
    """A stored cell: what was computed, from which code, and how it ended.

    Attributes:
        cell: which.
        real: whether its data is real rather than generated.
        state, reason: how it ended, and why.
        record: what was measured; lists in place of arrays.
        code: digest of the sources (`pgsr.experiments.engine.digest`).
        time_limit: seconds it was allowed.
        seconds: wall time; for the first cell of a process with its start-up.
        peak_bytes: most memory of its process while it ran.
        versions, host: of the machine that computed it.
        finished: date and time, UTC.
        baseline_bytes: memory of its process just before it ran: imports and compiled code. 0 if unknown.
        starts: processes that were started for it; more than one where the machine was too busy to start one in time.
        cpu_seconds: of its processes; of the first cell of a process with start-up. 0 if unknown.
    """

    cell: Cell
    real: bool
    state: CellState
    reason: str
    record: dict[str, Any]
    code: str
    time_limit: float
    seconds: float
    peak_bytes: int
    versions: dict[str, str] = field(default_factory=lambda: dict(versions()))
    host: dict[str, Any] = field(default_factory=lambda: dict(host()))
    finished: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    baseline_bytes: int = 0
    starts: int = 1
    cpu_seconds: float = 0.0

    @property
    def own_bytes(self) -> int:
        """The bytes that the cell itself took beyond its process; 0 if unknown."""
        return max(0, self.peak_bytes - self.baseline_bytes) if self.baseline_bytes else 0

    def content(self) -> dict[str, Any]:
        """The record without what may differ from run to run: names ending in "_seconds"."""
        return {name: value for name, value in plain(self.record).items() if not name.endswith("_seconds")}


@dataclass(frozen=True)
class Torn:
    """A file whose content is not what was written."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Store:
    """The folder that holds all results."""

    root: Path = Path("results")

    def folder(self, experiment: str, profile: Profile) -> Path:
        return self.root / experiment / profile

    def path(self, cell: Cell, profile: Profile) -> Path:
        """Find the file of a cell; its name is a readable beginning, and a digest of the cell's key."""
        slug = re.sub(r"[^\w.=-]+", "-", cell.key.partition(" | ")[2]).strip("-")[:80]
        return (
            self.folder(cell.experiment, profile) / f"{slug}.{hashlib.sha256(cell.key.encode()).hexdigest()[:16]}.json"
        )

    def check(self, experiment: str, profile: Profile) -> None:
        """Make the folder, see that it can be written to, and remove what crashed writers left.

        Raises:
            StoreError: it cannot be written to.
        """
        folder = self.folder(experiment, profile)
        with _sentences(folder):
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / _temporary("probe")
            probe.write_bytes(bytes(4096))
            probe.unlink()
            for left in folder.glob(".*.tmp"):
                with contextlib.suppress(FileNotFoundError):  # another runner may clean up, too
                    if time.time() - left.stat().st_mtime > ABANDONED:
                        left.unlink()

    def save(self, entry: StoredCell, profile: Profile) -> Path:
        """Write one cell completely: after this returns, the file is there and whole.

        Raises:
            StoreError: the disk is full, the folder is read-only, or the record holds what JSON cannot.
        """
        path = self.path(entry.cell, profile)
        data = _encoded(entry)
        temporary = path.with_name(_temporary(path.name))
        with _sentences(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
            sync(path.parent)
        return path

    def load(self, cell: Cell, profile: Profile) -> StoredCell | Torn | None:
        """Read the stored cell: an entry, what is wrong with its file, or None if there is none."""
        path = self.path(cell, profile)
        found = _read(path) if path.exists() else None
        if isinstance(found, StoredCell) and found.cell != cell:
            return Torn(path, f"holds {found.cell.key}")
        return found

    def entries(self, experiment: str, profile: Profile) -> Iterator[StoredCell | Torn]:
        """Read all stored cells, in the order of file names."""
        for path in sorted(self.folder(experiment, profile).glob("*.json")):
            yield _read(path)

    def frame(self, experiment: str, profile: Profile) -> "pd.DataFrame":
        """Read all stored cells as `to_frame` shows them; torn files are left out (`status` shows them)."""
        return to_frame(entry for entry in self.entries(experiment, profile) if isinstance(entry, StoredCell))


def to_frame(entries: Iterable[StoredCell]) -> "pd.DataFrame":
    """Make a table with one row per cell.

    Columns: key, data, real, epsilon (a float; `epsilon_exact` is text), replicate, arm, one per free parameter, state,
    reason, everything recorded, seconds, cpu_seconds, peak_mb, own_mb (without what the process held before),
    time_limit, code, finished. "levels" becomes one column per metric and level (emd_level0, ...), "violations" one
    per kind (violations_sign, ...). Arrays are lists.
    """
    import pandas as pd

    return pd.DataFrame([_row(entry) for entry in entries])


def plain(value: Any) -> Any:
    """Turn NumPy values, fractions and tuples into what JSON holds.

    Example:
        >>> plain({"a": (np.int64(1), Fraction(1, 3)), "b": np.arange(2)})
        {'a': [1, '1/3'], 'b': [0, 1]}
    """
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return str(value)
    return value


@lru_cache
def versions() -> tuple[tuple[str, str], ...]:
    """Find the versions of Python, pgsr and the solvers that are installed here."""
    found = [("python", platform.python_version())]
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found.append((package, version_of(package)))
    return tuple(found)


@lru_cache
def host() -> tuple[tuple[str, Any], ...]:
    """Describe this machine."""
    return (
        ("name", socket.gethostname()),
        ("system", platform.platform()),
        ("processor", _processor()),
        ("cores", os.cpu_count()),
        ("memory_bytes", psutil.virtual_memory().total),
    )


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _temporary(name: str) -> str:
    return f".{name[-60:]}.{os.getpid()}-{secrets.token_hex(4)}.tmp"


def _encoded(entry: StoredCell) -> bytes:
    cell = entry.cell
    body = asdict(entry) | {"format": FORMAT, "key": cell.key, "record": entry.record}
    body["cell"] = asdict(cell) | {"epsilon": None if cell.epsilon is None else str(cell.epsilon)}
    try:
        text = json.dumps(plain(body), sort_keys=True, indent=1, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"the record of {cell.key} holds what JSON cannot ({error}); return numbers, text, lists or arrays"
        ) from None
    # Digested as text that is read again: what JSON changes (integers as names, say) is changed on both sides.
    return json.dumps({"digest": _digest(json.loads(text)), **json.loads(text)}, indent=1, ensure_ascii=False).encode()


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> StoredCell | Torn:
    try:
        body = json.loads(path.read_bytes())
        digest = body.pop("digest")
    except OSError as error:
        return Torn(path, f"cannot be read: {error.strerror}")
    except (ValueError, KeyError, AttributeError, TypeError):
        return Torn(path, "is cut short or no JSON")
    if digest != _digest(body):
        return Torn(path, "was changed after it was written")
    if body["format"] != FORMAT:
        return Torn(path, f"has format {body['format']}, this version reads {FORMAT}")
    cell = dict(body["cell"])
    epsilon = None if cell["epsilon"] is None else Fraction(cell["epsilon"])
    parameters = tuple((name, value) for name, value in cell["parameters"])
    rest = {name: value for name, value in body.items() if name not in ("format", "key", "cell", "state")}
    return StoredCell(
        cell=Cell(**(cell | {"epsilon": epsilon, "parameters": parameters})), state=CellState(body["state"]), **rest
    )


def _row(entry: StoredCell) -> dict[str, Any]:
    cell, record = entry.cell, dict(entry.record)
    levels, violations = record.pop("levels", {}), record.pop("violations", {})
    return (
        {
            "key": cell.key,
            "data": cell.data,
            "real": entry.real,
            "epsilon": None if cell.epsilon is None else float(cell.epsilon),
            "epsilon_exact": None if cell.epsilon is None else str(cell.epsilon),
            "replicate": cell.replicate,
            "arm": cell.arm,
        }
        | dict(cell.parameters)
        | {"state": str(entry.state)}
        | record
        | {f"{metric}_level{level}": x for metric, values in levels.items() for level, x in enumerate(values)}
        | {f"violations_{kind}": n for kind, n in violations.items()}
        | {
            "reason": entry.reason,
            "seconds": entry.seconds,
            "cpu_seconds": entry.cpu_seconds,
            "peak_mb": entry.peak_bytes / 1e6,
            "own_mb": entry.own_bytes / 1e6 if entry.own_bytes else None,
            "time_limit": entry.time_limit,
            "code": entry.code,
            "finished": entry.finished,
        }
    )


@contextlib.contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "free some space and run again"
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            remedy = "make it writable, or choose another folder with --out"
        else:
            remedy = "choose another folder with --out"
        raise StoreError(
            f"cannot write results to {folder}: {error.strerror}; finished cells are kept; {remedy}"
        ) from None
