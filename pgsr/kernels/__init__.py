"""The compiled loops. Nothing here is imported before a method first needs it."""

from collections.abc import Iterator
from contextlib import contextmanager

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
