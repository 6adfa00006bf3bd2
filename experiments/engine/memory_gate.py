"""The gate that limits the memory of cells that run at once: a cell waits until it fits beside the others."""

import contextlib
import threading
from collections.abc import Iterator

import psutil

from pgsr.errors import MemoryNeededError


class MemoryGate:
    """A gate that shares out the memory that was available when the gate was made.

    Example:
        >>> with MemoryGate(1_000).hold(600, "a cell"):
        ...     pass
    """

    def __init__(self, available: int | None = None) -> None:
        self._free = psutil.virtual_memory().available if available is None else available
        self._all = self._free
        self._change = threading.Condition()

    def require(self, n_bytes: int, what: str) -> None:
        """Raise `MemoryNeededError` if this much would not fit even alone."""
        if n_bytes > self._all:
            raise MemoryNeededError(
                f"{what} needs about {n_bytes / 2**30:,.1f} GiB of memory, and {self._all / 2**30:,.1f} GiB are "
                "available; use a smaller --profile, or --scheduler with workers that have more"
            )

    @contextlib.contextmanager
    def hold(self, n_bytes: int, what: str) -> Iterator[None]:
        """Wait until `n_bytes` are free, and keep them until the context ends."""
        self.require(n_bytes, what)
        with self._change:
            self._change.wait_for(lambda: n_bytes <= self._free)
            self._free -= n_bytes
        try:
            yield
        finally:
            with self._change:
                self._free += n_bytes
                self._change.notify_all()
