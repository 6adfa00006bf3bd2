"""The run of a task in a process of its own, with a time limit and its own peak memory; a crash does not spread."""

import contextlib
import gc
import importlib
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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pgsr.machine import compilation
from pgsr.machine.extras import extra

START_LIMIT = 60.0
"""Seconds a child may take to import what it needs and to warm up."""

END_LIMIT = 10.0
"""Seconds in which the end of a process is seen."""


@dataclass(frozen=True)
class TaskEnd:
    """The end of a task in a child process.

    Attributes:
        value: what it returned, or None.
        error: a sentence if it raised, died or did not start, else "".
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
    task: Callable[[], Any],
    warm_up: Callable[[], Any] | None = None,
    time_limit: float | None = None,
    template: "Template | None" = None,
    shared: bool = False,
) -> TaskEnd:
    """Call `task` in a Python process of its own and kill it `time_limit` seconds after it started the task.

    `warm_up` runs first and is not timed: imports and compilation belong there. Functions and classes defined in the
    caller's own script or notebook are sent by value.

    Args:
        task, warm_up: without arguments.
        time_limit: seconds, or None.
        template: where the process comes from; a new interpreter if None.
        shared: whether the template warms up first, once for all tasks whose warm-up is the same to the byte, so that
            what is compiled is loaded once. The task's process still warms up, which copies the memory that the task
            will write to. For code of our own alone: it may leave no thread behind, and must not crash.
    """
    if template is None:
        with Template() as alone:
            return run_isolated(task, warm_up, time_limit, alone, shared)
    messages = template.start(warm_up, task, shared)
    started, baseline, pid = False, 0, None
    try:
        soon = time.monotonic() + START_LIMIT
        outcome = messages.get(timeout=START_LIMIT)
        if isinstance(outcome, _Born):
            pid = outcome.pid
            outcome = messages.get(timeout=max(0.0, soon - time.monotonic()))
        if isinstance(outcome, _Ready):
            started, baseline = True, outcome.baseline_bytes
            outcome = messages.get(timeout=time_limit)
    except queue.Empty:
        peak = 0 if pid is None else peak_memory(pid)
        template.kill(pid)
        late = "" if started else f"the process did not start within {START_LIMIT:g} s; the machine is too busy"
        return TaskEnd(error=late, timed_out=True, started=started, peak_bytes=peak, baseline_bytes=baseline)
    if isinstance(outcome, TaskEnd):
        return outcome  # the template's next task waits until this one's process is gone
    error = f"the process died with exit code {template.exit_code(outcome)}{template.last_words()}"
    if outcome is None:
        template.close()
    return TaskEnd(error=error)


class Template:
    """A process that starts tasks as copies of itself, each in a process of its own.

    On Linux a task's process is forked from the template, which does nothing but imports, and so runs no threads that
    a fork would lose. What one task imported, the template imports before it starts the next: a second solve with
    CVXPY waits for no import. The template passes on what a task has said in full, so a task that is killed while it
    speaks does no harm. Elsewhere every task has a new interpreter.

    Args:
        prepare: runs in the template when it starts, while its caller goes on: imports, and what loads compiled code.
            It may start no thread. A failure is met again by the tasks.

    Example:
        >>> with Template() as template:
        ...     first, second = (run_isolated(lambda: 6 * 7, template=template) for _ in range(2))
        >>> first.value, second.value
        (42, 42)
    """

    def __init__(self, prepare: Callable[[], Any] | None = None) -> None:
        self._prepare = prepare
        self._process: subprocess.Popen | None = None
        self._messages: queue.Queue = queue.Queue()
        self._log: IO[bytes] | None = None
        self._said = 0
        self._imports: dict[str, None] = {}
        self._busy = False

    def start(
        self, warm_up: Callable[[], Any] | None, task: Callable[[], Any], shared: bool = False
    ) -> "queue.Queue[Any]":
        """Start a process; the queue gets a `_Born`, a `_Ready`, an `TaskEnd`; an `_Ended` or None if it dies."""
        if self._busy:
            self.wait()
        if self._process is None or self._process.poll() is not None or not _FORKS:
            self.close()
            self._spawn()
        process, log = self._process, self._log
        assert process is not None
        assert process.stdin is not None
        assert log is not None
        self._said = log.seek(0, os.SEEK_END)
        import cloudpickle

        first = cloudpickle.dumps(warm_up) if shared else b""
        data = cloudpickle.dumps((list(self._imports), first, cloudpickle.dumps((warm_up, task))))
        with contextlib.suppress(BrokenPipeError):  # a process that dies while it is fed is reported by its exit
            _pass_on(process.stdin, data)
        self._busy = True
        return self._messages

    def last_words(self) -> str:
        """Give the last line that the process wrote to standard error, after a colon."""
        if self._log is None:
            return ""
        self._log.seek(self._said)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def exit_code(self, ended: object) -> int | None:
        """Give the exit code of a task's process from its last message."""
        if isinstance(ended, _Ended):
            self._busy = False
            return ended.code
        return None if self._process is None else self._process.wait()

    def wait(self) -> None:
        """Wait until the task's process is gone; a template that does not see it go is ended."""
        try:
            while _FORKS and not isinstance(message := self._messages.get(timeout=END_LIMIT), _Ended):
                if message is None:
                    self.close()
                    return
            self._busy = False
        except queue.Empty:
            self.close()

    def kill(self, pid: int | None) -> None:
        """Kill the task's process of this number; the template, too, where it has none of its own."""
        if pid is None or not _FORKS:
            self.close()
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        """End the template."""
        self._busy = False
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def _spawn(self) -> None:
        with extra("release"):  # before there is a process, which needs both
            import cloudpickle  # noqa: F401
            import psutil  # noqa: F401
        command = [sys.executable, "-c", "from pgsr.machine.isolation import _serve; _serve()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), *sys.path]))}
        self._log, self._messages = tempfile.TemporaryFile(), queue.Queue()  # noqa: SIM115 - `close` does
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment
        )
        threading.Thread(target=self._listen, args=(self._process.stdout, self._messages), daemon=True).start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            _send(self._process.stdin, self._prepare if _FORKS else None)

    def _listen(self, pipe: IO[bytes], messages: queue.Queue) -> None:
        """Put every message of the process on the queue, and None when it ends; learn what tasks import."""
        while True:
            with contextlib.suppress(ValueError):  # the pipe was closed by `close`
                message = _received(pipe)
                if isinstance(message, _Imported):
                    self._imports |= dict.fromkeys(message.names)
                    continue
                messages.put(message)
                if message is not None:
                    continue
            return

    def __enter__(self) -> "Template":
        if self._prepare is not None and _FORKS:
            self._spawn()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._busy and kind is None:
            self.wait()
        self.close()


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
class _Born:
    """The message that a task's process runs, with its number."""

    pid: int


