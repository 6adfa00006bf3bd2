"""The check of free memory, made before any work is done or any budget is charged."""

import psutil

from pgsr.errors import MemoryNeededError

SMALLER = "lower the largest size K or release fewer regions at a time"
"""The remedy for most tables that are too large."""


def require(n_bytes: int, what: str, remedy: str = SMALLER) -> None:
    """Raise `MemoryNeededError` if `n_bytes` exceed the memory that is free now.

    Example:
        >>> require(1_000, "a small table")
    """
    free = psutil.virtual_memory().available
    if n_bytes > free:
        raise MemoryNeededError(
            f"{what} needs {n_bytes / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; {remedy}"
        )
