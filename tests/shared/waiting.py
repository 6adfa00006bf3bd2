"""Waits for what another process does, bounded by minutes because a machine may be busy; seconds that steps take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MINUTES = 300.0
"""Seconds after which something that should have happened has not."""


def until(condition: Callable[[], object], seconds: float = MINUTES) -> None:
    """Wait until a condition holds; after minutes it is taken for one that never will."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen within {seconds:g} s")
        time.sleep(0.02)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the seconds that a step of a user's journey takes; `pytest -s tests/journeys` shows them."""
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:7.2f} s  {what}")
