"""What one run of `pgsr release` leaves behind, and noise that is the same whatever the data are.

Recorded are what the command line prints, its exit code, all bytes of the folder, permissions, the ledger, the names on
the disk while noise is drawn and afterwards, and every opening, renaming and removing of a file in order; times have to
lie within the run.
"""

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_tables import make_ledger

from pgsr import cli
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.random import ByteStream

LAWS = (DoubleGeometric, DiscreteGaussian)
RANDOM = re.compile(r"^(\.release\.|pgsr-)(.*?)[a-z0-9_]{8}$")
"""The name of a folder that is made under a hidden or temporary name; the letters at its end are random."""


@dataclass
class Traces:
    """The traces that one run of `pgsr release` left behind, times apart."""

    files: dict[str, tuple]
    code: object
    while_drawing: list[list[str]]
    names: list[str]
    charges: list[tuple]
    printed: str
    log_of_files: list[tuple]


@dataclass
class FixedNoise:
    """The noisy values of a first run, from fixed bits in place of fresh ones; later runs get the same values."""

    drawn: list[np.ndarray] = field(default_factory=list)
    recorded: bool = False

    @contextlib.contextmanager
    def in_place(self, before: Callable[[], object]) -> Iterator[None]:
        """Put these values in the place of all noise; `before()` is called before each vector."""
        again = iter(self.drawn)
        add_of: dict[type[Law], Callable[..., None]] = {law: law.add_to for law in LAWS}

        def record(law: Law, values: np.ndarray, stream: ByteStream) -> None:
            del stream
            before()
            add_of[type(law)](law, values, ByteStream(len(self.drawn).to_bytes(32, "big")))
            self.drawn.append(values.copy())

        def replay(law: Law, values: np.ndarray, stream: ByteStream) -> None:
            del law, stream
            before()
            noisy = next(again, None)
            if noisy is None or noisy.shape != values.shape:
                raise OSError("other values get noise than for other data")
            values[:] = noisy

        with pytest.MonkeyPatch.context() as patch:
            for law in LAWS:
                patch.setattr(law, "add_to", replay if self.recorded else record)
            yield
        self.recorded = True


def run_release(folder: Path, noise: FixedNoise, new_ledger: Callable[[Path], object] = make_ledger) -> Traces:
    """Release into a place without a release and with a new ledger, as the command line would."""
    shutil.rmtree(folder / "release", ignore_errors=True)
    for path in (*folder.glob("ledger.jsonl*"), folder / "release-private.log"):
        path.unlink(missing_ok=True)
    new_ledger(folder)
    shutil.rmtree(folder / "tmp", ignore_errors=True)
    (folder / "tmp").mkdir()
    while_drawing: list[list[str]] = []
    start = time.time()
    with noise.in_place(lambda: while_drawing.append(_names(folder))), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pgsr", "release", str(folder / "release.toml")])
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        with _console() as printed, _file_log(folder) as log:
            try:
                code: object = cli.main()
            except SystemExit as stop:
                code = stop.code or 0
    end = time.time()
    files = {}
    for path in sorted((folder / "release").glob("*")):
        facts = path.stat()
        assert start - 2 <= facts.st_mtime <= end + 2, f"{path.name} was changed at {facts.st_mtime}, not in this run"
        files[path.name] = path.read_bytes(), facts.st_mode, _attributes(path)
    ledger = folder / "ledger.jsonl"
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    # When a charge was made, and what follows from that: the hash of its line, which is the ledger's head.
    charges = [tuple((k, v) for k, v in json.loads(line).items() if k not in ("at", "previous")) for line in lines]
    said = re.sub(r"(?<=head is now )[0-9a-f]{64}", "HASH", printed[0])
    return Traces(files, code, while_drawing, _names(folder), charges, said, log)


def require_same(first: Traces, again: Traces, what: str) -> None:
    """Raise AssertionError, which names what differs, unless two runs left the same behind."""
    changed = [name for name in {**first.files, **again.files} if first.files.get(name) != again.files.get(name)]
    assert not changed, f"{changed} tell of {what}: {again.printed}"
    for name in vars(first):
        ours, theirs = getattr(first, name), getattr(again, name)
        if isinstance(ours, list) and ours != theirs:
            ours, theirs = next((a, b) for a, b in zip_longest(ours, theirs) if a != b)
        assert ours == theirs, f"{name} tells of {what}: {ours} and {theirs}"


@contextlib.contextmanager
def _console() -> Iterator[list[str]]:
    """Record what Python code and what libraries below it write to both outputs, in one text at the end."""
    found, text = [], io.StringIO()
    with tempfile.TemporaryFile() as below:
        kept = [os.dup(1), os.dup(2)]
        try:
            for number in (1, 2):
                os.dup2(below.fileno(), number)
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                yield found
        finally:
            for number, descriptor in zip((1, 2), kept, strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
        below.seek(0)
        found.append(text.getvalue() + below.read().decode(errors="replace"))


_logs: list[tuple[str, list[tuple]]] = []
"""The folder that is watched now, and its log; empty while none is."""

_hooks: list[Callable[[str, tuple], None]] = []


@contextlib.contextmanager
def _file_log(folder: Path) -> Iterator[list[tuple]]:
    """Log what Python code does to files below a folder: what is done, and to which name."""
    if not _hooks:  # Python keeps a hook until the process ends
        _hooks.append(_note)
        sys.addaudithook(_note)
    log: list[tuple] = []
    _logs.append((str(folder), log))
    try:
        yield log
    finally:
        _logs.pop()


def _note(event: str, arguments: tuple) -> None:
    looked = ("os.scandir", "os.listdir")  # which changes nothing
    if not _logs or event in looked or not (event == "open" or event.startswith(("os.", "shutil."))):
        return
    folder, log = _logs[-1]
    names = [_named(os.fsdecode(a), folder) for a in arguments if isinstance(a, str | bytes | os.PathLike)]
    if any(names):
        log.append((event, *names, *[arguments[1:3]] * (event in ("open", "os.chmod"))))


def _named(path: str, folder: str) -> str:
    """Give the name of a path below the folder, random letters taken out; "" of one that lies elsewhere."""
    if not path.startswith(folder):
        return ""
    return "/".join(RANDOM.sub(r"\1\2RANDOM", part) for part in path[len(folder) :].split("/"))


def _names(folder: Path) -> list[str]:
    """List the names of everything in the folder, random letters taken out."""
    return sorted(_named(str(path), str(folder)) for path in folder.rglob("*"))


def _attributes(path: Path) -> tuple[Any, ...]:
    if not hasattr(os, "listxattr"):
        return ()
    return tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
