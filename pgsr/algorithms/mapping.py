"""Where blocks of work run: in this thread, in threads, in processes or on a cluster."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from pgsr.kernels import SMALL


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

    Shown to give the same integers by `tests/test_streaming.py::test_dask_gives_the_same_integers`.
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
