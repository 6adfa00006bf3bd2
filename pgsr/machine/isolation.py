"""The run of tasks in other processes, with a time limit and a peak memory each; a crash does not spread.

A process takes a second of the processor to start, to import and to load compiled code, and many tasks take
milliseconds. So a `Worker` stays for further tasks. A process that dies, is late or runs out of memory takes one task
with it, and the next task gets a new one.
"""

import atexit
import contextlib
import ctypes
import gc
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from pgsr.machine import compilation
from pgsr.machine.extras import extra

START_LIMIT = 60.0
"""Seconds that a process may take to import what it needs and to warm up, compilation apart."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What tells libraries to keep to one thread, where several workers are the parallelism."""

STARTS = 3
"""Processes that one of several workers gets to import and to warm up, each with twice as long as the one before."""


class Effort(NamedTuple):
    """What a task took: processor seconds of the task alone, those since the task before, and processes started.

    The first task of a process also pays for its start and warm-up; processes that it started count, too.
    """

    work: float
    cpu_seconds: float
    starts: int


UNKNOWN = Effort(0.0, 0.0, 1)


@dataclass(frozen=True)
class TaskEnd:
    """The end of a task in a worker.

    Attributes:
        value: what it returned, or None.
        error: a sentence if it raised, died or did not start, else "".
        timed_out: whether it was killed at its limit.
        started: whether it came as far as the task; False if imports and warm-up took longer than `START_LIMIT`.
        peak_bytes: most memory during the task, or since the start where the kernel cannot tell; 0 if unknown.
        baseline_bytes: what it held just before the task: imports, compiled code, and what earlier tasks left.
        reusable: whether the process takes another task: no thread goes on, and the kernel lets it forget its peak.
        effort: what it took; other work on the machine changes that little, unlike the time that passes.
    """

    value: Any = None
    error: str = ""
    timed_out: bool = False
    started: bool = True
    peak_bytes: int = 0
    baseline_bytes: int = 0
    reusable: bool = False
    effort: Effort = UNKNOWN


def run_isolated(
    task: Callable[[], Any], warm_up: Callable[[], Any] | None = None, time_limit: float | None = None
) -> TaskEnd:
    """Call `task` in a process of its own, as `Worker.compute` does.

    Example:
        >>> run_isolated(lambda: 6 * 7).value
        42
    """
    with contextlib.closing(Worker()) as worker:
        return worker.compute(task, warm_up, time_limit)


