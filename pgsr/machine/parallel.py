"""The places where work runs: the threads of compiled loops, and mappers onto threads, processes or a cluster."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

SMALL = 200_000
"""Cells below which waiting for a second thread costs more than it saves, above all on a busy machine."""

PARTS_PER_THREAD = 16
"""Parts in which a thread gets its items: handing over each by itself would take longer than short calls do."""


def number_of_threads() -> int:
    """The number of threads that compiled loops may use: that of processors, or `NUMBA_NUM_THREADS`."""
    from numba import config

    return vars(config)["NUMBA_NUM_THREADS"]


def share(function: Callable[..., Any], rows: range, cells_per_row: int, *arguments: Any) -> None:
    """Call function(start, stop, *arguments) on ranges that cover `rows`, on several threads if there is enough to do.

    The function is a compiled loop that releases the interpreter's lock. What it writes must not depend on where
    ranges begin: numbers go to the rows they belong to, and sums over rows are formed after the call.

    Serial loops that share rows out in this way compile several times faster than numba's own parallel loops.

    Example:
        >>> import numpy as np
        >>> squares = np.zeros(5, int)
        >>> def square(start, stop, out):
        ...     for row in range(start, stop):
        ...         out[row] = row * row
        >>> share(square, range(5), 1, squares)
        >>> squares
        array([ 0,  1,  4,  9, 16])
    """
    ranges = spans_for_threads(len(rows), len(rows) * cells_per_row, 1)
    if len(ranges) == 1:
        function(rows.start, rows.stop, *arguments)
        return
    _work_off(ranges, lambda start, stop: function(rows.start + start, rows.start + stop, *arguments))


def share_levels(function: Callable[..., Any], levels: list[range], cells_per_row: int, *arguments: Any) -> None:
    """Share the rows of one level after the other, where those of a level need what the one before it wrote.

    Where there is little to do the function is called once for the rows of all levels, so it has to go through its rows
    in the order of the levels as well.
    """
    rows = range(min(level.start for level in levels), max(level.stop for level in levels))
    if len(spans_for_threads(len(rows), len(rows) * cells_per_row, 1)) == 1:
        function(rows.start, rows.stop, *arguments)
        return
    for level in levels:
        share(function, level, cells_per_row, *arguments)


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """Compute the inner product of two arrays of one shape, in a fixed order and in this thread.

    `np.vdot` starts threads, for which a call waits long on a busy machine.

    Example:
        >>> import numpy as np
        >>> inner_product(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
        11.0
    """
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


class Mapper(Protocol):
    """A function that calls another on every item and gives the results in the order of the items.

    The builtin `map` does, and so do `concurrent.futures.Executor.map`, `Threads()` and `DaskMap(client)`. Other
    processes must be able to unpickle function and items.
    """

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterable[Any]: ...


@dataclass(frozen=True)
class Threads:
    """A mapper onto as many threads as compiled loops may use. They help where the interpreter's lock is released.

    Attributes:
        cells: that all items have together, each as one step of a loop; below `SMALL` this thread takes all items.

    Example:
        >>> list(Threads()(abs, [-1, 2, -3]))
        [1, 2, 3]
    """

    cells: float = np.inf

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
        items = list(items)
        number = min(len(items), number_of_threads())
        if number <= 1 or self.cells < SMALL:
            return [function(item) for item in items]
        found: list[Any] = [None] * len(items)

        def work(start: int, stop: int) -> None:
            found[start:stop] = [function(item) for item in items[start:stop]]

        _work_off(spans(len(items), max(1, len(items) // (PARTS_PER_THREAD * number))), work)
        return found


@dataclass(frozen=True)
class DaskMap:
    """A mapper onto the workers of a `dask.distributed.Client`; needs the package `distributed`.

    Shown to give the same integers by `test_nation_m_h.py`.
    """

    client: Any

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
        return self.client.gather(self.client.map(function, list(items), pure=False))


def spans(n: int, step: int) -> list[tuple[int, int]]:
    """Cut 0..n-1 into ranges of `step`.

    Example:
        >>> spans(7, 3)
        [(0, 3), (3, 6), (6, 7)]
    """
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def spans_for_threads(n: int, n_cells: int, step: int) -> list[tuple[int, int]]:
    """Cut 0..n-1 into ranges that keep all threads busy, in multiples of `step`; one range if there is little to do."""
    threads = number_of_threads()
    if n_cells < SMALL or threads == 1:
        return [(0, n)]
    return spans(n, step * max(1, -(-n // (PARTS_PER_THREAD * threads * step))))


def _work_off(parts: Sequence[tuple[int, int]], work: Callable[[int, int], None]) -> None:
    """Call work(start, stop) for all parts, in this thread and in those of the process that are free."""
    left = deque(parts)

    def take() -> None:
        while True:
            try:
                part = left.popleft()
            except IndexError:
                return
            try:
                work(*part)
            except BaseException:
                left.clear()  # what fails ends the work of all
                raise

    helpers = min(number_of_threads(), len(parts)) - 1
    tasks = [_pool(number_of_threads() - 1, os.getpid()).submit(take) for _ in range(helpers)]
    try:
        take()
    finally:
        begun = [task for task in tasks if not task.cancel()]  # others may keep the helpers busy; nothing is left now
        wait(begun)
    for task in begun:
        task.result()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process; a forked one inherits the object, but none of the threads."""
    del process
    return ThreadPoolExecutor(threads, thread_name_prefix="pgsr")
