"""The watch over a solver: the seconds of its parts, and a limit and Ctrl-C that it may not keep to."""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pgsr.methods.gate import Deadline
from pgsr.methods.method import Seconds
from pgsr.models.judge import SolverAnswer

LOOK = 0.05
"""The seconds after which Ctrl-C is Python's again where a solver has taken it for itself."""

LATE = 0.5
"""The seconds that a solver may take beyond its limit, to hand over what it has."""


def within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """Call a solver, and return None if it is not back half a second after its limit.

    HiGHS looks at the clock between its phases only, some solvers know no limit, and none lets Python see Ctrl-C while
    it works. So it works in a thread of its own. Left alone there, it is asked to stop where it has told how,
    `stoppable`; else it goes on, and Python waits for it when it ends, because solvers abort a process that ends while
    they work; a second Ctrl-C ends that, too. `compare` ends it at once. Solvers that keep Python's lock while they
    work, such as proxqp, are not watched: Ctrl-C waits for them.

    Raises:
        KeyboardInterrupt: the user stopped it, also where the solver caught that.

    Example:
        >>> import time
        >>> within(0.05, lambda: time.sleep(1)) is None, within(5.0, lambda: 7)
        (True, 7)
    """
    outcome: dict[str, Any] = {}
    back = threading.Event()  # a join that Ctrl-C interrupts takes the thread for an ended one, until Python 3.13

    def work() -> None:
        try:
            outcome["value"] = call()
        except BaseException as error:  # raised again below, in the caller's thread
            outcome["error"] = error
        back.set()

    thread = threading.Thread(target=work, daemon=False)
    end = None if seconds is None else time.monotonic() + seconds + LATE
    thread.start()
    try:
        while not back.wait(LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))):
            _catch_interrupts()
            if end is not None and time.monotonic() >= end:
                break
    finally:
        if not back.is_set():
            getattr(thread, "stop", lambda: None)()
    if not outcome:
        return None
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _catch_interrupts() -> None:
    """Take Ctrl-C back from a solver that set a handler of its own, some of which forget what they caught."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)


def stoppable(stop: Callable[[], object]) -> None:
    """Tell how the solver that is about to work in this thread can be asked to stop."""
    setattr(threading.current_thread(), "stop", stop)  # noqa: B010


@dataclass(frozen=True, eq=False)
class Run:
    """The outcome of one call of a solver: its answer, and the seconds of handing the program over and of solving."""

    answer: SolverAnswer
    formulate: float
    solve: float


class Clock:
    """The seconds spent by part so far, and the seconds left for a solver."""

    def __init__(self, deadline: Deadline, seconds: Seconds) -> None:
        self.deadline, self.seconds = deadline, seconds
        self.form, self.programs = "", 0

    def handed(self, form: str, n_columns: int, integers: bool) -> None:
        """Note the form of the program that a solver gets now, which is the last one's in the end."""
        self.programs += 1
        kind = " declared integers" if integers else ""
        more = f", {self.programs} programs" if self.programs > 1 else ""
        self.form = f"{form}, {n_columns:,} columns{kind}{more}"

    def add(self, run: Run) -> None:
        self.seconds = Seconds(self.seconds.formulate + run.formulate, self.seconds.solve + run.solve)

    @property
    def left(self) -> float | None:
        """The seconds left, 0.01 at least, because solvers read 0 as no limit."""
        left = self.deadline.left
        return None if left is None else max(0.01, left)

    @property
    def expired(self) -> bool:
        return self.deadline.passed
