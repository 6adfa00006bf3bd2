"""Workers: they stay for the next task, and what dies, is late or grows takes one task with it, never the caller."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from waiting import MINUTES, until

from pgsr.machine import isolation
from pgsr.machine.isolation import Worker, run_isolated, session_worker

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def worker():
    with contextlib.closing(Worker()) as one:
        yield one


def refuse_to_be_read() -> None:
    raise TypeError("not here")


class Unreadable:
    """An answer that the process that made it can send, and nobody can read."""

    def __reduce__(self) -> tuple:
        return refuse_to_be_read, ()


def leave_a_thread() -> int:
    """Leave a thread behind, as a solver does that is late."""
    threading.Thread(target=time.sleep, args=(MINUTES,)).start()
    return os.getpid()


def full() -> None:
    raise MemoryError("no room")


ENDS = {
    "value": (os.getpid, "", True),
    "prints": (lambda: print("noise on standard output"), "", True),
    "raises": (lambda: 1 / 0, "ZeroDivisionError: division by zero", True),
    "is no answer": (threading.Lock, "what it returned cannot be sent: TypeError: cannot pickle '_thread.lock'", True),
    "dies": (lambda: os._exit(3), "the process died with exit code 3", False),
    "is killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), "the process died with exit code -9", False),
    "says why": (lambda: os.write(2, b"so\nit was\n") and os._exit(3), "exit code 3: it was", False),
    "unreadable": (Unreadable, "what it returned cannot be read: TypeError: not here", False),
    "no memory": (full, "MemoryError: no room", False),
    "late thread": (leave_a_thread, "", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENDS)
def test_a_task_ends_and_the_process_stays_if_it_can(worker, kind):
    task, error, stays = ENDS[kind]
    before = worker.compute(os.getpid).value
    ended = worker.compute(task, time_limit=MINUTES)
    assert error in ended.error
    assert bool(ended.error) is bool(error)
    assert (ended.timed_out, ended.started, ended.reusable) == (False, True, stays)
    assert (worker.compute(os.getpid).value == before) is stays
    assert (before in psutil.pids()) is stays, "no zombie"


@pytest.mark.slow
def test_a_late_task_is_killed_and_neither_warm_up_nor_compilation_makes_it_late(worker, monkeypatch):
    def compile_long():
        from pgsr.machine.compilation import _CLOCK

        _CLOCK.start()
        time.sleep(0.6)
        _CLOCK.stop()
        return "done"

    before, start = worker.compute(os.getpid).value, time.monotonic()
    late = worker.compute(partial(time.sleep, 2 * MINUTES), time_limit=0.5)
    assert time.monotonic() - start < MINUTES
    assert (late.timed_out, late.started, late.error) == (True, True, "")
    assert late.peak_bytes > 10**7
    assert worker.compute(os.getpid).value != before
    assert worker.compute(compile_long, time_limit=0.4).value == "done"
    assert worker.compute(lambda: "done", lambda: time.sleep(0.6), time_limit=0.4).value == "done"
    monkeypatch.setattr(isolation, "START_LIMIT", 0.5)
    for one, starts in ((worker, 1), (Worker.of_several(None), isolation.STARTS)):
        slow = one.compute(lambda: "done", lambda: time.sleep(2 * MINUTES))
        assert (slow.timed_out, slow.started, slow.effort.starts) == (True, False, starts)
        assert slow.error == f"the process did not start within {2 ** (starts - 2):g} s; the machine is too busy"


@pytest.mark.slow
def test_memory_and_seconds_are_those_of_the_task(worker):
    held = np.ones(50_000_000)  # 400 MB in this process must not count as the worker's
    first = worker.compute(lambda: int(np.ones(60_000_000).sum()))
    small, grown = worker.compute(int), worker.compute(lambda: int(np.ones(30_000_000).sum()))
    assert 10**7 < small.peak_bytes < held.nbytes
    if not first.reusable:
        pytest.skip("the kernel does not let a process forget its peak, so no process is shared here")
    assert small.peak_bytes - small.baseline_bytes < 20e6, "the peak of the task before is forgotten"
    assert 230e6 < grown.peak_bytes - grown.baseline_bytes < 300e6
    assert 0 <= worker.compute(partial(time.sleep, 0.2)).effort.work < 0.15


@pytest.mark.slow
def test_a_warm_up_runs_once_in_a_process_and_tasks_see_what_the_caller_sees(worker, tmp_path, monkeypatch):
    def note():
        with (tmp_path / "said").open("a") as file:
            file.write("x")

    for _ in range(2):
        worker.compute(int, note)
    assert (tmp_path / "said").read_text() == "x"
    monkeypatch.setenv("PGSR_TOLD", "yes")
    monkeypatch.chdir(tmp_path)
    assert worker.compute(lambda: (os.environ.get("PGSR_TOLD"), os.getcwd())).value == ("yes", str(tmp_path))
    monkeypatch.delenv("PGSR_TOLD")
    assert worker.compute(lambda: os.environ.get("PGSR_TOLD")).value is None


@pytest.mark.slow
def test_a_module_that_is_edited_is_read_anew(worker, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = tmp_path / "my_own_method.py"
    values = []
    for answer in ("1", "22"):
        module.write_text(f"value = {answer}")
        values.append(worker.compute(lambda: __import__("my_own_method").value).value)
    assert values == [1, 22]


def test_the_worker_of_the_session_stays_and_a_closed_one_is_replaced():
    assert session_worker() is session_worker()
    one = Worker()
    one.close()
    assert one.compute(int).error == "its worker was closed"


SESSION = """
import os, signal, sys, time
from pgsr.machine.isolation import session_worker
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
worker = session_worker()
print(worker.compute(os.getpid).value, flush=True)
try:
    worker.compute(lambda: time.sleep(300)) if sys.argv[1] == "busy" else sys.stdin.read()
except KeyboardInterrupt:
    print(worker.compute(lambda: "goes on").value, worker._process.pid, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("state", "end"), [("busy", "SIGINT"), ("busy", "SIGKILL"), ("idle", "SIGKILL"), ("idle", "")])
def test_a_worker_ends_with_its_session(state, end):
    """Ctrl-C ends the task that runs, and the session goes on; at the end of a session nothing is left."""
    command, pipe = [sys.executable, "-c", SESSION, state], subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True) as one:
        assert one.stdout is not None
        pids = [int(one.stdout.readline())]
        time.sleep(0.2)
        if end == "SIGINT":
            os.killpg(one.pid, signal.SIGINT)  # as a terminal does
            *said, pid = one.stdout.readline().split()
            assert said == ["goes", "on"]
            pids.append(int(pid))
        elif end:
            one.kill()
        one.communicate(timeout=MINUTES)
        assert one.returncode == {"SIGKILL": -9}.get(end, 0)
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def test_one_task_may_have_a_process_of_its_own():
    assert run_isolated(os.getpid).value not in (os.getpid(), session_worker().compute(os.getpid).value)
