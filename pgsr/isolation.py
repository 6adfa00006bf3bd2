"""The run of a task in a process of its own, with a time limit and its own peak memory; a crash does not spread."""

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import cloudpickle
import psutil

START_LIMIT = 60.0
"""Seconds a child may take to import what it needs and to warm up."""


@dataclass(frozen=True)
class Outcome:
    """The end of a task in a child process.

    Attributes:
        value: what it returned, or None.
        error: a sentence if it raised or died, else "".
        timed_out: whether it was killed at its limit.
        started: whether it came as far as the task; False if imports and warm-up took longer than `START_LIMIT`.
        peak_bytes: most memory the child held during the task, or from its start where the kernel cannot tell; 0 if
            unknown.
        baseline_bytes: what it held just before the task: imports, compiled code and what the warm-up left.
    """

    value: Any = None
    error: str = ""
    timed_out: bool = False
    started: bool = True
    peak_bytes: int = 0
    baseline_bytes: int = 0


def run_isolated(
    task: Callable[[], Any], warm_up: Callable[[], Any] | None = None, time_limit: float | None = None
) -> Outcome:
    """Call `task` in a fresh Python process and kill it `time_limit` seconds after it started the task.

    `warm_up` runs first and is not timed: imports and compilation belong there. Functions and classes defined in the
    caller's own script or notebook are sent by value.
    """
    payload = cloudpickle.dumps((warm_up, task))
    command = [sys.executable, "-c", "from pgsr.isolation import _child; _child()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), *sys.path]))}
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            messages: queue.Queue = queue.Queue()
            threading.Thread(target=_listen, args=(child.stdout, messages), daemon=True).start()
            # A child that dies while it is fed is reported below, by its exit.
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(payload)
                child.stdin.close()
            started, baseline = False, 0
            try:
                outcome = messages.get(timeout=START_LIMIT)
                if isinstance(outcome, _Ready):
                    started, baseline = True, outcome.baseline_bytes
                    outcome = messages.get(timeout=time_limit)
            except queue.Empty:
                peak = peak_memory(child.pid)
                outcome = Outcome(timed_out=True, started=started, peak_bytes=peak, baseline_bytes=baseline)
            finally:
                child.kill()
        if isinstance(outcome, Outcome):
            return outcome
        log.seek(0)
        lines = log.read().decode(errors="replace").strip().splitlines()
        last_words = f": {lines[-1]}" if lines else ""
        return Outcome(error=f"the process died with exit code {child.returncode}{last_words}")


def peak_memory(pid: int | None = None) -> int:
    """Measure the most resident memory of a process so far, in bytes.

    Linux's VmHWM, because a child's `ru_maxrss` starts at its parent's; elsewhere the memory held now.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid or 'self'}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0


def forget_peak() -> bool:
    """Start this process's peak memory anew; False where the kernel refuses, so that an earlier peak stays."""
    if not sys.platform.startswith("linux"):
        return True  # `peak_memory` tells what is held now
    try:
        _FORGET.write_text("5")
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class _Ready:
    """The message that the child is about to start the task, with the memory that it holds."""

    baseline_bytes: int


_ROOT = Path(__file__).resolve().parent.parent
_FORGET = Path("/proc/self/clear_refs")
"""Linux: writing 5 makes the peak memory what is held now."""


def _listen(pipe: IO[bytes], messages: queue.Queue) -> None:
    """Put every message of the child on the queue, and None when it ends."""
    while True:
        head = pipe.read(8)
        if len(head) < 8:
            messages.put(None)
            return
        messages.put(pickle.loads(pipe.read(struct.unpack(">Q", head)[0])))


def _child() -> None:
    # Solvers print to standard output; keep that away from the messages.
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warm_up, task = cloudpickle.loads(sys.stdin.buffer.read())
    if warm_up is not None:
        # Whatever is wrong will be wrong again in the task, and is reported there.
        with contextlib.suppress(Exception):
            warm_up()
    forget_peak()
    baseline = psutil.Process().memory_info().rss
    _send(pipe, _Ready(baseline))
    try:
        outcome = Outcome(value=task())
    except Exception as error:
        text = str(error).strip().splitlines()
        outcome = Outcome(error=f"{type(error).__name__}{f': {text[0]}' if text else ''}")
    _send(pipe, Outcome(outcome.value, outcome.error, peak_bytes=peak_memory(), baseline_bytes=baseline))


def _send(pipe: IO[bytes], message: Any) -> None:
    data = cloudpickle.dumps(message)
    pipe.write(struct.pack(">Q", len(data)) + data)
    pipe.flush()
