"""The process that computes cells, one after another, and can be killed without harm to anything else.

A process takes a second to start, to import and to load compiled code; a small cell takes milliseconds. So a worker
stays for further cells of the same data set and arm. Every cell has its own clock, its own peak memory and its own
answer; a worker that is late or dies takes one cell with it.
"""

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import cloudpickle
import psutil

import pgsr
from pgsr.experiments.engine.experiment import Task
from pgsr.machine.isolation import START_LIMIT, forget_peak, peak_memory

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Jobs are the parallelism; libraries inside a cell keep to one thread unless the environment says otherwise."""

STARTS = 3
"""Processes that a cell gets when a busy machine does not import and compile in time: `START_LIMIT` seconds for the
first, and twice as many for each that follows."""


@dataclass(frozen=True)
class CellEnd:
    """The way in which a cell ended in a worker.

    Attributes:
        value: what it measured, or None.
        error: a sentence if it raised or the worker died, else "".
        timed_out: whether the worker was killed at the cell's limit.
        started: whether it came as far as the cell; False if imports and warm-up took too long in each of `STARTS`
            processes.
        starts: processes that were started for it.
        cpu_seconds: of its process and the processes that this started, since the cell before it; of the first cell
            with start-up. 0 if unknown. Other work on the machine changes it little, unlike the time that passes.
        peak_bytes: most memory of the worker during the cell; 0 if unknown.
        baseline_bytes: its memory just before: imports, compiled code and what earlier cells left.
        reusable: whether the next cell's peak can be told from this one's.
        work: processor seconds of the cell alone, without start-up and warm-up.
    """

    value: Any = None
    error: str = ""
    timed_out: bool = False
    started: bool = True
    peak_bytes: int = 0
    baseline_bytes: int = 0
    reusable: bool = False
    work: float = 0.0
    starts: int = 1
    cpu_seconds: float = 0.0


class Worker:
    """A process that computes cells; `close` ends it.

    Attributes:
        reusable: whether it may be given another cell.
        work: processor seconds of its last cell alone.
    """

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115, closed by `close`
        self._closed = False
        self._start()
        self.reusable, self.work = True, 0.0

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), *sys.path]))}
        for name in ONE_THREAD:
            environment.setdefault(name, "1")
        command = [sys.executable, "-c", "from pgsr.experiments.engine.worker import serve; serve()"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment
        )
        self._messages: queue.SimpleQueue = queue.SimpleQueue()
        self._cpu = 0.0
        threading.Thread(target=self._listen, args=(self._process, self._messages), daemon=True).start()

    def compute(self, task: Task) -> CellEnd:
        """Compute one cell, and kill the worker at the cell's limit. Imports and warm-up are not timed.

        A process that is not ready in time is replaced: the machine was busy; what was compiled is kept.
        """
        starts, outcome = 1, self._once(task, START_LIMIT)
        while not outcome.started and starts < STARTS and not self._closed:
            self._end()
            self._start()
            starts, outcome = starts + 1, self._once(task, START_LIMIT * 2**starts)
        return replace(outcome, starts=starts)

    def _once(self, task: Task, start_limit: float) -> CellEnd:
        assert self._process.stdin is not None
        self.reusable = False
        # A worker that dies while it is fed is reported below, by its exit.
        with contextlib.suppress(BrokenPipeError):
            _write(self._process.stdin, cloudpickle.dumps(task))
        started = False
        try:
            found = self._answer(start_limit)
            if found == "ready":
                started = True
                found = self._answer(task.time_limit)
        except queue.Empty:
            peak, cpu = peak_memory(self._process.pid), _cpu_of(self._process.pid) - self._cpu
            self._process.kill()
            return CellEnd(timed_out=True, started=started, peak_bytes=peak, cpu_seconds=cpu)
        if isinstance(found, CellEnd):
            self.reusable, self.work = found.reusable, found.work
            before, self._cpu = self._cpu, found.cpu_seconds
            return replace(found, cpu_seconds=found.cpu_seconds - before)
        self.kill()
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return CellEnd(error=f"the process died with exit code {code}{f': {lines[-1]}' if lines else ''}")

    def kill(self) -> None:
        """End the process now, for good. A caller that waits for its answer hears that it died."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        self._closed = True
        self._end()
        with contextlib.suppress(OSError):
            self._log.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _answer(self, seconds: float) -> Any:
        """Wait for the next message; None if the process has ended. Raises queue.Empty if it takes longer."""
        return self._messages.get(timeout=seconds)

    @staticmethod
    def _listen(process: subprocess.Popen, messages: queue.SimpleQueue) -> None:
        """Put every message of a process on its queue, and None when it ends."""
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := _read(process.stdout)) is not None:
                try:
                    message = pickle.loads(data)
                except Exception as error:  # whatever the record's own classes raise while they are made again
                    message = CellEnd(error=f"what was measured cannot be read: {type(error).__name__}: {error}")
                messages.put(message)
        messages.put(None)


def serve() -> None:
    """Compute the cells that come through standard input, until it ends; this is what runs in the process."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Solvers print to standard output and may read standard input; keep them away from the messages.
    feed, pipe = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    warm = False
    while (data := _read(feed)) is not None:
        task: Task = cloudpickle.loads(data)
        if not warm:
            # Whatever is wrong will be wrong again in the cell, and is reported there.
            with contextlib.suppress(Exception):
                task.warm_up()
            warm = True
        reusable, baseline = forget_peak(), psutil.Process().memory_info().rss
        _write(pipe, cloudpickle.dumps("ready"))
        value, error, before = None, "", _cpu_of()
        try:
            value = task.compute()
        except Exception as failure:
            text = str(failure).strip().splitlines()
            error = f"{type(failure).__name__}{f': {text[0]}' if text else ''}"
        used = _cpu_of()
        outcome = CellEnd(
            value, error, False, True, peak_memory(), baseline, reusable, work=used - before, cpu_seconds=used
        )
        _write(pipe, cloudpickle.dumps(outcome))


_ROOT = Path(pgsr.__file__).resolve().parents[1]


def _cpu_of(pid: int | None = None) -> float:
    """Find the CPU seconds of a process and of those that it started and that have ended; 0 if it is gone."""
    with contextlib.suppress(psutil.Error):
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    return 0.0


def _end_with(parent: int) -> None:
    """End this process when the sweep ends, even if the sweep is killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    length = struct.unpack(">Q", head)[0]
    data = stream.read(length)
    return data if len(data) == length else None