class Worker:
    """A Python process that calls functions, one after another; `close` ends it.

    It starts with the first task, and anew after one that was not `reusable`, or where a module of the user's own that
    it imported has changed on disk. Before each task it takes over the working directory, the environment and
    the module path of this process. Ctrl-C is left to this process. If this process ends, so does the worker.

    Attributes:
        last: how its last task ended; None if the next one gets a new process.
        closed: whether it takes no more tasks.
    """

    def __init__(self) -> None:
        self._several, self._core = False, None
        self._process: subprocess.Popen | None = None
        self._log: IO[bytes] | None = None
        self._messages: queue.SimpleQueue = queue.SimpleQueue()
        self._owner, self._lock, self.closed = os.getpid(), threading.Lock(), False
        self.last: TaskEnd | None = None
        self._counted = 0.0

    @classmethod
    def of_several(cls, core: int | None) -> "Worker":
        """Make a worker for a processor, or for any; libraries keep to one thread, and a late start is tried again."""
        worker = cls()
        worker._several, worker._core = True, core
        return worker

    def compute(
        self, task: Callable[[], Any], warm_up: Callable[[], Any] | None = None, time_limit: float | None = None
    ) -> TaskEnd:
        """Call `task` in the process, and kill the process `time_limit` seconds after it started the task.

        `warm_up` runs before, once in a process, and is not timed: imports belong there. The clock stands still while
        the process compiles. Functions and classes of the caller's own script or notebook are sent by value.

        Args:
            task, warm_up: without arguments.
            time_limit: seconds, or None.
        """
        with extra("release"):  # before there is a process, which needs both
            import cloudpickle
            import psutil  # noqa: F401
        data = tuple(b"" if call is None else cloudpickle.dumps(call) for call in (warm_up, task))
        outcome = TaskEnd()
        with self._lock:
            try:
                for start in range(1, 1 + (STARTS if self._several else 1)):
                    outcome = self._once(data, time_limit, START_LIMIT * 2 ** (start - 1))
                    outcome = replace(outcome, effort=outcome.effort._replace(starts=start))
                    if outcome.started or self.closed:
                        break
            except BaseException:  # Ctrl-C while it computes
                self._end()
                raise
            if outcome.reusable:
                self.last, self._counted = outcome, self._counted + outcome.effort.cpu_seconds
            else:
                self._end()
            return outcome

    def _once(self, data: tuple[bytes, ...], time_limit: float | None, start_limit: float) -> TaskEnd:
        started, baseline = False, 0
        try:
            found = self._asked(data, start_limit)
            if found == _CHANGED:
                self._end()
                found = self._asked(data, start_limit)
            if isinstance(found, int):
                started, baseline = True, found
                found = self._answer(time_limit)
        except queue.Empty:
            assert self._process is not None
            pid = self._process.pid
            peak, cpu = peak_memory(pid), _cpu_of(pid) - self._counted
            self._end()
            late = "" if started else f"the process did not start within {start_limit:g} s; the machine is too busy"
            return TaskEnd(None, late, True, started, peak, baseline, effort=Effort(0.0, cpu, 1))
        if isinstance(found, TaskEnd):
            return found
        code = None if self._process is None else self._process.wait()
        said = []
        if self._log is not None:
            self._log.seek(0)
            said = self._log.read().decode(errors="replace").strip().splitlines()
        return TaskEnd(error=f"the process died with exit code {code}{f': {said[-1]}' if said else ''}")

    def _asked(self, data: tuple[bytes, ...], start_limit: float) -> Any:
        """Send a task, and wait for the first message."""
        if self.closed:
            return TaskEnd(error="its worker was closed")
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._log is not None
        self._log.seek(0)  # the process writes from where this one stands
        self._log.truncate()
        here = os.getcwd(), [str(_ROOT), *sys.path], self._environment()
        with contextlib.suppress(BrokenPipeError):  # a process that dies while it is fed is reported by its exit
            _write(self._process.stdin, pickle.dumps((here, *data)))
        return self._answer(start_limit)

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(_ROOT), *sys.path]))
        few = dict.fromkeys(ONE_THREAD, "1") if self._several else {}
        return {**few, **os.environ, "PYTHONPATH": path}

    def _start(self) -> None:
        command = [sys.executable, "-c", "from pgsr.machine.isolation import serve; serve()"]
        self._log, self._messages = tempfile.TemporaryFile(), queue.SimpleQueue()  # noqa: SIM115 - `_end` closes it
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=self._environment())
        if self._core is not None:
            os.sched_setaffinity(self._process.pid, {self._core})
        threading.Thread(target=_listen, args=(self._process.stdout, self._messages), daemon=True).start()

    def _answer(self, limit: float | None) -> Any:
        """Wait for the next message, None if the process has ended; raise `queue.Empty` if it takes longer.

        The time in which the process compiles is not counted.
        """
        compiles = False
        while True:
            since = time.monotonic()
            found = self._messages.get(timeout=None if compiles else limit)
            if not isinstance(found, bool):
                return found
            if not compiles and limit is not None:
                limit = max(0.0, limit - (time.monotonic() - since))
            compiles = found

    def close(self) -> None:
        """End the process now, for good; a caller that waits for its answer hears that it died."""
        self.closed = True
        if self._owner == os.getpid():
            self._end()

    def _end(self) -> None:
        process, log, self._process, self._log, self.last = self._process, self._log, None, None, None
        self._counted = 0.0
        if process is not None:
            with contextlib.suppress(OSError), process:  # which closes its pipes and waits until it is gone
                process.kill()
        if log is not None:
            log.close()


def session_worker() -> Worker:
    """Give the worker that lives as long as this process; one that was closed is replaced."""
    found = _SESSION.get(os.getpid())
    if found is None or found.closed:
        found = _SESSION[os.getpid()] = Worker()
    return found


_SESSION: dict[int, Worker] = {}  # by the number of a process: a copy of it gets a worker of its own


@atexit.register
def _end_session() -> None:
    found = _SESSION.pop(os.getpid(), None)
    if found is not None:
        found.close()


