"""The check of free memory, made before any work is done or any budget is charged; arrays that are mostly not used."""

import contextlib
import math
import mmap
import sys
from pathlib import Path

import numpy as np

from pgsr.errors import MemoryNeededError

SMALLER = "lower the largest size K or release fewer regions at a time"
"""The remedy for most tables that are too large."""


def require(n_bytes: int, what: str, remedy: str = SMALLER) -> None:
    """Raise `MemoryNeededError` if `n_bytes` exceed the memory that is free now.

    Example:
        >>> require(1_000, "a small table")
    """
    free = free_bytes() if n_bytes > 2**20 else 2**20  # so much there is; to ask takes longer than small work
    if n_bytes > free:
        raise MemoryNeededError(
            f"{what} needs {n_bytes / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; {remedy}"
        )


def free_bytes() -> int:
    """Measure the memory that can be had now without moving any to disk, in bytes.

    Linux says it in a file; on other systems psutil, which only there comes with every installation of pgsr, asks.

    Example:
        >>> free_bytes() > 2**20
        True
    """
    if sys.platform.startswith("linux"):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    import psutil

    return psutil.virtual_memory().available


def unwritten(shape: tuple[int, ...], dtype: type[np.number]) -> np.ndarray:
    """Make an array of zeros that takes memory only where it is written, page by page (4 KiB on most machines).

    For arrays of which a small part is used. NumPy asks Linux for pages of 2 MiB, so a single number written takes as
    much.

    Raises:
        MemoryNeededError: the system has no room for so many addresses.

    Example:
        >>> room = unwritten((100, 1_000_000), np.float64)
        >>> room[99, 999_999] = 1.0
        >>> float(room[99].sum())
        1.0
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        room = mmap.mmap(-1, max(1, n_bytes), access=mmap.ACCESS_COPY)
    except (OSError, OverflowError):
        raise MemoryNeededError(f"an array of {n_bytes / 2**30:,.1f} GiB has no addresses left; {SMALLER}") from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages refuses
            room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, dtype, math.prod(shape)).reshape(shape)
