"""Waits for what another process does: ended by the event, bounded by minutes, because a machine may be busy."""

import time
from collections.abc import Callable

MINUTES = 300.0
"""Seconds after which something that should have happened has not."""


def until(condition: Callable[[], object], seconds: float = MINUTES) -> None:
    """Wait until a condition holds; after minutes it is taken for one that never will."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen within {seconds:g} s")
        time.sleep(0.02)
