"""Compiled loops: how they are compiled, and the seconds that it takes, which are nobody's solve time.

Numba compiles a function at its first call with arguments of new types and keeps the code on disk. So the first solve
on a machine takes seconds that later ones do not. Deadlines stop while numba is imported and functions are compiled or
loaded from disk (`pgsr.methods.gate.Deadline`), and results say apart how long that took. `pgsr warmup` does it
beforehand.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function at its first call, by `numba.njit(**options)`.

    The code is kept on disk, and runs without the interpreter's lock. The wrapper for calls from C, which nothing here
    uses, would take a tenth more time.

    Example:
        >>> import numpy as np
        >>> from pgsr.engines.isotonic_kernel import l1_smallest  # what is below `@compiled` there
        >>> out = np.empty(3, int)
        >>> l1_smallest(np.array([2, 1, 3]), out)
        >>> out
        array([1, 1, 3])
    """
    return _numba().njit(function, cache=True, nogil=True, no_cfunc_wrapper=True, **options)


def uncounted(function: Callable) -> Any:
    """Compile a function that makes no arrays, and neither do functions that it calls.

    Compiled code counts who holds an array, by an operation that waits for all processors, whenever an array is handed
    on or a row of one is looked at. Without arrays of its own a function needs no counts. Loops that call functions
    for every cell take half the time.
    """
    return compiled(function, _nrt=False)


def inlined(function: Callable) -> Any:
    """Make a function part of every compiled one that calls it, instead of one of its own."""
    return _numba().njit(function, inline="always")


def read_only(array: "np.ndarray") -> "np.ndarray":
    """View an array so that it cannot be written to. Loops that read arrays of either kind would be compiled twice.

    Example:
        >>> import numpy as np
        >>> read_only(np.zeros(2)).flags.writeable
        False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def seconds() -> float:
    """Tell for how long this process has been compiling so far, in seconds of wall time, numba's import included."""
    return _CLOCK.read()


def forget() -> None:
    """Count from 0 again, in a worker that begins another task."""
    _CLOCK.forget()


def listen(told: Callable[[bool], None]) -> None:
    """Have `told(True)` called when this process begins to compile, and `told(False)` when it is done."""
    _CLOCK.told = told


class Spent:
    """The seconds that a block spent compiling, once it has ended."""

    seconds = 0.0


@contextmanager
def compilation() -> Iterator[Spent]:
    """Measure the seconds that this block spends compiling.

    Example:
        >>> with compilation() as spent:
        ...     pass
        >>> spent.seconds
        0.0
    """
    spent, before = Spent(), seconds()
    try:
        yield spent
    finally:
        spent.seconds = seconds() - before


class _Clock:
    """Runs while at least one thread compiles: functions that are compiled for another one are not counted twice.

    Garbage is not collected meanwhile. The compiler makes millions of objects that live until it is done, and searching
    them over and over takes a tenth of its time.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finaliser may compile
        self._busy, self._since, self._spent, self._collects = 0, 0.0, 0.0, True
        self.told: Callable[[bool], None] = lambda busy: None

    def start(self) -> None:
        with self._lock:
            if not self._busy:
                self._since, self._collects = time.perf_counter(), gc.isenabled()
                gc.disable()
                self.told(True)
            self._busy += 1

    def stop(self) -> None:
        with self._lock:
            if self._busy == 1 and self._collects:
                gc.collect(1)  # else it would happen in what comes next, a solve
                gc.enable()
            self._busy -= 1
            if not self._busy:
                self._spent += time.perf_counter() - self._since
                self.told(False)

    def forget(self) -> None:
        with self._lock:
            self._spent, self._since = 0.0, time.perf_counter()

    def read(self) -> float:
        with self._lock:
            return self._spent + (time.perf_counter() - self._since if self._busy else 0.0)


_CLOCK = _Clock()


@cache
def _numba() -> Any:
    """Import numba, and have it start and stop the clock: its lock is held while a function is compiled or loaded."""
    _CLOCK.start()
    try:
        import numba
        from numba.core.caching import IndexDataCacheFile
        from numba.core.event import Listener, register
    finally:
        _CLOCK.stop()

    class Starter(Listener):
        def on_start(self, event: Any) -> None:
            _CLOCK.start()

        def on_end(self, event: Any) -> None:
            _CLOCK.stop()

    register("numba:compiler_lock", Starter())
    _read_old_caches_as_empty(IndexDataCacheFile)
    return numba


def _read_old_caches_as_empty(file: Any) -> None:
    """Compile anew where the code on disk names classes that a later version of pgsr no longer has.

    Numba reads the types of all compiled forms before it looks whether the file is of this version. A class that was
    renamed since would raise an error in the middle of a solve, in a release after the noise was paid.
    """
    read = file._load_index

    def read_or_empty(index: Any) -> dict:
        try:
            return read(index)
        except (AttributeError, ImportError):
            return {}

    file._load_index = read_or_empty
