"""Where work runs: how many threads compiled loops take, and mappers onto threads, processes or a cluster."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

SMALL = 200_000
"""Cells below which waiting for a second thread costs more than it saves, above all on a busy machine."""


@contextmanager
def threads_for(n_cells: int) -> Iterator[None]:
    """Run compiled loops on one thread inside this block if there is little to do."""
    import numba

    before = numba.get_num_threads()
    if n_cells < SMALL:
        numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


class Mapper(Protocol):
    """Calls a function on every item and gives the results in the order of the items.

    The builtin `map` does, and so do `concurrent.futures.Executor.map`, `Threads()` and `DaskMap(client)`. Other
    processes must be able to unpickle function and items.
    """

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterable[Any]: ...


@dataclass(frozen=True)
class Threads:
    """A mapper onto as many threads as compiled loops may use. They help where the interpreter's lock is released.

    Example:
        >>> list(Threads()(abs, [-1, 2, -3]))
        [1, 2, 3]
    """

    number: int | None = None

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
        import numba

        items = list(items)
        number = min(len(items), self.number or numba.get_num_threads())
        if number <= 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(number) as pool:
            return list(pool.map(function, items))


@dataclass(frozen=True)
class DaskMap:
    """A mapper onto the workers of a `dask.distributed.Client`; needs the package `distributed`.

    Shown to give the same integers by `tests/test_m_h_streaming.py::test_dask_gives_the_same_integers`.
    """

    client: Any

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
        return self.client.gather(self.client.map(function, list(items), pure=False))


def spans(n: int, step: int) -> list[tuple[int, int]]:
    """0..n-1 in ranges of `step`.

    Example:
        >>> spans(7, 3)
        [(0, 3), (3, 6), (6, 7)]
    """
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def spans_for_threads(n: int, n_cells: int, step: int) -> list[tuple[int, int]]:
    """Ranges that keep all threads busy to the end, in multiples of `step`; one range if there is little to do."""
    import numba

    threads = numba.get_num_threads()
    if n_cells < SMALL or threads == 1:
        return [(0, n)]
    return spans(n, step * max(1, -(-n // (4 * threads * step))))