def peak_memory(pid: int | None = None) -> int:
    """Measure the most resident memory of a process so far, in bytes.

    Linux's VmHWM, because a child's `ru_maxrss` starts at its parent's; elsewhere the memory held now.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid or 'self'}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    with extra("release"):
        import psutil
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0


# Messages: True and False around compilation, the bytes held when a task starts, its end; or that a module was edited:
_CHANGED = "changed"

_ROOT = Path(__file__).resolve().parents[2]
_INSTALLED = tuple(f"{folder}{os.sep}" for folder in (sys.prefix, sys.base_prefix))


def serve() -> None:
    """Call what comes through standard input, until it ends; this is what runs in a worker's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Solvers print to standard output and may read standard input; keep them away from the messages.
    feed, pipe = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asked: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_feed, args=(feed, asked), daemon=True).start()
    lock = threading.RLock()  # several threads may compile

    def say(message: Any) -> None:
        with lock:
            _write(pipe, message if isinstance(message, bytes) else pickle.dumps(message))

    compilation.listen(say)
    warmed, sources, counted = {b""}, dict[str, int](), 0.0
    before = dict(os.environ)
    while True:
        (folder, sys.path[:], environment), warm_up, task = pickle.loads(asked.get())
        found = _sources()
        if any(found.get(file) != written for file, written in sources.items()):
            say(_CHANGED)
            continue
        os.chdir(folder)
        for name in before.keys() - environment.keys():
            os.environ.pop(name, None)
        os.environ.update(environment.items() - before.items())  # those that libraries set stay
        before = environment
        end = _done(warm_up if warm_up not in warmed else b"", task, counted, say)
        warmed.add(warm_up)
        counted, sources = _cpu_of(), sources | _sources()
        say(end)
        gc.collect()


def _done(warm_up: bytes, task: bytes, counted: float, say: Callable[[Any], None]) -> bytes:
    """Warm up, call a task, and give the message how it ended."""
    import cloudpickle
    import psutil

    compilation.forget()
    if warm_up:
        gc.disable()  # what is imported stays, and would be searched for garbage over and over
        with contextlib.suppress(Exception):  # the task meets it again, and reports it
            pickle.loads(warm_up)()
        gc.freeze()
        gc.enable()
    value, error, spoiled = None, "", False
    threads = set(threading.enumerate())
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # what earlier tasks left would hide what this one takes
    forgets = forget_peak()
    baseline = psutil.Process().memory_info().rss
    say(baseline)
    used = _cpu_of()
    try:
        value = pickle.loads(task)()
    except Exception as failure:
        text = str(failure).strip().splitlines()
        error = f"{type(failure).__name__}{f': {text[0]}' if text else ''}"
        spoiled = isinstance(failure, MemoryError)
    now, peak = _cpu_of(), peak_memory()
    # Threads that are late would disturb the next task; our own pool waits.
    spoiled |= any(not (t.daemon or t.name.startswith("pgsr")) for t in set(threading.enumerate()) - threads)
    end = TaskEnd(None, error, False, True, peak, baseline, forgets and not spoiled)
    end = replace(end, effort=Effort(now - used, now - counted, 1))
    try:
        return cloudpickle.dumps(replace(end, value=value))
    except Exception as failure:
        return pickle.dumps(replace(end, error=f"what it returned cannot be sent: {type(failure).__name__}: {failure}"))


def _sources() -> dict[str, int]:
    """Tell when the files of imported modules were written, but of installed ones."""
    files = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    found = {}
    for file in files:
        if isinstance(file, str) and not file.startswith(_INSTALLED):
            with contextlib.suppress(OSError):
                found[file] = os.stat(file).st_mtime_ns
    return found


def _feed(feed: IO[bytes], asked: queue.SimpleQueue) -> None:
    """Put every task on the queue, in a thread; end this process when the caller does, even if it was killed."""
    while (data := _read(feed)) is not None:
        asked.put(data)
    os._exit(1)


def _listen(pipe: IO[bytes], messages: queue.SimpleQueue) -> None:
    """Put every message of a process on the queue, in a thread, and None when it ends."""
    with contextlib.suppress(OSError, ValueError):  # the pipe was closed by `close`
        while (data := _read(pipe)) is not None:
            try:
                message = pickle.loads(data)
            except Exception as error:  # whatever the task's own classes raise while they are made again
                message = TaskEnd(error=f"what it returned cannot be read: {type(error).__name__}: {error}")
            messages.put(message)
    messages.put(None)


def forget_peak() -> bool:
    """Start this process's peak memory anew; False where the kernel refuses, so that an earlier peak stays."""
    if not sys.platform.startswith("linux"):
        return True  # `peak_memory` tells what is held now
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _cpu_of(pid: int | None = None) -> float:
    """Find the CPU seconds of a process and of those that it started and that have ended; 0 if it is gone."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    return 0.0


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end and of one that breaks off."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    n = struct.unpack(">Q", head)[0]
    data = stream.read(n)
    return data if len(data) == n else None