@dataclass(frozen=True)
class _Ready:
    """The message that a process is about to start its task, with the memory that it holds."""

    baseline_bytes: int


@dataclass(frozen=True)
class _Imported:
    """The message which modules a task has imported."""

    names: list[str]


@dataclass(frozen=True)
class _Ended:
    """The last message about a task: its process is gone, with this exit code."""

    code: int


_ROOT = Path(__file__).resolve().parent.parent
_FORGET = Path("/proc/self/clear_refs")
"""Linux: writing 5 makes the peak memory what is held now."""

_FORKS = sys.platform.startswith("linux")


def _serve() -> None:
    """Be the template: read tasks from standard input; messages go to what was standard output."""
    import cloudpickle

    # Solvers print to standard output; keep that away from the messages.
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    gc.disable()  # what is imported stays, and tasks would search it for garbage and so copy its memory
    with contextlib.suppress(Exception):  # the tasks meet it again, and report it
        prepare = cloudpickle.loads(_read(sys.stdin.buffer) or b"")
        if prepare is not None:
            prepare()
    warmed = {b""}
    while True:
        data = _read(sys.stdin.buffer)
        if data is None:
            return
        imports, warm_up, payload = pickle.loads(data)
        if not _FORKS:
            gc.enable()
            _work(pipe, payload)
            return
        for name in imports:
            with contextlib.suppress(Exception):  # the task meets it again, and reports it
                importlib.import_module(name)
        compilation.forget()
        if warm_up not in warmed:
            warmed.add(warm_up)
            with contextlib.suppress(Exception):  # the task meets it again, and reports it
                pickle.loads(warm_up)()
        said, says = os.pipe()
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            gc.enable()
            os.close(said)
            _work(os.fdopen(says, "wb"), payload)
            os._exit(0)
        os.close(says)
        with os.fdopen(said, "rb") as task:
            while (message := _read(task)) is not None:
                _pass_on(pipe, message)
        _send(pipe, _Ended(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def _work(pipe: IO[bytes], payload: bytes) -> None:
    _send(pipe, _Born(os.getpid()))
    before = set(sys.modules)
    import cloudpickle
    import psutil  # the template imports it for the next task

    warm_up, task = cloudpickle.loads(payload)
    if warm_up is not None:
        # Whatever is wrong will be wrong again in the task, and is reported there.
        with contextlib.suppress(Exception):
            warm_up()
    forget_peak()
    baseline = psutil.Process().memory_info().rss
    _send(pipe, _Ready(baseline))
    try:
        outcome = TaskEnd(value=task())
    except Exception as error:
        text = str(error).strip().splitlines()
        outcome = TaskEnd(error=f"{type(error).__name__}{f': {text[0]}' if text else ''}")
    outcome = TaskEnd(outcome.value, outcome.error, peak_bytes=peak_memory(), baseline_bytes=baseline)
    _send(pipe, _Imported([name for name in sys.modules if name not in before]))
    _send(pipe, outcome)


def _send(pipe: IO[bytes], message: Any) -> None:
    import cloudpickle

    _pass_on(pipe, cloudpickle.dumps(message))


def _pass_on(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(struct.pack(">Q", len(data)) + data)
    pipe.flush()


def _received(pipe: IO[bytes]) -> Any:
    """Read a message, None at the end; an answer that cannot be unpickled is a failed task."""
    data = _read(pipe)
    if data is None:
        return None
    try:
        return pickle.loads(data)
    except Exception as error:  # whatever the task's own classes raise while they are made again
        return TaskEnd(error=f"what it returned cannot be read: {type(error).__name__}: {error}")


def _read(pipe: IO[bytes]) -> bytes | None:
    """Read one message, None at the end and of one that breaks off."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    n = struct.unpack(">Q", head)[0]
    data = pipe.read(n)
    return data if len(data) == n else None
